// `POST /v1/jobs/NAME/ops`: rows of a job as raw-log lines or CSV, perhaps compressed, into a queue.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tools/web/http_message.h"
#include "tools/web/push_queue.h"
#include "tools/web/pushed_lines.h"

namespace goodput {

inline constexpr std::size_t kMostPushBytes = std::size_t{64}
                                              << 20;  // HttpOptions::body_bytes of who takes them

// What a job that pushes may be called: 1 to 100 of A-Z, a-z, 0-9, '.', '_', '-', the first no '.'.
[[nodiscard]] bool is_job_name(std::string_view name);

class PushIntake {
 public:
  // Keeps a reference.
  explicit PushIntake(PushQueue& queue, const PushLimits& limits = {}) : queue_(queue), limits_(limits) {}

  // Whether the path is that of pushes.
  [[nodiscard]] static bool is_push_path(std::string_view path);

  // What is wrong before the body is read: 400, 405, 415, 429. Nothing: it may come.
  // REQUIRES: is_push_path(); whoever asks may push.
  [[nodiscard]] std::optional<HttpResponse> refuse(const HttpRequest& request) const;

  // 202 {"accepted_bytes": N}, of its text, once the queue has it; 200 for an Idempotency-Key that it has
  // had; 400 for what cannot be decompressed, 413 for too much of it, 429 when there is no room. Nothing of
  // what is refused is kept. REQUIRES: refuse() has nothing against it.
  [[nodiscard]] HttpResponse accept(const HttpRequest& request) const;

 private:
  PushQueue& queue_;
  PushLimits limits_;
};

}  // namespace goodput

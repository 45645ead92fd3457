// A program of the user's that answers lines with lines. It is ended with this object; how long it may take
// and how much it may say is limited.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/process/line_channel.h"
#include "sim/process/watched_process.h"

namespace goodput {

struct LineLimits {
  std::chrono::milliseconds answer{
      10'000};  // from a line that is sent until the one that answers it is there
  std::size_t line_bytes = std::size_t{1} << 24;
};

class ChildProcess final : public LineChannel {
 public:
  // `/bin/sh -c command`: quotes, variables and pipes mean what they mean in a shell.
  [[nodiscard]] static Result<std::unique_ptr<LineChannel>> start(const std::string& command,
                                                                  const LineLimits& limits);

  [[nodiscard]] Result<std::string> exchange(std::string_view line) override;
  [[nodiscard]] std::string last_complaint() override;

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  ChildProcess(WatchedProcess process, const LineLimits& limits)
      : process_(std::move(process)), limits_(limits) {}

  // Waits until something can be done, and does it.
  Status move_bytes(Deadline deadline);
  Status write_some();
  Status read_output();
  void read_errors();
  [[nodiscard]] std::optional<std::string> take_line();
  [[nodiscard]] Error ended();

  WatchedProcess process_;
  LineLimits limits_;
  std::string outgoing_;
  std::size_t written_ = 0;  // of outgoing_
  std::string incoming_;
  std::size_t searched_ = 0;  // of incoming_, for a line feed
  std::string complaints_;    // the last of standard error
  bool has_errors_ = true;    // it can still be read
};

}  // namespace goodput

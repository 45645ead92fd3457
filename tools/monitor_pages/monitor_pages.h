// Everything that browsers, Prometheus and scripts see of a running monitor: pages made here, /metrics,
// /healthz and /readyz, /api/v1 and who may listen to which events.
#pragma once

#include <functional>

#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_pages/monitor_topics.h"
#include "tools/monitor_pages/page_options.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/reader_pool.h"
#include "tools/monitor_pages/shown_job.h"
#include "tools/monitor_pages/step_files.h"
#include "tools/web/http_message.h"

namespace goodput {

// Reads the database beside its writer. Thread-safe. `status` must outlive it.
class MonitorPages {
 public:
  using Clock = std::function<double()>;  // Unix time

  MonitorPages(const MonitorStatus& status, MonitorPageOptions options);
  MonitorPages(const MonitorStatus& status, MonitorPageOptions options, Clock clock);

  // Of any GET request; other methods are refused (405).
  [[nodiscard]] HttpResponse respond(const HttpRequest& request);

 private:
  Result<HttpResponse> respond_from_store(const PageRoute& route, const HttpRequest& request,
                                          const MonitorState& state);
  Result<HttpResponse> respond_with_file(PageContext& context, const PageRoute& route);
  [[nodiscard]] HttpResponse health(const MonitorState& state) const;
  [[nodiscard]] HttpResponse readiness(const MonitorState& state);

  const MonitorStatus& status_;
  MonitorPageOptions options_;
  Clock clock_;
  ReaderPool readers_;
  PageCache cache_;
  FileTurn files_;
};

}  // namespace goodput

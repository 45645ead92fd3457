// A database, what the monitor says, and the pages made of both.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/monitor_pages/filled_monitor.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/monitor_pages/monitor_pages.h"

namespace goodput::testing {

class ShownMonitor {
 public:
  explicit ShownMonitor(const std::vector<MadeUpJob>& jobs) {
    Result<MonitorStore> store = MonitorStore::open(file_.path(), {});
    if (!store) throw std::runtime_error(store.error().message());
    options.store_path = file_.path();
    options.gpu_hour_usd = 2;
    for (const MadeUpJob& job : jobs) {
      add_job(*store, job);
      follow(status, job);
      now_s = std::max(now_s, end_of(job));
    }
  }

  // Options count from the first request on.
  [[nodiscard]] HttpResponse get(const std::string& path,
                                 std::map<std::string, std::string, std::less<>> query = {}) {
    if (!pages_) pages_ = std::make_unique<MonitorPages>(status, options, [this] { return now_s; });
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = std::move(query);
    return pages_->respond(request);
  }

  MonitorStatus status;
  MonitorPageOptions options;
  double now_s = 0;

 private:
  TemporaryFile file_{"monitor.db"};
  std::unique_ptr<MonitorPages> pages_;
};

}  // namespace goodput::testing

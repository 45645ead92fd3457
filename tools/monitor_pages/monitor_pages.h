// Everything that browsers, Prometheus and scripts see of a running monitor: pages made here, /metrics,
// /healthz and /readyz, /api/v1 and who may listen to which events.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_pages/monitor_topics.h"
#include "tools/monitor_pages/page_options.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/shown_job.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/web/http_message.h"

namespace goodput {

// Readers of a monitor's database, for handlers that run on several threads: each has one to itself while it
// answers.
class ReaderPool {
 public:
  // A reader, given back in the end.
  class Lease {
   public:
    Lease(ReaderPool& pool, std::unique_ptr<MonitorStore> store) : pool_(&pool), store_(std::move(store)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (store_) pool_->give_back(std::move(store_));
    }

    [[nodiscard]] MonitorStore& store() const { return *store_; }

   private:
    ReaderPool* pool_;
    std::unique_ptr<MonitorStore> store_;
  };

  explicit ReaderPool(std::string path) : path_(std::move(path)) {}

  // Opens the database once more when all readers are in use; as many stay open as were ever in use at once.
  // Thread-safe.
  [[nodiscard]] Result<Lease> take();

 private:
  void give_back(std::unique_ptr<MonitorStore> store);

  std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<MonitorStore>> free_;
};

// Reads the database beside its writer. Thread-safe. `status` must outlive it.
class MonitorPages {
 public:
  using Clock = std::function<double()>;  // Unix time

  MonitorPages(const MonitorStatus& status, MonitorPageOptions options);
  MonitorPages(const MonitorStatus& status, MonitorPageOptions options, Clock clock);

  // Of any GET request, and of POST to where incidents are acted upon; others are refused (405). REQUIRES: of
  // POST, refuse_incident_action() let it in.
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
  Turn files_;    // one at a time: a file takes a second of a core and some hundred bytes per op to make
  Turn actions_;  // the same: others must not fill the threads of the server while they wait
};

}  // namespace goodput

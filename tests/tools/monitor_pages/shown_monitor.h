// A database, what the monitor says, and the pages made of both.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
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
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = std::move(query);
    return respond(request);
  }
  [[nodiscard]] HttpResponse post(const std::string& path, const std::string& form) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.headers["content-type"] = "application/x-www-form-urlencoded";
    request.body = form;
    return respond(request);
  }
  [[nodiscard]] HttpResponse respond(const HttpRequest& request) {
    if (!pages_) pages_ = std::make_unique<MonitorPages>(status, options, [this] { return now_s; });
    return pages_->respond(request);
  }

  // The incident as it is stored.
  [[nodiscard]] Incident incident(const std::string& key) const {
    return MonitorStore::open_for_reading(file_.path()).value().incident(key).value().value();
  }
  void change(Incident incident) const {
    StepCommit commit;
    commit.job = incident.job;
    commit.incidents = {std::move(incident)};
    const Status stored = MonitorStore::open(file_.path(), {}).value().commit(commit);
    if (!stored) throw std::runtime_error(stored.error().message());
  }
  // From now on people may act on incidents; what they do is stored at `now_s`. Like options, before the
  // first request.
  void let_act() {
    options.act = [this](const IncidentAction& action) { return act(action); };
  }

  std::vector<IncidentAction> actions;  // that were performed

  MonitorStatus status;
  MonitorPageOptions options;
  double now_s = 0;

 private:
  std::optional<Incident> act(const IncidentAction& action) {
    actions.push_back(action);
    Incident after = incident(action.incident);
    switch (action.kind) {
      case IncidentAction::Kind::kAcknowledge:
        after.acknowledged = IncidentMark{action.by, now_s};
        break;
      case IncidentAction::Kind::kMute:
        after.muted = IncidentMute{action.by, now_s, now_s + action.mute_s};
        break;
      case IncidentAction::Kind::kEnd:
        after.closed_s = now_s;
        after.closed_at = after.last_seen;
        after.closed_by = action.by;
        break;
    }
    change(after);
    return after;
  }

  TemporaryFile file_{"monitor.db"};
  std::unique_ptr<MonitorPages> pages_;
};

}  // namespace goodput::testing

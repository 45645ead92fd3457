// What an AlertBook keeps over a restart, as JSON: written and read back here only.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/json.h"
#include "sim/live/alert_book.h"

namespace goodput {
namespace {

constexpr int kStateVersion = 1;

Json optional_to_json(const auto& value) {
  return value ? Json(*value) : Json();
}

template <typename T>
std::optional<T> optional_from(const Json& from) {
  return from.is_null() ? std::nullopt : std::optional(from.get<T>());
}

// JSON has no infinity.
double number_from(const Json& from) {
  return from.is_null() ? 1 : from.get<double>();
}

Json to_json_value(const StepId& id) {
  return {id.run, id.step};
}
StepId step_id_from(const Json& from) {
  return {from.at(0).get<std::int32_t>(), from.at(1).get<std::int64_t>()};
}

Json to_json_value(const WorkerPlace& place) {
  return {place.dp_rank, place.stage, place.rank, place.host};
}
WorkerPlace place_from(const Json& from) {
  return {from.at(0).get<std::int32_t>(), from.at(1).get<std::int32_t>(), from.at(2).get<std::int32_t>(),
          from.at(3).get<std::string>()};
}

Json to_json_value(const Alert& alert) {
  return {{"id", alert.id},
          {"job", alert.job},
          {"rule", alert.rule},
          {"severity", alert.severity},
          {"opened_at", to_json_value(alert.opened_at)},
          {"opened_s", alert.opened_s},
          {"slowdown", alert.slowdown},
          {"cause", alert.cause},
          {"worker", alert.worker ? to_json_value(*alert.worker) : Json()},
          {"worker_slowdown", alert.worker_slowdown},
          {"cost_s_per_step", alert.cost_s_per_step},
          {"usd_per_day", optional_to_json(alert.usd_per_day)},
          {"summary", alert.summary},
          {"next_check", alert.next_check},
          {"fix", alert.fix},
          {"page", alert.page}};
}
Alert alert_from(const Json& from) {
  Alert alert;
  alert.id = from.at("id").get<std::int64_t>();
  alert.job = from.at("job").get<std::string>();
  alert.rule = from.at("rule").get<std::string>();
  alert.severity = from.at("severity").get<AlertSeverity>();
  alert.opened_at = step_id_from(from.at("opened_at"));
  alert.opened_s = number_from(from.at("opened_s"));
  alert.slowdown = number_from(from.at("slowdown"));
  alert.cause = from.at("cause").get<std::string>();
  if (!from.at("worker").is_null()) alert.worker = place_from(from.at("worker"));
  alert.worker_slowdown = number_from(from.at("worker_slowdown"));
  alert.cost_s_per_step = number_from(from.at("cost_s_per_step"));
  alert.usd_per_day = optional_from<double>(from.at("usd_per_day"));
  alert.summary = from.at("summary").get<std::string>();
  alert.next_check = from.at("next_check").get<std::string>();
  alert.fix = from.at("fix").get<std::vector<std::string>>();
  alert.page = from.at("page").get<std::string>();
  return alert;
}

Json to_json_value(const std::vector<BlamedWorker>& workers) {
  Json all = Json::array();
  for (const BlamedWorker& worker : workers) all.push_back({worker.worker, worker.slowdown});
  return all;
}
std::vector<BlamedWorker> workers_from(const Json& from) {
  std::vector<BlamedWorker> workers;
  for (const Json& one : from) workers.push_back({one.at(0).get<std::size_t>(), number_from(one.at(1))});
  return workers;
}

Json to_json_value(const RecentSteps::Entry& entry) {
  Json causes = Json::array();
  for (const BlamedCause& cause : entry.causes) {
    causes.push_back({{"key", cause.key},
                      {"name", cause.name},
                      {"gain", cause.gain},
                      {"workers", to_json_value(cause.workers)},
                      {"stage", optional_to_json(cause.stage)},
                      {"fix", cause.fix},
                      {"next_check", cause.next_check}});
  }
  return {{"slowdown", entry.slowdown},
          {"lost_s", entry.lost_s},
          {"causes", std::move(causes)},
          {"worst", to_json_value(entry.worst)}};
}
RecentSteps::Entry entry_from(const Json& from) {
  RecentSteps::Entry entry{
      number_from(from.at("slowdown")), number_from(from.at("lost_s")), {}, workers_from(from.at("worst"))};
  for (const Json& cause : from.at("causes")) {
    entry.causes.push_back({cause.at("key").get<std::string>(), cause.at("name").get<std::string>(),
                            number_from(cause.at("gain")), workers_from(cause.at("workers")),
                            optional_from<std::size_t>(cause.at("stage")),
                            cause.at("fix").get<std::vector<std::string>>(),
                            cause.at("next_check").get<std::string>()});
  }
  return entry;
}

std::string bits_of(const std::deque<bool>& seen) {
  std::string bits;
  for (const bool one : seen) bits += one ? '1' : '0';
  return bits;
}

Json to_json_value(const AlertWatch& watch) {
  Json subjects = Json::object();
  for (const auto& [key, subject] : watch.subjects) {
    subjects[key] = {{"seen", bits_of(subject.seen)},
                     {"gone", subject.gone},
                     {"open", subject.open ? to_json_value(*subject.open) : Json()}};
  }
  return {{"rule", watch.rule.name},
          {"kind", watch.rule.kind()},
          {"subjects", std::move(subjects)},
          {"slowdowns", watch.slowdowns},
          {"steps", watch.steps}};
}
void read_watch(const Json& from, AlertWatch& watch) {
  for (const auto& [key, one] : from.at("subjects").items()) {
    AlertSubject subject;
    for (const char bit : one.at("seen").get_ref<const std::string&>()) subject.seen.push_back(bit == '1');
    subject.gone = one.at("gone").get<std::int32_t>();
    if (!one.at("open").is_null()) subject.open = alert_from(one.at("open"));
    watch.subjects.emplace(key, std::move(subject));
  }
  for (const Json& value : from.at("slowdowns")) watch.slowdowns.push_back(number_from(value));
  watch.steps = from.at("steps").get<std::vector<std::int64_t>>();
  watch.steps.resize(watch.slowdowns.size());
}

// Of workers only how many there are: the next step says where they are.
Json to_json_value(const JobLayout& layout) {
  return {layout.dp_size, layout.pp_size, layout.vpp_size, layout.gpus_per_worker};
}
JobLayout layout_from(const Json& from) {
  return {from.at(0).get<std::int32_t>(),
          from.at(1).get<std::int32_t>(),
          from.at(2).get<std::int32_t>(),
          from.at(3).get<std::int32_t>(),
          {},
          {}};
}

Json missing_to_json(const std::deque<std::vector<WorkerPlace>>& steps) {
  Json all = Json::array();
  for (const std::vector<WorkerPlace>& step : steps) {
    Json places = Json::array();
    for (const WorkerPlace& place : step) places.push_back(to_json_value(place));
    all.push_back(std::move(places));
  }
  return all;
}
std::deque<std::vector<WorkerPlace>> missing_from(const Json& from) {
  std::deque<std::vector<WorkerPlace>> all;
  for (const Json& step : from) {
    all.emplace_back();
    for (const Json& place : step) all.back().push_back(place_from(place));
  }
  return all;
}

}  // namespace

std::string AlertBook::save() const {
  Json watches = Json::array();
  for (const AlertWatch& watch : watches_) watches.push_back(to_json_value(watch));
  Json recent = Json::array();
  for (const RecentSteps::Entry& entry : recent_.entries()) recent.push_back(to_json_value(entry));
  Json orphans = Json::array();
  for (const Alert& orphan : orphans_) orphans.push_back(to_json_value(orphan));
  const Json state = {{"version", kStateVersion},
                      {"latest", has_step_ ? to_json_value(latest_) : Json()},
                      {"layout", layout_ ? to_json_value(*layout_) : Json()},
                      {"time_s", time_s_},
                      {"silent_s", silent_s_},
                      {"watches", std::move(watches)},
                      {"orphans", std::move(orphans)},
                      {"recent", std::move(recent)},
                      {"missing", missing_to_json(missing_)}};
  return state.dump();
}

Status AlertBook::read_state(std::string_view text) {
  try {
    const Json state = Json::parse(text);
    if (state.at("version").get<int>() != kStateVersion)
      return Error{fmt::format("the state of alerts is of version {}, this program knows version {}",
                               state.at("version").dump(), kStateVersion)};
    has_step_ = !state.at("latest").is_null();
    if (has_step_) latest_ = step_id_from(state.at("latest"));
    if (!state.at("layout").is_null()) layout_ = layout_from(state.at("layout"));
    time_s_ = number_from(state.at("time_s"));
    silent_s_ = number_from(state.at("silent_s"));
    for (const Json& entry : state.at("recent")) recent_.add(entry_from(entry));
    missing_ = missing_from(state.at("missing"));
    for (const Json& orphan : state.at("orphans")) orphans_.push_back(alert_from(orphan));
    for (const Json& one : state.at("watches")) {
      const auto watch = std::ranges::find_if(watches_, [&one](const AlertWatch& known) {
        return known.rule.name == one.at("rule") && known.rule.kind() == one.at("kind");
      });
      AlertWatch gone;
      read_watch(one, watch == watches_.end() ? gone : *watch);
      for (auto& [key, subject] : gone.subjects) {
        if (subject.open) orphans_.push_back(*std::move(subject.open));
      }
    }
  } catch (const JsonError&) {
    return Error{"the state of alerts is none that this program wrote"};
  }
  return Ok{};
}

Result<AlertBook> AlertBook::restore(AlertRules rules, AlertContext context, std::string_view state,
                                     const std::vector<Alert>& open) {
  AlertBook book(std::move(rules), std::move(context));
  if (!state.empty()) GOODPUT_TRY_STATUS(book.read_state(state));
  book.stored(open);
  const std::vector<Alert> known = book.open();
  for (const Alert& alert : open) {
    const bool is_known =
        std::ranges::any_of(known, [&alert](const Alert& one) { return is_same_alert(one, alert); });
    if (!is_known) book.orphans_.push_back(alert);
  }
  return book;
}

}  // namespace goodput

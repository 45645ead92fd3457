// What an IncidentBook keeps over a restart, as JSON: written and read back here only. Open incidents are
// stored with their job, so the state only names them.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/analysis/verdict_json.h"
#include "sim/base/json.h"
#include "sim/live/incident_book.h"

namespace goodput {
namespace {

// 1: of alerts, one per rule. Their counts are of no use to incidents.
constexpr int kAlertsVersion = 1;
constexpr int kStateVersion = 2;

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

Json to_json_value(const RecentStep& step) {
  Json faults = Json::array();
  for (const StepFault& fault : step.faults)
    faults.push_back({{"gain", fault.gain}, {"verdict", verdict_text(fault.verdict)}});
  return {{"id", to_json_value(step.id)},
          {"slowdown", step.slowdown},
          {"lost_s", step.lost_s},
          {"faults", std::move(faults)},
          {"worst_worker", step.worst_worker},
          {"worst_slowdown", step.worst_slowdown}};
}
Result<RecentStep> recent_step_from(const Json& from) {
  RecentStep step{step_id_from(from.at("id")),
                  number_from(from.at("slowdown")),
                  number_from(from.at("lost_s")),
                  {},
                  from.at("worst_worker").get<std::size_t>(),
                  number_from(from.at("worst_slowdown"))};
  for (const Json& fault : from.at("faults")) {
    GOODPUT_TRY(std::optional<Verdict> verdict, read_verdict(fault.at("verdict").get<std::string>()));
    step.faults.push_back({verdict.value_or(Verdict{}), number_from(fault.at("gain"))});
  }
  return step;
}

std::string bits_of(const std::deque<bool>& seen) {
  std::string bits;
  for (const bool one : seen) bits += one ? '1' : '0';
  return bits;
}

Json to_json_value(const RuleWatch& watch) {
  Json subjects = Json::object();
  for (const auto& [key, subject] : watch.subjects) {
    subjects[key] = {{"seen", bits_of(subject.seen)},
                     {"gone", subject.gone},
                     {"waits", subject.waits},
                     {"is_behind", subject.is_behind},
                     {"incident", subject.incident}};
  }
  return {{"rule", watch.rule.name},
          {"kind", watch.rule.kind()},
          {"subjects", std::move(subjects)},
          {"slowdowns", watch.slowdowns},
          {"steps", watch.steps}};
}
void read_watch(const Json& from, RuleWatch& watch) {
  for (const auto& [key, one] : from.at("subjects").items()) {
    WatchedSubject subject;
    for (const char bit : one.at("seen").get_ref<const std::string&>()) subject.seen.push_back(bit == '1');
    subject.gone = one.at("gone").get<std::int32_t>();
    subject.waits = one.at("waits").get<std::int32_t>();
    subject.is_behind = one.at("is_behind").get<bool>();
    subject.incident = one.at("incident").get<std::string>();
    watch.subjects.emplace(key, std::move(subject));
  }
  for (const Json& value : from.at("slowdowns")) watch.slowdowns.push_back(number_from(value));
  watch.steps = from.at("steps").get<std::vector<std::int64_t>>();
  watch.steps.resize(watch.slowdowns.size());
}

Json to_json_value(const JobLayout& layout) {
  return {layout.dp_size, layout.pp_size, layout.vpp_size, layout.gpus_per_worker};
}
// Ranks and hosts are those of the next step.
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

std::string IncidentBook::save() const {
  Json watches = Json::array();
  for (const RuleWatch& watch : watches_) watches.push_back(to_json_value(watch));
  Json recent = Json::array();
  for (const RecentStep& step : recent_.steps()) recent.push_back(to_json_value(step));
  Json mutes = Json::array();
  for (const SubjectMute& one : mutes_)
    mutes.push_back(
        {one.subject, static_cast<int>(one.severity), one.mute.by, one.mute.at_s, one.mute.until_s});
  const Json state = {{"version", kStateVersion},
                      {"latest", has_step_ ? to_json_value(latest_) : Json()},
                      {"forgotten", to_json_value(forgotten_)},
                      {"layout", has_layout_ ? to_json_value(layout_) : Json()},
                      {"time_s", time_s_},
                      {"silent_s", silent_s_},
                      {"watches", std::move(watches)},
                      {"orphans", orphans_},
                      {"mutes", std::move(mutes)},
                      {"recent", std::move(recent)},
                      {"missing", missing_to_json(missing_)}};
  return state.dump();
}

Status IncidentBook::read_state(std::string_view text) {
  try {
    const Json state = Json::parse(text);
    const int version = state.at("version").get<int>();
    if (version == kAlertsVersion) return Ok{};
    if (version != kStateVersion)
      return Error{
          fmt::format("the stored incident state has format version {}, but this version of goodput reads "
                      "only format version {}",
                      version, kStateVersion)};
    has_step_ = !state.at("latest").is_null();
    if (has_step_) latest_ = step_id_from(state.at("latest"));
    forgotten_ = step_id_from(state.at("forgotten"));
    has_layout_ = !state.at("layout").is_null();
    if (has_layout_) layout_ = layout_from(state.at("layout"));
    time_s_ = number_from(state.at("time_s"));
    silent_s_ = number_from(state.at("silent_s"));
    for (const Json& step : state.at("recent")) {
      GOODPUT_TRY(RecentStep recent, recent_step_from(step));
      recent_.add(std::move(recent));
    }
    missing_ = missing_from(state.at("missing"));
    orphans_ = state.at("orphans").get<std::map<std::string, std::int32_t>>();
    for (const Json& one : state.at("mutes")) {
      mutes_.push_back({one.at(0).get<std::string>(),
                        one.at(1).get<AlertSeverity>(),
                        {one.at(2).get<std::string>(), number_from(one.at(3)), number_from(one.at(4))}});
    }
    for (const Json& one : state.at("watches")) {
      const auto watch = std::ranges::find_if(watches_, [&one](const RuleWatch& known) {
        return known.rule.name == one.at("rule") && known.rule.kind() == one.at("kind");
      });
      if (watch != watches_.end()) read_watch(one, *watch);
    }
  } catch (const JsonError&) {
    return Error{"the stored state of incidents is damaged: goodput did not write it"};
  }
  return Ok{};
}

Result<IncidentBook> IncidentBook::restore(AlertRules rules, IncidentContext context, std::string_view state,
                                           const std::vector<Incident>& open) {
  IncidentBook book(std::move(rules), std::move(context));
  if (!state.empty()) GOODPUT_TRY_STATUS(book.read_state(state));
  book.incidents_.all() = open;
  std::erase_if(book.orphans_, [&](const auto& one) { return book.incidents_.find(one.first) == nullptr; });
  for (RuleWatch& watch : book.watches_) {
    std::erase_if(watch.subjects, [&](const auto& one) {
      return !one.second.incident.empty() && book.incidents_.find(one.second.incident) == nullptr;
    });
  }
  for (const Incident& incident : open) {
    const bool is_watched = std::ranges::any_of(
        book.watches_, [&](const RuleWatch& watch) { return watches_incident(watch, incident.key); });
    if (!is_watched) book.orphans_.emplace(incident.key, 0);
  }
  return book;
}

}  // namespace goodput

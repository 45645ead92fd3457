#include "sim/analysis/verdict_json.h"

#include <limits>

#include "sim/base/json.h"

namespace goodput {
namespace {

template <typename Value>
OrderedJson or_null(const std::optional<Value>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson workers_json(const std::vector<Verdict::Worker>& workers) {
  OrderedJson list = OrderedJson::array();
  for (const Verdict::Worker& worker : workers) {
    list.push_back({{"dp", worker.dp},
                    {"stage", worker.stage},
                    {"rank", worker.rank},
                    {"host", worker.host.empty() ? OrderedJson(nullptr) : OrderedJson(worker.host)}});
  }
  return list;
}

template <typename Value>
std::optional<Value> optional_from(const Json& from) {
  return from.is_null() ? std::nullopt : std::optional(from.get<Value>());
}

std::string text_from(const Json& from) {
  return optional_from<std::string>(from).value_or("");
}

// Infinity was written as null: JSON has no word for it.
double number_from(const Json& from) {
  return optional_from<double>(from).value_or(std::numeric_limits<double>::infinity());
}

Verdict verdict_from(const Json& from) {
  Verdict verdict;
  verdict.kind = from.at("kind").get<std::string>();
  verdict.subject = {from.at("subject").at("type").get<std::string>(),
                     from.at("subject").at("key").get<std::string>()};
  for (const Json& worker : from.at("workers")) {
    verdict.workers.push_back({worker.at("dp").get<std::size_t>(), worker.at("stage").get<std::size_t>(),
                               worker.at("rank").get<std::int32_t>(), text_from(worker.at("host"))});
  }
  if (const Json& link = from.at("link"); !link.is_null())
    verdict.link = {link.at("from").get<std::size_t>(), link.at("to").get<std::size_t>(),
                    optional_from<std::size_t>(link.at("dp"))};
  verdict.since_step = optional_from<std::int64_t>(from.at("since_step"));
  verdict.until_step = optional_from<std::int64_t>(from.at("until_step"));
  verdict.pace = optional_from<double>(from.at("pace"));
  if (!from.at("step_s").is_null()) {
    verdict.cost = Verdict::Cost{from.at("step_s").get<double>(), number_from(from.at("cost_s_per_step")),
                                 number_from(from.at("share")), number_from(from.at("gain"))};
  }
  verdict.fix = from.at("fix").get<std::vector<std::string>>();
  verdict.sentence = from.at("sentence").get<std::string>();
  verdict.next_check = from.at("next_check").get<std::string>();
  return verdict;
}

OrderedJson link_json(const std::optional<Verdict::Link>& link) {
  if (!link) return nullptr;
  return {{"from", link->from}, {"to", link->to}, {"dp", or_null(link->dp)}};
}

}  // namespace

OrderedJson verdict_json(const std::optional<Verdict>& verdict) {
  if (!verdict) return nullptr;
  const auto of_cost = [&verdict](double Verdict::Cost::*figure) {
    return verdict->cost ? OrderedJson((*verdict->cost).*figure) : OrderedJson(nullptr);
  };
  return {{"sentence", verdict->sentence},
          {"kind", verdict->kind},
          {"subject", {{"type", verdict->subject.type}, {"key", verdict->subject.key}}},
          {"workers", workers_json(verdict->workers)},
          {"link", link_json(verdict->link)},
          {"since_step", or_null(verdict->since_step)},
          {"until_step", or_null(verdict->until_step)},
          {"pace", or_null(verdict->pace)},
          {"step_s", of_cost(&Verdict::Cost::step_s)},
          {"cost_s_per_step", of_cost(&Verdict::Cost::s_per_step)},
          {"share", of_cost(&Verdict::Cost::share)},
          {"gain", of_cost(&Verdict::Cost::gain)},
          {"fix", verdict->fix},
          {"next_check", verdict->next_check}};
}

std::string verdict_text(const std::optional<Verdict>& verdict) {
  return verdict ? verdict_json(verdict).dump() : "";
}

Result<std::optional<Verdict>> read_verdict(std::string_view text) {
  if (text.empty()) return std::optional<Verdict>();
  try {
    return std::optional(verdict_from(Json::parse(text)));
  } catch (const JsonError&) {
    return Error{"contains a damaged verdict"};
  }
}

}  // namespace goodput

#include <simdjson.h>

#include "tools/sweep/store/journal_line.h"

namespace goodput {
namespace {

namespace ondemand = simdjson::ondemand;

// All of these throw simdjson_error where something else is there.
std::string text_of(ondemand::value value) {
  const std::string_view text = value.get_string();
  return std::string(text);
}

std::optional<double> number_or_null(ondemand::value value) {
  if (value.is_null()) return std::nullopt;
  return value.get_double();
}

std::vector<std::string> texts_of(ondemand::value value) {
  std::vector<std::string> texts;
  for (auto element : value.get_array()) texts.push_back(text_of(element.value()));
  return texts;
}

MetricEstimate estimate_of_line(ondemand::value value) {
  MetricEstimate metric;
  std::size_t place = 0;
  std::optional<double> low;
  for (auto element : value.get_array()) {
    switch (place++) {
      case 0:
        metric.metric = text_of(element.value());
        break;
      case 1:
        metric.estimate.mean = element.get_double();
        break;
      case 2:
        low = number_or_null(element.value());
        break;
      case 3:
        if (const auto high = number_or_null(element.value()); low && high)
          metric.estimate.interval = {*low, *high};
        break;
      default:
        metric.estimate.is_doubtful = element.get_bool();
    }
  }
  return metric;
}

TrialRow trial_of_line(ondemand::value value, std::size_t columns) {
  TrialRow trial;
  trial.values.reserve(columns);
  std::size_t place = 0;
  for (auto element : value.get_array()) {
    if (place == 0) {
      trial.finished = element.get_bool();
    } else if (place == 1) {
      trial.stopped = text_of(element.value());
    } else {
      trial.values.push_back(number_or_null(element.value()));
    }
    ++place;
  }
  if (trial.values.size() != columns) throw simdjson::simdjson_error(simdjson::INCORRECT_TYPE);
  return trial;
}

PolicyRows policy_of_line(ondemand::value value, JournalLineReader::Part part) {
  PolicyRows policy;
  ondemand::object object = value.get_object();
  policy.name = text_of(object["name"].value());
  policy.refused = text_of(object["refused"].value());
  policy.tier = text_of(object["tier"].value());
  policy.warnings = texts_of(object["warnings"].value());
  policy.columns = texts_of(object["columns"].value());
  for (auto element : object["estimates"].get_array())
    policy.estimates.push_back(estimate_of_line(element.value()));
  if (part == JournalLineReader::Part::kAllButTrials) return policy;
  for (auto element : object["trials"].get_array())
    policy.trials.push_back(trial_of_line(element.value(), policy.columns.size()));
  return policy;
}

}  // namespace

struct JournalLineReader::Parser {
  ondemand::parser parser;
  std::string line;  // with room behind it, as simdjson wants it

  ondemand::document document(std::string_view text) {
    line.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    line.assign(text);
    return parser.iterate(simdjson::padded_string_view(line.data(), line.size(), line.capacity()));
  }
};

JournalLineReader::JournalLineReader() : parser_(std::make_unique<Parser>()) {}
JournalLineReader::JournalLineReader(JournalLineReader&&) noexcept = default;
JournalLineReader::~JournalLineReader() = default;

std::optional<JournalHeader> JournalLineReader::header(std::string_view line) {
  try {
    ondemand::document document = parser_->document(line);
    if (text_of(document["journal"].value()) != kJournalSchema) return std::nullopt;
    JournalHeader header;
    header.grid_hash = text_of(document["grid_hash"].value());
    header.version = text_of(document["version"].value());
    header.shard = document["shard"].get_uint64();
    header.shards = document["shards"].get_uint64();
    return header;
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  }
}

std::optional<PointRows> JournalLineReader::point(std::string_view line, Part part) {
  try {
    ondemand::document document = parser_->document(line);
    PointRows rows;
    rows.point = document["point"].get_uint64();
    rows.config_hash = text_of(document["config_hash"].value());
    rows.error = text_of(document["error"].value());
    for (auto element : document["policies"].get_array())
      rows.policies.push_back(policy_of_line(element.value(), part));
    return rows;
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  }
}

}  // namespace goodput

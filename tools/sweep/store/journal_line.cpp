#include "tools/sweep/store/journal_line.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/errors.h"
#include "sim/base/json_text.h"

namespace goodput {
namespace {

constexpr std::string_view kBeforeSum = R"({"crc32":")";
constexpr std::string_view kBehindSum = R"(",)";
constexpr std::size_t kSumDigits = 8;
constexpr std::size_t kSummedFrom = kBeforeSum.size() + kSumDigits + kBehindSum.size();

std::string checksum(std::string_view text) {
  const uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  return fmt::format("{:08x}", sum);
}

// ASCII that stands for itself in JSON: nearly all text of a sweep.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

void add_string(fmt::memory_buffer& json, std::string_view text) {
  if (is_plain(text)) {
    json.push_back('"');
    json.append(text);
    json.push_back('"');
    return;
  }
  std::string quoted;
  append_json_string(text, quoted);
  json.append(quoted);
}

void add_number(fmt::memory_buffer& json, double value) {
  GOODPUT_CHECK(std::isfinite(value), "a number of the sweep is not finite");
  fmt::format_to(std::back_inserter(json), FMT_COMPILE("{}"), value);
}

void add_number_or_null(fmt::memory_buffer& json, const std::optional<double>& value) {
  if (value) {
    add_number(json, *value);
  } else {
    json.append(std::string_view("null"));
  }
}

// "[...]" of what `add` appends for every item.
template <typename Items, typename Add>
void add_array(fmt::memory_buffer& json, const Items& items, Add add) {
  json.push_back('[');
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) json.push_back(',');
    is_first = false;
    add(item);
  }
  json.push_back(']');
}

void add_strings(fmt::memory_buffer& json, const std::vector<std::string>& texts) {
  add_array(json, texts, [&](const std::string& text) { add_string(json, text); });
}

// ["goodput", mean, low, high, doubtful]
void add_estimate(fmt::memory_buffer& json, const MetricEstimate& metric) {
  json.push_back('[');
  add_string(json, metric.metric);
  json.push_back(',');
  add_number(json, metric.estimate.mean);
  for (const std::size_t end : {0U, 1U}) {
    json.push_back(',');
    add_number_or_null(
        json, metric.estimate.interval ? std::optional((*metric.estimate.interval)[end]) : std::nullopt);
  }
  json.append(std::string_view(metric.estimate.is_doubtful ? ",true]" : ",false]"));
}

// [finished, stopped, value...]
void add_trial(fmt::memory_buffer& json, const TrialRow& trial, std::size_t columns) {
  GOODPUT_CHECK(trial.values.size() == columns,
                "the number of values in a trial differs from the number of columns");
  json.append(std::string_view(trial.finished ? "[true," : "[false,"));
  add_string(json, trial.stopped);
  for (const std::optional<double>& value : trial.values) {
    json.push_back(',');
    add_number_or_null(json, value);
  }
  json.push_back(']');
}

void add_policy(fmt::memory_buffer& json, const PolicyRows& policy) {
  json.append(std::string_view(R"({"name":)"));
  add_string(json, policy.name);
  json.append(std::string_view(R"(,"refused":)"));
  add_string(json, policy.refused);
  json.append(std::string_view(R"(,"tier":)"));
  add_string(json, policy.tier);
  json.append(std::string_view(R"(,"warnings":)"));
  add_strings(json, policy.warnings);
  json.append(std::string_view(R"(,"columns":)"));
  add_strings(json, policy.columns);
  json.append(std::string_view(R"(,"estimates":)"));
  add_array(json, policy.estimates, [&](const MetricEstimate& metric) { add_estimate(json, metric); });
  json.append(std::string_view(R"(,"trials":)"));
  add_array(json, policy.trials,
            [&](const TrialRow& trial) { add_trial(json, trial, policy.columns.size()); });
  json.push_back('}');
}

// `members`: all but the checksum, without the opening bracket.
std::string with_checksum(std::string_view members) {
  return fmt::format("{}{}{}{}\n", kBeforeSum, checksum(members), kBehindSum, members);
}

}  // namespace

std::string journal_line(const JournalHeader& header) {
  fmt::memory_buffer json;
  json.append(std::string_view(R"("journal":)"));
  add_string(json, kJournalSchema);
  json.append(std::string_view(R"(,"grid_hash":)"));
  add_string(json, header.grid_hash);
  json.append(std::string_view(R"(,"version":)"));
  add_string(json, header.version);
  fmt::format_to(std::back_inserter(json), R"(,"shard":{},"shards":{}}})", header.shard, header.shards);
  return with_checksum({json.data(), json.size()});
}

std::string journal_line(const PointRows& rows) {
  fmt::memory_buffer json;
  fmt::format_to(std::back_inserter(json), R"("point":{},"config_hash":)", rows.point);
  add_string(json, rows.config_hash);
  json.append(std::string_view(R"(,"error":)"));
  add_string(json, rows.error);
  json.append(std::string_view(R"(,"policies":)"));
  add_array(json, rows.policies, [&](const PolicyRows& policy) { add_policy(json, policy); });
  json.push_back('}');
  return with_checksum({json.data(), json.size()});
}

bool is_intact(std::string_view line) {
  if (line.size() < kSummedFrom || !line.starts_with(kBeforeSum)) return false;
  if (line.substr(kSummedFrom - kBehindSum.size(), kBehindSum.size()) != kBehindSum) return false;
  return line.substr(kBeforeSum.size(), kSumDigits) == checksum(line.substr(kSummedFrom));
}

}  // namespace goodput

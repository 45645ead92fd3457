#include "traces/op/raw_log_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/text.h"
#include "traces/io/python_repr.h"

namespace goodput {
namespace {

constexpr std::string_view kBegin = "metric_name: ";
constexpr std::string_view kBehindName = ", elapsed: ";

// Under which a tag may carry the op's step; the first is NDTimeline's own.
constexpr std::string_view kStepKeys[] = {"_inner_global_step", "inner_global_step", "global_step", "step",
                                          kNegativeStepKey};
constexpr std::string_view kTopology = "TopoInfo(";
constexpr std::string_view kRange = "step_range: range(";

using TagStep = std::optional<std::int64_t>;

struct StepRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t stride = 1;
};

Error broken(const PythonCursor& cursor, std::string_view wanted) {
  if (cursor.rest().empty()) return {fmt::format("the record is cut short: expected {}", wanted)};
  return {fmt::format("expected {} in the record, found {}", wanted, in_quotes(cursor.rest()))};
}

Status expect(PythonCursor& cursor, std::string_view literal) {
  if (!cursor.accept(literal)) return broken(cursor, in_quotes(literal));
  return Ok{};
}

// Reads `[a, b, ...]`, each element by `read`, which returns a Result<Value>.
template <typename Value, typename Read>
Result<std::vector<Value>> read_list(PythonCursor& cursor, Read read) {
  std::vector<Value> values;
  GOODPUT_TRY_STATUS(expect(cursor, "["));
  if (cursor.accept("]")) return values;
  while (true) {
    GOODPUT_TRY(Value value, read());
    values.push_back(std::move(value));
    if (cursor.accept("]")) return values;
    GOODPUT_TRY_STATUS(expect(cursor, ", "));
  }
}

Result<std::vector<double>> read_seconds(PythonCursor& cursor) {
  return read_list<double>(cursor, [&cursor]() -> Result<double> {
    if (const auto value = cursor.number()) return *value;
    return broken(cursor, "a number");
  });
}

// How early `key` stands in the list of keys that mean a step; past the end for any other.
std::size_t step_key_rank(std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(kStepKeys, key) - std::begin(kStepKeys));
}

// `{'key': value, ...}`: the integer under the first of the step keys, if there is one.
Result<TagStep> read_tag(PythonCursor& cursor) {
  TagStep step;
  GOODPUT_TRY_STATUS(expect(cursor, "{"));
  if (cursor.accept("}")) return step;
  std::size_t best = std::size(kStepKeys);
  while (true) {
    const auto key = cursor.string();
    if (!key && !cursor.skip_to(":")) return broken(cursor, "a tag's key");
    GOODPUT_TRY_STATUS(expect(cursor, ": "));
    const std::size_t rank = key ? step_key_rank(*key) : std::size(kStepKeys);
    const auto value = cursor.integer();
    const bool whole_value = cursor.rest().starts_with(',') || cursor.rest().starts_with('}');
    if (value && whole_value && rank < best) {
      best = rank;
      step = value;
    }
    if (!cursor.skip_to(",}")) return broken(cursor, "a tag's value and '}'");
    if (cursor.accept("}")) return step;
    GOODPUT_TRY_STATUS(expect(cursor, ", "));
  }
}

Result<std::vector<TagStep>> read_tags(PythonCursor& cursor) {
  return read_list<TagStep>(cursor, [&cursor] { return read_tag(cursor); });
}

Result<std::int64_t> read_integer(PythonCursor& cursor) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;  // sums and differences stay far from overflow
  const auto value = cursor.integer();
  if (!value) return broken(cursor, "an integer");
  if (*value > kLargest || *value < -kLargest) {
    return Error{fmt::format("the record has {}, which is more than 2^53", *value)};
  }
  return *value;
}

Result<StepRange> read_step_range(PythonCursor& cursor) {
  StepRange range;
  GOODPUT_TRY_STATUS(expect(cursor, "range("));
  GOODPUT_TRY(range.begin, read_integer(cursor));
  GOODPUT_TRY_STATUS(expect(cursor, ", "));
  GOODPUT_TRY(range.end, read_integer(cursor));
  if (cursor.accept(", ")) {
    GOODPUT_TRY(range.stride, read_integer(cursor));
    if (range.stride == 0) return Error{"the record has a step_range of stride 0"};
  }
  GOODPUT_TRY_STATUS(expect(cursor, ")"));
  return range;
}

std::int64_t length_of(const StepRange& range) {
  const std::int64_t span = range.stride > 0 ? range.end - range.begin : range.begin - range.end;
  const std::int64_t stride = range.stride > 0 ? range.stride : -range.stride;
  return span <= 0 ? 0 : (span - 1) / stride + 1;
}

std::string to_string(const StepRange& range) {
  if (range.stride == 1) return fmt::format("range({}, {})", range.begin, range.end);
  return fmt::format("range({}, {}, {})", range.begin, range.end, range.stride);
}

Result<std::vector<std::int64_t>> assign_steps(const std::vector<TagStep>& tags, const StepRange& range,
                                               std::string_view metric) {
  std::vector<std::int64_t> steps;
  steps.reserve(tags.size());
  if (std::ranges::all_of(tags, &TagStep::has_value)) {
    for (const TagStep& tag : tags) steps.push_back(*tag);
    return steps;
  }
  const auto ops = static_cast<std::int64_t>(tags.size());
  const std::int64_t length = length_of(range);
  if (length == 0 || ops % length != 0) {
    return Error{
        fmt::format("the {} ops of {} do not divide evenly over the {} steps of {}; record the step in the "
                    "tag of every op",
                    ops, in_quotes(metric), length, to_string(range))};
  }
  const std::int64_t ops_per_step = ops / length;
  for (std::int64_t i = 0; i < ops; ++i) steps.push_back(range.begin + i / ops_per_step * range.stride);
  return steps;
}

// 0: none that makes sense.
std::int64_t stated_size(PythonCursor& cursor) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 31;
  const std::int64_t size = cursor.integer().value_or(0);
  return size < 1 || size > kLargest ? 0 : size;
}

// `... TopoInfo(rank=3, dp_rank=0, ip='10.0.0.1', ...) ...`
Status read_topology(PythonCursor& cursor, RawLogRecord& record) {
  const std::size_t begin = cursor.rest().find(kTopology);
  if (begin == std::string_view::npos) return broken(cursor, "\"TopoInfo(\"");
  cursor.accept(cursor.rest().substr(0, begin));
  cursor.accept(kTopology);
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> dp_rank;
  std::optional<std::int64_t> stage;
  do {
    const auto key = cursor.name();
    if (!key) return broken(cursor, "a field of TopoInfo");
    GOODPUT_TRY_STATUS(expect(cursor, "="));
    if (*key == "rank")
      rank = cursor.integer();
    else if (*key == "dp_rank")
      dp_rank = cursor.integer();
    else if (*key == "pp_rank")
      stage = cursor.integer();
    else if (*key == "ip")
      record.host = cursor.string().value_or("");
    else if (*key == "dp_size")
      record.sizes.dp_size = stated_size(cursor);
    else if (*key == "pp_size")
      record.sizes.pp_size = stated_size(cursor);
    else if (*key == "world_size")
      record.sizes.world_size = stated_size(cursor);
    if (!cursor.skip_to(",)")) return broken(cursor, "a value and ')'");
  } while (cursor.accept(", "));
  GOODPUT_TRY_STATUS(expect(cursor, ")"));
  if (!rank || !dp_rank || !stage) {
    return Error{fmt::format("TopoInfo has no integer \"{}\"", !rank      ? "rank"
                                                               : !dp_rank ? "dp_rank"
                                                                          : "pp_rank")};
  }
  record.rank = *rank;
  record.dp_rank = *dp_rank;
  record.stage = *stage;
  return Ok{};
}

Status check_lengths(const RawLogRecord& record, std::size_t tags) {
  if (record.starts_s.size() == record.durations_s.size() && tags == record.durations_s.size()) return Ok{};
  return Error{
      fmt::format("the record has {} durations, {} starts and {} tags, but must have equally many of each",
                  record.durations_s.size(), record.starts_s.size(), tags)};
}

bool begins_with_date(std::string_view before) {
  return before.empty() || (before.front() >= '0' && before.front() <= '9' && before.ends_with(" - "));
}

// The integers behind `key`, of which the last may be cut.
void gather_steps(std::string_view text, std::string_view key, std::set<std::int64_t>& steps) {
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string_view::npos;) {
    at += key.size();
    PythonCursor cursor(text.substr(at));
    const auto step = cursor.integer();
    if (step && !cursor.rest().empty()) steps.insert(*step);
  }
}

void gather_range(std::string_view text, std::set<std::int64_t>& steps) {
  constexpr std::int64_t kMostSteps = 1000;
  const std::size_t at = text.find(kRange);
  if (at == std::string_view::npos) return;
  PythonCursor cursor(text.substr(at + kRange.size() - std::string_view("range(").size()));
  const Result<StepRange> range = read_step_range(cursor);
  if (!range) return;
  for (std::int64_t i = 0; i < std::min(length_of(*range), kMostSteps); ++i) {
    steps.insert(range->begin + i * range->stride);
  }
}

}  // namespace

std::optional<std::string_view> find_raw_log_record(std::string_view line) {
  const std::size_t begin = line.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view record = line.substr(begin);
  const bool ours =
      begins_with_date(line.substr(0, begin)) || record.find(kBehindName) != std::string_view::npos;
  return ours ? std::optional(record) : std::nullopt;
}

std::string_view metric_of_record(std::string_view record) {
  record.remove_prefix(kBegin.size());
  return record.substr(0, record.find(','));
}

Result<RawLogRecord> parse_raw_log_record(std::string_view text) {
  RawLogRecord record;
  record.metric = metric_of_record(text);
  PythonCursor cursor(text);
  cursor.accept(kBegin);
  cursor.accept(record.metric);
  GOODPUT_TRY_STATUS(expect(cursor, kBehindName));
  if (!cursor.skip_to(",")) return broken(cursor, "the elapsed time and ','");
  GOODPUT_TRY_STATUS(expect(cursor, ", recent_elapsed_raw_parts: "));
  GOODPUT_TRY(record.durations_s, read_seconds(cursor));
  GOODPUT_TRY_STATUS(expect(cursor, ", recent_since_start_raw_parts: "));
  GOODPUT_TRY(record.starts_s, read_seconds(cursor));
  GOODPUT_TRY_STATUS(expect(cursor, ", tags: "));
  GOODPUT_TRY(const std::vector<TagStep> tags, read_tags(cursor));
  GOODPUT_TRY_STATUS(expect(cursor, ", step_range: "));
  GOODPUT_TRY(const StepRange range, read_step_range(cursor));
  GOODPUT_TRY_STATUS(read_topology(cursor, record));
  GOODPUT_TRY_STATUS(check_lengths(record, tags.size()));
  if (!tags.empty()) {
    GOODPUT_TRY(record.steps, assign_steps(tags, range, record.metric));
  }
  const bool any_negative = std::ranges::any_of(record.steps, [](std::int64_t step) { return step < 0; });
  record.keeps_negative_steps = any_negative && text.find(kNegativeStepKey) != std::string_view::npos;
  return record;
}

bool holds_another_record(std::string_view record) {
  return record.find(kBegin, kBegin.size()) != std::string_view::npos;
}

std::optional<CutRecord> find_cut(std::string_view record) {
  const std::size_t next = record.find(kBegin, kBegin.size());
  const std::string_view text = record.substr(0, next);
  const std::size_t topology = text.find(kTopology);
  if (topology != std::string_view::npos && text.find(')', topology) != std::string_view::npos)
    return std::nullopt;
  CutRecord cut;
  if (next != std::string_view::npos) cut.behind = record.substr(next);
  std::set<std::int64_t> steps;
  for (const std::string_view key : kStepKeys) gather_steps(text, fmt::format("'{}': ", key), steps);
  if (steps.empty()) gather_range(text, steps);
  cut.steps.assign(steps.begin(), steps.end());
  return cut;
}

}  // namespace goodput

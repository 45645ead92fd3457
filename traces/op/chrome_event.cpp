#include "traces/op/chrome_event.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include "sim/base/append.h"
#include "sim/base/text.h"
#include "traces/op/ndtimeline_names.h"

namespace goodput {
namespace {

namespace dom = simdjson::dom;

constexpr double kMicrosecondsPerSecond = 1e6;
constexpr std::int64_t kStreamsPerRank = 10;  // tid = rank * 10 + stream

// NDTimeline's streams: 0 main, 1 and 2 the two directions of the pipeline, 4 tensor parallel, 5 data
// parallel, 6 anything else.
constexpr int stream_of(OpType type) {
  switch (type) {
    case OpType::kForwardRecv:
    case OpType::kBackwardSend:
      return 1;
    case OpType::kForwardSend:
    case OpType::kBackwardRecv:
      return 2;
    case OpType::kLayernormGradsAllReduce:
      return 4;
    case OpType::kGradsReduceScatter:
    case OpType::kParamsAllGather:
    case OpType::kSeparateGradsAllReduce:
      return 5;
    case OpType::kGc:
      return 6;
    default:
      return 0;
  }
}

// A value that may be absent. simdjson's elements are two pointers.
using Value = std::optional<dom::element>;

struct EventFields {
  Value name, phase, pid, tid, ts, dur, args, category, id, id2;
};

struct ArgFields {
  Value rank, step, stage, seq_id, mc, mb_id, gmc, start_s, duration_s;
};

template <typename Fields>
struct Key {
  std::string_view name;
  Value Fields::*field;
};

constexpr Key<EventFields> kEventKeys[] = {
    {"name", &EventFields::name}, {"ph", &EventFields::phase},     {"pid", &EventFields::pid},
    {"tid", &EventFields::tid},   {"ts", &EventFields::ts},        {"dur", &EventFields::dur},
    {"args", &EventFields::args}, {"cat", &EventFields::category}, {"id", &EventFields::id},
    {"id2", &EventFields::id2},
};

constexpr Key<ArgFields> kArgKeys[] = {
    {"rank", &ArgFields::rank},     {"step", &ArgFields::step},       {"pp", &ArgFields::stage},
    {"seq_id", &ArgFields::seq_id}, {"mc", &ArgFields::mc},           {"mb_id", &ArgFields::mb_id},
    {"gmc", &ArgFields::gmc},       {"start_s", &ArgFields::start_s}, {"duration_s", &ArgFields::duration_s},
};

template <typename Fields, std::size_t kCount>
Fields find_fields(const dom::object& object, const Key<Fields> (&keys)[kCount]) {
  Fields fields;
  for (const auto& [name, value] : object) {
    for (const auto& key : keys) {
      if (key.name == name) {
        fields.*key.field = value;
        break;
      }
    }
  }
  return fields;
}

std::string_view kind_name(const dom::element& value) {
  switch (value.type()) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "true or false";
    case dom::element_type::NULL_VALUE:
      return "null";
    case dom::element_type::DOUBLE:
      return "a number with a fraction or an exponent";
    case dom::element_type::UINT64:
      return "a number of more than 63 bits";
    default:
      return "a number";
  }
}

// Reads fields until the first that is not as it should be; keeps what is wrong with that one.
class FieldReader {
 public:
  explicit FieldReader(TraceIntake::Mode mode) : is_strict_(mode == TraceIntake::Mode::kStrict) {}

  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Whether a field that may be absent was.
  [[nodiscard]] bool any_unset() const { return any_unset_; }

  std::string_view text(const Value& value, std::string_view name) {
    std::string_view result;
    if (present(value, name) && value->get(result) != simdjson::SUCCESS) fail(name, *value, "a string");
    return result;
  }

  std::int64_t integer(const Value& value, std::string_view name) {
    std::int64_t result = 0;
    if (!present(value, name) || value->get(result) == simdjson::SUCCESS) return result;
    const double whole = whole_number(*value);
    if (std::isnan(whole)) fail(name, *value, "an integer");
    return std::isnan(whole) ? 0 : static_cast<std::int64_t>(whole);
  }

  std::int64_t integer_or_unset(const Value& value, std::string_view name) {
    if (value && !value->is_null()) return integer(value, name);
    any_unset_ = true;
    return kUnset;
  }

  // A time that may be damaged.
  double time(const Value& value, std::string_view name) {
    if (!is_strict_ && (!value || value->is_null())) return std::numeric_limits<double>::quiet_NaN();
    return number(value, name);
  }

  double number(const Value& value, std::string_view name) {
    double result = 0;
    if (present(value, name) && value->get(result) != simdjson::SUCCESS) fail(name, *value, "a number");
    return result;
  }

  dom::object object(const Value& value, std::string_view name) {
    dom::object result;
    if (present(value, name) && value->get(result) != simdjson::SUCCESS) fail(name, *value, "an object");
    return result;
  }

 private:
  // Absent, or an earlier field is wrong already.
  bool present(const Value& value, std::string_view name) {
    if (!problem_.empty()) return false;
    if (!value) problem_ = fmt::format("\"{}\" is missing", name);
    return value.has_value();
  }
  void fail(std::string_view name, const dom::element& value, std::string_view wanted) {
    problem_ = fmt::format("\"{}\" must be {}, not {}", name, wanted, kind_name(value));
  }

  // 3.0; NaN for what is no integer.
  static double whole_number(const dom::element& value) {
    constexpr double kExact = 9007199254740992;  // 2^53
    double number = 0;
    const bool is_whole = value.type() == dom::element_type::DOUBLE &&
                          value.get(number) == simdjson::SUCCESS && std::abs(number) < kExact &&
                          std::trunc(number) == number;
    return is_whole ? number : std::numeric_limits<double>::quiet_NaN();
  }

  bool is_strict_;
  bool any_unset_ = false;
  std::string problem_;
};

// Our own converter writes the seconds as well where microseconds cannot give them back.
double seconds(FieldReader& reader, const Value& exact, std::string_view exact_name,
               const Value& microseconds, std::string_view name) {
  if (exact) return reader.time(exact, exact_name);
  return reader.time(microseconds, name) / kMicrosecondsPerSecond;
}

ArgFields arguments(const EventFields& event) {
  dom::object args;
  const bool any = event.args && event.args->get(args) == simdjson::SUCCESS;
  return any ? find_fields(args, kArgKeys) : ArgFields{};
}

// The fields of `second` where `first` has none.
template <typename Fields, std::size_t kCount>
Fields merged(Fields first, const Fields& second, const Key<Fields> (&keys)[kCount]) {
  for (const auto& key : keys) {
    if (!(first.*key.field)) first.*key.field = second.*key.field;
  }
  return first;
}

// `end_us`: when the op ends, if that is another event's to say.
ChromeEvent read_op(const EventFields& event, const ArgFields& fields, FieldReader& reader, OpType type,
                    std::optional<double> end_us = std::nullopt) {
  OpRow row;
  row.optype = type;
  row.dp_rank = reader.integer(event.pid, "pid");
  row.stage = reader.integer(fields.stage, "args.pp");
  row.step = reader.integer(fields.step, "args.step");
  row.rank = fields.rank ? reader.integer(fields.rank, "args.rank")
                         : reader.integer(event.tid, "tid") / kStreamsPerRank;
  row.start_s = seconds(reader, fields.start_s, "args.start_s", event.ts, "ts");
  if (end_us && !fields.duration_s) {
    row.duration_s = (*end_us - reader.number(event.ts, "ts")) / kMicrosecondsPerSecond;
  } else {
    row.duration_s = seconds(reader, fields.duration_s, "args.duration_s", event.dur, "dur");
  }
  row.seq_id = fields.seq_id ? reader.integer(fields.seq_id, "args.seq_id") : kUnset;
  row.mc = reader.integer_or_unset(fields.mc, "args.mc");
  row.mb_id = reader.integer_or_unset(fields.mb_id, "args.mb_id");
  row.gmc = reader.integer_or_unset(fields.gmc, "args.gmc");
  if (!reader.problem().empty()) return reader.problem();
  return OpEvent{row, reader.any_unset() && row.seq_id != kUnset};
}

std::string text_of(const Value& value) {
  return value ? simdjson::to_string(*value) : std::string();
}

// Which phases come in pairs: by thread, or by id whatever the thread.
std::optional<SpanEdge> edge_of(std::string_view phase, const EventFields& event) {
  if (phase == "B" || phase == "E") {
    return SpanEdge{phase == "B", fmt::format("{} {}", text_of(event.pid), text_of(event.tid)), {}, 0, {}};
  }
  if (phase == "b" || phase == "e") {
    return SpanEdge{phase == "b",
                    fmt::format("{} {} {} {}", text_of(event.category), text_of(event.id), text_of(event.id2),
                                text_of(event.pid)),
                    {},
                    0,
                    {}};
  }
  return std::nullopt;
}

// The step that an event says, if it does.
std::optional<std::int64_t> step_of(const EventFields& event) {
  FieldReader reader(TraceIntake::Mode::kClean);
  const std::int64_t step = reader.integer(arguments(event).step, "args.step");
  return reader.problem().empty() ? std::optional(step) : std::nullopt;
}

ChromeEvent read_edge(SpanEdge edge, const EventFields& event, FieldReader& reader) {
  if (edge.begins || event.name) edge.name = reader.text(event.name, "name");
  edge.at_us = reader.number(event.ts, "ts");
  edge.step = step_of(event);
  if (!reader.problem().empty()) return reader.problem();
  return edge;
}

struct Microseconds {
  std::string text;
  bool exact = false;  // reading the text gives the seconds back
};

std::string json_number(double value) {
  return value == 0 && std::signbit(value) ? "-0.0" : fmt::format("{}", value);
}

// A double of seconds is not always 1e-6 times a double of microseconds; every float32 is.
Microseconds microseconds(double seconds) {
  const double nearest = seconds * kMicrosecondsPerSecond;
  for (const double candidate :
       {nearest, std::nextafter(nearest, -HUGE_VAL), std::nextafter(nearest, HUGE_VAL)}) {
    if (candidate / kMicrosecondsPerSecond == seconds) return {json_number(candidate), true};
  }
  return {json_number(nearest), false};
}

}  // namespace

ChromeEvent read_chrome_event(const dom::element& event, TraceIntake::Mode mode) {
  dom::object object;
  if (event.get(object) != simdjson::SUCCESS)
    return fmt::format("must be an object, not {}", kind_name(event));
  const auto fields = find_fields(object, kEventKeys);
  FieldReader reader(mode);
  const std::string_view phase = reader.text(fields.phase, "ph");
  if (!reader.problem().empty()) return reader.problem();
  if (phase != "X") {
    auto edge = edge_of(phase, fields);
    return edge ? read_edge(*std::move(edge), fields, reader) : SkippedEvent::kNotAnOp;
  }
  const std::string_view name = reader.text(fields.name, "name");
  if (!reader.problem().empty()) return reader.problem();
  if (const auto type = find_metric(name)) {
    const dom::object args = reader.object(fields.args, "args");
    if (!reader.problem().empty()) return reader.problem();
    return read_op(fields, find_fields(args, kArgKeys), reader, *type);
  }
  if (is_ignored_metric(name)) return SkippedEvent::kIgnoredMetric;
  return UnknownEvent{name, step_of(fields)};
}

ChromeEvent read_chrome_pair(const dom::element& begin, const dom::element& end, double at_us,
                             TraceIntake::Mode mode) {
  dom::object first;
  dom::object second;
  const bool are_objects = begin.get(first) == simdjson::SUCCESS && end.get(second) == simdjson::SUCCESS;
  GOODPUT_CHECK(are_objects, "events of a pair must be objects");
  const auto fields = find_fields(first, kEventKeys);
  const auto end_fields = find_fields(second, kEventKeys);
  FieldReader reader(mode);
  const auto type = find_metric(reader.text(fields.name, "name"));
  GOODPUT_CHECK(type.has_value(), "a pair that is kept must be an op");
  const ArgFields args = merged(arguments(fields), arguments(end_fields), kArgKeys);
  return read_op(merged(fields, end_fields, kEventKeys), args, reader, *type, at_us);
}

void append_chrome_event(const OpRow& row, std::string& text) {
  const Microseconds start = microseconds(row.start_s);
  const Microseconds duration = microseconds(row.duration_s);
  append(text,
         R"({{"name":"{0}","cat":"{0}","ph":"X","pid":{1},"tid":{2},"ts":{3},"dur":{4},"args":{{)"
         R"("rank":{5},"step":{6},"tp":0,"pp":{7},"seq_id":{8},"mc":{9},"mb_id":{10},"gmc":{11})",
         to_string(row.optype), row.dp_rank, row.rank * kStreamsPerRank + stream_of(row.optype), start.text,
         duration.text, row.rank, row.step, row.stage, row.seq_id, row.mc, row.mb_id, row.gmc);
  if (!start.exact) append(text, R"(,"start_s":{})", json_number(row.start_s));
  if (!duration.exact) append(text, R"(,"duration_s":{})", json_number(row.duration_s));
  text += "}}";
}

}  // namespace goodput

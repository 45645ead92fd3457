#include "traces/op/chrome.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "sim/base/text.h"
#include "traces/io/byte_sink.h"
#include "traces/op/chrome_event.h"
#include "traces/op/chrome_spans.h"
#include "traces/op/ndtimeline_names.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kPunctuation = "{}[],:\" \t\r\n";

std::string_view without_space(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

// The string that `text` begins with, its quotes included.
std::string_view leading_string(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return text.substr(0, end + 1);
}

bool is_json(dom::parser& parser, std::string_view text) {
  return parser.parse(text.data(), text.size()).error() == simdjson::SUCCESS;
}

// The first number, string or word of an event that is no JSON, with its key: NaN, 1e999, a broken escape.
std::optional<std::string> bad_value(dom::parser& parser, std::string_view event) {
  std::string_view key;
  while (!(event = without_space(event)).empty()) {
    const bool is_string = event.front() == '"';
    if (!is_string && kPunctuation.find(event.front()) != std::string_view::npos) {
      event.remove_prefix(1);
      continue;
    }
    const std::string_view token =
        is_string ? leading_string(event) : event.substr(0, event.find_first_of(kPunctuation));
    event.remove_prefix(token.size());
    const std::string_view inner = is_string && token.size() > 1 ? token.substr(1, token.size() - 2) : token;
    if (!is_json(parser, token)) {
      return fmt::format("{} must be {}, not {}", in_quotes(key),
                         is_string ? "a JSON string" : "a JSON value that a double can hold",
                         in_quotes(inner));
    }
    if (is_string && without_space(event).starts_with(':')) key = inner;
  }
  return std::nullopt;
}

std::string describe_failure(dom::parser& parser, std::string_view event, simdjson::error_code code) {
  if (auto bad = bad_value(parser, event)) return *std::move(bad);
  return fmt::format("is not valid JSON: {}", simdjson::error_message(code));
}

bool is_no_number(std::string_view word) {
  constexpr std::string_view kNames[] = {"nan", "inf", "infinity"};
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return std::ranges::any_of(kNames, [&](std::string_view name) { return equals_lower(name, word); });
}

// The event with null for the NaN and Infinity of JSON writers that know them (Python's).
std::string with_null_for_nan(std::string_view event) {
  std::string text;
  while (!event.empty()) {
    const bool is_string = event.front() == '"';
    const std::size_t word = std::min(event.find_first_of(kPunctuation), event.size());
    const std::string_view token =
        is_string ? leading_string(event) : event.substr(0, std::max<std::size_t>(word, 1));
    text += !is_string && is_no_number(token) ? "null" : token;
    event.remove_prefix(token.size());
  }
  return text;
}

// Reads one file.
class ChromeReader {
 public:
  ChromeReader(ByteSource& source, TraceIntake& intake, const JsonWindowLimits& limits)
      : source_(source), intake_(intake), windows_(source, limits), mode_(mode_of(intake)) {}

  Result<ChromeReading> read() {
    dom::parser parser;
    while (true) {
      GOODPUT_TRY(const std::optional<JsonWindow> window, windows_.next());
      if (!window) break;
      dom::array events;
      // The window has the padding that simdjson asks for: no copy.
      const auto code = parser.parse(window->text.data(), window->text.size(), false).get(events);
      GOODPUT_TRY_STATUS(code == simdjson::SUCCESS ? take_all(events, window->first)
                                                   : take_one_by_one(*window));
    }
    GOODPUT_TRY_STATUS(settle_end());
    return reading_;
  }

 private:
  using Problem = std::optional<std::string>;

  static TraceIntake::Mode mode_of(const TraceIntake& intake) {
    return intake.is_strict() ? TraceIntake::Mode::kStrict : TraceIntake::Mode::kClean;
  }

  [[nodiscard]] Error event_error(std::uint64_t number, std::string_view what) const {
    return {std::string(what),
            {.file = source_.path(), .position = Position::event(failed_.value_or(number))}};
  }

  Status take_all(const dom::array& events, std::uint64_t first) {
    std::uint64_t number = first;
    for (const dom::element event : events) {
      if (const auto problem = take(event, number)) return event_error(number, *problem);
      ++number;
    }
    return Ok{};
  }

  // Of a window that is not all JSON: up to the first event that is wrong in any way.
  Status take_one_by_one(const JsonWindow& window) {
    dom::parser parser;
    bool any_mended = false;
    std::uint64_t number = window.first;
    for (const std::string_view text : window.events) {
      dom::element event;
      auto code = parser.parse(text.data(), text.size()).get(event);
      if (code != simdjson::SUCCESS && !intake_.is_strict()) {
        code = parser.parse(with_null_for_nan(text)).get(event);
        any_mended = true;
      }
      if (code != simdjson::SUCCESS) return event_error(number, describe_failure(parser, text, code));
      if (const auto problem = take(event, number)) return event_error(number, *problem);
      ++number;
    }
    if (any_mended) return Ok{};
    return event_error(window.first, "this event or one of the next events is not valid JSON");
  }

  // What is wrong with the event, if anything.
  Problem take(const dom::element& element, std::uint64_t number) {
    return settle(read_chrome_event(element, mode_), element, number);
  }

  Problem settle(ChromeEvent event, const dom::element& element, std::uint64_t number) {
    if (const auto* op = std::get_if<OpEvent>(&event)) {
      ++reading_.ops;
      if (op->lacks_chunks) intake_.note_absent_chunks();
      return intake_.append(op->row, Position::event(number));
    }
    if (auto* problem = std::get_if<std::string>(&event)) return std::move(*problem);
    if (const auto* unknown = std::get_if<UnknownEvent>(&event)) {
      return intake_.skips(unknown->name, unknown->step) ? Problem{} : unknown_metric(unknown->name);
    }
    if (const auto* edge = std::get_if<SpanEdge>(&event)) {
      return edge->begins ? begin(*edge, element, number) : end(*edge, element, number);
    }
    const bool is_metric = std::get<SkippedEvent>(event) == SkippedEvent::kIgnoredMetric;
    ++(is_metric ? reading_.ignored_metrics : reading_.not_ops);
    return std::nullopt;
  }

  Problem begin(const SpanEdge& edge, const dom::element& element, std::uint64_t number) {
    OpenSpan span;
    span.name = edge.name;
    span.number = number;
    span.step = edge.step;
    if (find_metric(edge.name)) {
      span.begin_event = simdjson::to_string(element);
    } else if (is_ignored_metric(edge.name)) {
      ++reading_.ignored_metrics;
    } else if (intake_.is_strict()) {
      ++reading_.not_ops;
    } else if (!intake_.skips(edge.name, edge.step)) {
      return unknown_metric(edge.name);
    }
    return settle(spans_.begin(edge.lane, std::move(span)));
  }

  Problem end(const SpanEdge& edge, const dom::element& element, std::uint64_t number) {
    SpanEnd end{simdjson::to_string(element), edge.at_us, number, edge.step};
    SettledSpans settled = spans_.end(edge.lane, edge.name, std::move(end));
    if (settled.is_ambiguous && ambiguous_++ == 0) first_ambiguous_ = settled.ended.front().number;
    if (settled.is_end) return settle(settled);
    if (!edge.name.empty() && !find_metric(edge.name)) return std::nullopt;
    constexpr std::string_view kWhat = "ends an op that has no begin event";
    if (intake_.is_strict()) return std::string(kWhat);
    ++reading_.early_ends;
    intake_.count_at(CleaningRule::kCutRecords, Position::event(number), kWhat, edge.step);
    return std::nullopt;
  }

  // The ops of pairs, and those without an end. A problem of another event than the one at hand names it.
  Problem settle(const SettledSpans& settled) {
    for (const OpenSpan& span : settled.cut) {
      constexpr std::string_view kWhat = "begins an op that has no end event";
      if (intake_.is_strict()) return settled_problem(span, std::string(kWhat));
      intake_.count_at(CleaningRule::kCutRecords, Position::event(span.number), kWhat, span.step);
    }
    for (const OpenSpan& span : settled.ended) {
      dom::element begin;
      dom::element end;
      const bool is_json = begin_parser_.parse(span.begin_event).get(begin) == simdjson::SUCCESS &&
                           end_parser_.parse(span.end->event).get(end) == simdjson::SUCCESS;
      GOODPUT_CHECK(is_json, "the events must still be JSON");
      auto problem = settle(read_chrome_pair(begin, end, span.end->at_us, mode_), begin, span.number);
      if (problem) return settled_problem(span, *std::move(problem));
    }
    return std::nullopt;
  }

  Problem settled_problem(const OpenSpan& span, std::string problem) {
    failed_ = span.number;
    return problem;
  }

  // What the end of the file leaves undone.
  Status settle_end() {
    if (windows_.is_unclosed()) {
      intake_.count_at(CleaningRule::kUnclosedFiles, {}, "the file ends without its closing bracket");
    }
    if (windows_.has_cut_event()) {
      intake_.count_at(CleaningRule::kCutRecords, Position::event(windows_.next_event()),
                       "the file ends inside this event");
    }
    if (const auto problem = settle(std::move(spans_).finish())) return event_error(0, *problem);
    if (ambiguous_ > 0) {
      return event_error(first_ambiguous_,
                         fmt::format("{} ops enclose or overlap other ops of the same thread, but the end "
                                     "events of these ops have no \"name\" to tell them apart; add \"name\" "
                                     "to the end events, or write events with \"ph\" \"X\"",
                                     ambiguous_));
    }
    return Ok{};
  }

  ByteSource& source_;
  TraceIntake& intake_;
  JsonEventWindows windows_;
  TraceIntake::Mode mode_;
  ChromeReading reading_;
  OpenSpans spans_;
  dom::parser begin_parser_;
  dom::parser end_parser_;
  std::size_t ambiguous_ = 0;  // ops that may as well end elsewhere
  std::uint64_t first_ambiguous_ = 0;
  std::optional<std::uint64_t> failed_;  // the event of a pair that is wrong, not the one at hand
};

bool chrome_matches(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  head = without_space(head);
  if (head.empty() || (head.front() != '[' && head.front() != '{')) return false;
  const bool is_array = head.front() == '[';
  head = without_space(head.substr(1));
  // Log lines may begin with a bracketed date.
  return head.empty() || head.front() == (is_array ? '{' : '"') || head.front() == (is_array ? ']' : '}');
}

Result<FileNotes> append_chrome_file(ByteSource& source, TraceIntake& intake) {
  JsonWindowLimits limits;
  limits.accept_unclosed = !intake.is_strict();
  GOODPUT_TRY(const ChromeReading reading, append_chrome_events(source, intake, limits));
  FileNotes notes;
  if (reading.ignored_metrics > 0) {
    notes.push_back(fmt::format("{}: ignored events of metrics that are not ops of a step: {}", source.path(),
                                reading.ignored_metrics));
  }
  if (reading.ops > 0) return notes;
  GOODPUT_TRY_STATUS(intake.check_known_share());
  if (reading.early_ends > 0) {
    return Error{
        fmt::format("has no complete ops: {} events end ops that have not begun; sort the events by \"ts\"",
                    reading.early_ends),
        {.file = source.path()}};
  }
  return Error{
      fmt::format("has no ops; events with a phase other than \"X\": {}; metrics that are not ops of a "
                  "step: {}",
                  reading.not_ops, reading.ignored_metrics),
      {.file = source.path()}};
}

}  // namespace

Result<ChromeReading> append_chrome_events(ByteSource& source, TraceIntake& intake,
                                           const JsonWindowLimits& limits) {
  return ChromeReader(source, intake, limits).read();
}

Status write_chrome_events(const OpTrace& trace, const std::string& path, std::string_view final_path) {
  GOODPUT_TRY(auto sink, ByteSink::open(path, final_path));
  std::string text = "[\n";
  for (std::size_t i = 0; i < trace.size(); ++i) {
    append_chrome_event(trace.row(i), text);
    text += i + 1 < trace.size() ? ",\n" : "\n";
    GOODPUT_TRY_STATUS(sink.write(text));
    text.clear();
  }
  text += "]\n";
  GOODPUT_TRY_STATUS(sink.write(text));
  return sink.close();
}

OpTraceFormat op_trace_format_chrome() {
  return {.name = "chrome",
          .summary = "Chrome-trace JSON of ops (.json, .json.gz), from NDTimeline or goodput trace convert",
          .extensions = {".json", ".json.gz"},
          .matches = chrome_matches,
          .append_file = append_chrome_file,
          .write = write_chrome_events};
}

}  // namespace goodput

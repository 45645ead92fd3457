#include "traces/op/chrome.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>
#include <utility>

#include "sim/base/text.h"
#include "traces/io/byte_sink.h"
#include "traces/op/chrome_event.h"
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
      return fmt::format("{} is {}, want {}", in_quotes(key), in_quotes(inner),
                         is_string ? "a JSON string" : "a JSON value that a double can hold");
    }
    if (is_string && without_space(event).starts_with(':')) key = inner;
  }
  return std::nullopt;
}

std::string describe_failure(dom::parser& parser, std::string_view event, simdjson::error_code code) {
  if (auto bad = bad_value(parser, event)) return *std::move(bad);
  return fmt::format("is not JSON: {}", simdjson::error_message(code));
}

std::optional<std::string> take(ChromeEvent event, OpTrace& trace, ChromeReading& reading) {
  if (auto* problem = std::get_if<std::string>(&event)) return std::move(*problem);
  if (const auto* skipped = std::get_if<SkippedEvent>(&event)) {
    ++(*skipped == SkippedEvent::kNotAnOp ? reading.not_ops : reading.ignored_metrics);
    return std::nullopt;
  }
  ++reading.ops;
  return trace.append(std::get<OpRow>(event));
}

Error event_error(const std::string& path, std::uint64_t number, std::string_view what) {
  return {std::string(what), {.file = path, .position = Position::event(number)}};
}

Status append_events(const std::string& path, const dom::array& events, std::uint64_t first, OpTrace& trace,
                     ChromeReading& reading) {
  std::uint64_t number = first;
  for (const dom::element event : events) {
    if (const auto problem = take(read_chrome_event(event), trace, reading)) {
      return event_error(path, number, *problem);
    }
    ++number;
  }
  return Ok{};
}

// Reads a window that is not all JSON event by event, for the first that is wrong in any way.
Error first_failure(const std::string& path, const JsonWindow& window, OpTrace& trace,
                    ChromeReading& reading) {
  dom::parser parser;
  const char* at = window.text.data() + 1;
  const char* const end = window.text.data() + window.text.size();
  for (std::uint64_t number = window.first; at < end; ++number) {
    JsonScan scan;
    const char* const stop = scan.advance(at, end, static_cast<int>(window.text.size()));
    const std::string_view text(at, static_cast<std::size_t>(stop - at));
    dom::element event;
    if (const auto code = parser.parse(text.data(), text.size()).get(event); code != simdjson::SUCCESS) {
      return event_error(path, number, describe_failure(parser, text, code));
    }
    if (const auto problem = take(read_chrome_event(event), trace, reading)) {
      return event_error(path, number, *problem);
    }
    at = stop + 1;
  }
  return event_error(path, window.first, "is not JSON, or one of those that follow");
}

bool chrome_matches(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  head = without_space(head);
  if (head.empty() || (head.front() != '[' && head.front() != '{')) return false;
  const bool is_array = head.front() == '[';
  head = without_space(head.substr(1));
  // Log lines may begin with a bracketed date.
  return head.empty() || head.front() == (is_array ? '{' : '"') || head.front() == (is_array ? ']' : '}');
}

Result<FileNotes> append_chrome_file(ByteSource& source, OpTrace& trace) {
  GOODPUT_TRY(const ChromeReading reading, append_chrome_events(source, trace));
  FileNotes notes;
  if (reading.ignored_metrics > 0) {
    notes.push_back(fmt::format("{}: left out {} events of metrics that are no ops of a step", source.path(),
                                reading.ignored_metrics));
  }
  if (reading.ops > 0) return notes;
  return Error{fmt::format("holds no ops: {} events of another phase than \"X\", {} of metrics that are "
                           "no ops of a step",
                           reading.not_ops, reading.ignored_metrics),
               {.file = source.path()}};
}

}  // namespace

Result<ChromeReading> append_chrome_events(ByteSource& source, OpTrace& trace,
                                           const JsonWindowLimits& limits) {
  dom::parser parser;
  JsonEventWindows windows(source, limits);
  ChromeReading reading;
  while (true) {
    GOODPUT_TRY(const std::optional<JsonWindow> window, windows.next());
    if (!window) return reading;
    dom::array events;
    // The window has the padding that simdjson asks for: no copy.
    const auto code = parser.parse(window->text.data(), window->text.size(), false).get(events);
    if (code != simdjson::SUCCESS) return first_failure(source.path(), *window, trace, reading);
    GOODPUT_TRY_STATUS(append_events(source.path(), events, window->first, trace, reading));
  }
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
          .summary = "Chrome-trace JSON of ops (.json, .json.gz): NDTimeline's, or written by trace convert",
          .extensions = {".json", ".json.gz"},
          .matches = chrome_matches,
          .append_file = append_chrome_file,
          .write = write_chrome_events};
}

}  // namespace goodput

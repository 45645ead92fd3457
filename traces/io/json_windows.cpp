#include "traces/io/json_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kEventsKey = "traceEvents";

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string mebibytes_or_bytes(std::size_t bytes) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  return bytes % kMebibyte == 0 ? fmt::format("{} MiB", bytes / kMebibyte) : fmt::format("{} bytes", bytes);
}

}  // namespace

JsonEventWindows::JsonEventWindows(ByteSource& source, const JsonWindowLimits& limits)
    : source_(source),
      limits_(limits),
      buffer_(1 + limits.event_bytes + 1 + limits.window_bytes + 1 + kJsonPadding),
      longest_key_(kEventsKey.size()) {
  for (const std::string_view key : limits.kept_keys) longest_key_ = std::max(longest_key_, key.size());
}

Error JsonEventWindows::error_at(std::size_t index, std::string_view what) const {
  return {std::string(what),
          {.file = source_.path(), .position = Position::byte(buffer_offset_ + index - 1)}};
}

Error JsonEventWindows::event_error(std::string_view what) const {
  return {std::string(what), {.file = source_.path(), .position = Position::event(next_event_)}};
}

// Moves what is not yet delivered to the front and reads another piece of the file behind it.
Status JsonEventWindows::refill() {
  const std::size_t shift = begin_ - 1;
  std::memmove(buffer_.data() + 1, buffer_.data() + begin_, end_ - begin_);
  buffer_offset_ += shift;
  begin_ = 1;
  event_begin_ -= std::min(shift, event_begin_ - 1);
  scanned_ -= shift;
  end_ -= shift;
  const std::size_t room = buffer_.size() - kJsonPadding - 1 - end_;  // 1: cut(end_) writes there
  const std::size_t wanted = std::min(room, limits_.window_bytes);
  GOODPUT_CHECK(wanted > 0, "the read buffer has no room for the next piece of an event");
  GOODPUT_TRY(const std::size_t count, source_.read(std::span(buffer_).subspan(end_, wanted)));
  end_ += count;
  at_end_ = count == 0;
  return Ok{};
}

Status JsonEventWindows::drop_scanned() {
  begin_ = scanned_;
  return scanned_ == end_ && !at_end_ ? refill() : Status(Ok{});
}

Result<bool> JsonEventWindows::skip_space() {
  while (true) {
    while (scanned_ < end_ && is_space(buffer_[scanned_])) ++scanned_;
    GOODPUT_TRY_STATUS(drop_scanned());
    if (scanned_ == end_) {
      if (at_end_) return false;
    } else if (!is_space(buffer_[scanned_])) {
      return true;
    }
  }
}

Result<char> JsonEventWindows::require(std::string_view what) {
  GOODPUT_TRY(const bool more, skip_space());
  if (!more) {
    return error_at(scanned_, fmt::format("the file is truncated: expected {}", what));
  }
  return buffer_[scanned_];
}

Status JsonEventWindows::expect(char wanted) {
  GOODPUT_TRY(const char found, require(fmt::format("'{}'", wanted)));
  if (found != wanted) {
    return error_at(scanned_,
                    fmt::format("expected '{}', found {}", wanted, in_quotes({&buffer_[scanned_], 1})));
  }
  ++scanned_;
  return Ok{};
}

Status JsonEventWindows::open() {
  // A byte order mark may arrive in pieces.
  while (end_ - scanned_ < kByteOrderMark.size() && !at_end_) GOODPUT_TRY_STATUS(refill());
  const std::string_view head(buffer_.data() + scanned_, end_ - scanned_);
  if (head.starts_with(kByteOrderMark)) scanned_ += kByteOrderMark.size();
  GOODPUT_TRY(const char first, require("'[' or '{'"));
  if (first != '[' && first != '{') {
    return error_at(scanned_, fmt::format("expected '[' or '{{', found {}: a Chrome trace is a JSON array of "
                                          "events or an object with \"traceEvents\"",
                                          in_quotes({&buffer_[scanned_], 1})));
  }
  ++scanned_;
  in_object_ = first == '{';
  if (in_object_) return find_events();
  place_ = Place::kEvents;
  return Ok{};
}

// Stands behind the object's `{` or a comma; goes to the first event.
Status JsonEventWindows::find_events() {
  for (bool first = true;; first = false) {
    GOODPUT_TRY(const char next, require("a key"));
    if (first && next == '}') break;
    GOODPUT_TRY(const std::string name, key());
    GOODPUT_TRY_STATUS(expect(':'));
    if (name == kEventsKey) {
      GOODPUT_TRY_STATUS(expect('['));
      place_ = Place::kEvents;
      return Ok{};
    }
    GOODPUT_TRY_STATUS(value_of(name));
    GOODPUT_TRY(const char behind, require("',' or '}'"));
    if (behind == '}') break;
    GOODPUT_TRY_STATUS(expect(','));
  }
  return Error{"is a JSON object without \"traceEvents\"; is it a Chrome trace?", {.file = source_.path()}};
}

// The characters between the quotes as they stand. Of a long key only as many as tell it from ours.
Result<std::string> JsonEventWindows::key() {
  GOODPUT_TRY_STATUS(expect('"'));
  std::string name;
  for (bool escaped = false;;) {
    GOODPUT_TRY_STATUS(drop_scanned());
    if (scanned_ == end_) return error_at(scanned_, "the file is truncated inside a key");
    const char c = buffer_[scanned_++];
    if (c == '"' && !escaped) return name;
    escaped = c == '\\' && !escaped;
    if (name.size() <= longest_key_) name += c;
  }
}

// Goes to the comma or bracket behind the value of a key other than that of the events.
Status JsonEventWindows::value_of(std::string_view name) {
  const auto key = std::ranges::find(limits_.kept_keys, name);
  if (key == limits_.kept_keys.end()) {
    GOODPUT_TRY_STATUS(skip_value(0));
    return Ok{};
  }
  GOODPUT_TRY_STATUS(skip_space());
  JsonKeptValue value{*key, {}, buffer_offset_ + scanned_ - 1};
  GOODPUT_TRY(value.text, skip_value(limits_.kept_bytes));
  if (value.text.size() > limits_.kept_bytes) {
    return Error{fmt::format("the value of {} is longer than {}", in_quotes(name),
                             mebibytes_or_bytes(limits_.kept_bytes)),
                 {.file = source_.path(), .position = Position::byte(value.offset)}};
  }
  while (!value.text.empty() && is_space(value.text.back())) value.text.pop_back();
  std::erase_if(kept_, [&](const JsonKeptValue& other) { return other.key == value.key; });
  kept_.push_back(std::move(value));
  return Ok{};
}

// Goes behind a value of any length. Returns its text, of one longer than `kept_bytes` a part that is longer.
Result<std::string> JsonEventWindows::skip_value(std::size_t kept_bytes) {
  scan_ = {};
  std::string text;
  while (true) {
    const char* data = buffer_.data();
    const char* stop = scan_.advance(data + scanned_, data + end_, limits_.depth);
    if (kept_bytes > 0 && text.size() <= kept_bytes) text.append(data + scanned_, stop);
    scanned_ = static_cast<std::size_t>(stop - data);
    if (scanned_ < end_) break;
    GOODPUT_TRY_STATUS(drop_scanned());
    if (scanned_ == end_) return error_at(scanned_, "the file is truncated inside a value");
  }
  if (scan_.depth > limits_.depth) {
    return error_at(scanned_, fmt::format("is nested deeper than {} levels", limits_.depth));
  }
  if (!scan_.started) return error_at(scanned_, "a value is missing");
  return text;
}

// Stands behind the `]` of the events.
Status JsonEventWindows::close() {
  while (in_object_) {
    GOODPUT_TRY(const char behind, require("',' or '}'"));
    if (behind == '}') {
      ++scanned_;
      break;
    }
    GOODPUT_TRY_STATUS(expect(','));
    GOODPUT_TRY(const std::string name, key());
    if (name == kEventsKey) return error_at(scanned_, "\"traceEvents\" occurs twice");
    GOODPUT_TRY_STATUS(expect(':'));
    GOODPUT_TRY_STATUS(value_of(name));
  }
  GOODPUT_TRY(const bool more, skip_space());
  if (more) {
    return error_at(scanned_, fmt::format("expected nothing after the end of the trace, found {}",
                                          in_quotes({&buffer_[scanned_], 1})));
  }
  return Ok{};
}

// Where the event under scan ends as far as it is scanned: white space behind it is not part of it.
std::size_t JsonEventWindows::event_end() const {
  std::size_t end = scanned_;
  if (!scan_.is_whole()) return end;
  while (end > event_begin_ && is_space(buffer_[end - 1])) --end;
  return end;
}

// Blank lines between an event and its comma need no room.
void JsonEventWindows::drop_blanks_behind_event() {
  const std::size_t blanks = scanned_ - event_end();
  scanned_ -= blanks;
  end_ -= blanks;
  buffer_offset_ += blanks;
}

Status JsonEventWindows::check_event() const {
  if (event_end() - event_begin_ > limits_.event_bytes) {
    return event_error(fmt::format("is longer than {}", mebibytes_or_bytes(limits_.event_bytes)));
  }
  if (scan_.depth > limits_.depth) {
    return event_error(fmt::format("is nested deeper than {} levels", limits_.depth));
  }
  return Ok{};
}

// Checks the event that ends at the comma or bracket `stop`.
Status JsonEventWindows::check_end(char stop) const {
  if (stop == '}') return event_error("is followed by a '}' without a matching '{'");
  if (scan_.started || (stop == ']' && next_event_ == 1)) return Ok{};
  return event_error(stop == ']' ? "is missing: there is a comma before the closing ']'"
                                 : "is missing before a comma");
}

// Scans what was read, past the end of every event in it. Returns the index of the last such end, 0 when
// there is none. An error waits until the events before it are delivered, so that what is reported does not
// depend on the windows.
std::size_t JsonEventWindows::scan_events() {
  const char* data = buffer_.data();
  std::size_t last = 0;
  events_.clear();
  while (place_ == Place::kEvents) {
    if (!scan_.started) skip_blanks();
    const char* stop = scan_.advance(data + scanned_, data + end_, limits_.depth);
    scanned_ = static_cast<std::size_t>(stop - data);
    Status checked = check_event();
    if (checked && scanned_ == end_) break;
    if (checked) checked = check_end(*stop);
    if (!checked) {
      failure_ = std::move(checked).error();
      break;
    }
    if (*stop == ']') place_ = Place::kBehindEvents;
    if (scan_.started) {
      events_.emplace_back(data + event_begin_, event_end() - event_begin_);
      ++next_event_;
    }
    last = scanned_++;
    scan_ = {};
  }
  return last;
}

void JsonEventWindows::skip_blanks() {
  while (scanned_ < end_ && is_space(buffer_[scanned_])) ++scanned_;
  event_begin_ = scanned_;
}

// What is left where the file ends before the `]`: one more event, if it is whole.
std::optional<JsonWindow> JsonEventWindows::end_unclosed() {
  place_ = Place::kDone;
  is_unclosed_ = true;
  if (!scan_.started) return std::nullopt;
  has_cut_event_ = !scan_.is_whole();
  if (has_cut_event_) return std::nullopt;
  events_.assign(1, {buffer_.data() + event_begin_, event_end() - event_begin_});
  ++next_event_;
  return cut(end_);
}

// Makes the events from begin_ to `end` an array of their own, over the bracket or comma on either side.
JsonWindow JsonEventWindows::cut(std::size_t end) {
  buffer_[begin_ - 1] = '[';
  buffer_[end] = ']';
  const JsonWindow window{{buffer_.data() + begin_ - 1, end - begin_ + 2}, window_event_, events_};
  begin_ = end + 1;
  window_event_ = next_event_;
  return window;
}

Result<std::optional<JsonWindow>> JsonEventWindows::next() {
  if (place_ == Place::kStart) {
    GOODPUT_TRY_STATUS(open());
    begin_ = scanned_;
    scan_ = {};
  }
  while (place_ == Place::kEvents && !failure_) {
    if (const std::size_t end = scan_events(); end != 0) return std::optional(cut(end));
    if (failure_) break;
    if (at_end_ && limits_.accept_unclosed) return end_unclosed();
    if (at_end_) {
      return event_error(scan_.started ? "the file is truncated inside this event"
                                       : "the file is truncated before this event, without a closing ']'");
    }
    begin_ = scan_.started ? event_begin_ : scanned_;
    drop_blanks_behind_event();
    GOODPUT_TRY_STATUS(refill());
  }
  if (failure_) return *failure_;
  if (place_ == Place::kBehindEvents) {
    auto closed = close();
    is_unclosed_ = !closed && limits_.accept_unclosed && at_end_ && scanned_ == end_;
    if (!closed && !is_unclosed_) return std::move(closed).error();
  }
  place_ = Place::kDone;
  return std::optional<JsonWindow>();
}

}  // namespace goodput

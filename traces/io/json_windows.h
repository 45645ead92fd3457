// Cuts a large JSON array of events into windows of whole events, so that a file of any size is read in
// little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"

namespace goodput {

// Bytes behind a window's text that may be read (simdjson needs 64).
inline constexpr std::size_t kJsonPadding = 64;

struct JsonWindowLimits {
  std::size_t window_bytes = std::size_t{1} << 20;  // read from the file at a time, >= 1
  std::size_t event_bytes = std::size_t{1} << 20;   // longest event
  int depth = 64;                                   // deepest nesting inside an event
  bool accept_unclosed = false;                     // a file may end without its closing brackets
};

struct JsonWindow {
  std::string_view text;    // `[event,event,...]`, kJsonPadding readable bytes behind it
  std::uint64_t first = 1;  // number of the first event in the file, from 1
};

// Where the scan of an event's bytes stands. Knows strings and nesting only; whether it is JSON is for a
// parser to say.
struct JsonScan {
  int depth = 0;
  bool in_string = false;
  bool escaped = false;  // the next character of the string is escaped
  bool started = false;  // a character other than white space was seen

  // Whether an element has begun and no bracket or string of it is open.
  [[nodiscard]] bool is_whole() const { return started && depth <= 0 && !in_string; }

  // Goes on to the first character of [at, end) that ends the element it is in: a comma or a closing bracket
  // at depth 0, or an opening one deeper than `max_depth`. Returns `end` when there is none.
  const char* advance(const char* at, const char* end, int max_depth);
};

// The events of a file that is an array, or an object with the array under "traceEvents".
// Checks everything but the events themselves: nothing may be missing before, between or behind them.
class JsonEventWindows {
 public:
  // `source` must outlive this.
  explicit JsonEventWindows(ByteSource& source, const JsonWindowLimits& limits = {});

  // The next window, valid until the next call; nothing after the last one.
  Result<std::optional<JsonWindow>> next();

  // After the last window: whether closing brackets were missing, and whether the last event was cut (and is
  // in no window).
  [[nodiscard]] bool is_unclosed() const { return is_unclosed_; }
  [[nodiscard]] bool has_cut_event() const { return has_cut_event_; }
  // The number of the event behind the last one delivered.
  [[nodiscard]] std::uint64_t next_event() const { return next_event_; }

 private:
  enum class Place { kStart, kEvents, kBehindEvents, kDone };

  [[nodiscard]] Error error_at(std::size_t index, std::string_view what) const;
  [[nodiscard]] Error event_error(std::string_view what) const;
  Status refill();
  Status drop_scanned();
  Result<bool> skip_space();                    // false at the end of the file
  Result<char> require(std::string_view what);  // the next character that is no white space, not consumed
  Status expect(char wanted);
  Status open();
  Status find_events();
  Result<std::string> key();
  Status skip_value();
  Status close();
  [[nodiscard]] std::size_t event_end() const;
  void drop_blanks_behind_event();
  [[nodiscard]] Status check_event() const;
  [[nodiscard]] Status check_end(char stop) const;
  std::size_t scan_events();
  void skip_blanks();
  JsonWindow cut(std::size_t end);
  std::optional<JsonWindow> end_unclosed();

  ByteSource& source_;
  JsonWindowLimits limits_;
  std::vector<char> buffer_;  // [begin_, end_) is read and not yet delivered; begin_ >= 1
  std::size_t begin_ = 1;
  std::size_t event_begin_ = 1;  // of the event under scan, white space before it left out
  std::size_t scanned_ = 1;      // the scan stands here, begin_ <= event_begin_ <= scanned_ <= end_
  std::size_t end_ = 1;
  std::uint64_t buffer_offset_ = 0;  // offset in the file of buffer_[1]
  std::uint64_t next_event_ = 1;     // number of the event under scan
  std::uint64_t window_event_ = 1;   // number of the event at begin_
  JsonScan scan_;
  std::optional<Error> failure_;  // met by the scan, not yet reported
  Place place_ = Place::kStart;
  bool in_object_ = false;
  bool at_end_ = false;  // the file has been read to its end
  bool is_unclosed_ = false;
  bool has_cut_event_ = false;
};

}  // namespace goodput

// Cuts a large JSON array of events into windows of whole events, so that a file of any size is read in
// little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"
#include "traces/io/json_scan.h"

namespace goodput {

// Bytes behind a window's text that may be read (simdjson needs 64).
inline constexpr std::size_t kJsonPadding = 64;

struct JsonWindowLimits {
  std::size_t window_bytes = std::size_t{1} << 20;  // read from the file at a time, >= 1
  std::size_t event_bytes = std::size_t{1} << 20;   // longest event
  int depth = 64;                                   // deepest nesting inside an event
  bool accept_unclosed = false;                     // a file may end without its closing brackets
  // Keys of the object around the events whose values kept() has; must outlive the windows.
  std::span<const std::string_view> kept_keys{};
  std::size_t kept_bytes = std::size_t{16} << 20;  // longest of these values
};

struct JsonWindow {
  std::string_view text;                       // `[event,event,...]`, kJsonPadding readable bytes behind it
  std::uint64_t first = 1;                     // number of the first event in the file, from 1
  std::span<const std::string_view> events{};  // the text of each, without white space around it
};

// A value of the object around the events.
struct JsonKeptValue {
  std::string_view key;      // one of JsonWindowLimits::kept_keys
  std::string text;          // JSON, without white space around it
  std::uint64_t offset = 0;  // of its first byte in the file
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
  // The values of JsonWindowLimits::kept_keys met so far, in the order of the file; all of them after the
  // last window. Of a key that is there several times, the last.
  [[nodiscard]] const std::vector<JsonKeptValue>& kept() const { return kept_; }
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
  Status value_of(std::string_view name);
  Result<std::string> skip_value(std::size_t kept_bytes);
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
  std::uint64_t buffer_offset_ = 0;       // offset in the file of buffer_[1]
  std::uint64_t next_event_ = 1;          // number of the event under scan
  std::uint64_t window_event_ = 1;        // number of the event at begin_
  std::vector<std::string_view> events_;  // of the window under scan
  std::vector<JsonKeptValue> kept_;
  std::size_t longest_key_ = 0;  // of those that mean something
  JsonScan scan_;
  std::optional<Error> failure_;  // met by the scan, not yet reported
  Place place_ = Place::kStart;
  bool in_object_ = false;
  bool at_end_ = false;  // the file has been read to its end
  bool is_unclosed_ = false;
  bool has_cut_event_ = false;
};

}  // namespace goodput

#include "traces/io/json_windows.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

constexpr std::string_view kKeptKeys[] = {"name", "a long key that is kept"};

struct WindowsRead {
  std::vector<std::string> events;
  std::vector<std::string> kept;  // "key@offset=text"
  std::string error;              // without the path
  bool is_unclosed = false;
};

WindowsRead read_windows(std::string_view text, JsonWindowLimits limits) {
  const TemporaryFile file("events.json", text);
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  limits.kept_keys = kKeptKeys;
  JsonEventWindows windows(*source, limits);
  WindowsRead read;
  while (true) {
    const auto window = windows.next();
    if (!window) read.error = without_path(window.error().message(), file);
    if (!window || !*window) break;
    CHECK((*window)->first == read.events.size() + 1);
    read.events.insert(read.events.end(), (*window)->events.begin(), (*window)->events.end());
  }
  for (const JsonKeptValue& value : windows.kept()) {
    read.kept.push_back(std::string(value.key) + "@" + std::to_string(value.offset) + "=" + value.text);
  }
  read.is_unclosed = windows.is_unclosed();
  return read;
}

// Where the element that `text` begins with ends, character by character.
std::size_t end_of_element(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth-- == 0) return i;
    } else if (c == ',' && depth == 0) {
      return i;
    }
  }
  return text.size();
}

TEST_CASE("JSON windows: an event's text has no white space around it, whatever the windows") {
  const std::string text = "{ \"traceEvents\" : [\n  {\"a\": [1, \"]}\\\"\"] } ,\n\t7 , \"x, y\"\r\n,[ ] ]}";
  const std::vector<std::string> expected = {R"({"a": [1, "]}\""] })", "7", R"("x, y")", "[ ]"};
  for (std::size_t window = 1; window <= text.size(); ++window) {
    CAPTURE(window);
    const WindowsRead read = read_windows(text, {.window_bytes = window, .event_bytes = 40});
    CHECK(read.error == "");
    CHECK(read.events == expected);
  }
}

TEST_CASE("JSON windows: an array without events has windows without events") {
  CHECK(read_windows("[ ]", {}).events.empty());
}

TEST_CASE("JSON windows: the last event of an unclosed file is there if it is whole") {
  const WindowsRead read = read_windows("[{\"a\": 1}, {\"b\": 2} \n", {.accept_unclosed = true});
  CHECK(read.error == "");
  CHECK(read.is_unclosed);
  CHECK(read.events == std::vector<std::string>{R"({"a": 1})", R"({"b": 2})"});
  CHECK(read_windows("[1, {\"b\": 2", {.accept_unclosed = true}).events == std::vector<std::string>{"1"});
}

TEST_CASE("JSON windows: values of chosen keys before and behind the events are kept, the last of each") {
  const std::string text =
      R"({"name" : "x\"}" , "other": [1], "traceEvents": [1], "a long key that is kept":)"
      "\n [ {\"b\": 2} ]\n, \"a long key that is kept, almost\": 4, \"name\": 5}";
  for (std::size_t window = 1; window <= text.size(); ++window) {
    CAPTURE(window);
    const WindowsRead read = read_windows(text, {.window_bytes = window, .event_bytes = 40});
    CHECK(read.error == "");
    const std::size_t list = text.find("[ {");
    CHECK(read.kept ==
          std::vector<std::string>{"a long key that is kept@" + std::to_string(list) + "=[ {\"b\": 2} ]",
                                   "name@" + std::to_string(text.size() - 2) + "=5"});
  }
}

TEST_CASE("JSON windows: a kept value beyond the limit is an error at its place") {
  const std::string text = R"({"name": "12345678", "traceEvents": []})";
  CHECK(read_windows(text, {.kept_bytes = 10}).error == "");
  for (const std::size_t window : {std::size_t{1}, std::size_t{4}, std::size_t{100}}) {
    CHECK(read_windows(text, {.window_bytes = window, .event_bytes = 40, .kept_bytes = 9}).error ==
          ": byte 9: the value of \"name\" is longer than 9 bytes");
  }
}

TEST_CASE("JSON windows: a kept value that the file ends in is left out of an unclosed file") {
  const WindowsRead read = read_windows(R"({"traceEvents": [1], "name": [2)", {.accept_unclosed = true});
  CHECK(read.error == "");
  CHECK(read.is_unclosed);
  CHECK(read.kept.empty());
}

// 2,000 elements of random characters of those that mean something. Blocks of 64 characters are scanned at
// once: most elements are longer.
TEST_CASE("JSON scan: finds the same ends as a scan by single characters, wherever it resumes") {
  std::mt19937 random(3);
  constexpr std::string_view kCharacters = "\"\"\\{[}] ,ab:";
  for (int round = 0; round < 2'000; ++round) {
    std::string text = "{";
    while (text.size() < 300) text += kCharacters[random() % (random() % 4 == 0 ? 12 : 6)];
    CAPTURE(text);
    const std::size_t expected = end_of_element(text);
    const std::size_t cut = random() % text.size();
    JsonScan scan;
    const char* const data = text.data();
    const char* at = scan.advance(data, data + cut, 1'000);
    if (at == data + cut) at = scan.advance(at, data + text.size(), 1'000);
    CHECK(static_cast<std::size_t>(at - data) == expected);
  }
}

TEST_CASE("JSON scan: goes behind the bracket that closes the first one") {
  const auto behind = [](std::string_view text) {
    const char* const found = behind_brackets(text.data(), text.data() + text.size());
    return found == nullptr ? -1 : static_cast<int>(found - text.data());
  };
  CHECK(behind("[]]") == 2);
  CHECK(behind(R"({"a]}": ["\"}", 1]} })") == 19);
  CHECK(behind("[" + std::string(200, ' ') + "], ") == 202);
  CHECK(behind("[[[" + std::string(200, ' ') + "]]") == -1);
  CHECK(behind("[\"]") == -1);
}

TEST_CASE("JSON scan: nesting deeper than the limit stops at the bracket that is too deep") {
  const std::string text = "[[" + std::string(100, ' ') + "[[";
  JsonScan scan;
  const char* const at = scan.advance(text.data(), text.data() + text.size(), 3);
  CHECK(at - text.data() == 103);
  CHECK(scan.depth == 4);
}

}  // namespace
}  // namespace goodput

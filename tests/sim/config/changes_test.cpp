// Changes of a config from outside: where relative paths in them start, and whose mistake a value is.
#include "sim/config/changes.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "sim/config/config.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using config::Need;

struct Book {
  std::string text;
  std::vector<std::string> notes;  // paths
  std::int32_t pages = 1;
};

config::Fields config_fields(Book& book) {
  const auto note_at = [&book](std::size_t i) {
    if (i == book.notes.size()) book.notes.emplace_back();
    return config::path(book.notes[i]);
  };
  return {{"text", Need::kOptional, config::path(book.text), "to read"},
          {"notes", Need::kOptional,
           config::list({[&book] { book.notes.clear(); }, [&book] { return book.notes.size(); }, note_at},
                        "an array of paths"),
           "beside it"},
          {"pages", Need::kOptional, config::integer(book.pages, 1, 9), "of it"}};
}

Result<Book> read_changed_book(const TemporaryFile& file, const std::vector<config::Change>& changes) {
  Book book;
  GOODPUT_TRY_STATUS(config::read_file(file.path(), config::access(book), {}, {changes, "book", "set"}));
  return book;
}

std::string folder_of_book(const TemporaryFile& file) {
  return std::filesystem::path(file.path()).parent_path().string();
}

}  // namespace

TEST_CASE(
    "changes: a path in a change starts at the current folder, or at that of the config that asks for it") {
  const TemporaryFile file("book.json", R"({"text": "a.txt", "notes": ["b.txt"]})");
  const std::string folder = folder_of_book(file);
  CHECK(read_changed_book(file, {})->text == folder + "/a.txt");
  CHECK(read_changed_book(file, {{"/text", "x/../c.txt"}})->text == "c.txt");
  CHECK(read_changed_book(file, {{"/text", "c.txt", {}, "/sweeps/s.json"}})->text == "/sweeps/c.txt");
  CHECK(read_changed_book(file, {{"/text", "/c.txt"}})->text == "/c.txt");
}

TEST_CASE("changes: only the values that were changed start elsewhere") {
  const TemporaryFile file("book.json", R"({"text": "a.txt", "notes": ["b.txt"]})");
  const std::string folder = folder_of_book(file);
  const Book added = read_changed_book(file, {{"/notes/-", "c.txt"}, {"/pages", "2"}}).value();
  CHECK(added.text == folder + "/a.txt");
  CHECK(added.notes == std::vector<std::string>{folder + "/b.txt", "c.txt"});
  const Book whole =
      read_changed_book(file, {{"/notes/0", "c.txt"}, {"/notes", R"(["d.txt"])", {}, "/sweeps/s.json"}})
          .value();
  CHECK(whole.notes == std::vector<std::string>{"/sweeps/d.txt"});
  const Book within = read_changed_book(file, {{"/notes", R"(["d.txt", "e.txt"])", {}, "/sweeps/s.json"},
                                               {"/notes/1", "c.txt"}})
                          .value();
  CHECK(within.notes == std::vector<std::string>{"/sweeps/d.txt", "c.txt"});
}

TEST_CASE("changes: a value of the wrong kind is the mistake of the option that asks for it") {
  const TemporaryFile file("book.json", R"({"pages": 2})");
  const auto option_of = [&file](const std::vector<config::Change>& changes) {
    return read_changed_book(file, changes).error().option;
  };
  CHECK(option_of({{"/pages", "0", "vary"}}) == "vary");
  CHECK(
      option_of({{"/pages", "0", "vary"}, {"/pages", "10"}}).empty());  // the second one's, "set" by default
  CHECK(read_changed_book(file, {{"/pages", "0", "vary"}}).error().message() ==
        file.path() + " /pages: must be an integer from 1 to 9, not 0");
  CHECK(read_changed_book(file, {{"/text", "c.txt", "vary"}, {"/page", "1"}}).error().option.empty());
}

}  // namespace goodput

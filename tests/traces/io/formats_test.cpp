// How the format of a file is told, with formats of our own.
#include "traces/io/formats.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using Write = Status (*)(const std::string& path);

struct PoemFormat {
  std::string_view name;
  std::vector<std::string_view> extensions;
  bool (*matches)(std::string_view head);
  Write write;
};

constexpr Write kWrite = [](const std::string&) -> Status { return Ok{}; };

const PoemFormat kPoems[] = {
    {"sonnet", {".sonnet"}, [](std::string_view head) { return head.starts_with("Shall I"); }, kWrite},
    {"haiku", {}, [](std::string_view head) { return head.starts_with("An old"); }, nullptr},
    {"verse", {".txt", ".txt.gz"}, [](std::string_view head) { return head.ends_with("\n"); }, kWrite},
};

std::string format_read(const std::string& content, std::string_view name = {}) {
  const TemporaryFile file("poem", content);
  Result<ByteSource> source = ByteSource::open(file.path());
  REQUIRE(source);
  const auto format = format_of<PoemFormat>(kPoems, "poem", name, *source);
  if (format) return std::string(format->name);
  const std::string message = format.error().message();
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : message;
}

}  // namespace

TEST_CASE("formats: the first that matches the content, unless a name is given") {
  CHECK(format_read("Shall I compare thee\n") == "sonnet");
  CHECK(format_read("An old silent pond") == "haiku");
  CHECK(format_read("anything\n") == "verse");
  CHECK(format_read("anything\n", "haiku") == "haiku");
}

TEST_CASE("formats: what is of none says how it begins, a name of none what there is") {
  CHECK(format_read("prose without an end of line") ==
        ": is no poem in a known format (sonnet, haiku, verse; say `goodput list formats`); it begins with "
        "\"prose without an end of \"");
  CHECK(format_read("x\n", "haiko") ==
        "no poem format \"haiko\"; did you mean \"haiku\"?; known: sonnet, haiku, verse");
}

TEST_CASE("formats: only those with a writer are written") {
  CHECK(find_writable_format<PoemFormat>(kPoems, "poem", "verse")->name == "verse");
  CHECK(find_writable_format<PoemFormat>(kPoems, "poem", "haiku").error().message() ==
        "no writable poem format \"haiku\"; known: sonnet, verse");
  CHECK(format_of_extension<PoemFormat>(kPoems, "a/b.txt.gz")->name == "verse");
  CHECK(format_of_extension<PoemFormat>(kPoems, "b.haiku").error().message() ==
        "b.haiku: cannot tell the output format from the name; end it in one of .sonnet, .txt, .txt.gz");
}

}  // namespace goodput

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
        ": is not in a known poem format (sonnet, haiku, verse; see `goodput list formats`); it begins "
        "with \"prose without an end of \"");
  CHECK(format_read("x\n", "haiko") ==
        "unknown poem format \"haiko\"; did you mean \"haiku\"?; known: sonnet, haiku, verse");
}

TEST_CASE("formats: UTF-16 text is refused, with a byte order mark or without") {
  using namespace std::string_literals;
  const std::string refusal = ": is UTF-16 text; save it as UTF-8";
  CHECK(format_read("\xff\xfe"
                    "A\0n\0"s) == refusal);
  CHECK(format_read("\xfe\xff"
                    "\0A\0n"s) == refusal);
  CHECK(format_read("A\0n\0 \0o\0l\0d\0\n\0"s) == refusal);
  CHECK(format_read("\0A\0n\0 \0o\0l\0d\0\n"s) == refusal);
  CHECK(format_read("A\0n\0 \0o\0l\0d\0\n\0"s, "haiku") == refusal);
  CHECK(format_read("a\0b\0\0\0d\0\n"s) == "verse");
}

TEST_CASE("formats: lines that end with CR alone are refused") {
  const std::string refusal = ": ends its lines with CR only; save it with LF or CRLF line endings";
  CHECK(format_read("An old\tsilent pond\rA frog jumps\r") == refusal);
  CHECK(format_read("\xef\xbb\xbfsilent\rpond", "verse") == refusal);
  CHECK(format_read("An old silent pond\r") == "haiku");
  CHECK(format_read("An old\x15silent pond\rA frog jumps") == "haiku");
  CHECK(format_read("silent\rpond\r\n") == "verse");
  CHECK(format_read("{\r}") ==
        ": is not in a known poem format (sonnet, haiku, verse; see `goodput list formats`); it begins "
        "with \"{\\x0d}\"");
}

TEST_CASE("formats: a comment before what would be known is refused") {
  CHECK(format_read("# by Basho\n#\n\nAn old silent pond") ==
        ": begins with a comment; remove the lines that begin with #");
  CHECK(format_read("\xef\xbb\xbf# by Basho\nAn old silent pond", "sonnet") ==
        ": begins with a comment; remove the lines that begin with #");
  CHECK(format_read("\xef\xbb\xbfShall I") ==
        ": is not in a known poem format (sonnet, haiku, verse; see `goodput list formats`); it begins "
        "with \"\xef\xbb\xbfShall I\"");
  CHECK(format_read("# by Basho\nA frog jumps") ==
        ": is not in a known poem format (sonnet, haiku, verse; see `goodput list formats`); it begins "
        "with \"# by Basho\"");
  CHECK(format_read("# by Basho\n") == "verse");
}

TEST_CASE("formats: only those with a writer are written") {
  CHECK(find_writable_format<PoemFormat>(kPoems, "poem", "verse")->name == "verse");
  CHECK(find_writable_format<PoemFormat>(kPoems, "poem", "haiku").error().message() ==
        "unknown writable poem format \"haiku\"; known: sonnet, verse");
  CHECK(format_of_extension<PoemFormat>(kPoems, "a/b.txt.gz")->name == "verse");
  CHECK(format_of_extension<PoemFormat>(kPoems, "b.haiku").error().message() ==
        "b.haiku: cannot tell the output format from the file name; use one of the extensions .sonnet, .txt, "
        ".txt.gz");
}

}  // namespace goodput

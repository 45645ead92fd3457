#include "traces/io/chrome_writer.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using Precision = ChromeWriter::Precision;

// The events that `add` makes, without the file's frame.
template <typename Add>
Json events(Precision precision, Add add) {
  const TemporaryFile file("chrome.json");
  ChromeWriter writer = ChromeWriter::open(file.path(), file.path(), precision).value();
  add(writer);
  REQUIRE(writer.close());
  return Json::parse(file.content()).at("traceEvents");
}

TEST_CASE("chrome writer: a slice carries its thread, its label and both parts of its arguments") {
  const Json all = events(Precision::kNanoseconds, [](ChromeWriter& writer) {
    const ChromeWriter::Thread thread = writer.name_thread(1, 7, "compute", 3);
    writer.slice(thread, ChromeWriter::label("pass", "forward"), 1'000'001, 1'002'500, R"("rank":4)",
                 R"(,"step":5)");
  });
  REQUIRE(all.size() == 3);
  CHECK(all[0] ==
        Json::parse(R"({"name":"thread_name","ph":"M","pid":1,"tid":7,"args":{"name":"compute"}})"));
  CHECK(all[1].at("args").at("sort_index") == 3);
  CHECK(all[2] == Json::parse(R"({"name":"pass","cat":"forward","ph":"X","pid":1,"tid":7,
                                  "ts":1000.001,"dur":2.499,"args":{"rank":4,"step":5}})"));
}

TEST_CASE("chrome writer: whole microseconds cut off starts and ends, so that neighbours still meet") {
  const Json all = events(Precision::kMicroseconds, [](ChromeWriter& writer) {
    const ChromeWriter::Thread thread = writer.name_thread(0, 1, "job", 0);
    writer.slice(thread, ChromeWriter::label("a"), 1'900, 3'100, {});
    writer.slice(thread, ChromeWriter::label("b"), 3'100, 4'999, {});
    writer.instant(thread, "end", 4'999, R"("n":1)");
  });
  // 1.9 to 3.1 us is [1, 3), 3.1 to 4.999 us is [3, 4).
  CHECK(all[2].at("ts") == 1);
  CHECK(all[2].at("dur") == 2);
  CHECK(all[3].at("ts") == 3);
  CHECK(all[3].at("dur") == 1);
  CHECK_FALSE(all[3].contains("cat"));
  CHECK(all[4] == Json::parse(R"({"name":"end","ph":"i","s":"t","pid":0,"tid":1,"ts":4,"args":{"n":1}})"));
}

TEST_CASE("chrome writer: names are escaped, and what is no UTF-8 is replaced") {
  const Json all = events(Precision::kNanoseconds, [](ChromeWriter& writer) {
    writer.name_process(0, "say \"hi\"");
    writer.name_thread(0, 1, "\xff", 0);
  });
  CHECK(all[0].at("args").at("name") == "say \"hi\"");
  CHECK(all[2].at("args").at("name") == "\xef\xbf\xbd");
}

}  // namespace
}  // namespace goodput

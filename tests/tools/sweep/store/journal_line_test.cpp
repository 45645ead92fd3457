#include "tools/sweep/store/journal_line.h"

#include <doctest/doctest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "tests/tools/sweep/store/random_sweep.h"

namespace goodput {
namespace {

using testing::is_same;
using testing::random_sweep;
using Part = JournalLineReader::Part;

std::string_view without_end(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

PointRows one_trial(std::vector<std::optional<double>> values) {
  PolicyRows policy{.name = "ds", .tier = "model"};
  for (std::size_t i = 0; i < values.size(); ++i) policy.columns.push_back("c" + std::to_string(i));
  policy.trials.push_back({.finished = true, .stopped = {}, .values = std::move(values)});
  return {.point = 5, .config_hash = "00ff", .error = {}, .policies = {policy}};
}

TEST_CASE("journal line: what is read is what was written, to the bit") {
  JournalLineReader reader;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    for (const PointRows& rows : random_sweep(seed, 20).points) {
      const std::string line = journal_line(rows);
      REQUIRE(line.find('\n') == line.size() - 1);
      REQUIRE(is_intact(without_end(line)));
      const auto read = reader.point(without_end(line), Part::kAll);
      REQUIRE(read);
      CHECK(is_same(*read, rows));
    }
  }
}

TEST_CASE("journal line: looks like this, and the sum is CRC-32 of what follows it") {
  // hex(zlib.crc32(...)) in Python says so of all behind the first comma.
  CHECK(
      journal_line(one_trial({0.1, std::nullopt, 1e22, -0.0})) ==
      R"({"crc32":"b7672f00","point":5,"config_hash":"00ff","error":"","policies":[{"name":"ds","refused":"",)"
      R"("tier":"model","warnings":[],"columns":["c0","c1","c2","c3"],"estimates":[],)"
      R"("trials":[[true,"",0.1,null,1e+22,-0]]}]})"
      "\n");
}

TEST_CASE("journal line: the outermost doubles come back") {
  JournalLineReader reader;
  const PointRows rows = one_trial({DBL_MAX, -DBL_MAX, DBL_MIN, std::numeric_limits<double>::denorm_min(),
                                    -0.0, 0.0, 9007199254740993.0, 1e15, 123456789012345680.0, 0.1 + 0.2});
  const std::string line = journal_line(rows);
  const auto read = reader.point(without_end(line), Part::kAll);
  REQUIRE(read);
  CHECK(is_same(*read, rows));
}

TEST_CASE("journal line: a number that is not finite is our bug") {
  CHECK_THROWS_AS(static_cast<void>(journal_line(one_trial({INFINITY}))), InternalError);
  CHECK_THROWS_AS(static_cast<void>(journal_line(one_trial({NAN}))), InternalError);
}

TEST_CASE("journal line: text that is no UTF-8 is mended, so that every reader of results can read it") {
  JournalLineReader reader;
  PointRows rows = one_trial({1.0});
  rows.error =
      "a\xff"
      "b";
  const std::string line = journal_line(rows);
  const auto read = reader.point(without_end(line), Part::kAll);
  REQUIRE(read);
  CHECK(read->error ==
        "a\xef\xbf\xbd"
        "b");
}

TEST_CASE("journal line: without its trials the rest is the same") {
  JournalLineReader reader;
  for (PointRows rows : random_sweep(3, 20).points) {
    const std::string line = journal_line(rows);
    const auto read = reader.point(without_end(line), Part::kAllButTrials);
    for (PolicyRows& policy : rows.policies) policy.trials.clear();
    REQUIRE(read);
    CHECK(is_same(*read, rows));
  }
}

TEST_CASE("journal line: the header comes back, and is no point") {
  JournalLineReader reader;
  const JournalHeader header{.grid_hash = "abc", .version = "0.1.0 (\"x\")", .shard = 2, .shards = 8};
  const std::string line = journal_line(header);
  REQUIRE(is_intact(without_end(line)));
  CHECK(reader.header(without_end(line)) == header);
  CHECK(!reader.point(without_end(line), Part::kAll));
  CHECK(!reader.header(without_end(journal_line(one_trial({1.0})))));
}

TEST_CASE("journal line: one changed byte, one less and one more are noticed") {
  const std::string line = journal_line(one_trial({0.5, 3.0}));
  const std::string text(without_end(line));
  for (std::size_t i = 0; i < text.size(); ++i) {
    INFO("byte " << i);
    for (const char change : {'\x01', '\x20', '\x7f'}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ change);
      CHECK(!is_intact(changed));
    }
    CHECK(!is_intact(text.substr(0, i)));
  }
  CHECK(!is_intact(text + ' '));
  CHECK(!is_intact(""));
}

}  // namespace
}  // namespace goodput

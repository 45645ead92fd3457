// Chrome traces of begin and end events, one of which is lost.
#include <fmt/format.h>

#include <random>
#include <tuple>

#include "tests/support/random_cases.h"
#include "tests/traces/op/dirty_trace.h"

namespace goodput {
namespace {

struct Half {
  double ts = 0;
  int order = 0;  // of one time: ends, then begins; the end of an op of no length after its begin
  std::size_t op = 0;
  std::int64_t step = 0;
  std::string text;
};

using Row = std::tuple<std::int64_t, std::int64_t, OpType, double, double>;

// Two names a thread, of which each follows itself and either may overlap the other; rounded times touch.
std::vector<Half> random_halves(std::mt19937& random) {
  std::vector<Half> halves;
  std::size_t op = 0;
  for (const char* name : {"gc", "optimizer"}) {
    double at = 0;
    for (std::int64_t step = 0; step < 6; ++step) {
      for (int i = 0; i < 3; ++i, ++op) {
        at += static_cast<double>(random() % 2);
        const double stop = at + static_cast<double>(random() % 3);
        const std::string args = fmt::format(
            R"("pid":0,"tid":0,"args":{{"step":{},"pp":0,"seq_id":{},"mc":0,"mb_id":0,"gmc":0}})", step, op);
        const auto text = [&](const char* phase, double ts) {
          return fmt::format(R"({{"name":"{}","ph":"{}","ts":{},{}}})", name, phase, ts, args);
        };
        // Ops of no length at a time follow one another whole.
        const int first = stop > at ? 1000 : 100 + 2 * static_cast<int>(op);
        halves.push_back({at, first, op, step, text("B", at)});
        halves.push_back({stop, stop > at ? 0 : first + 1, op, step, text("E", stop)});
        at = stop;
      }
    }
  }
  std::ranges::stable_sort(
      halves, [](const Half& a, const Half& b) { return std::tie(a.ts, a.order) < std::tie(b.ts, b.order); });
  return halves;
}

OpTraceReading reading_without(const std::vector<Half>& halves, std::size_t lost) {
  std::string text = "[";
  for (std::size_t i = 0; i < halves.size(); ++i) {
    if (i != lost) text += (text.size() > 1 ? "," : "") + halves[i].text;
  }
  return reading_of(text + "]", "t.json");
}

std::vector<Row> rows_but_of(const OpTrace& trace, std::int64_t step) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const OpRow row = trace.row(i);
    if (row.step != step) rows.emplace_back(row.step, row.seq_id, row.optype, row.start_s, row.duration_s);
  }
  std::ranges::sort(rows);
  return rows;
}

TEST_CASE("chrome: of pairs in the order of time any one event may be lost, and only its step suffers" *
          doctest::test_suite("slow")) {
  for (std::uint32_t seed = 1; seed <= testing::cases(40); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<Half> halves = random_halves(random);
    const OpTraceReading whole = reading_without(halves, halves.size());
    REQUIRE(whole.trace.size() == halves.size() / 2);
    REQUIRE(whole.findings.empty());
    for (std::size_t lost = 0; lost < halves.size(); ++lost) {
      CAPTURE(lost);
      const std::int64_t step = halves[lost].step;
      const OpTraceReading reading = reading_without(halves, lost);
      CHECK(rows_but_of(reading.trace, step) == rows_but_of(whole.trace, step));
      REQUIRE(reading.findings.size() == 1);
      CHECK(reading.findings[0].rule == CleaningRule::kCutRecords);
      CHECK(reading.findings[0].count == 1);
      CHECK(reading.findings[0].steps == std::vector<std::int64_t>{step});
    }
  }
}

}  // namespace
}  // namespace goodput

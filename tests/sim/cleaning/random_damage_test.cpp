// release-too: the rules of the cleaning pass, under all kinds of damage at once.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sim/base/random.h"
#include "sim/cleaning/trace_cleaning.h"
#include "tests/support/random_cases.h"
#include "tests/support/trace_edits.h"
#include "tests/support/trace_generator.h"

namespace goodput {
namespace {

// Some rows dropped, repeated, or given another place, step, rank or time.
OpTrace damaged_at_random(const OpTrace& trace, RandomStream& random) {
  const double rate = random.uniform() < 0.3 ? 0.1 : 2.0 / static_cast<double>(trace.size());
  OpTrace rows;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    OpRow row = trace.row(i);
    if (random.uniform() >= rate) {
      testing::append(rows, row);
      continue;
    }
    const auto other = [&](std::int64_t bound) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    switch (random.below(9)) {
      case 0:
        continue;
      case 1:
        testing::append(rows, row);
        break;
      case 2:
        row.step += other(3);
        break;
      case 3:
        row.dp_rank = other(5);
        break;
      case 4:
        row.stage = other(5);
        break;
      case 5:
        row.seq_id = other(8);
        break;
      case 6:
        row.rank = other(100);
        break;
      case 7:
        row.start_s += random.uniform(-10, 10);
        break;
      default:
        row.optype = static_cast<OpType>(random.below(kNdtimelineTypeCount));
        break;
    }
    testing::append(rows, row);
  }
  return rows;
}

std::set<std::string> as_set(const OpTrace& trace) {
  std::set<std::string> rows;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    OpTrace one;
    testing::append(one, trace.row(i));
    rows.insert(std::to_string(hash_rows(one)));
  }
  return rows;
}

}  // namespace

TEST_CASE(
    "cleaning: whatever is done to rows, what is accepted are dense rows of the trace, the same in any "
    "order") {
  std::size_t accepted = 0;
  for (std::uint64_t seed = 1; seed <= testing::cases(400); ++seed) {
    CAPTURE(seed);
    testing::TraceSpec spec = testing::random_spec(seed);
    spec.steps = std::max(spec.steps, 3);
    RandomStream random(seed, "damage");
    const OpTrace trace = damaged_at_random(testing::generate_trace(spec), random);
    if (trace.size() == 0) continue;
    const Result<CleanTrace> clean = clean_trace(trace, {}, {});
    const Result<CleanTrace> shuffled = clean_trace(testing::shuffled(trace, seed), {}, {});
    REQUIRE(clean.has_value() == shuffled.has_value());
    if (!clean) {
      REQUIRE_FALSE(clean.error().what.empty());
      continue;
    }
    ++accepted;
    REQUIRE(hash_rows(clean->trace) == hash_rows(shuffled->trace));
    const Result<TraceIndex> index = index_trace(clean->trace);
    REQUIRE(index);
    REQUIRE(index->steps == clean->index.steps);
    REQUIRE(clean->selected.size() == index->steps.size());
    const std::set<std::string> all = as_set(trace);
    const std::set<std::string> kept = as_set(clean->trace);
    REQUIRE(std::includes(all.begin(), all.end(), kept.begin(), kept.end()));
    REQUIRE((clean->trace.size() == trace.size() || !clean->findings.empty()));
  }
  CHECK(accepted >= testing::cases(100));
  MESSAGE(accepted, " of 400 accepted");
}

}  // namespace goodput

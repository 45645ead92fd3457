// The reference against the answers of the published analysis on real traces.
#include "tests/reference/reference_whatif.h"

#include <doctest/doctest.h>

#include "sim/base/json.h"
#include "tests/support/published_case.h"
#include "traces/op/op_trace_reader.h"

namespace goodput::reference {
namespace {

void check_case(const std::string& name) {
  const auto folder = testing::published_case(name);
  if (folder.empty()) return;
  const auto reading = read_op_trace({(folder / "trace.csv.gz").string()}, {});
  REQUIRE(reading);
  const OpTrace& trace = reading->trace;
  testing::Answers answers{dependencies(trace, {}), op_times(trace, {}), {}, compat_result(trace, {}).dump()};
  for (std::size_t i = 0; i < trace.size(); ++i) answers.dp_rank_of[trace.rank[i]] = trace.dp_rank[i];
  testing::check_published_answers(folder, answers);
}

}  // namespace

TEST_CASE("reference: a trace with a long last stage gives the published answers" *
          doctest::test_suite("slow")) {
  check_case("ST");
}

TEST_CASE("reference: two model chunks, overlapped reductions and no-ops give the published answers") {
  check_case("OPEN-vpp2");
}

// 117,216 rows take the reference about ten seconds: run by hand with --no-skip.
TEST_CASE("reference: a trace with a slow worker gives the published answers" * doctest::skip()) {
  check_case("AR");
}

}  // namespace goodput::reference

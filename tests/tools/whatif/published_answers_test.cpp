// release-too: the numbers that users get.
// The whole front half and the analysis against the published answers on real traces.
#include <doctest/doctest.h>

#include <sstream>

#include "sim/whatif/whatif.h"
#include "tests/support/production_answers.h"
#include "tests/support/published_case.h"
#include "tools/trace/read_trace.h"
#include "tools/whatif/whatif_compat.h"

namespace goodput::testing {
namespace {

void check_case(const std::string& name, const std::string& trace) {
  const auto folder = published_case(name);
  if (folder.empty()) return;
  LoadOptions options;
  options.files.paths = {(folder / trace).string()};
  options.files.metadata_path = (folder / "meta.yaml").string();
  std::ostringstream out;
  const ArrangedJob loaded = value_or_throw(load_job(options, {{}, out, out, {}}));
  CHECK(loaded.trace.notes.empty());
  const WhatIf result = value_or_throw(WhatIfEngine(loaded.graph, loaded.recording, {}).analyse());
  Answers answers{dependencies_of(loaded.graph, loaded.recording),
                  op_times_of(loaded.graph, loaded.recording),
                  {},
                  compat_json(result, loaded.job, 1.03)};
  const auto stages = static_cast<std::size_t>(loaded.recording.pp_size);
  for (std::size_t worker = 0; worker < loaded.recording.ranks.size(); ++worker) {
    answers.dp_rank_of[loaded.recording.ranks[worker]] = static_cast<int>(worker / stages);
  }
  check_published_answers(folder, answers);
}

}  // namespace

TEST_CASE("whatif: a trace with a slow worker gives the published answers") {
  check_case("AR", "trace.csv.gz");
}
TEST_CASE("whatif: a trace with a long last stage gives the published answers") {
  check_case("ST", "trace.csv.gz");
}
TEST_CASE("whatif: two model chunks, overlapped reductions and no-ops give the published answers") {
  check_case("OPEN-vpp2", "trace.csv.gz");
}
#ifdef GOODPUT_HAVE_PARQUET
TEST_CASE("whatif: the traces as published, in Parquet, give the published answers") {
  check_case("AR", "trace.parquet");
  check_case("ST", "trace.parquet");
}
#endif

}  // namespace goodput::testing

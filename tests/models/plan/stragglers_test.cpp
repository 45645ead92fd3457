// Stragglers: how they are read, what a job has no place for, what a micro-batch of documents costs.
#include "models/plan/stragglers.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

// What reading this file says, without its path; "" when it is fine.
std::string problem(std::string_view text) {
  const TemporaryFile file("stragglers.json", text);
  const Result<SynthSettings> read = config::read<SynthSettings>(file.path());
  if (read) return "";
  std::string message = read.error().message();
  return message.substr(message.find(".json") + 5);
}

std::string misplaced(Straggler straggler, JobShape job = {2, 4, 10}) {
  const Status status = check_stragglers({SequenceLengths{}, std::move(straggler)}, job);
  return status ? "" : status.error().message();
}

}  // namespace

TEST_CASE("stragglers: every kind is read and written back as it was") {
  const std::string_view text = R"({"stragglers": [
    {"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5, "from_step": 3, "to_step": 7,
     "from_factor": 1.25},
    {"kind": "stage-partition", "stage": 3, "factor": 1.25},
    {"kind": "sequence-length", "median_tokens": 900.0, "sigma": 1.25, "attention_share": 0.75},
    {"kind": "gc-pauses", "passes": "all", "every_steps": 20, "pause_s": 0.25},
    {"kind": "launch-delay", "ops": "all", "mean_s": 0.125},
    {"kind": "slow-link", "dp": 1, "stage": 2, "factor": 8.0, "from_step": 2, "to_step": 9},
    {"kind": "communication-flap", "dp": 0, "stage": 1, "share": 0.125, "factor": 40.0}],
    "trace": {"steps": 50, "jitter": 0.03}})";
  const TemporaryFile file("stragglers.json", text);
  Result<SynthSettings> read = config::read<SynthSettings>(file.path());
  REQUIRE_MESSAGE(read, (read ? "" : read.error().message()));
  REQUIRE(read->stragglers.size() == std::size(kStragglerKinds));
  for (std::size_t i = 0; i < read->stragglers.size(); ++i)
    CHECK(kind_of(read->stragglers[i]) == kStragglerKinds[i]);
  CHECK(std::get<SlowWorker>(read->stragglers[0]).to_step == 7);
  CHECK(std::get<LaunchDelays>(read->stragglers[4]).ops == LaunchDelays::Ops::kAll);
  CHECK(read->trace.steps == 50);
  const OrderedJson written = config::write(config_fields(*read));
  CHECK(Json::parse(text) == Json::parse(written.dump()));
}

TEST_CASE("stragglers: what is wrong is named with its place") {
  CHECK(problem(R"({"stragglers": {}})") == " /stragglers: must be an array of stragglers");
  CHECK(problem(R"({"stragglers": [3]})") == " /stragglers/0: must be a straggler: {\"kind\": ..., ...}");
  const std::string kinds =
      "worker-fault, stage-partition, sequence-length, gc-pauses, launch-delay, slow-link, "
      "communication-flap";
  CHECK(problem(R"({"stragglers": [{}]})") == " /stragglers/0/kind: is missing; it must be one of " + kinds);
  CHECK(problem(R"({"stragglers": [{"kind": 1}]})") == " /stragglers/0/kind: must be one of " + kinds);
  CHECK(problem(R"({"stragglers": [{"kind": "gc-pause"}]})") ==
        " /stragglers/0/kind: unknown straggler \"gc-pause\"; did you mean \"gc-pauses\"?; known: " + kinds);
  CHECK(problem(R"({"stragglers": [{"kind": "gc-pauses"}]})") ==
        " /stragglers/0/pause_s: is missing; it must be a number from 0 to 60");
  CHECK(problem(R"({"stragglers": [{"kind": "gc-pauses", "pause_s": 1, "dp": 0}]})") ==
        " /stragglers/0/dp: unknown key; known keys: kind, passes, every_steps, pause_s");
  CHECK(problem(R"({"stragglers": [{"kind": "stage-partition", "stage": 0, "factor": 0}]})") ==
        " /stragglers/0/factor: must be a number from 0.01 to 10000, not 0");
  CHECK(problem(R"({"trace": {"steps": 0}})") ==
        " /trace/steps: must be an integer from 1 to 1000000, not 0");
}

TEST_CASE("stragglers: workers, stages and steps must be the job's") {
  CHECK(misplaced(SlowWorker{1, 3, 2, 10, 0}) == "");
  CHECK(misplaced(SlowWorker{2, 0, 2}) ==
        "/1/dp: is 2, but the job has only 2 data-parallel ranks, numbered from 0");
  CHECK(misplaced(SlowWorker{0, 4, 2}) == "/1/stage: is 4, but the job has only 4 stages, numbered from 0");
  CHECK(misplaced(SlowWorker{0, 0, 2, 11, 0}) == "/1/from_step: is 11, but the trace has steps 1 to 10");
  CHECK(misplaced(SlowWorker{0, 0, 2, 5, 4}) == "/1/to_step: must be at least from_step (5), not 4");
  CHECK(misplaced(StagePartition{4, 2}) == "/1/stage: is 4, but the job has only 4 stages, numbered from 0");
  CHECK(misplaced(StagePartition{0, 2}, {2, 1, 10}) ==
        "/1: requires at least 2 pipeline stages, but the job has 1");
  CHECK(misplaced(SlowLink{2, 0, 4}) ==
        "/1/dp: is 2, but the job has only 2 data-parallel ranks, numbered from 0");
  CHECK(misplaced(SlowLink{0, 0, 4, 5, 4}) == "/1/to_step: must be at least from_step (5), not 4");
  CHECK(misplaced(SlowLink{}, {2, 1, 10}) == "/1: requires at least 2 pipeline stages, but the job has 1");
  CHECK(misplaced(NicFlap{0, 5}) == "/1/stage: is 5, but the job has only 4 stages, numbered from 0");
  CHECK(misplaced(NicFlap{0, 0}, {1, 1, 10}) == "/1: requires at least 2 workers, but the job has 1");
}

TEST_CASE("stragglers: a sequence of equal documents costs attention by their share of its length") {
  // 8192 tokens as 8 documents of 1024: sum s^2 / L^2 = 8 / 64; half of a pass is attention: 0.5 + 0.5 / 8.
  RandomStream random(1, "documents");
  CHECK(draw_sequence_cost({1024, 0, 0.5}, 8192, 3, random) == doctest::Approx(0.5625).epsilon(1e-12));
  // One document costs what a sequence without borders costs; a document is cut where the sequence ends.
  CHECK(draw_sequence_cost({1e9, 0, 0.5}, 8192, 1, random) == 1);
  // 4096 + 4096 + 1808: (2 * 4096^2 + 1808^2) / 10000^2.
  CHECK(draw_sequence_cost({4096, 0, 1}, 10000, 1, random) ==
        doctest::Approx((2.0 * 4096 * 4096 + 1808.0 * 1808) / 1e8).epsilon(1e-12));
}

TEST_CASE("stragglers: a long tail makes micro-batches differ") {
  RandomStream random(1, "documents");
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 2000;
  for (int i = 0; i < kDraws; ++i) {
    const double cost = draw_sequence_cost({512, 1.5, 0.5}, 8192, 1, random);
    CHECK(cost > 0.5);
    CHECK(cost <= 1);
    sum += cost;
    squares += cost * cost;
  }
  const double mean = sum / kDraws;
  CHECK(std::sqrt(squares / kDraws - mean * mean) / mean > 0.1);
}

TEST_CASE("stragglers: a billion tokens of short documents are no endless loop") {
  RandomStream random(1, "documents");
  CHECK(draw_sequence_cost({1, 0, 1}, 1'000'000'000, 1, random) < 1e-3);
}

}  // namespace goodput

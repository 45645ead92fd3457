// What saving costs in time: O_ckpt, the three buffers, whole runs.
#include "models/checkpoint/save_cost.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/checkpoint/buffered_saves.h"
#include "models/checkpoint/checkpoint_buffers.h"
#include "models/checkpoint/checkpointed_run.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using namespace std::chrono_literals;
using Role = CheckpointBuffers::Role;

constexpr SaveTimes kTimes{3s, 10s};

// One MoE layer of four experts of 100 MB beside 600 MB, on two ranks.
ModuleBytes small_model() {
  ModuleBytes modules;
  modules.dense = {Bytes{400'000'000}, Bytes{200'000'000}};
  modules.expert_each = {Bytes{100'000'000}};
  modules.experts = 4;
  return modules;
}

PartialCheckpoint partial(std::int32_t k, Sharding sharding = Sharding::kNone) {
  return {{k, k}, ExpertSelection::kSequential, sharding, 2};
}

CheckpointedRun hundred_steps() {
  CheckpointedRun run;
  run.interval = 10;
  run.steps = 100;
  run.step = run.forward_backward = 1s;
  run.restart = 60s;
  run.path = {BytesPerSecond{1e9}, BytesPerSecond{1e8}, {}};
  return run;
}

const ExpertTokens kEven = {{1, 1, 1, 1}};

}  // namespace

TEST_CASE("save times: the heaviest rank over its bandwidth, or all ranks over storage's") {
  const LevelWrites snapshot{Bytes{2'000'000'000}, 8e9};
  const LevelWrites persist{Bytes{1'000'000'000}, 6e9};
  SavePath path{BytesPerSecond{10e9}, BytesPerSecond{0.5e9}, {}};
  CHECK(save_times(snapshot, persist, path).snapshot == 200ms);
  CHECK(save_times(snapshot, persist, path).persist == 2s);
  path.storage_total = BytesPerSecond{1e9};
  CHECK(save_times(snapshot, persist, path).persist == 6s);
  path.storage_total = BytesPerSecond{100e9};
  CHECK(save_times(snapshot, persist, path).persist == 2s);
}

TEST_CASE("O_save: all of it when training waits, else what a forward and backward pass does not hide") {
  CHECK(save_stall(SaveMode::kSync, kTimes, 1s) == 13s);
  CHECK(save_stall(SaveMode::kAsync, kTimes, 1s) == 2s);
  CHECK(save_stall(SaveMode::kAsync, kTimes, 3s) == 0s);
  CHECK(save_stall(SaveMode::kAsync, kTimes, 5s) == 0s);
}

TEST_CASE("checkpoints are no closer than storage takes them") {
  CHECK(least_interval(SaveMode::kAsync, kTimes, 1s) == 10);
  CHECK(least_interval(SaveMode::kAsync, kTimes, 3s) == 4);
  CHECK(least_interval(SaveMode::kAsync, kTimes, 100s) == 1);
  CHECK(least_interval(SaveMode::kSync, kTimes, 1s) == 1);
}

TEST_CASE("checkpoints keep storage busy for no more than the share of the time that they may") {
  // 10 s of writing in 40 s of training are 25 %.
  CHECK(least_interval(SaveMode::kAsync, kTimes, 1s, 0.25) == 40);
  CHECK(least_interval(SaveMode::kAsync, kTimes, 3s, 0.25) == 14);
  // Training stands still for 13 s: 10 of 27 + 13 s are 25 %.
  CHECK(least_interval(SaveMode::kSync, kTimes, 1s, 0.25) == 27);
  CHECK(least_interval(SaveMode::kSync, kTimes, 10s, 0.25) == 3);
  CHECK(least_interval(SaveMode::kSync, kTimes, 1s, 0.9) == 1);  // 10 of 1 + 13 s are 71 %
}

TEST_CASE("checkpoint buffers: each takes every part in turn") {
  CheckpointBuffers buffers;
  CHECK(!buffers.recoverable());
  buffers.begin_snapshot(1);
  CHECK(!buffers.can_begin_snapshot());  // one at a time
  buffers.finish_snapshot();
  CHECK(buffers.persisting() == 1);
  buffers.begin_snapshot(2);
  buffers.finish_snapshot();
  CHECK(buffers.role(1) == Role::kReady);  // waits for storage
  buffers.begin_snapshot(3);
  buffers.finish_persist();
  CHECK(buffers.recoverable() == 1);
  CHECK(buffers.persisting() == 2);
  buffers.finish_snapshot();
  CHECK(buffers.role(0) == Role::kRecovery);
  CHECK(buffers.role(1) == Role::kPersist);
  CHECK(buffers.role(2) == Role::kReady);
  CHECK(!buffers.can_begin_snapshot());  // storage is behind
  buffers.finish_persist();
  CHECK(buffers.recoverable() == 2);
  CHECK(buffers.role(0) == Role::kFree);
  CHECK(buffers.can_begin_snapshot());
}

TEST_CASE("checkpoint buffers: a fault leaves what is in storage, and nothing else") {
  CheckpointBuffers buffers;
  buffers.begin_snapshot(1);
  buffers.finish_snapshot();
  buffers.finish_persist();
  buffers.begin_snapshot(2);
  buffers.finish_snapshot();
  buffers.begin_snapshot(3);
  buffers.discard_unfinished();
  CHECK(buffers.recoverable() == 1);
  CHECK(!buffers.persisting());
  buffers.begin_snapshot(2);  // trained again, saved again
  buffers.finish_snapshot();
  CHECK(buffers.persisting() == 2);
}

TEST_CASE("checkpoint buffers: misuse is our bug") {
  CheckpointBuffers buffers;
  CHECK_THROWS_AS(buffers.finish_snapshot(), InternalError);
  CHECK_THROWS_AS(buffers.finish_persist(), InternalError);
  buffers.begin_snapshot(4);
  CHECK_THROWS_AS(buffers.begin_snapshot(5), InternalError);
  buffers.finish_snapshot();
  CHECK_THROWS_AS(buffers.begin_snapshot(4), InternalError);
}

TEST_CASE("saves through the buffers: begin, reach storage and are lost as by hand") {
  // 3 s to memory, 10 to storage, one due every 4 s: the first is there at 13, the second at 23.
  BufferedSaves saves;
  saves.set_times(kTimes);
  CHECK(saves.begin(1, 0s));
  CHECK(saves.begin(2, 4s));
  CHECK(saves.begin(3, 8s));
  CHECK(!saves.begin(4, 12s));  // one is written, two are ready
  CHECK(!saves.stored(12s));
  CHECK(saves.stored(13s) == 1);
  CHECK(!saves.begin(4, 16s));  // one to recover from, one is written, one is ready
  CHECK(saves.stored(22s) == 1);
  CHECK(saves.begin(4, 24s));
  CHECK(saves.stored(24s) == 2);
  saves.lose_unfinished();
  CHECK(saves.stored(1000s) == 2);
  CHECK(saves.begin(3, 0s));
  CHECK(saves.stored(13s) == 3);
}

namespace {

SimDuration draw(RandomStream& random, std::uint64_t most) {
  return SimDuration{1 + static_cast<std::int64_t>(random.below(most))};
}

// Steps and asynchronous checkpoints that may be longer or shorter.
struct DrawnSaves {
  SimDuration step;
  SaveTiming timing;
};

DrawnSaves draw_saves(RandomStream& random) {
  const SimDuration step = draw(random, 50);
  const SaveTimes times{draw(random, 80), draw(random, 400)};
  return {step, {times, save_stall(SaveMode::kAsync, times, step)}};
}

// Asks for a checkpoint after every `interval` steps.
struct AskedSaves {
  std::int64_t begun = 0;
  std::int64_t refused = 0;
  std::vector<SimDuration> begun_at{};
};

AskedSaves ask(const SaveTiming& timing, SimDuration step, std::int64_t interval, std::int64_t asked) {
  AskedSaves result;
  BufferedSaves saves;
  saves.set_times(timing.times);
  SimDuration now{};
  for (std::int64_t i = 0; i < asked; ++i) {
    now += interval * step;
    if (!saves.begin(result.begun + 1, now)) {
      ++result.refused;
      continue;
    }
    result.begun_at.push_back(now);
    ++result.begun;
    now += timing.stall;
  }
  return result;
}

}  // namespace

TEST_CASE("saves through the buffers: none is left out if storage has T_persist for each, some are if not") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "least interval");
    const auto [step, timing] = draw_saves(random);
    const std::int64_t least = least_buffered_interval(timing, step);
    CHECK(ask(timing, step, least, 200).refused == 0);
    if (least > 1) CHECK(ask(timing, step, least - 1, 2000).refused > 0);
    // least_interval() leaves out that storage also writes while training waits for a snapshot.
    CHECK(least_interval(SaveMode::kAsync, timing.times, step) >= least);
  }
}

TEST_CASE("saves through the buffers: in the long run one begins per T_persist, less a snapshot's wait") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "mean interval");
    const auto [step, timing] = draw_saves(random);
    const auto interval = static_cast<std::int64_t>(1 + random.below(6));
    const AskedSaves asked = ask(timing, step, interval, 5000);
    const double mean = 5000. * static_cast<double>(interval) / static_cast<double>(asked.begun);
    const double predicted = mean_interval(timing, step, interval);
    // Three saves may be under way in the end. Where storage is the limit it may wait for a snapshot that no
    // buffer was free for earlier.
    CHECK(mean >= predicted * (1 - 4. / static_cast<double>(asked.begun)));
    const double waits =
        predicted > static_cast<double>(interval) ? to_seconds(timing.times.snapshot) / to_seconds(step) : 0;
    CHECK(mean <= predicted + waits + 1e-9);
  }
}

TEST_CASE("saves through the buffers: each is in storage after T_snapshot + T_persist") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "lag");
    const SimDuration step = draw(random, 50);
    // Without a stall, which moves later steps.
    const SaveTimes times{std::min(draw(random, 80), step), draw(random, 400)};
    const std::int64_t interval =
        least_interval(SaveMode::kAsync, times, step) + static_cast<std::int64_t>(random.below(4));
    const std::int64_t lag = (times.total() + step - SimDuration{1}) / step;  // in whole steps
    BufferedSaves saves;
    saves.set_times(times);
    std::int64_t last = 0;
    for (std::int64_t at = 1; at <= 40 * interval; ++at) {
      const std::int64_t stored = at <= lag ? 0 : (at - lag) / interval;
      CHECK(saves.stored(at * step).value_or(0) == stored);
      if (at % interval == 0) REQUIRE(saves.begin(++last, at * step));
    }
  }
}

TEST_CASE("O_ckpt: saving, restarts and lost steps") {
  // Every rank writes 600 MB and one of its experts at some checkpoint: 0.7 s to memory, 7 s to storage.
  CheckpointedRun run = hundred_steps();
  run.mode = SaveMode::kSync;
  run.faults = {{25, {}}, {57, FailedRanks{{1}}}};
  const RunCosts costs = run_costs(small_model(), partial(1), kEven, run).value();
  CHECK(costs.times.snapshot == 700ms);
  CHECK(costs.times.persist == 7s);
  CHECK(costs.stall == 7700ms);
  CHECK(costs.overhead.save_s == doctest::Approx(7.7 * 100 / 10));
  // All ranks fail: 1 GB at 0.1 GB/s by each of two, which read 300 MB of what both hold and 200 of experts:
  // 5 s. Then rank 1 alone: the same, while rank 0 has its experts in memory.
  CHECK(costs.restores[0].reads.storage == Bytes{1'000'000'000});
  CHECK(costs.restores[1].reads.storage == Bytes{800'000'000});
  CHECK(costs.restores[0].time == 5s);
  CHECK(costs.restores[1].time == 5s);
  CHECK(costs.overhead.restart_s == 120 + 10);
  CHECK(costs.overhead.lost_s == 5 + 7);
  CHECK(costs.overhead.total_s() == doctest::Approx(77 + 130 + 12));
}

TEST_CASE("O_ckpt: saved asynchronously, a checkpoint costs nothing but its delay in storage") {
  CheckpointedRun run = hundred_steps();
  run.faults = {{25, {}}, {57, FailedRanks{{1}}}};
  const RunCosts costs = run_costs(small_model(), partial(1), kEven, run).value();
  CHECK(costs.stall == 0s);
  CHECK(costs.overhead.save_s == 0);
  // In storage 7.7 s after its step, so with the eighth: step 25 goes back to 10, 57 to 40.
  CHECK(costs.loss.faults[0].recovered_step == 10);
  CHECK(costs.loss.faults[1].recovered_step == 40);
  CHECK(costs.overhead.lost_s == 15 + 17);
}

TEST_CASE("O_ckpt: Dynamic-K pays for larger checkpoints from the recovery on") {
  // Sync: 0.7 + 7 s with K = 1, and 0.8 + 8 s with all four experts. Each rank holds two experts.
  CheckpointedRun run = hundred_steps();
  run.mode = SaveMode::kSync;
  run.faults = {{50, {}}};
  run.dynamic_limit = 0;
  const RunCosts costs = run_costs(small_model(), partial(1), kEven, run).value();
  CHECK(costs.loss.faults[0].k_after == PecLevels{4, 4});
  CHECK(costs.overhead.save_s == doctest::Approx(5 * 7.7 + 5 * 8.8));
}

TEST_CASE("a run that storage cannot follow saves as often as it can") {
  // 0.7 s to memory, 7 s to storage, one due every 6 steps of 1 s: begun after steps 6, 12, 18, 24 (the first
  // three are in storage at 13.7, 20.7, 27.7) and so on; two are ahead of it at most.
  CheckpointedRun run = hundred_steps();
  run.interval = 6;
  run.faults = {{28, {}}};
  const RunCosts costs = run_costs(small_model(), partial(1), kEven, run).value();
  CHECK(costs.least_interval == 7);
  CHECK(costs.mean_interval == 7);
  CHECK(costs.loss.faults[0].recovered_step == 18);
  const RunCosts adps = run_costs(small_model(), partial(1, Sharding::kAdps), kEven, run).value();
  CHECK(adps.least_interval == 4);  // 4 s
  CHECK(adps.mean_interval == 6);
}

TEST_CASE("recommended K: the largest snapshot that hides behind a forward and backward pass") {
  // Two ranks with two experts of 100 MB each, beside 600 MB on every rank: 0.7 s with one expert a rank, 0.8
  // with two. K = 2 copies experts 0 and 2 at once, of both ranks; from 3 on one rank copies both of its own.
  CheckpointedRun run = hundred_steps();
  const auto recommended = [&](SimDuration forward_backward) {
    run.forward_backward = forward_backward;
    return recommended_levels(small_model(), partial(1), kEven, run);
  };
  CHECK(!recommended(699ms));
  CHECK(recommended(700ms) == PecLevels{2, 1});
  CHECK(recommended(800ms) == PecLevels{4, 1});
}

TEST_CASE("rank writes: load-aware selection is looked at over four rotations' worth of checkpoints") {
  // Both ranks in turn where loads are even: the peak is everything else and one expert.
  PartialCheckpoint checkpoint = partial(1);
  checkpoint.selection = ExpertSelection::kLoadAware;
  const RankWrites writes = partial_rank_writes(small_model(), checkpoint, PecLevel::kPersist, kEven);
  CHECK(writes.peak == Bytes{700'000'000});
  CHECK(writes.mean_bytes == doctest::Approx(650e6));
}

TEST_CASE("a run or a rotation of more than can be looked at is refused") {
  CheckpointedRun run = hundred_steps();
  run.mode = SaveMode::kSync;
  run.interval = 1;
  run.steps = 300'000'000;
  run.faults = {{299'999'999, {}}};
  const Result<RunCosts> costs = run_costs(small_model(), partial(1), kEven, run);
  REQUIRE(!costs);
  CHECK(costs.error().message() ==
        "interval is 1, so 3e+08 checkpoints of 4 experts precede the last fault, which is too much to "
        "compute; increase the interval");

  run = hundred_steps();
  run.interval = 1;
  run.steps = 1'000'000;
  run.path.storage = BytesPerSecond{1e3};
  for (std::int64_t step = 100; step <= run.steps; step += 100) run.faults.push_back({step, {}});
  REQUIRE(!run_costs(small_model(), partial(1), kEven, run));

  run = hundred_steps();
  run.steps = 1'000'000'000;
  run.step = 60s;
  const Result<RunCosts> too_long = run_costs(small_model(), partial(1), kEven, run);
  REQUIRE(!too_long);
  CHECK(too_long.error().message() ==
        "the run would take 6e+10 s, more than 5e+09 s; use fewer or shorter steps");

  ModuleBytes modules = small_model();
  modules.experts = 65'536;
  PartialCheckpoint checkpoint = partial(1);
  CHECK(!check_rotation(modules, checkpoint));
  CHECK(check_rotation(modules, checkpoint).error().message() ==
        "goodput would have to compute 65536 checkpoints of 2 ranks and 65536 experts each, which is too "
        "much; use a larger K that divides 65536 (experts per layer), or fewer ranks");
  checkpoint.k = {512, 256};
  CHECK(check_rotation(modules, checkpoint));
}

}  // namespace goodput

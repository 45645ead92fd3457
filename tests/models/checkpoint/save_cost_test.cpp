// What saving costs in time: O_ckpt, the three buffers, whole runs.
#include "models/checkpoint/save_cost.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

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

// When checkpoints, asked for every `interval`, are in storage: through the state machine, event by event.
// A snapshot that finds no buffer waits for one.
std::vector<SimDuration> persisted_at(const SaveTimes& times, SimDuration interval, int checkpoints,
                                      int& waits) {
  constexpr SimDuration kNever{std::numeric_limits<std::int64_t>::max()};
  CheckpointBuffers buffers;
  std::vector<SimDuration> done;
  SimDuration now{0};
  SimDuration snapshot_end = kNever;
  SimDuration persist_end = kNever;
  int next = 0;
  const auto start_persist = [&] {
    if (persist_end == kNever && buffers.persisting()) persist_end = now + times.persist;
  };
  while (std::ssize(done) < checkpoints) {
    const bool is_due = next < checkpoints && now >= next * interval;
    if (is_due && buffers.can_begin_snapshot()) {
      buffers.begin_snapshot(next++);
      snapshot_end = now + times.snapshot;
      continue;
    }
    const SimDuration before = now;
    now = std::min({snapshot_end, persist_end, next < checkpoints && !is_due ? next * interval : kNever});
    if (is_due && now > before) ++waits;
    if (now == persist_end) {
      persist_end = kNever;
      buffers.finish_persist();
      CHECK(buffers.recoverable() == static_cast<std::int64_t>(done.size()));
      done.push_back(now);
      start_persist();
    } else if (now == snapshot_end) {
      snapshot_end = kNever;
      buffers.finish_snapshot();
      start_persist();
    }
  }
  return done;
}

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
  // 13 s, of which training stands still for 2: the checkpoint of step c is there after step c + 11.
  CHECK(persist_lag(SaveMode::kAsync, kTimes, 1s, 1s) == 11);
  CHECK(persist_lag(SaveMode::kSync, kTimes, 1s, 1s) == 0);
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

TEST_CASE(
    "checkpoint buffers: no snapshot waits when storage keeps up with the interval, and some do when not") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "buffers");
    const auto draw = [&] { return SimDuration{1 + static_cast<std::int64_t>(random.below(50))}; };
    const SimDuration interval = draw();
    const SaveTimes times{std::min(draw(), interval), draw()};
    int waits = 0;
    const std::vector<SimDuration> done = persisted_at(times, interval, 60, waits);
    if (times.persist <= interval) {
      CHECK(waits == 0);
      for (std::size_t i = 0; i < done.size(); ++i)
        CHECK(done[i] == static_cast<std::int64_t>(i) * interval + times.total());
    } else if (times.persist * 50 > interval * 60) {
      CHECK(waits > 0);
    }
    // Storage takes one at a time.
    for (std::size_t i = 1; i < done.size(); ++i) CHECK(done[i] - done[i - 1] >= times.persist);
  }
}

TEST_CASE("O_ckpt: saving, restarts and lost steps") {
  // Every rank writes 600 MB and one of its experts at some checkpoint: 0.7 s to memory, 7 s to storage.
  CheckpointedRun run = hundred_steps();
  run.mode = SaveMode::kSync;
  run.faults = {{25, {}}, {57, 1}};
  const RunCosts costs = run_costs(small_model(), partial(1), kEven, run).value();
  CHECK(costs.times.snapshot == 700ms);
  CHECK(costs.times.persist == 7s);
  CHECK(costs.stall == 7700ms);
  CHECK(costs.overhead.save_s == doctest::Approx(7.7 * 100 / 10));
  CHECK(costs.overhead.restart_s == 120);
  CHECK(costs.overhead.lost_s == 5 + 7);
  CHECK(costs.overhead.total_s() == doctest::Approx(77 + 120 + 12));
}

TEST_CASE("O_ckpt: saved asynchronously, a checkpoint costs nothing but its delay in storage") {
  CheckpointedRun run = hundred_steps();
  run.faults = {{25, {}}, {57, 1}};
  const RunCosts costs = run_costs(small_model(), partial(1), kEven, run).value();
  CHECK(costs.stall == 0s);
  CHECK(costs.overhead.save_s == 0);
  // In storage 7.7 s after its step, so with the eighth: step 25 goes back to 10, 57 to 40.
  CHECK(costs.loss.faults[0].recovered_step == 10);
  CHECK(costs.loss.faults[1].recovered_step == 40);
  CHECK(costs.overhead.lost_s == 15 + 17);
}

TEST_CASE("O_ckpt: Dynamic-K pays for larger checkpoints from the recovery on") {
  CheckpointedRun run = hundred_steps();
  run.mode = SaveMode::kSync;
  run.faults = {{50, {}}};
  run.dynamic_limit = 0;
  const RunCosts costs = run_costs(small_model(), partial(2), kEven, run).value();
  CHECK(costs.loss.faults[0].k_after == PecLevels{4, 4});
  // K = 2 saves two experts of one rank at a time, as much as that rank's all: 0.8 + 8 s before and after.
  CHECK(costs.overhead.save_s == doctest::Approx(88));
}

TEST_CASE("a run that storage cannot follow is refused, with the interval that it can") {
  CheckpointedRun run = hundred_steps();
  run.interval = 6;
  const Result<RunCosts> costs = run_costs(small_model(), partial(1), kEven, run);
  REQUIRE(!costs);
  CHECK(costs.error().message() ==
        "interval is 6, but writing a checkpoint to storage with K = 1 takes 7.000 s; use at least 7 steps, "
        "faster storage or smaller shards");
  CHECK(run_costs(small_model(), partial(1, Sharding::kAdps), kEven, run));  // 4 s
}

TEST_CASE("rank writes: load-aware selection is looked at over four rotations' worth of checkpoints") {
  // Both ranks in turn where loads are even: the peak is everything else and one expert.
  PartialCheckpoint checkpoint = partial(1);
  checkpoint.selection = ExpertSelection::kLoadAware;
  const RankWrites writes = partial_rank_writes(small_model(), checkpoint, 1, kEven);
  CHECK(writes.peak == Bytes{700'000'000});
  CHECK(writes.mean_bytes == doctest::Approx(650e6));
}

TEST_CASE("a run or a rotation of more than can be looked at is refused") {
  CheckpointedRun run = hundred_steps();
  run.mode = SaveMode::kSync;
  run.interval = 1;
  run.steps = 1'000'000'000;
  run.faults = {{999'999'999, {}}};
  const Result<RunCosts> costs = run_costs(small_model(), partial(1), kEven, run);
  REQUIRE(!costs);
  CHECK(costs.error().message() ==
        "interval is 1, so 1e+09 checkpoints of 4 experts precede the last fault, which is too much to "
        "compute; increase the interval");

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

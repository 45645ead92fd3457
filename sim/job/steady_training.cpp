#include "sim/job/steady_training.h"

#include <algorithm>

#include "sim/base/errors.h"

namespace goodput {
namespace {

const CheckpointRule& rule_of(const SteadyTraining& training, CheckpointLevel level) {
  return training.rules[static_cast<std::size_t>(level)];
}

// Nanoseconds that may not fit the clock: what there is no time for is compared, not added up.
__extension__ using WideTime = __int128;

WideTime wide_time_of(const SteadyTraining& training, std::int64_t steps) {
  WideTime time = WideTime{steps} * training.step.count();
  for (const CheckpointLevel level : {CheckpointLevel::kMemory, CheckpointLevel::kStorage}) {
    time += WideTime{training.saves(level, steps)} * rule_of(training, level).stall.count();
  }
  return time;
}

}  // namespace

std::int64_t SteadyTraining::saves(CheckpointLevel level, std::int64_t steps) const {
  const std::int64_t interval = rule_of(*this, level).interval;
  if (interval == 0) return 0;
  return (first_step + steps) / interval - first_step / interval;
}

SimDuration SteadyTraining::time_of(std::int64_t steps) const {
  return SimDuration{static_cast<SimDuration::rep>(wide_time_of(*this, steps))};
}

SimDuration SteadyTraining::time_of_last_step(std::int64_t steps) const {
  return steps == 0 ? SimDuration{} : time_of(steps - 1) + step;
}

std::int64_t SteadyTraining::steps_in(SimDuration elapsed) const {
  GOODPUT_CHECK(step > SimDuration{} && elapsed >= SimDuration{},
                "steps must take time, and time must not run backward");
  const CheckpointRule& memory = rule_of(*this, CheckpointLevel::kMemory);
  const CheckpointRule& storage = rule_of(*this, CheckpointLevel::kStorage);
  GOODPUT_CHECK(memory.interval == 0 || storage.interval % memory.interval == 0,
                "the storage checkpoint interval must be a multiple of the in-memory interval");
  // First up to the last save in storage, then to the last one in memory, then the steps behind it. `room`:
  // the step from here that ends with a save which there is no time for any more.
  std::int64_t done = 0;
  std::int64_t room = INT64_MAX;
  for (const CheckpointRule* rule : {&storage, &memory}) {
    if (rule->interval == 0) continue;
    const std::int64_t to_save = rule->interval - (first_step + done) % rule->interval;
    if (wide_time_of(*this, done + to_save) > elapsed.count()) {
      room = to_save;
      continue;
    }
    done += to_save;
    // From one of these saves to the next, as often as there is time and `room`.
    const WideTime trained = wide_time_of(*this, done);
    const WideTime left = elapsed.count() - trained;
    const WideTime cycle = wide_time_of(*this, done + rule->interval) - trained;
    std::int64_t cycles =
        cycle > left ? 0 : static_cast<std::int64_t>(left) / static_cast<std::int64_t>(cycle);
    if (room != INT64_MAX) cycles = std::min(cycles, (room - to_save) / rule->interval - 1);
    done += cycles * rule->interval;
    room = rule->interval;
  }
  return done + std::min<std::int64_t>((elapsed - time_of(done)) / step, room - 1);
}

}  // namespace goodput

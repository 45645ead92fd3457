#include "sim/training_clock.h"

#include <algorithm>

#include "sim/errors.h"

namespace goodput {
namespace {

const CheckpointRule& rule_of(const SteadyTraining& training, CheckpointLevel level) {
  return training.rules[static_cast<std::size_t>(level)];
}

}  // namespace

std::int64_t SteadyTraining::saves(CheckpointLevel level, std::int64_t steps) const {
  const std::int64_t interval = rule_of(*this, level).interval;
  if (interval == 0) return 0;
  return (first_step + steps) / interval - first_step / interval;
}

SimDuration SteadyTraining::time_of(std::int64_t steps) const {
  SimDuration time = steps * step;
  for (const CheckpointLevel level : {CheckpointLevel::kMemory, CheckpointLevel::kStorage}) {
    time += saves(level, steps) * rule_of(*this, level).stall;
  }
  return time;
}

SimDuration SteadyTraining::time_of_last_step(std::int64_t steps) const {
  return steps == 0 ? SimDuration{} : time_of(steps - 1) + step;
}

std::int64_t SteadyTraining::steps_in(SimDuration elapsed) const {
  GOODPUT_CHECK(step > SimDuration{} && elapsed >= SimDuration{}, "steps take time, and time goes forwards");
  const CheckpointRule& memory = rule_of(*this, CheckpointLevel::kMemory);
  const CheckpointRule& storage = rule_of(*this, CheckpointLevel::kStorage);
  GOODPUT_CHECK(memory.interval == 0 || storage.interval % memory.interval == 0,
                "checkpoints in storage are not at every n-th one in memory");
  // First up to the last save in storage, then to the last one in memory, then the steps behind it. `room`:
  // the step from here that ends with a save which there is no time for any more.
  std::int64_t done = 0;
  std::int64_t room = INT64_MAX;
  for (const CheckpointRule* rule : {&storage, &memory}) {
    if (rule->interval == 0) continue;
    const std::int64_t to_save = rule->interval - (first_step + done) % rule->interval;
    SimDuration left = elapsed - time_of(done);
    const bool gets_there = to_save < room && to_save <= left / step;
    if (!gets_there || left < time_of(done + to_save) - time_of(done)) {
      room = std::min(room, to_save);
      continue;
    }
    left -= time_of(done + to_save) - time_of(done);
    done += to_save;
    // From one of these saves to the next, as often as there is time and `room`.
    std::int64_t cycles = 0;
    if (rule->interval <= left / step) cycles = left / (time_of(done + rule->interval) - time_of(done));
    if (room != INT64_MAX) cycles = std::min(cycles, (room - to_save) / rule->interval - 1);
    done += cycles * rule->interval;
    room = rule->interval;
  }
  return done + std::min<std::int64_t>((elapsed - time_of(done)) / step, room - 1);
}

}  // namespace goodput

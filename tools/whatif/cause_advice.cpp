#include "tools/whatif/cause_advice.h"

#include <fmt/format.h>

namespace goodput {

std::string advice(const RootCause& cause, const Recording& recording) {
  if (cause.name == "worker-fault" || cause.name == "slow-replica") {
    const std::string whose =
        cause.workers.size() == 1
            ? fmt::format("the machine of {}", worker_name(recording, cause.workers.front().worker))
            : fmt::format("the machines of {} workers", cause.workers.size());
    return fmt::format("check {}: clocks, memory errors, links; drain what stays slow", whose);
  }
  if (cause.name.starts_with("slow-")) {
    return fmt::format(
        "check what the workers of a {} share: power, cooling, clocks, links; drain it if it stays slow",
        cause.name.substr(5));
  }
  if (cause.name == "stage-partition") {
    return fmt::format("move layers off stage {}: it takes longer than the others in every step",
                       *cause.stage);
  }
  if (cause.name == "sequence-length") {
    return "micro-batches differ in work: balance them by the sum of squared sequence lengths";
  }
  if (cause.name == "gc-pauses") {
    return "workers stop for garbage collection one after the other: collect on all of them at the same "
           "steps";
  }
  if (cause.name == "communication-flap") {
    return "look at the network cards, cables and switch ports of the place named above";
  }
  return "ops are launched late: look at data loading, host load and garbage collection";
}

}  // namespace goodput

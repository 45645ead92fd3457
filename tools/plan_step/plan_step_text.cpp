#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/stack/step_range.h"
#include "sim/base/append.h"
#include "tools/cli/key_notes.h"
#include "tools/plan_step/plan_step_report.h"

namespace goodput {
namespace {

constexpr double kShareWorthNaming = 0.001;

std::string duration_text(SimDuration duration) {
  const double seconds = to_seconds(duration);
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", 1e3 * seconds);
  return fmt::format("{:.1f} us", 1e6 * seconds);
}

SimDuration scaled(SimDuration duration, double factor) {
  return from_seconds(to_seconds(duration) * factor);
}

std::string stack_text(const SoftwareStack& stack) {
  if (stack.name == kDefaultStack) {
    return "Software stack: default, not a specific one (see 'goodput list stacks' and --stack)";
  }
  return fmt::format("Software stack: {}{}", stack.name,
                     stack.release.empty() ? "" : fmt::format(" (numbers from release {})", stack.release));
}

std::string_view precision_text(const ParallelPlan& plan) {
  return plan.has_fp8() || plan.has_32_bits() ? kDtypeNames[static_cast<std::size_t>(plan.dtype)] : "16-bit";
}

// The memory of every stage, several per line. Empty if there is only one, which the verdict describes.
std::string stages_text(const MemoryReport& memory) {
  constexpr std::size_t kStagesPerLine = 8;
  std::string text;
  const std::size_t stages = memory.stages.size();
  for (std::size_t first = 0; stages > 1 && first < stages; first += kStagesPerLine) {
    const std::size_t end = std::min(stages, first + kStagesPerLine);
    append(text, "  {:<22}", fmt::format("  stages {} to {}", first, end - 1));
    for (std::size_t stage = first; stage < end; ++stage)
      append(text, "{}{:.1f}", stage > first ? ", " : " ", in_gib(memory.stages[stage].total()));
    text += " GiB\n";
  }
  return text;
}

}  // namespace

std::string parallel_text(const ParallelPlan& plan) {
  std::string text = fmt::format("DP {} x PP {} x TP {}", plan.dp, plan.pp, plan.tp);
  if (plan.vpp > 1) text += fmt::format(" x VPP {}", plan.vpp);
  if (plan.cp > 1) text += fmt::format(" x CP {}", plan.cp);
  if (plan.ep > 1) text += fmt::format(", EP {}", plan.ep);
  if (plan.ep > 1 && plan.expert_tp() != plan.tp) text += fmt::format(", ETP {}", plan.expert_tp());
  if (plan.zero > 0) text += fmt::format(", ZeRO-{}", plan.zero);
  if (plan.sharding_instances() > 1) text += fmt::format(" in {} instances", plan.zero_instances);
  return text;
}

std::string plan_step_text(const PlanStepResult& result) {
  const auto& [plan, step, report, granularity] = result;
  std::string text;
  const auto line = [&]<typename... Arguments>(fmt::format_string<Arguments...> format,
                                               Arguments&&... arguments) {
    append(text, format, std::forward<Arguments>(arguments)...);
    text += '\n';
  };
  const double total = to_seconds(report.step);
  const StepRange range = range_for(plan.stack, family_of(plan, plan.parallel));
  line("One step of {} on {} x {} takes {} with {}.", plan.model.name, plan.parallel.gpus(),
       plan.cluster.gpu.name, duration_text(report.step), parallel_text(plan.parallel));
  line("{} micro-batches of {} x {} tokens per replica, schedule {}, {} ops{}", plan.parallel.micro_batches(),
       plan.parallel.micro_batch, plan.parallel.sequence_length, plan.parallel.schedule, step.ops.size(),
       step.lanes.lanes() > 1 ? fmt::format(" on each of {} ranks", step.lanes.lanes()) : "");
  text += '\n';
  line("  step                   {:>12}   {:.0f} tokens/s, {:.1f} per GPU", duration_text(report.step),
       report.tokens_per_second, report.tokens_per_second / static_cast<double>(plan.parallel.gpus()));
  line("  80 % range             {:>12}   to {} ({})", duration_text(scaled(report.step, range.low)),
       duration_text(scaled(report.step, range.high)), range.basis);
  line("  MFU                    {:>11.1f}%   HFU {:.1f}% (with recomputation and masked scores), of {} peak",
       100 * report.mfu, 100 * report.hfu, precision_text(plan.parallel));
  line("  bubble                 {:>11.1f}%   idle time of stages, if communication took no time",
       100 * report.bubble);
  line("  exposed communication  {:>12}   {:.1f} % of the step", duration_text(report.exposed_communication),
       100 * to_seconds(report.exposed_communication) / total);
  if (report.over_nics) {
    line("  with shared NICs       {:>12}   {:+.1f} %: concurrent transfers share a GPU's NIC",
         duration_text(*report.over_nics), 100 * (to_seconds(*report.over_nics) / total - 1));
  }
  line("  memory                 {}", report.memory.verdict());
  text += stages_text(report.memory);
  text += "\nOn the critical path\n";
  for (const CriticalShare& share : report.critical) {
    const double part = to_seconds(share.time) / total;
    if (part < kShareWorthNaming) continue;
    line("  {:<40} {:>12} {:>6.1f} %", share.label, duration_text(share.time), 100 * part);
  }
  text += '\n';
  if (const std::string unused = key_notes_text(plan.unused, plan.file); !unused.empty())
    text += unused + '\n';
  line("{}", stack_text(plan.stack));
  line("Lowest tier: {} (cost model {})", to_string(report.tier), plan.cost_model);
  return text;
}

}  // namespace goodput

#include "tools/cmd_list.h"
#include "tools/cmd_plan_step.h"
#include "tools/cmd_synth.h"
#include "tools/cmd_trace.h"
#include "tools/cmd_whatif.h"
#include "tools/command.h"

namespace goodput {

std::vector<CommandInfo> builtin_commands() {
  return {
      {"whatif", "what stragglers cost a recorded job, and whose fault it is",
       "goodput whatif trace.parquet --meta meta.yaml\n"
       "  goodput whatif host*.csv.gz --fix 'worker=2:3' --heatmap slow.svg --json result.json",
       make_whatif_command},
      {"plan-step", "what one training step of a plan takes, and where the time goes",
       "goodput plan-step configs/plans/gpt3-175b-1024-a100.json\n"
       "  goodput plan-step configs/plans/megatron_a100.json --batch rows.csv > predicted.csv",
       make_plan_step_command},
      {"synth", "a trace of a job that never ran, with known stragglers, and the truth about it",
       "goodput synth plan.json --out trace.parquet --steps 20 --seed 1\n  goodput whatif trace.parquet",
       make_synth_command},
      {"trace", "what a trace file holds; convert between formats",
       "goodput trace info trace.parquet\n  goodput trace convert trace.csv.gz trace.parquet",
       make_trace_command},
      {"list", "what is built in, one line each", "goodput list formats", make_list_command},
  };
}

}  // namespace goodput

#include "tools/checkpoint/cmd_checkpoint.h"
#include "tools/cli/command.h"
#include "tools/cmd_list.h"
#include "tools/placement/cmd_placement.h"
#include "tools/plan/cmd_plan_step.h"
#include "tools/routing/cmd_routing.h"
#include "tools/simulate/cmd_simulate.h"
#include "tools/synth/cmd_synth.h"
#include "tools/trace/cmd_trace.h"
#include "tools/whatif/cmd_whatif.h"

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
      {"placement", "where the experts of an MoE model go, and how many lost nodes that survives",
       "goodput placement --nodes 10 --slots 6 --loads 400,300,120,90,50,40,30,20\n"
       "  goodput placement --nodes 10 --slots 6 --loads routing.csv.gz --iteration 201 --layers 0-11 --top "
       "16",
       make_placement_command},
      {"checkpoint",
       "how large a model's checkpoints are, whole, partial and sharded, and what they cost a run",
       "goodput checkpoint configs/models/gpt2-moe-small.json --pec-k 1 --sharding adps\n"
       "  goodput checkpoint configs/models/gpt-s.json --bytes-per-param 14 --pec-k 2 --interval 50 "
       "--faults 1200,3400:5",
       make_checkpoint_command},
      {"simulate", "how far a job gets while nodes fail, by recovery policy, and where its time goes",
       "goodput simulate configs/scenarios/controlled-5min-gpt-s.json\n"
       "  goodput simulate configs/scenarios/spot-p3-gpt-l.json --policy lazarus --trials 100 --set "
       "/failures/to_s=2400",
       make_simulate_command},
      {"trace", "what a trace file holds; convert between formats",
       "goodput trace info trace.parquet\n  goodput trace convert trace.csv.gz trace.parquet",
       make_trace_command},
      {"routing",
       "how unevenly a router loads its experts, and how fast that changes; traces with such loads",
       "goodput routing info loads.csv.gz --layers 0-11 --top 8 --iteration 201\n"
       "  goodput routing synth configs/routing/smartmoe-like.json --out loads.csv.gz --seed 1",
       make_routing_command},
      {"list", "what is built in, one line each", "goodput list formats", make_list_command},
  };
}

}  // namespace goodput

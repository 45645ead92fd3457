#include "tools/cmd_list.h"
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
      {"trace", "what a trace file holds; convert between formats",
       "goodput trace info trace.parquet\n  goodput trace convert trace.csv.gz trace.parquet",
       make_trace_command},
      {"list", "what is built in, one line each", "goodput list formats", make_list_command},
  };
}

}  // namespace goodput

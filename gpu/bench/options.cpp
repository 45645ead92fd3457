#include "gpu/bench/options.h"

#include "gpu/bench/option_kinds.h"

namespace goodput::gpu::bench {
namespace {

std::vector<OptionKind<Options>> option_kinds() {
  return {
      {"--quick", nullptr, "small shapes and few samples: a smoke test, no figures",
       [](Options& options, const std::string&) { options.sizes = Sizes::kQuick; }},
      {"--only", "SUBSTRING", "only points with this in 'OP SHAPE PATH'",
       [](Options& options, const std::string& value) { options.only = value; }},
      {"--json", "FILE", "write the results there too, replaced whole after every point",
       [](Options& options, const std::string& value) { options.json_file = not_empty("--json", value); }},
      {"--date", "TEXT", "date of the run in the results; default: the clock's, UTC",
       [](Options& options, const std::string& value) { options.date = not_empty("--date", value); }},
      {"--deadline-s", "N", "begin no sample after so many seconds; default 600",
       [](Options& options, const std::string& value) {
         options.deadline_s = positive_number("--deadline-s", value);
       }},
      {"--help", nullptr, "this text", [](Options& options, const std::string&) { options.help = true; }},
  };
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  return parse_arguments(option_kinds(), arguments);
}

std::string help_text() {
  return "usage: dispatch_bench [options]\n"
         "Times the kernels of the token dispatcher on the current GPU against what copying costs "
         "there.\n\n" +
         options_text(option_kinds()) +
         "\nexit status: 0; 1 bad options or an error; 2 wrong results or a point that failed; 77 no GPU to "
         "use\n";
}

}  // namespace goodput::gpu::bench

#include "gpu/bench/options.h"

#include "gpu/bench/option_kinds.h"

namespace goodput::gpu::bench {
namespace {

std::vector<OptionKind<Options>> option_kinds() {
  return {
      {"--quick", nullptr, "Small shapes and few samples: a smoke test, not a measurement",
       [](Options& options, const std::string&) { options.sizes = Sizes::kQuick; }},
      {"--only", "SUBSTRING", "Only points whose 'OP SHAPE PATH' contains SUBSTRING",
       [](Options& options, const std::string& value) { options.only = value; }},
      {"--json", "FILE", "Also write the results to FILE, which is replaced after every point",
       [](Options& options, const std::string& value) { options.json_file = not_empty("--json", value); }},
      {"--date", "TEXT", "Date of the run in the results (default: the current time, UTC)",
       [](Options& options, const std::string& value) { options.date = not_empty("--date", value); }},
      {"--deadline-s", "N", "Start no sample after N seconds (default 600)",
       [](Options& options, const std::string& value) {
         options.deadline_s = positive_number("--deadline-s", value);
       }},
      {"--help", nullptr, "Show this help",
       [](Options& options, const std::string&) { options.help = true; }},
  };
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  return parse_arguments(option_kinds(), arguments);
}

std::string help_text() {
  return "usage: dispatch_bench [options]\nTimes the kernels of the token dispatcher on the current GPU and "
         "compares them with plain copies.\n\n" +
         options_text(option_kinds()) +
         "\nexit status: 0 success; 1 bad options or an error; 2 wrong results or a failed point; 77 no "
         "usable GPU\n";
}

}  // namespace goodput::gpu::bench

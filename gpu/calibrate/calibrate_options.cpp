#include "gpu/calibrate/calibrate_options.h"

#include <cstdint>
#include <stdexcept>

#include "gpu/bench/option_kinds.h"

namespace goodput::gpu::calibrate {
namespace {

using bench::OptionKind;

constexpr std::int64_t kMostRanks = 1024;
constexpr std::int64_t kMostRounds = 100;

std::vector<OptionKind<CalibrateOptions>> calibrate_option_kinds() {
  return {
      {"--out", "FILE", "the calibration file; FILE.journal is what it is made of",
       [](CalibrateOptions& options, const std::string& value) {
         options.out = bench::not_empty("--out", value);
       }},
      {"--resume", nullptr, "go on with FILE.journal, or begin where there is none",
       [](CalibrateOptions& options, const std::string&) { options.resume = true; }},
      {"--only", "SUBSTRING",
       "only points with this in 'SWEEP OP PARAMS SIZE', as --list and the run print them",
       [](CalibrateOptions& options, const std::string& value) { options.only = value; }},
      {"--deadline-s", "N", "begin no sample after so many seconds; default 480",
       [](CalibrateOptions& options, const std::string& value) {
         options.deadline_s = bench::positive_number("--deadline-s", value);
       }},
      {"--rounds", "N", "visits to every point; default 2",
       [](CalibrateOptions& options, const std::string& value) {
         options.rounds = static_cast<int>(bench::whole_number("--rounds", value, 1, kMostRounds));
       }},
      {"--seed", "N", "of the order of points in a round; default 1",
       [](CalibrateOptions& options, const std::string& value) {
         options.seed = static_cast<std::uint64_t>(bench::whole_number("--seed", value, 0, INT64_MAX));
       }},
      {"--ranks", "N", "GPUs of collectives; default: all that there are",
       [](CalibrateOptions& options, const std::string& value) {
         options.ranks = static_cast<std::int32_t>(bench::whole_number("--ranks", value, 1, kMostRanks));
       }},
      {"--id-file", "FILE",
       "collectives only, of the ranks that torchrun or Slurm has started: where they find each other",
       [](CalibrateOptions& options, const std::string& value) {
         options.id_file = bench::not_empty("--id-file", value);
       }},
      {"--quick", nullptr, "small sizes and few samples: a smoke test, no figures",
       [](CalibrateOptions& options, const std::string&) { options.sizes = bench::Sizes::kQuick; }},
      {"--list", nullptr, "what would be measured, and about how long that takes; needs no GPU",
       [](CalibrateOptions& options, const std::string&) { options.list = true; }},
      {"--date", "TEXT", "date of the run in the file; default: the clock's, UTC",
       [](CalibrateOptions& options, const std::string& value) {
         options.date = bench::not_empty("--date", value);
       }},
      {"--help", nullptr, "this text",
       [](CalibrateOptions& options, const std::string&) { options.help = true; }},
  };
}

}  // namespace

CalibrateOptions parse_calibrate_options(const std::vector<std::string>& arguments) {
  CalibrateOptions options = bench::parse_arguments(calibrate_option_kinds(), arguments);
  if (options.out.empty() && !options.list && !options.help) {
    throw std::invalid_argument("--out FILE is missing; see --help");
  }
  if (options.ranks != 0 && !options.id_file.empty()) {
    throw std::invalid_argument(
        "--ranks and --id-file exclude each other: with an id file the environment says how many");
  }
  return options;
}

std::string calibrate_help() {
  return "usage: goodput-calibrate --out FILE [options]\n"
         "Measures this machine's GPU, and writes what the simulator reads (goodput.calibration/1).\n"
         "FILE is made anew every half minute and at the end, also when the program is told to stop "
         "(SIGTERM):\n"
         "it is valid at any time.\n\n" +
         bench::options_text(calibrate_option_kinds()) +
         "\nexit status: 0; 1 bad options or an error; 2 wrong results or a point that failed; 77 no GPU to "
         "use;\n128 + signal: told to stop\n";
}

std::vector<std::string> arguments_that_count(const CalibrateOptions& options) {
  std::vector<std::string> arguments{"--rounds", std::to_string(options.rounds), "--seed",
                                     std::to_string(options.seed)};
  if (options.sizes == bench::Sizes::kQuick) arguments.emplace_back("--quick");
  if (!options.only.empty()) {
    arguments.emplace_back("--only");
    arguments.push_back(options.only);
  }
  if (options.ranks != 0) {
    arguments.emplace_back("--ranks");
    arguments.push_back(std::to_string(options.ranks));
  }
  return arguments;
}

}  // namespace goodput::gpu::calibrate

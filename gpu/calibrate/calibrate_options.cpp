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
      {"--out", "FILE", "Calibration file, which is made from FILE.journal",
       [](CalibrateOptions& options, const std::string& value) {
         options.out = bench::not_empty("--out", value);
       }},
      {"--resume", nullptr, "Continue FILE.journal, or start a new one if there is none",
       [](CalibrateOptions& options, const std::string&) { options.resume = true; }},
      {"--only", "SUBSTRING",
       "Only points whose 'SWEEP OP PARAMS SIZE', as --list and the run print it, contains SUBSTRING",
       [](CalibrateOptions& options, const std::string& value) { options.only = value; }},
      {"--deadline-s", "N", "Start no sample after N seconds (default 480)",
       [](CalibrateOptions& options, const std::string& value) {
         options.deadline_s = bench::positive_number("--deadline-s", value);
       }},
      {"--rounds", "N", "Number of visits to every point (default 2)",
       [](CalibrateOptions& options, const std::string& value) {
         options.rounds = static_cast<int>(bench::whole_number("--rounds", value, 1, kMostRounds));
       }},
      {"--seed", "N", "Seed of the order of points in a round (default 1)",
       [](CalibrateOptions& options, const std::string& value) {
         options.seed = static_cast<std::uint64_t>(bench::whole_number("--seed", value, 0, INT64_MAX));
       }},
      {"--ranks", "N", "Number of GPUs for collectives (default: all)",
       [](CalibrateOptions& options, const std::string& value) {
         options.ranks = static_cast<std::int32_t>(bench::whole_number("--ranks", value, 1, kMostRanks));
       }},
      {"--id-file", "FILE",
       "Measure only collectives, as one of the ranks that torchrun or Slurm started; the ranks find each "
       "other through FILE",
       [](CalibrateOptions& options, const std::string& value) {
         options.id_file = bench::not_empty("--id-file", value);
       }},
      {"--quick", nullptr, "Small sizes and few samples: a smoke test, not a measurement",
       [](CalibrateOptions& options, const std::string&) { options.sizes = bench::Sizes::kQuick; }},
      {"--list", nullptr, "List what would be measured and about how long that takes; needs no GPU",
       [](CalibrateOptions& options, const std::string&) { options.list = true; }},
      {"--date", "TEXT", "Date of the run in the file (default: the current time, UTC)",
       [](CalibrateOptions& options, const std::string& value) {
         options.date = bench::not_empty("--date", value);
       }},
      {"--help", nullptr, "Show this help",
       [](CalibrateOptions& options, const std::string&) { options.help = true; }},
  };
}

}  // namespace

CalibrateOptions parse_calibrate_options(const std::vector<std::string>& arguments) {
  CalibrateOptions options = bench::parse_arguments(calibrate_option_kinds(), arguments);
  if (options.out.empty() && !options.list && !options.help) {
    throw std::invalid_argument("--out FILE is required; see --help");
  }
  if (options.ranks != 0 && !options.id_file.empty()) {
    throw std::invalid_argument(
        "--ranks and --id-file cannot be combined: with an id file, the environment sets the number of "
        "ranks");
  }
  return options;
}

std::string calibrate_help() {
  return "usage: goodput-calibrate --out FILE [options]\nMeasures this machine's GPU and writes a "
         "calibration file for the simulator (goodput.calibration/1).\nFILE is rewritten every half minute "
         "and at the end, also after SIGTERM. It is valid at any time.\n\n" +
         bench::options_text(calibrate_option_kinds()) +
         "\nexit status: 0 success; 1 bad options or an error; 2 wrong results or a failed point; 77 no "
         "usable GPU;\n128 + signal number: stopped by a signal\n";
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

#include "gpu/nccl/test/check_options.h"

#include <cstdint>
#include <stdexcept>

namespace goodput::gpu::testing {
namespace {

constexpr std::int32_t kMostRanks = 64;
constexpr std::int32_t kMostSeconds = 9999;

std::int32_t parse_number(const std::string& option, const std::string& text, std::int32_t most) {
  const bool is_number =
      !text.empty() && text.size() <= 4 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::int32_t number = is_number ? std::stoi(text) : 0;
  if (number >= 1 && number <= most) return number;
  throw std::invalid_argument(option + " must be from 1 to " + std::to_string(most) + ", not '" + text + "'");
}

}  // namespace

CheckOptions parse_check_options(int argc, const char* const* argv) {
  CheckOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw std::invalid_argument(option + " needs a value");
      return argv[++i];
    };
    if (option == "--ranks") {
      options.ranks = parse_number(option, value(), kMostRanks);
    } else if (option == "--deadline-s") {
      options.deadline = std::chrono::seconds(parse_number(option, value(), kMostSeconds));
    } else if (option == "--only") {
      options.only = value();
    } else if (option == "--id-file") {
      options.id_file = value();
    } else if (option == "--list") {
      options.list = true;
    } else if (option == "--help") {
      options.help = true;
    } else {
      throw std::invalid_argument("unknown option: " + option);
    }
  }
  if (!options.id_file.empty() && options.ranks != 0) {
    throw std::invalid_argument(
        "--ranks and --id-file cannot be combined: with an id file, the environment sets the number of "
        "ranks");
  }
  return options;
}

std::string check_usage(const std::string& program) {
  const bool is_loopback = program == "nccl_loopback";
  std::string usage =
      "usage: " + program + " [--ranks N] [--deadline-s S] [--only SUBSTRING] [--list]" +
      (is_loopback ? "\n" : " [--id-file FILE]\n") + "  --ranks N         Number of processes, " +
      (is_loopback ? "all on the first GPU (default 2)\n" : "one per GPU (default: all GPUs)\n") +
      "  --deadline-s S    Timeout of every wait in seconds (default 60)\n  --only SUBSTRING  Only checks "
      "whose name contains SUBSTRING\n  --list            List the names of the checks\n";
  if (!is_loopback) {
    usage +=
        "  --id-file FILE    Run as one rank, given by RANK and WORLD_SIZE or by SLURM_PROCID and "
        "SLURM_NTASKS;\n                    the ranks find each other through FILE, which all must be able "
        "to see\n";
  }
  return usage;
}

}  // namespace goodput::gpu::testing

#include "gpu/bench/options.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <stdexcept>

namespace goodput::gpu::bench {
namespace {

struct OptionKind {
  const char* name;
  const char* value_name;  // null: takes none
  const char* help;
  std::function<void(Options&, const std::string& value)> set;
};

double positive_number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number) || number <= 0) {
    throw std::invalid_argument(option + " is '" + text + "', must be a positive number");
  }
  return number;
}

std::string not_empty(const std::string& option, const std::string& text) {
  if (text.empty()) throw std::invalid_argument(option + " must not be empty");
  return text;
}

std::vector<OptionKind> option_kinds() {
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

const OptionKind& kind_of(const std::vector<OptionKind>& kinds, const std::string& argument) {
  for (const OptionKind& kind : kinds) {
    if (argument == kind.name) return kind;
  }
  const bool is_option = argument.rfind('-', 0) == 0;
  throw std::invalid_argument((is_option ? "unknown option '" : "unexpected argument '") + argument +
                              "'; see --help");
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  const std::vector<OptionKind> kinds = option_kinds();
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const OptionKind& kind = kind_of(kinds, arguments[i]);
    if (kind.value_name == nullptr) {
      kind.set(options, "");
      continue;
    }
    if (++i == arguments.size()) throw std::invalid_argument(std::string(kind.name) + " needs a value");
    kind.set(options, arguments[i]);
  }
  return options;
}

std::string help_text() {
  std::string text =
      "usage: dispatch_bench [options]\n"
      "Times the kernels of the token dispatcher on the current GPU against what copying costs there.\n\n";
  for (const OptionKind& kind : option_kinds()) {
    std::string usage = std::string("  ") + kind.name;
    if (kind.value_name != nullptr) usage += std::string(" ") + kind.value_name;
    usage.resize(usage.size() < 22 ? 22 : usage.size() + 1, ' ');
    text += usage + kind.help + "\n";
  }
  return text +
         "\nexit status: 0; 1 bad options or an error; 2 wrong results or a point that failed; 77 no GPU to "
         "use\n";
}

}  // namespace goodput::gpu::bench

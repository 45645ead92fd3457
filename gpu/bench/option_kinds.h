// The command line of a program as a list of options. Host only.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace goodput::gpu::bench {

template <class Options>
struct OptionKind {
  const char* name;
  const char* value_name;  // null: takes none
  const char* help;
  std::function<void(Options&, const std::string& value)> set;
};

inline double positive_number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number) || number <= 0) {
    throw std::invalid_argument(option + " must be a positive number, not '" + text + "'");
  }
  return number;
}

// From `least` to `most`.
inline std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t least,
                                 std::int64_t most) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < least || number > most) {
    throw std::invalid_argument(option + " must be a whole number from " + std::to_string(least) + " to " +
                                std::to_string(most) + ", not '" + text + "'");
  }
  return number;
}

inline std::string not_empty(const std::string& option, const std::string& text) {
  if (text.empty()) throw std::invalid_argument(option + " must not be empty");
  return text;
}

// `arguments` without the name of the program. Throws std::invalid_argument with one line for a person.
template <class Options>
Options parse_arguments(const std::vector<OptionKind<Options>>& kinds,
                        const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const OptionKind<Options>* found = nullptr;
    for (const OptionKind<Options>& kind : kinds) {
      if (arguments[i] == kind.name) found = &kind;
    }
    if (found == nullptr) {
      const bool is_option = arguments[i].rfind('-', 0) == 0;
      throw std::invalid_argument((is_option ? "unknown option '" : "unexpected argument '") + arguments[i] +
                                  "'; see --help");
    }
    if (found->value_name == nullptr) {
      found->set(options, "");
      continue;
    }
    if (++i == arguments.size()) throw std::invalid_argument(std::string(found->name) + " needs a value");
    found->set(options, arguments[i]);
  }
  return options;
}

// A line an option.
template <class Options>
std::string options_text(const std::vector<OptionKind<Options>>& kinds) {
  std::string text;
  for (const OptionKind<Options>& kind : kinds) {
    std::string usage = std::string("  ") + kind.name;
    if (kind.value_name != nullptr) usage += std::string(" ") + kind.value_name;
    usage.resize(usage.size() < 22 ? 22 : usage.size() + 1, ' ');
    text += usage + kind.help + "\n";
  }
  return text;
}

}  // namespace goodput::gpu::bench

#include "tools/simulate/policy_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr double kLeastTimeout = 0.001;
constexpr double kMostTimeout = 86400;

// As names in files are: those of results, of JSON.
bool is_utf8(const std::string& text) {
  return Json::accept("\"" + text + "\"");
}

// "mine=python3 mine.py"
Result<PolicyCommand> parse_command(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    return Error{
        fmt::format("--policy-command {}: expected NAME=COMMAND, for example "
                    "--policy-command mine='python3 mine.py'",
                    on_one_line(text))};
  }
  PolicyCommand command{text.substr(0, equals), text.substr(equals + 1)};
  if (const std::string fault = fault_of_name(command.name); !fault.empty())
    return Error{fmt::format("--policy-command {}: the name {}", on_one_line(text), fault)};
  if (command.name.find_first_of("\"\\") != std::string::npos || !is_utf8(command.name))
    return Error{fmt::format("--policy-command {}: the name must be UTF-8 without quotes or backslashes",
                             on_one_line(text))};
  return command;
}

}  // namespace

void PolicyCommandOptions::configure(Options& options) {
  options
      .add("--policy-command", commands, "NAME=COMMAND",
           "Also run your own policy: a command for /bin/sh that starts a program which answers lines of "
           "JSON; the program gets the options of policy NAME in the scenario; repeatable")
      .one_value_each();
  options.add("--policy-timeout-s", timeout_s, "SECONDS",
              "Time limit for each answer of a --policy-command program (default 10)");
}

Result<std::vector<PolicyCommand>> PolicyCommandOptions::read() const {
  if (!(timeout_s >= kLeastTimeout && timeout_s <= kMostTimeout)) {
    return Error{fmt::format("--policy-timeout-s must be a number from {:g} to {:g}, not {:g}", kLeastTimeout,
                             kMostTimeout, timeout_s)};
  }
  std::vector<PolicyCommand> all;
  for (const std::string& text : commands) {
    GOODPUT_TRY(PolicyCommand command, parse_command(text));
    const bool is_there = std::any_of(all.begin(), all.end(), [&command](const PolicyCommand& other) {
      return other.name == command.name;
    });
    if (is_there)
      return Error{fmt::format("--policy-command: the name {} is given twice", in_quotes(command.name))};
    command.timeout = std::chrono::milliseconds{static_cast<std::int64_t>(timeout_s * 1000)};
    all.push_back(std::move(command));
  }
  return all;
}

}  // namespace goodput

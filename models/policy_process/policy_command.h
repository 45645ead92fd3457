// A recovery policy that is a program of the user's: it answers the calls of RecoveryPolicy as lines of JSON
// (docs/formats/policy-process.md).
#pragma once

#include <chrono>
#include <string>

namespace goodput {

// Only ever from the command line: no file that somebody sent runs a program.
struct PolicyCommand {
  std::string name{};                         // of the policy, in results and among the options of a scenario
  std::string command{};                      // of /bin/sh
  std::chrono::milliseconds timeout{10'000};  // of every answer
};

// What results call such policies, in place of a name of recovery_policies().
inline constexpr const char* kCommandPolicy = "command";

// The lines of this program and of those that fit it.
inline constexpr int kPolicyProtocol = 1;

}  // namespace goodput

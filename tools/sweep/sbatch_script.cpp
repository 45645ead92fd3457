#include "tools/sweep/sbatch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace goodput {
namespace {

// One word of a shell.
std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=,:+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

std::uint64_t sbatch_tasks(std::uint64_t points) {
  constexpr std::uint64_t kPointsOfTask = 500;
  constexpr std::uint64_t kMostTasks = 1000;  // MaxArraySize of Slurm is 1001
  return std::clamp<std::uint64_t>((points + kPointsOfTask - 1) / kPointsOfTask, 1, kMostTasks);
}

std::string sbatch_script(const SbatchJob& job) {
  std::string command = shell_word(job.program);
  for (const std::string& argument : job.arguments) command += " " + shell_word(argument);
  return fmt::format(R"(#!/bin/bash
#SBATCH --job-name=goodput-sweep
#SBATCH --array=0-{}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append

cd {} || exit 1
{} --jobs "${{SLURM_CPUS_PER_TASK:-1}}"
code=$?

# Requeue a task that was killed (out of memory, or by hand), so that it resumes; at most 3 times.
if [ "$code" -eq 137 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt 3 ]; then
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
  sleep 60 # until Slurm stops this script
fi
exit "$code"
)",
                     job.tasks - 1, shell_word(job.folder), command);
}

}  // namespace goodput

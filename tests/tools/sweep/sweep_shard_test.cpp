// Which part of a sweep a process runs: what it is told, or what Slurm says.
#include "tools/sweep/sweep_shard.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <sstream>
#include <string>

namespace goodput {
namespace {

using Variables = std::map<std::string, std::string>;

// "I/N", or why not.
std::string chosen_shard(const std::string& option, const Variables& variables) {
  std::ostringstream ignored;
  const Environment environment = [&variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string{} : found->second;
  };
  const CommandContext context{{}, ignored, ignored, {}, environment, {}};
  const auto shard = choose_shard(option, context);
  return shard ? fmt::format("{}/{}", shard->index, shard->count) : shard.error().message();
}

}  // namespace

TEST_CASE("sweep shard: all of it, unless told otherwise") {
  CHECK(chosen_shard("", {}) == "0/1");
  CHECK(chosen_shard("3/8", {}) == "3/8");
}

TEST_CASE("sweep shard: a task of an array, from wherever its numbers start") {
  const Variables task = {{"SLURM_JOB_ID", "7"},
                          {"SLURM_ARRAY_TASK_ID", "12"},
                          {"SLURM_ARRAY_TASK_COUNT", "5"},
                          {"SLURM_ARRAY_TASK_MIN", "10"}};
  CHECK(chosen_shard("", task) == "2/5");
  CHECK(chosen_shard("0/3", task) == "0/3");
  Variables stepped = task;
  stepped["SLURM_ARRAY_TASK_STEP"] = "2";
  CHECK(chosen_shard("", stepped) == "1/5");
  // --array=10,12,19 has no equal steps.
  Variables uneven = task;
  uneven["SLURM_ARRAY_TASK_ID"] = "19";
  CHECK(chosen_shard("", uneven) ==
        "environment variable SLURM_ARRAY_TASK_ID is 19, which is not one of 5 evenly spaced task IDs that "
        "start at 10; use evenly spaced IDs, or --shard I/N");
}

TEST_CASE("sweep shard: a task of a step; the script of a job is no task") {
  Variables step = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}};
  CHECK(chosen_shard("", step) == "3/4");
  step.erase("SLURM_STEP_ID");
  CHECK(chosen_shard("", step) == "0/1");
  step.erase("SLURM_JOB_ID");
  CHECK(chosen_shard("", step) == "3/4");
  // salloc has no rank.
  CHECK(chosen_shard("", {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}}) == "0/1");
  CHECK(chosen_shard("", {{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "4"}}) ==
        "environment variable SLURM_PROCID is 4, but there are only 4 tasks; use --shard I/N");
}

TEST_CASE("sweep shard: a step in a task of an array has its own parts") {
  CHECK(chosen_shard("", {{"SLURM_JOB_ID", "7"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_ARRAY_TASK_ID", "1"},
                          {"SLURM_ARRAY_TASK_COUNT", "3"},
                          {"SLURM_ARRAY_TASK_MIN", "0"},
                          {"SLURM_PROCID", "3"},
                          {"SLURM_NTASKS", "4"}}) == "7/12");
}

TEST_CASE("sweep shard: what is none") {
  const auto want = [](const std::string& option) {
    return "--shard " + option + ": expected I/N, part I of N counted from 0, for example 0/4 to 3/4";
  };
  for (const std::string option : {"4/4", "-1/4", "1", "a/b", "1/0", "0/1000000", "1/2/3"})
    CHECK(chosen_shard(option, {}) == want(option));
  CHECK(chosen_shard("", {{"SLURM_ARRAY_TASK_ID", "x"}}) ==
        "environment variable SLURM_ARRAY_TASK_ID must be a whole number, not \"x\"; correct it, or use "
        "--shard I/N");
}

}  // namespace goodput

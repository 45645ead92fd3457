#include "tools/sweep/sweep_shard.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::uint64_t kMostGivenShards = 100'000;

// What a variable of Slurm says; nothing: it is not set.
Result<std::optional<std::uint64_t>> slurm_number(const CommandContext& context, const std::string& name) {
  const std::string text = context.variable(name);
  if (text.empty()) return std::optional<std::uint64_t>{};
  const auto number = parse_integer(text);
  if (number && *number >= 0) return std::optional(static_cast<std::uint64_t>(*number));
  return Error{
      fmt::format("environment variable {} must be a whole number, not {}; correct it, or use --shard I/N",
                  name, in_quotes(text))};
}

// Task `id` of `count`, whose ids begin with `first` and are `step` apart.
Result<Shard> shard_of_task(std::uint64_t id, std::uint64_t count, std::uint64_t first, std::uint64_t step) {
  if (count > 0 && step > 0 && id >= first && (id - first) % step == 0 && (id - first) / step < count)
    return Shard{(id - first) / step, count};
  return Error{
      fmt::format("environment variable SLURM_ARRAY_TASK_ID is {}, which is not one of {} evenly spaced task "
                  "IDs that start at {}; use evenly spaced IDs, or --shard I/N",
                  id, count, first)};
}

Result<Shard> shard_of_array(const CommandContext& context) {
  GOODPUT_TRY(const auto id, slurm_number(context, "SLURM_ARRAY_TASK_ID"));
  if (!id) return Shard{};
  GOODPUT_TRY(const auto count, slurm_number(context, "SLURM_ARRAY_TASK_COUNT"));
  GOODPUT_TRY(const auto first, slurm_number(context, "SLURM_ARRAY_TASK_MIN"));
  GOODPUT_TRY(const auto step, slurm_number(context, "SLURM_ARRAY_TASK_STEP"));
  return shard_of_task(*id, count.value_or(1), first.value_or(0), step.value_or(1));
}

// Of a step that srun starts. The script of a job has the same variables, and is alone: it has no step.
Result<Shard> shard_of_step(const CommandContext& context) {
  const bool is_script =
      !context.variable("SLURM_JOB_ID").empty() && context.variable("SLURM_STEP_ID").empty();
  GOODPUT_TRY(const auto rank, slurm_number(context, "SLURM_PROCID"));
  GOODPUT_TRY(const auto tasks, slurm_number(context, "SLURM_NTASKS"));
  if (is_script || !rank || !tasks) return Shard{};
  if (*rank < *tasks) return Shard{*rank, *tasks};
  return Error{
      fmt::format("environment variable SLURM_PROCID is {}, but there are only {} tasks; use --shard I/N",
                  *rank, *tasks)};
}

}  // namespace

Result<Shard> choose_shard(const std::string& option, const CommandContext& context) {
  if (option.empty()) {
    GOODPUT_TRY(const Shard task, shard_of_array(context));
    GOODPUT_TRY(const Shard of_task, shard_of_step(context));
    return Shard{task.index * of_task.count + of_task.index, task.count * of_task.count};
  }
  const std::size_t slash = option.find('/');
  const auto index = parse_integer(std::string_view(option).substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : parse_integer(std::string_view(option).substr(slash + 1));
  if (index && count && *index >= 0 && *index < *count &&
      *count <= static_cast<std::int64_t>(kMostGivenShards))
    return Shard{static_cast<std::uint64_t>(*index), static_cast<std::uint64_t>(*count)};
  return Error{fmt::format("--shard {}: expected I/N, part I of N counted from 0, for example 0/4 to 3/4",
                           on_one_line(option))};
}

bool is_requeued(const CommandContext& context) {
  const auto restarts = parse_integer(context.variable("SLURM_RESTART_COUNT"));
  return restarts && *restarts > 0;
}

}  // namespace goodput

#include "sim/live/intake_state.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "sim/base/text.h"

namespace goodput {
namespace {

std::string counts_text(const StageCounts& stages, std::string_view kind) {
  std::string text;
  for (const auto& [stage, counts] : stages) {
    text += fmt::format("{} {}", kind, stage);
    for (const std::uint32_t count : counts) text += fmt::format(" {}", count);
    text += '\n';
  }
  return text;
}

using Words = std::vector<std::string_view>;

// The numbers of a line behind its first word, of which there are `count`.
std::optional<std::vector<std::int32_t>> integers(const Words& words, std::size_t count) {
  if (words.size() != count + 1) return std::nullopt;
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto number = parse_integer(words[i]);
    if (!number || *number < -1 || *number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    numbers.push_back(static_cast<std::int32_t>(*number));
  }
  return numbers;
}

bool read_counts(const Words& words, StageCounts& stages) {
  const auto numbers = integers(words, kNdtimelineTypeCount + 1);
  if (!numbers) return false;
  TypeCounts& counts = stages[numbers->front()];
  for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
    if ((*numbers)[type + 1] < 0) return false;
    counts[type] = static_cast<std::uint32_t>((*numbers)[type + 1]);
  }
  return true;
}

// A line whose last word is a number of seconds, the others integers.
bool read_seconds(const Words& words, std::size_t count, IntakeState& state) {
  const auto seconds = parse_number(words.back());
  const auto numbers = integers({words.begin(), words.end() - 1}, count);
  if (!seconds || !numbers) return false;
  if (words.front() == "known") {
    state.known.run = numbers->front();
    state.step_length_s = *seconds;
    return true;
  }
  if (state.workers.empty()) return false;
  state.workers.back().skews_s.emplace_back(numbers->front(), *seconds);
  return true;
}

bool read_line(const Words& words, IntakeState& state) {
  const std::string_view kind = words.front();
  if (kind == "known" || kind == "clock") return read_seconds(words, 1, state);
  if (kind == "expected") return read_counts(words, state.known.expected);
  if (kind == "before") return read_counts(words, state.known.given_before);
  if (kind == "seen") {
    const auto numbers = integers(words, 3);
    if (!numbers) return false;
    state.seen_sizes.push_back({(*numbers)[0], {(*numbers)[1], (*numbers)[2]}});
    return true;
  }
  const auto numbers = integers(words, 4);
  if (kind != "worker" || !numbers) return false;
  state.workers.push_back({{(*numbers)[0], (*numbers)[1]}, (*numbers)[2], (*numbers)[3], {}});
  return true;
}

}  // namespace

// The runs, an empty line, then lines that begin with what they are; `clock` lines belong to the worker
// before.
std::string to_text(const IntakeState& state) {
  std::string text = state.runs.save() + "\n";
  text += fmt::format("known {} {}\n", state.known.run, state.step_length_s);
  text += counts_text(state.known.expected, "expected");
  text += counts_text(state.known.given_before, "before");
  for (const auto& [run, sizes] : state.seen_sizes)
    text += fmt::format("seen {} {} {}\n", run, sizes.first, sizes.second);
  for (const IntakeState::Worker& worker : state.workers) {
    text +=
        fmt::format("worker {} {} {} {}\n", worker.key.first, worker.key.second, worker.run, worker.lowest);
    for (const auto& [rank, skew_s] : worker.skews_s) text += fmt::format("clock {} {}\n", rank, skew_s);
  }
  return text;
}

Result<IntakeState> read_intake_state(std::string_view text) {
  const Error broken{"the stored step state of the job is damaged"};
  const std::size_t end = text.find("\n\n");
  if (end == std::string_view::npos) return broken;
  IntakeState state;
  GOODPUT_TRY(state.runs, JobRuns::restore(text.substr(0, end + 1)));
  for (const std::string_view line : split(text.substr(end + 2), '\n')) {
    if (!line.empty() && !read_line(split(line, ' '), state)) return broken;
  }
  return state;
}

}  // namespace goodput

#include "traces/op/trace_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/text.h"
#include "traces/op/ndtimeline_names.h"

namespace goodput {
namespace {

constexpr std::size_t kShownNames = 5;
constexpr std::size_t kMostNames = 4096;  // kept apart; a profile may hold as many kernels as it likes
constexpr std::size_t kLongestKeptName = 80;
constexpr std::string_view kFurtherNames = "(others)";
constexpr std::array<std::string_view, 5> kNoHosts = {"", "127.0.0.1", "localhost", "0.0.0.0", "::1"};

}  // namespace

bool is_damaged(const OpRow& row) {
  const bool times_are_damaged =
      !std::isfinite(row.start_s) || !std::isfinite(row.duration_s) || row.duration_s <= kLowestDuration;
  if (!times_are_damaged) return false;
  OpRow rest = row;
  if (!std::isfinite(rest.start_s)) rest.start_s = 0;
  rest.duration_s = 0;
  return !problem_with(rest);
}

// Of a row that has a problem or a negative duration: clears a problem that is no reason to refuse it.
void TraceIntake::settle(const OpRow& row, const Position& at, std::optional<std::string>& problem) {
  if (!problem) {
    count(CleaningRule::kNegativeDurations, 1, row.step);
  } else if (!is_strict() && is_damaged(row)) {
    count_at(CleaningRule::kDamagedRows, at, *problem, row.step);
    problem.reset();
  }
}

void TraceIntake::count(CleaningRule rule, std::size_t count, std::optional<std::int64_t> step) {
  Found& found = found_[rule];
  found.count += count;
  if (step) found.steps.insert(*step);
}

void TraceIntake::count_at(CleaningRule rule, const Position& at, std::string_view what,
                           std::optional<std::int64_t> step) {
  count(rule, 1, step);
  Found& found = found_[rule];
  if (found.first.empty()) found.first = Error{std::string(what), {.file = path_, .position = at}}.message();
}

bool TraceIntake::skips(std::string_view name, std::optional<std::int64_t> step) {
  if (is_strict() || is_unsupported_metric(name)) return false;
  count(CleaningRule::kUnknownOps, 1, step);
  name = name.substr(0, kLongestKeptName);
  if (const auto known = unknown_.find(name); known != unknown_.end())
    ++known->second;
  else
    ++unknown_[std::string(unknown_.size() < kMostNames ? name : kFurtherNames)];
  return true;
}

void TraceIntake::note_host(std::int64_t rank, std::string_view host) {
  if (std::ranges::find(kNoHosts, host) != kNoHosts.end()) return;
  const auto known = hosts_.find(rank);
  if (known == hosts_.end())
    hosts_.emplace(rank, host);
  else if (known->second != host)
    known->second = host;  // the node was replaced
}

void TraceIntake::note_sizes(const StatedSizes& sizes) {
  if (sizes.dp_size > 0) sizes_.dp_size = sizes.dp_size;
  if (sizes.pp_size > 0) sizes_.pp_size = sizes.pp_size;
  if (sizes.world_size > 0) sizes_.world_size = sizes.world_size;
}

// "my-span 12, forward-comput 3 (did you mean "forward-compute"?) and 4 more", the most frequent first.
std::string TraceIntake::unknown_names() const {
  std::vector<std::pair<std::string_view, std::size_t>> names(unknown_.begin(), unknown_.end());
  std::ranges::stable_sort(names, std::greater<>(), [](const auto& name) { return name.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShownNames); ++i) {
    const auto& [name, rows] = names[i];
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", in_quotes(name), rows);
    if (const std::string suggestion = suggest_metric(name); !suggestion.empty())
      text += fmt::format(" ({})", suggestion.substr(suggestion.find("did")));
  }
  if (names.size() > kShownNames) text += fmt::format(" and {} more", names.size() - kShownNames);
  return text;
}

std::size_t TraceIntake::count_of(CleaningRule rule) const {
  const auto found = found_.find(rule);
  return found == found_.end() ? 0 : found->second.count;
}

Status TraceIntake::check_known_share() const {
  const std::size_t unknown = count_of(CleaningRule::kUnknownOps);
  const std::size_t known = trace_.size() + count_of(CleaningRule::kDamagedRows);
  if (unknown <= known) return Ok{};
  return Error{fmt::format("only {} of {} ops have known types, but at least half must; unknown: {}", known,
                           known + unknown, unknown_names())};
}

std::vector<CleaningFinding> TraceIntake::findings() const {
  std::vector<CleaningFinding> findings;
  for (const auto& [rule, found] : found_) {
    const std::string detail = rule == CleaningRule::kUnknownOps ? unknown_names() : found.first;
    findings.push_back({rule, found.count, {found.steps.begin(), found.steps.end()}, detail});
  }
  return findings;
}

std::vector<CleaningFinding> TraceIntake::take_findings() {
  std::vector<CleaningFinding> taken = findings();
  found_.clear();
  return taken;
}

}  // namespace goodput

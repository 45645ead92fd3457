#include "tools/checkpoint/checkpoint_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/checkpoint/dynamic_k.h"
#include "sim/base/units.h"
#include "tools/cli/named_choice.h"

namespace goodput {
namespace {

constexpr double kMostNumber = 1e9;
constexpr double kLeastPositive = 1e-9;  // a nanosecond
constexpr double kGigabyte = 1e9;

// What would be wanted instead of the value; "" where it is fine.
std::string_view problem(const RunNumber& number, double value) {
  const bool is_in_range = std::isfinite(value) && value >= 0 && value <= kMostNumber;
  switch (number.kind) {
    case RunNumber::Kind::kNotNegative:
      return is_in_range ? "" : "a number from 0 to 1e9";
    case RunNumber::Kind::kPositive:
      return is_in_range && value >= kLeastPositive ? "" : "a number from 1e-9 to 1e9";
    case RunNumber::Kind::kCount:
      return is_in_range && value >= 1 && value == std::floor(value) ? "" : "a whole number from 1 to 1e9";
  }
  return "";
}

}  // namespace

const std::array<RunNumber, CheckpointRunOptions::kNumbers>& CheckpointRunOptions::numbers() {
  using Kind = RunNumber::Kind;
  static const std::array<RunNumber, kNumbers> table = {{
      {"steps", Kind::kCount, 10'000, "Number of training steps in the run"},
      {"step-s", Kind::kPositive, 1, "Seconds per step"},
      {"forward-backward-s", Kind::kNotNegative, 1,
       "Seconds per step spent in forward and backward passes; an async snapshot can overlap with them"},
      {"restart-s", Kind::kNotNegative, 150, "Seconds from a fault until ranks read the checkpoint"},
      {"snapshot-gb-per-s", Kind::kPositive, 10, "Copy rate from GPU to CPU memory per rank, in GB/s"},
      {"storage-gb-per-s", Kind::kPositive, 1, "Write and read rate of storage per rank, in GB/s"},
      {"storage-total-gb-per-s", Kind::kNotNegative, 0,
       "Maximum write and read rate of storage for all ranks together, in GB/s; 0: no limit"},
      {"tokens", Kind::kCount, 262'144, "Number of tokens per step"},
      {"skew", Kind::kNotNegative, 0,
       "Skew of the expert load: the n-th busiest expert gets a share of tokens ~ 1 / n^skew; 0: balanced"},
      {"plt-limit", Kind::kNotNegative, kDynamicKLimit,
       "Fraction of tokens (0 to 1) that the run may lose with --dynamic-k"},
      {"ranks-per-node", Kind::kCount, 1,
       "Number of consecutive ranks that share a node, and lose its memory together"},
  }};
  return table;
}

void CheckpointRunOptions::configure(Options& options) {
  const std::string group = "Run with faults";
  options
      .add("--interval", interval_, "STEPS",
           "Number of steps between checkpoints; adds a report of the lost tokens and of the time that "
           "saving and faults cost")
      .in_group(group);
  options
      .add("--faults", faults_, "LIST",
           "List of faults: STEP if all ranks fail after this step, STEP:RANK+RANK if only these ranks and "
           "the others on their nodes fail, for example 1200,3400:5,5200:0+5")
      .in_group(group);
  options
      .add("--save", save_, "MODE",
           "\"sync\": training waits for storage; \"async\" (default): saving overlaps with training")
      .one_of(kSaveModeNames)
      .in_group(group);
  options
      .add_flag("--dynamic-k", dynamic_k_,
                "Double the number of experts saved per layer (--pec-k, --snapshot-k) after a recovery as "
                "long as one more fault would bring the lost tokens of the run above --plt-limit")
      .in_group(group);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const RunNumber& number = numbers()[i];
    const std::string preset =
        i == kForwardBackward ? "the value of --step-s" : fmt::format("{:.15g}", number.assumed);
    options
        .add(fmt::format("--{}", number.name), given_[i], "X",
             fmt::format("{} (default {})", number.meaning, preset))
        .in_group(group);
  }
}

Status CheckpointRunOptions::check_numbers() const {
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (!given_[i]) continue;
    const std::string_view wanted = problem(numbers()[i], *given_[i]);
    if (!wanted.empty())
      return Error{fmt::format("--{} must be {}, not {}", numbers()[i].name, wanted, *given_[i])};
    if (!interval_ && i != kTokens && i != kSkew)
      return Error{fmt::format("--{} applies only to a run that saves checkpoints; add --interval STEPS",
                               numbers()[i].name)};
  }
  return Ok{};
}

Status CheckpointRunOptions::check_effects() const {
  const std::pair<std::string_view, bool> of_runs[] = {
      {"dynamic-k", dynamic_k_}, {"faults", !faults_.empty()}, {"save", !save_.empty()}};
  for (const auto& [option, is_given] : of_runs) {
    if (is_given && !interval_)
      return Error{
          fmt::format("--{} applies only to a run that saves checkpoints; add --interval STEPS", option)};
  }
  if (save_mode() == kSaveModeNames[static_cast<std::size_t>(SaveMode::kSync)] && given_[kForwardBackward])
    return Error{"--forward-backward-s applies only to --save async; leave it out with --save sync"};
  if (given_[kPltLimit] && !dynamic_k_)
    return Error{"--plt-limit applies only with --dynamic-k; add --dynamic-k, or leave --plt-limit out"};
  if (given_[kRanksPerNode] && !names_ranks())
    return Error{"--ranks-per-node applies only to faults of single ranks; add --faults STEP:RANK"};
  return Ok{};
}

Status CheckpointRunOptions::check() const {
  GOODPUT_TRY_STATUS(check_numbers());
  GOODPUT_TRY_STATUS(check_effects());
  if (interval_ && (*interval_ < 1 || *interval_ > static_cast<std::int64_t>(kMostNumber)))
    return Error{fmt::format("--interval must be a whole number of steps from 1 to 1e9, not {}", *interval_)};
  if (value(kPltLimit) > 1)
    return Error{fmt::format("--plt-limit must be a fraction from 0 to 1, not {}", value(kPltLimit))};
  if (value(kSkew) > 10)
    return Error{fmt::format("--skew must be a number from 0 to 10, not {}", value(kSkew))};
  if (value(kForwardBackward) > value(kStep)) {
    return Error{fmt::format("--forward-backward-s is {}, but must be at most --step-s, which is {}",
                             value(kForwardBackward), value(kStep))};
  }
  return Ok{};
}

Result<CheckpointedRun> CheckpointRunOptions::run(std::int32_t ranks) const {
  CheckpointedRun run;
  run.interval = interval_.value();
  run.steps = static_cast<std::int64_t>(value(kSteps));
  GOODPUT_TRY(run.mode, choose<SaveMode>("save", "save mode", save_mode(), kSaveModeNames));
  GOODPUT_TRY(run.faults,
              parse_faults(faults_, run.steps, ranks,
                           static_cast<std::int32_t>(std::min<double>(value(kRanksPerNode), ranks))));
  run.step = from_seconds(value(kStep));
  run.forward_backward = from_seconds(value(kForwardBackward));
  run.restart = from_seconds(value(kRestart));
  run.path = {BytesPerSecond{kGigabyte * value(kSnapshotRate)},
              BytesPerSecond{kGigabyte * value(kStorageRate)},
              BytesPerSecond{kGigabyte * value(kStorageTotalRate)}};
  if (dynamic_k_) run.dynamic_limit = value(kPltLimit);
  return run;
}

std::int64_t CheckpointRunOptions::tokens() const {
  return static_cast<std::int64_t>(value(kTokens));
}

double CheckpointRunOptions::skew() const {
  return value(kSkew);
}

std::string_view CheckpointRunOptions::given_tokens() const {
  if (given_[kTokens]) return "--tokens";
  return given_[kSkew] ? "--skew" : "";
}

bool CheckpointRunOptions::has_skew() const {
  return given_[kSkew].has_value();
}

std::vector<CheckpointRunOptions::Assumption> CheckpointRunOptions::assumptions() const {
  std::vector<Assumption> assumed;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (given_[i] || (i == kPltLimit && !dynamic_k_) || (i == kRanksPerNode && !names_ranks())) continue;
    assumed.push_back({numbers()[i].name, value(static_cast<Number>(i))});
  }
  return assumed;
}

void CheckpointRunOptions::add_to(Hash& hash) const {
  hash.add(interval_.value_or(0));
  hash.add(faults_);
  hash.add(save_mode());
  hash.add(static_cast<int>(dynamic_k_));
  for (std::size_t i = 0; i < kNumbers; ++i) hash.add(value(static_cast<Number>(i)));
}

double CheckpointRunOptions::value(Number number) const {
  if (number == kForwardBackward && !given_[number]) return value(kStep);
  return given_[number].value_or(numbers()[number].assumed);
}

}  // namespace goodput

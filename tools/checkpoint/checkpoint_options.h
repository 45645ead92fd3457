// Options of `goodput checkpoint` that describe a run, and what is assumed where they are not given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoint/checkpointed_run.h"
#include "models/checkpoint/lost_tokens.h"
#include "sim/base/errors.h"
#include "sim/base/hash.h"
#include "tools/cli/options.h"

namespace goodput {

// A number of the run that nobody knows but the user.
struct RunNumber {
  enum class Kind : std::uint8_t { kPositive, kNotNegative, kCount };

  std::string_view name;  // of the option, without dashes; its unit is its ending
  Kind kind;
  double assumed;
  std::string_view meaning;
};

class CheckpointRunOptions {
 public:
  void configure(Options& options);

  [[nodiscard]] bool is_wanted() const { return interval_.has_value(); }
  // Without --interval every other option would be without effect, and some are without others; each must be
  // in its range.
  [[nodiscard]] Status check() const;
  // REQUIRES: is_wanted() and check().
  [[nodiscard]] Result<CheckpointedRun> run(std::int32_t ranks) const;

  // Tokens a step, and how unevenly experts get them; for load-aware selection without a run too.
  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] double skew() const;
  // The option that says how many tokens experts get, if one is given; "" otherwise.
  [[nodiscard]] std::string_view given_tokens() const;
  [[nodiscard]] bool has_dynamic_k() const { return dynamic_k_; }
  [[nodiscard]] bool has_skew() const;

  // An option that was not given, and what it is taken to be.
  struct Assumption {
    std::string_view option;  // "step-s"
    double value = 0;
  };
  [[nodiscard]] std::vector<Assumption> assumptions() const;

  void add_to(Hash& hash) const;

 private:
  enum Number : std::size_t {
    kSteps,
    kStep,
    kForwardBackward,
    kRestart,
    kSnapshotRate,
    kStorageRate,
    kStorageTotalRate,
    kTokens,
    kSkew,
    kPltLimit,
    kRanksPerNode,
    kNumbers
  };
  static const std::array<RunNumber, kNumbers>& numbers();
  [[nodiscard]] double value(Number number) const;
  [[nodiscard]] std::string_view save_mode() const {
    return save_.empty() ? std::string_view("async") : std::string_view(save_);
  }
  [[nodiscard]] bool names_ranks() const { return faults_.find(':') != std::string::npos; }
  [[nodiscard]] Status check_numbers() const;
  [[nodiscard]] Status check_effects() const;  // of options on others

  std::optional<std::int64_t> interval_;
  std::string faults_;
  std::string save_{};  // empty: not given
  bool dynamic_k_ = false;
  std::array<std::optional<double>, kNumbers> given_{};
};

// "1200,3400:0+5": after 1200 steps all ranks fail, after 3400 the nodes of ranks 0 and 5, which have
// `ranks_per_node` consecutive ranks each. Ascending.
[[nodiscard]] Result<std::vector<CheckpointFault>> parse_faults(std::string_view list, std::int64_t steps,
                                                                std::int32_t ranks,
                                                                std::int32_t ranks_per_node);

}  // namespace goodput

// The answer of an analysis in one line: what slows the job, where, since when, and what to check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/causes/doubt.h"
#include "sim/causes/root_cause.h"
#include "sim/recording/worker_grid.h"
#include "sim/whatif/whatif.h"

namespace goodput {

struct Verdict {
  std::string kind;  // RootCause::name of the likely cause with the largest gain; or kUnexplained

  // Identifies an incident: {"worker", "worker:1:2"}, {"host", "host:a"}, {"replica", "replica:1"}, {"stage",
  // "stage:3"}, {"link", "link:0:1-2"} (of replica 0), {"job", "job"}; {"switch", ...} and {"rack", ...} as
  // hosts.
  struct Subject {
    std::string type;
    std::string key;

    friend bool operator==(const Subject&, const Subject&) = default;
  };
  Subject subject;

  struct Worker {
    std::size_t dp = 0;
    std::size_t stage = 0;
    std::int32_t rank = 0;
    std::string host;  // empty: unknown

    friend bool operator==(const Worker&, const Worker&) = default;
  };
  std::vector<Worker> workers;  // the slowest first

  struct Link {
    std::size_t from = 0;  // stages
    std::size_t to = 0;
    std::optional<std::size_t> dp;  // absent: in all replicas

    friend bool operator==(const Link&, const Link&) = default;
  };
  std::optional<Link> link;

  std::optional<std::int64_t> since_step;  // numbers of steps; both absent: in all steps
  std::optional<std::int64_t> until_step;
  std::optional<double>
      pace;  // time over that of peers, in these steps; the most if there are several workers
  struct Cost {
    double step_s = 0;      // mean step: replayed without launch delays; as recorded for launch delays
    double s_per_step = 0;  // step_s less the step with the fix
    double share = 0;       // of the time, that the fix gives back: 1 - 1 / gain
    double gain = 1;        // the step over the step with the fix

    friend bool operator==(const Cost&, const Cost&) = default;
  };
  std::optional<Cost> cost;      // absent: the steps do not show it, as when none comes
  std::vector<std::string> fix;  // selectors of `goodput whatif --fix`
  std::string next_check;        // what to look at next; names hosts and ranks
  // The first line of every output: "One slow worker costs this job 27.9 % of its time: rank 40 (dp 1, stage
  // 2) takes 1.50x as long as its peers. Without it a step would take 17.5 s instead of 24.2 s." A second
  // likely cause follows if its gain - 1 is at least 80 % of this one's.
  std::string sentence;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

inline constexpr std::size_t kWorkersInASentence = 3;  // in a sentence
inline constexpr char kUnexplained[] = "unexplained";
// The paper calls a job that loses less than this no straggling job; without a likely cause it gets no
// verdict.
inline constexpr double kWorthAVerdict = 1.05;

// From causes in the order of find_root_causes(). With a doubt and no likely cause the verdict is
// kUnexplained at any S, and says why.
[[nodiscard]] std::optional<Verdict> find_verdict(const WhatIf& whatif, const WorkerGrid& grid,
                                                  const std::vector<RootCause>& causes,
                                                  const std::optional<Doubt>& doubt = std::nullopt);

// Its sentence, or what to say without a verdict. `message_share`: as of Analysis.
[[nodiscard]] std::string headline(const std::optional<Verdict>& verdict, const WhatIf& whatif,
                                   double message_share);

// The part of a likely cause that concerns one subject: each slow worker, replica or place is a fault of its
// own, and two or more slow workers of a host are one fault of the host. `cause` has only these workers, and
// no gain if the cause has several parts: their common fix does not tell what each costs.
struct Fault {
  RootCause cause;
  Verdict::Subject subject;
};
// A cause with more parts than this is one fault of the job.
inline constexpr std::size_t kMaxFaultsPerCause = 8;
// Of the likely causes, in their order; the parts of a cause by their slowest worker.
[[nodiscard]] std::vector<Fault> find_faults(const std::vector<RootCause>& causes, const WorkerGrid& grid);

// The verdict on this fault alone. `since_step`: its first step if the caller knows that it began before the
// steps of `whatif`; used if these steps show no onset. Without a gain the verdict has no cost.
[[nodiscard]] Verdict verdict_on(const Fault& fault, const WhatIf& whatif, const WorkerGrid& grid,
                                 std::optional<std::int64_t> since_step = std::nullopt);

// `Without it a step would take 17.5 s instead of 24.2 s.`; `it`: the word for what would be gone.
[[nodiscard]] std::string step_without(const Verdict::Cost& cost, std::string_view it);
// Of a step of `step_s` whose fix gains `gain`.
[[nodiscard]] Verdict::Cost cost_of_gain(double step_s, double gain);

// What to do about a likely cause, in one sentence that names the place.
[[nodiscard]] std::string next_check(const RootCause& cause, const WorkerGrid& grid);

}  // namespace goodput

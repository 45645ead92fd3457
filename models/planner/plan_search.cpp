#include "models/planner/plan_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "models/cost/cost_models.h"
#include "models/planner/gate_standing.h"
#include "models/planner/plan_choice.h"
#include "models/planner/plan_screen.h"
#include "models/planner/plan_timer.h"
#include "models/step/memory_model.h"
#include "models/step/step_report.h"
#include "sim/base/parallel.h"

namespace goodput {
namespace {

// Pieces of work that a thread takes at once, and those between two looks at the progress.
constexpr std::size_t kTakenAtOnce = 16;
constexpr std::size_t kBetweenLooks = 16'384;
// Plans of one frame that are timed together.
constexpr std::size_t kTimedTogether = 512;
// What is timed before the first look at who is best; then twice as many each time.
constexpr std::size_t kFirstWave = 64;

struct Screened {
  std::optional<Rejection> rejection{};
  Bytes memory{};
  StepEstimate estimate{};
  FrameKey frame{};
};

// One of the gates, or what keeps the best of all plans.
struct Keeper {
  const PlanLimits* limits = nullptr;  // null: keeps the best of all plans, each a kind of its own
  std::vector<GateStanding> standings{};
  std::optional<TimedChoice> closest{};  // by memory
};

bool can_run(const PlanLimits& limits, const ParallelPlan& plan) {
  return (!limits.etp || plan.expert_tp() == *limits.etp) && (!limits.check || limits.check(plan));
}

std::int64_t size_of(const PlanChoice& plan) {
  return std::int64_t{plan.tp} * plan.pp * plan.cp;
}

GateStanding::Kind layout_of(const PlanChoice& plan) {
  return {plan.tp, plan.pp, plan.cp, plan.schedule, std::min<std::int64_t>(plan.zero, 2)};
}

class PlanSearcher {
 public:
  PlanSearcher(const TrainingPlan& base, const CostModel& cost, PlanChoices choices,
               const PlanSearchOptions& options)
      : base_(base),
        choices_(std::move(choices.choices)),
        maker_(base, choices_),
        timer_(base, cost, options.seed),
        options_(options),
        available_(available_memory(base)) {
    GOODPUT_CHECK(options.keep > 0, "a search must keep at least one plan");
    keepers_.push_back({nullptr, {GateStanding(options.keep)}});
    for (const PlanGate& gate : options.gates)
      keepers_.push_back(
          {&gate.limits, {GateStanding(gate.sizes), GateStanding(gate.layouts), GateStanding(2)}});
    reject(Rejection::kOtherGpus, choices.of_other_sizes);
    reject(Rejection::kBatch, choices.of_other_batches);
  }

  Result<PlanSearch> search() && {
    GOODPUT_TRY_STATUS(screen_all());
    time_best();
    rank();
    show_progress(choices_.size());
    for (const auto& [reason, count] : result_.rejected) result_.candidates += count;
    result_.candidates += result_.timed + result_.pruned;
    return std::move(result_);
  }

 private:
  void reject(Rejection rejection, std::int64_t count) {
    if (count > 0) result_.rejected[std::string(to_string(rejection))] += count;
  }
  void show_progress(std::size_t done) const {
    if (options_.progress) options_.progress(done, choices_.size());
  }

  Status screen_all() {
    screened_.resize(choices_.size());
    is_admitted_.resize(choices_.size() * keepers_.size());
    for (std::size_t begin = 0; begin < choices_.size(); begin += kBetweenLooks) {
      const std::size_t end = std::min(choices_.size(), begin + kBetweenLooks);
      parallel_pieces(options_.jobs, end - begin, kTakenAtOnce, [&](std::size_t first, std::size_t last) {
        TrainingPlan plan = base_;
        for (std::size_t i = begin + first; i < begin + last; ++i) {
          plan.parallel = maker_.plan(choices_[i]);
          screened_[i] = screen(i, plan);
        }
      });
      show_progress(end / 2);
    }
    if (error_) return *error_;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (screened_[i].rejection)
        reject(*screened_[i].rejection, 1);
      else
        fitting_.push_back(i);
    }
    return Ok{};
  }

  // `plan` is as before afterwards.
  [[nodiscard]] Screened screen(std::size_t choice, TrainingPlan& plan) {
    Screened screened;
    const auto broken = broken_rule(plan);
    if (!broken) {
      note(choice, broken.error());
      return screened;
    }
    screened.rejection = *broken;
    if (screened.rejection) return screened;
    screened.memory = memory_of(choice, plan, {});
    if (!admit(choice, plan, screened.memory)) {
      screened.rejection = Rejection::kMemory;
      return screened;
    }
    screened.estimate = timer_.estimate(plan);
    screened.frame = timer_.frame_of(plan);
    if (!screened.estimate.can_be_timed) screened.rejection = Rejection::kTime;
    return screened;
  }

  [[nodiscard]] Bytes memory_of(std::size_t choice, const TrainingPlan& plan, ExpertSlots slots) {
    const PipelineSchedule& schedule =
        schedules()[static_cast<std::size_t>(choices_[choice].schedule)].schedule;
    const MemoryReport memory = estimate_memory(plan, schedule, slots, timer_.profile(plan).peaks);
    return memory.stages[memory.fullest].total();
  }

  // Whether any keeper admits the plan. `memory`: what the plan needs unless a policy places it otherwise.
  [[nodiscard]] bool admit(std::size_t choice, TrainingPlan& plan, Bytes memory) {
    bool is_any = false;
    for (std::size_t i = 0; i < keepers_.size(); ++i) {
      const PlanLimits* const limits = keepers_[i].limits;
      if (limits != nullptr && !can_run(*limits, plan.parallel)) continue;
      Bytes needed = memory;
      if (limits != nullptr && limits->placed) {
        PlacedPlan placed = limits->placed(plan.parallel);
        std::swap(plan.parallel, placed.parallel);
        needed = memory_of(choice, plan, placed.slots);
        std::swap(plan.parallel, placed.parallel);
      }
      const bool fits = needed <= available_;
      is_admitted_[choice * keepers_.size() + i] = fits ? 1 : 0;
      if (!fits) note_misfit(keepers_[i], {{}, needed, choice});
      is_any = is_any || fits;
    }
    return is_any;
  }

  void note_misfit(Keeper& keeper, const TimedChoice& misfit) {
    const std::scoped_lock lock(noting_);
    keeper.closest = keeper.closest ? std::min(*keeper.closest, misfit) : misfit;
  }

  // The error of the first choice that has one.
  void note(std::size_t choice, const Error& error) {
    const std::scoped_lock lock(noting_);
    if (error_ && choice > error_of_) return;
    error_ = error;
    error_of_ = choice;
  }

  // By standing.
  [[nodiscard]] std::array<GateStanding::Kind, 3> kinds(const Keeper& keeper, std::size_t choice) const {
    if (keeper.limits == nullptr) return {GateStanding::Kind{static_cast<std::int64_t>(choice)}};
    const PlanChoice& plan = choices_[choice];
    return {GateStanding::Kind{size_of(plan)}, layout_of(plan), GateStanding::Kind{plan.zero == 3 ? 1 : 0}};
  }

  // Whether some keeper may keep the choice.
  [[nodiscard]] bool may_matter(std::size_t choice) const {
    if (!options_.prunes) return true;
    const double at_least = screened_[choice].estimate.at_least_ns;
    for (std::size_t i = 0; i < keepers_.size(); ++i) {
      if (is_admitted_[choice * keepers_.size() + i] == 0) continue;
      const auto kinds = this->kinds(keepers_[i], choice);
      for (std::size_t k = 0; k < keepers_[i].standings.size(); ++k) {
        if (keepers_[i].standings[k].may_keep(kinds[k], at_least)) return true;
      }
    }
    return false;
  }

  // In waves of plans that look best, whatever the number of threads.
  void time_best() {
    const auto at_least = [&](std::size_t choice) { return screened_[choice].estimate.at_least_ns; };
    std::stable_sort(fitting_.begin(), fitting_.end(),
                     [&](std::size_t a, std::size_t b) { return at_least(a) < at_least(b); });
    std::size_t size = options_.prunes ? std::max(kFirstWave, 2 * options_.keep) : fitting_.size();
    std::size_t done = 0;
    for (; done < fitting_.size(); size *= 2) {
      std::vector<std::size_t> wave;
      for (; done < fitting_.size() && wave.size() < size; ++done) {
        if (may_matter(fitting_[done]))
          wave.push_back(fitting_[done]);
        else
          ++result_.pruned;
      }
      time_all(wave);
      show_progress((choices_.size() + choices_.size() * done / fitting_.size()) / 2);
    }
  }

  // Plans of one frame together.
  void time_all(std::span<std::size_t> wave) {
    std::stable_sort(wave.begin(), wave.end(),
                     [&](std::size_t a, std::size_t b) { return screened_[a].frame < screened_[b].frame; });
    std::vector<std::span<const std::size_t>> groups;
    for (std::size_t begin = 0; begin < wave.size();) {
      std::size_t end = begin + 1;
      while (end < wave.size() && end - begin < kTimedTogether &&
             screened_[wave[end]].frame == screened_[wave[begin]].frame)
        ++end;
      groups.push_back(wave.subspan(begin, end - begin));
      begin = end;
    }
    std::vector<std::vector<std::optional<SimDuration>>> times(groups.size());
    parallel_pieces(options_.jobs, groups.size(), 1, [&](std::size_t i, std::size_t) {
      std::vector<ParallelPlan> plans;
      for (const std::size_t choice : groups[i]) plans.push_back(maker_.plan(choices_[choice]));
      times[i] = timer_.step_times(plans);
    });
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (std::size_t k = 0; k < groups[i].size(); ++k) {
        if (times[i][k]) {
          note_time(groups[i][k], *times[i][k]);
        } else {
          reject(Rejection::kTime, 1);
        }
      }
    }
  }

  void note_time(std::size_t choice, SimDuration step) {
    ++result_.timed;
    for (std::size_t i = 0; i < keepers_.size(); ++i) {
      if (is_admitted_[choice * keepers_.size() + i] == 0) continue;
      const auto kinds = this->kinds(keepers_[i], choice);
      for (std::size_t k = 0; k < keepers_[i].standings.size(); ++k)
        keepers_[i].standings[k].add(kinds[k], {step, screened_[choice].memory, choice});
    }
  }

  void rank() {
    for (const Keeper& keeper : keepers_) {
      AdmittedPlans admitted;
      std::set<TimedChoice> kept;
      for (const GateStanding& standing : keeper.standings) {
        for (const TimedChoice& timed : standing.best()) kept.insert(timed);
      }
      for (const TimedChoice& timed : kept) admitted.best.push_back(ranked(timed));
      if (keeper.closest) {
        const auto& [step, memory, choice] = *keeper.closest;
        admitted.closest = MisfitPlan{maker_.plan(choices_[choice]), memory, available_};
      }
      if (keeper.limits != nullptr) {
        result_.admitted.push_back(std::move(admitted));
      } else {
        result_.best = std::move(admitted.best);
        result_.closest = std::move(admitted.closest);
      }
    }
  }

  [[nodiscard]] RankedPlan ranked(const TimedChoice& timed) const {
    RankedPlan ranked;
    ranked.parallel = maker_.plan(choices_[timed.choice]);
    ranked.step = timed.step;
    ranked.mfu = model_flops_utilization(base_, ranked.parallel, timed.step);
    ranked.memory = timed.memory;
    ranked.available = available_;
    ranked.tier = screened_[timed.choice].estimate.tier;
    return ranked;
  }

  const TrainingPlan& base_;
  std::vector<PlanChoice> choices_;
  PlanMaker maker_;
  PlanTimer timer_;
  const PlanSearchOptions& options_;
  Bytes available_;
  std::vector<Screened> screened_;    // by choice
  std::vector<std::size_t> fitting_;  // of choices; most promising first
  std::vector<Keeper> keepers_;
  std::vector<std::uint8_t> is_admitted_;  // by choice and keeper
  std::mutex noting_;
  std::optional<Error> error_;
  std::size_t error_of_ = 0;  // choice
  PlanSearch result_;
};

// What no choice changes.
Result<TrainingPlan> searched_base(const TrainingPlan& given, std::int64_t gpus) {
  if (gpus < 1 || gpus > given.cluster.gpus()) {
    return given.error("/cluster",
                       fmt::format("has {} GPUs, but the plan must train on {}", given.cluster.gpus(), gpus));
  }
  TrainingPlan base = given;
  base.parallel.dp =
      static_cast<std::int32_t>(std::min<std::int64_t>(gpus, std::numeric_limits<std::int32_t>::max()));
  base.parallel.pp = base.parallel.tp = base.parallel.cp = 1;
  base.parallel = settled(base.parallel, base.cluster.gpus_per_node);
  base.parallel.layers_per_stage.clear();
  return base;
}

}  // namespace

Result<PlanSearch> search_plans(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space,
                                const PlanSearchOptions& options) {
  GOODPUT_TRY(const TrainingPlan settled_base, searched_base(base, gpus));
  GOODPUT_TRY(const std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(settled_base)));
  GOODPUT_TRY(PlanChoices choices, list_choices(settled_base, gpus, space));
  return PlanSearcher(settled_base, *cost, std::move(choices), options).search();
}

}  // namespace goodput

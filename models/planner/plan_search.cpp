#include "models/planner/plan_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include "models/cost/cost_models.h"
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

struct Timed {
  std::size_t choice = 0;
  SimDuration step{};
};

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
    find_closest();
    return Ok{};
  }

  [[nodiscard]] Screened screen(std::size_t choice, const TrainingPlan& plan) {
    Screened screened;
    const auto broken = broken_rule(plan);
    if (!broken) {
      note(choice, broken.error());
      return screened;
    }
    screened.rejection = *broken;
    if (screened.rejection) return screened;
    const PipelineSchedule& schedule =
        schedules()[static_cast<std::size_t>(choices_[choice].schedule)].schedule;
    const MemoryReport memory = estimate_memory(plan, schedule, {}, timer_.profile(plan).peaks);
    screened.memory = memory.stages[memory.fullest].total();
    if (screened.memory > available_) {
      screened.rejection = Rejection::kMemory;
      return screened;
    }
    screened.estimate = timer_.estimate(plan);
    screened.frame = timer_.frame_of(plan);
    if (!screened.estimate.can_be_timed) screened.rejection = Rejection::kTime;
    return screened;
  }

  // The error of the first choice that has one.
  void note(std::size_t choice, const Error& error) {
    const std::scoped_lock lock(noting_);
    if (error_ && choice > error_of_) return;
    error_ = error;
    error_of_ = choice;
  }

  void find_closest() {
    std::optional<std::size_t> closest;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (screened_[i].rejection != Rejection::kMemory) continue;
      if (!closest || screened_[i].memory < screened_[*closest].memory) closest = i;
    }
    if (closest)
      result_.closest = MisfitPlan{maker_.plan(choices_[*closest]), screened_[*closest].memory, available_};
  }

  // In waves of plans that look best, whatever the number of threads.
  void time_best() {
    const auto at_least = [&](std::size_t choice) { return screened_[choice].estimate.at_least_ns; };
    std::stable_sort(fitting_.begin(), fitting_.end(),
                     [&](std::size_t a, std::size_t b) { return at_least(a) < at_least(b); });
    std::size_t done = 0;
    std::size_t wave = options_.prunes ? std::max(kFirstWave, 2 * options_.keep) : fitting_.size();
    for (; done < fitting_.size(); wave *= 2) {
      if (timed_.size() >= options_.keep && options_.prunes) {
        keep_best();
        const auto slowest = static_cast<double>(timed_.back().step.count());
        if (at_least(fitting_[done]) > slowest) break;
      }
      const std::size_t end = std::min(fitting_.size(), done + wave);
      time_all(std::span(fitting_).subspan(done, end - done));
      done = end;
      show_progress((choices_.size() + choices_.size() * done / fitting_.size()) / 2);
    }
    result_.pruned = static_cast<std::int64_t>(fitting_.size() - done);
    keep_best();
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
          timed_.push_back({groups[i][k], *times[i][k]});
          ++result_.timed;
        } else {
          reject(Rejection::kTime, 1);
        }
      }
    }
  }

  void keep_best() {
    const auto key = [this](const Timed& timed) {
      return std::tuple(timed.step, screened_[timed.choice].memory, timed.choice);
    };
    std::sort(timed_.begin(), timed_.end(), [&](const Timed& a, const Timed& b) { return key(a) < key(b); });
    if (timed_.size() > options_.keep) timed_.resize(options_.keep);
  }

  void rank() {
    for (const Timed& timed : timed_) {
      RankedPlan ranked;
      ranked.parallel = maker_.plan(choices_[timed.choice]);
      ranked.step = timed.step;
      ranked.mfu = model_flops_utilization(base_, ranked.parallel, timed.step);
      ranked.memory = screened_[timed.choice].memory;
      ranked.available = available_;
      ranked.tier = screened_[timed.choice].estimate.tier;
      result_.best.push_back(std::move(ranked));
    }
  }

  const TrainingPlan& base_;
  std::vector<PlanChoice> choices_;
  PlanMaker maker_;
  PlanTimer timer_;
  const PlanSearchOptions& options_;
  Bytes available_;
  std::vector<Screened> screened_;    // by choice
  std::vector<std::size_t> fitting_;  // of choices; most promising first
  std::vector<Timed> timed_;
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

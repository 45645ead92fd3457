#include "models/policy/partial_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/checkpoint/lost_tokens.h"

namespace goodput {
namespace {

// Expected number of steps of the whole run. With only a time limit, extrapolates the pace so far.
double expected_steps(const JobState& job, std::int64_t from_step, const StepTime& time) {
  const auto done = static_cast<double>(from_step);
  double steps = std::numeric_limits<double>::infinity();
  if (job.goal.steps) steps = static_cast<double>(*job.goal.steps);
  if (job.goal.samples) {
    const auto samples = static_cast<double>(time.samples);
    const double lost = samples * static_cast<double>(job.step - from_step);
    const double left = static_cast<double>(*job.goal.samples - job.samples) + lost;
    steps = std::min(steps, done + left / samples);
  }
  if (job.goal.until) {
    const double until = to_seconds(*job.goal.until);
    const double now = to_seconds(job.now);
    steps = std::min(steps, done > 0 ? done * until / now : (until - now) / to_seconds(time.step));
  }
  return std::max({steps, done, 1.0});
}

}  // namespace

CheckpointWrite PartialSaves::compute(std::int32_t nodes, const PecLevels& k) const {
  const PartialCheckpoint checkpoint = partial(nodes, k);
  const ExpertTokens tokens = expert_tokens(job_->modules(), job_->plan().parallel.sequence_length, 0, 0);
  const auto writes = [&](PecLevel level) { return level_writes(bytes_, checkpoint, level, tokens); };
  const double gpus = job_->plan().cluster.gpus_per_node;
  const LevelWrites stored = writes(PecLevel::kPersist);
  return {save_times(writes(PecLevel::kSnapshot), stored,
                     {BytesPerSecond{settings_.snapshot.value / gpus}, settings_.write, settings_.write}),
          Bytes{std::llround(stored.total_bytes)}};
}

PartialCheckpoints::PartialCheckpoints(const RestartJob& job, const PartialSaves& saves)
    : job_(job.job),
      settings_(&job.options.checkpoint),
      saves_(&saves),
      whole_(*job_, *settings_),
      k_(saves.options().k),
      copies_(job_->modules().expert_layers.size(), job_->modules().experts) {}

SimDuration PartialCheckpoints::resume_time(ResumeFrom from, std::int32_t nodes) const {
  if (from != ResumeFrom::kStorage || !reads_) return restore_time(from, nodes);
  return goodput::restore_time(*reads_, {settings_->snapshot, settings_->read, settings_->read});
}

void PartialCheckpoints::lose_memory(NodeId node) {
  const auto place = std::lower_bound(places_.begin(), places_.end(), node);
  if (place == places_.end() || *place != node) return;
  const auto number = static_cast<std::int32_t>(place - places_.begin());
  const auto at = std::lower_bound(lost_.begin(), lost_.end(), number);
  if (at == lost_.end() || *at != number) lost_.insert(at, number);
}

// From here on these nodes have the copies, of their own experts.
void PartialCheckpoints::note_trained() {
  places_ = training_;
  lost_.clear();
}

void PartialCheckpoints::note_loss(const NodeChange& change) {
  for (const NodeId node : change.lost) lose_memory(node);
}

void PartialCheckpoints::note_stop(const Stop& stop) {
  reads_.reset();
  if (stop.from == ResumeFrom::kHere) return full_saves_.push_back(stop.job.step);
  replay_to(stop.job.step_from(stop.from));
  full_saves_.clear();
  if (places_.empty()) return;  // the job has not trained yet
  // Nodes that are evicted no longer take part.
  for (const NodeId node : stop.used) {
    if (!std::binary_search(stop.left.begin(), stop.left.end(), node)) lose_memory(node);
  }
  // Nodes for ranks: a node holds what all its GPUs hold, which is what one rank of so many would.
  const auto nodes = static_cast<std::int32_t>(places_.size());
  tokens_lost_ += copies_.recover(lost_, nodes);
  const bool has_saved = stop.job.step_from(stop.from) > 0;
  if (has_saved) reads_ = restore_reads(saves_->bytes(), lost_, nodes);
  if (saves_->options().is_dynamic) raise_levels(stop);
}

// If the length of the run is a guess, later guesses are better: K may come down again.
void PartialCheckpoints::raise_levels(const Stop& stop) {
  const double steps = expected_steps(stop.job, stop.job.step_from(stop.from), step_);
  const auto nodes = static_cast<std::int32_t>(training_.size());
  const auto interval_share = [&](const PecLevels& k) {
    return static_cast<double>(storage_rule(k, step_, nodes, {}).interval) / steps;
  };
  const PartialSaveOptions& options = saves_->options();
  k_ = raised_levels(options.k, job_->modules().experts, options.plt_limit,
                     {share_of(tokens_lost_, steps), share_of(copies_.storage_lag(), steps)}, interval_share);
}

void PartialCheckpoints::note_training(const Training& training) {
  const auto& [from_step, step, rules, used] = training;
  training_.assign(used.begin(), used.end());
  step_ = step;
  std::erase_if(saving_, [first = from_step](const Saving& saving) { return saving.first_step >= first; });
  const auto nodes = static_cast<std::int32_t>(used.size());
  const Saving saving{from_step, rules[1].interval, nodes * job_->plan().cluster.gpus_per_node, k_};
  if (!saving_.empty() && saving_.back().goes_on_with(saving)) return;
  saving_.push_back(saving);
}

std::vector<PolicyMetric> PartialCheckpoints::metrics(std::int64_t steps) const {
  std::vector<PolicyMetric> metrics = {
      {"plt", steps > 0 ? share_of(tokens_lost_, static_cast<double>(steps)) : 0}};
  const PartialSaveOptions& options = saves_->options();
  if (options.is_dynamic && options.k.persist < job_->modules().experts) {
    metrics.push_back({"final_k_snapshot", static_cast<double>(k_.snapshot)});
    metrics.push_back({"final_k_persist", static_cast<double>(k_.persist)});
  }
  return metrics;
}

void PartialCheckpoints::replay_to(std::int64_t step) {
  for (const std::int64_t full : full_saves_) {
    if (full > step) break;  // it did not come to an end
    replay_partial(full);
    copies_ = ExpertCopies(job_->modules().expert_layers.size(), job_->modules().experts);
    window_.reset();
    replayed_ = full;
  }
  replay_partial(step);
}

void PartialCheckpoints::replay_partial(std::int64_t step) {
  for (std::size_t i = 0; i < saving_.size(); ++i) {
    const std::int64_t last = i + 1 < saving_.size() ? std::min(step, saving_[i + 1].first_step) : step;
    replay(saving_[i], last);
  }
  while (saving_.size() > 1 && saving_[1].first_step <= replayed_) saving_.erase(saving_.begin());
}

void PartialCheckpoints::replay(const Saving& saving, std::int64_t last) {
  if (saving.interval == 0) return;
  const ExpertSelection selection = saves_->options().selection;
  const std::int64_t from = std::max(replayed_, saving.first_step);
  std::int64_t first = (from / saving.interval + 1) * saving.interval;
  if (const std::int64_t latest = last / saving.interval - longest_memory(saving.k);
      selection == ExpertSelection::kSequential && first / saving.interval < latest) {
    first = latest * saving.interval;
    replayed_ = first - saving.interval;
  }
  for (std::int64_t at = first; at <= last; at += saving.interval) {
    route(replayed_);
    copies_.train(at - replayed_);
    copies_.save(at / saving.interval, saving.k, selection, saving.ranks);
    replayed_ = at;
  }
}

// Checkpoints after which no copy is as it was before: in turn, every expert has been copied to memory and to
// storage.
std::int64_t PartialCheckpoints::longest_memory(const PecLevels& k) const {
  return std::int64_t{rotation_length(job_->modules().experts, k.persist)} + 1;
}

// Tells the copies how many tokens experts get in that step, by layer and expert; layers of multi-token
// prediction do as the last of the others.
void PartialCheckpoints::route(std::int64_t step) {
  const JobRouting& routing = job_->routing();
  const std::size_t window = routing.window_at(step);
  if (window_ == window) return;
  ExpertTokens tokens = scaled_loads(routing.loads(window), tokens_of_step());
  while (tokens.size() < job_->modules().expert_layers.size()) tokens.push_back(tokens.back());
  copies_.set_tokens(tokens);
  window_ = window;
}

// Tokens of a step in a layer, each counted for all its experts. With the plan's batch, which all steps are
// taken to have.
std::int64_t PartialCheckpoints::tokens_of_step() const {
  const ParallelPlan& plan = job_->plan().parallel;
  return plan.global_batch * plan.sequence_length * job_->plan().model.moe->top_k;
}

// Of the tokens of so many steps.
double PartialCheckpoints::share_of(double tokens, double steps) const {
  const auto layers = static_cast<double>(job_->modules().expert_layers.size());
  return tokens / (steps * static_cast<double>(tokens_of_step()) * layers);
}

}  // namespace goodput

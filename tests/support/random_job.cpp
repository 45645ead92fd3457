#include "tests/support/random_job.h"

#include <algorithm>
#include <numeric>

namespace goodput::testing {
namespace {

constexpr NodeId kNodes = 6;
constexpr std::int64_t kWildCalls = 200;

bool is_in(const std::vector<NodeId>& ids, NodeId node) {
  return std::find(ids.begin(), ids.end(), node) != ids.end();
}

// One moment: nodes are lost, join (perhaps one that was just lost) and change their speed.
void add_moment(RandomStream& random, SimDuration at, std::vector<NodeId>& present, NodeEvents& events) {
  const double share = random.uniform();
  for (NodeId node = 0; node < kNodes; ++node) {
    if (!is_in(present, node) || random.uniform() > share * 0.5) continue;
    std::erase(present, node);
    events.push_back(lost(at, node));
  }
  for (NodeId node = 0; node < kNodes; ++node) {
    if (is_in(present, node) || random.uniform() > share) continue;
    present.push_back(node);
    events.push_back(joined(at, node));
  }
  for (NodeId node = 0; node < kNodes; ++node) {
    if (is_in(present, node) && random.uniform() < 0.1)
      events.push_back(slowed(at, node, random.uniform() < 0.5 ? 1 : 0.25));
  }
}

NodeEvents random_events(RandomStream& random, std::vector<NodeId>& present) {
  NodeEvents events;
  add_moment(random, SimDuration{}, present, events);
  const std::uint64_t longest_gap = 1 + random.below(60);
  std::int64_t now = 0;
  for (std::uint64_t moments = random.below(40); moments > 0; --moments) {
    now += 1 + static_cast<std::int64_t>(random.below(random.below(12) == 0 ? 800 : longest_gap));
    add_moment(random, SimDuration{now}, present, events);
  }
  return events;
}

PriceSchedule random_prices(RandomStream& random) {
  if (random.below(3) == 0) return PriceSchedule{};
  std::vector<SpotPrice> prices;
  std::int64_t time = 0;
  for (std::uint64_t changes = 1 + random.below(5); changes > 0; --changes) {
    prices.push_back(
        {SimTime{SimDuration{time}}, random.uniform(0, 1e12)});  // per hour: runs take microseconds
    time += 1 + static_cast<std::int64_t>(random.below(500));
  }
  return PriceSchedule(prices);
}

}  // namespace

RandomJob random_job(std::uint64_t seed) {
  RandomStream random(seed, "random job");
  RandomJob job;
  std::vector<NodeId> present;
  job.events = random_events(random, present);
  job.prices = random_prices(random);
  const auto upto = [&random](std::uint64_t most) { return static_cast<std::int64_t>(random.below(most)); };
  if (random.below(4) == 0) job.trace_end = SimTime{SimDuration{upto(2500)}};
  if (random.below(2) == 0) job.goal.until = SimTime{SimDuration{upto(2500)}};
  if (random.below(3) == 0) job.goal.samples = upto(600);
  if (random.below(3) == 0 || (!job.trace_end && !job.goal.until && !job.goal.samples))
    job.goal.steps = upto(400);
  return job;
}

std::int64_t RandomPolicy::below(std::int64_t bound) {
  return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
}

void RandomPolicy::note(const JobView& job) {
  ++calls_;
  told_.add(job.now.time_since_epoch().count());
  told_.add(job.is_training);
  for (const NodeId node : job.members->nodes()) {
    told_.add(node);
    told_.add(job.members->speed(node));
  }
}

void RandomPolicy::set_wake(const JobView& job, std::int64_t earliest) {
  if (calls_ > kWildCalls) {
    wake_ = kNoTime;
  } else if (chance(0.3)) {
    wake_ = job.now + SimDuration{earliest + below(30)};
  }
}

Response RandomPolicy::any_response() {
  if (calls_ > kWildCalls || chance(0.5)) return Response::kIgnore;
  return chance(0.5) ? Response::kAtStepEnd : Response::kInterrupt;
}

Response RandomPolicy::on_change(const JobView& job, const NodeChange& change) {
  note(job);
  for (const auto* nodes : {&change.lost, &change.joined, &change.changed_speed}) {
    told_.add(nodes->size());
    for (const NodeId node : *nodes) told_.add(node);
  }
  set_wake(job, 0);
  const bool loses = std::any_of(change.lost.begin(), change.lost.end(),
                                 [this](NodeId node) { return is_in(nodes_, node); });
  const Response response = any_response();
  if (loses || (nodes_.empty() && calls_ > kWildCalls)) return Response::kInterrupt;
  return response;
}

Response RandomPolicy::on_wake(const JobView& job) {
  note(job);
  wake_ = kNoTime;
  set_wake(job, 1);
  return any_response();
}

void RandomPolicy::choose_nodes(const Membership& members) {
  nodes_.clear();
  const double share = random_.uniform(0.5, 1.5);
  for (const NodeId node : members.nodes()) {
    if (chance(share)) nodes_.push_back(node);
  }
}

// Few different numbers: stalls, lags and steps often come out even.
CheckpointRules RandomPolicy::any_rules() {
  CheckpointRules rules{};
  if (chance(0.6)) rules[0].interval = 1 + below(4);
  if (chance(0.7)) rules[1].interval = std::max<std::int64_t>(1, rules[0].interval) * (1 + below(4));
  for (CheckpointRule& rule : rules) {
    if (chance(0.7)) rule.stall = SimDuration{below(8)};
    if (chance(0.6)) rule.lag = SimDuration{below(chance(0.3) ? 90 : 12)};
  }
  return rules;
}

Phases RandomPolicy::any_phases() {
  Phases phases;
  for (std::int64_t count = below(4); count > 0; --count) {
    const auto bucket = static_cast<TimeBucket>(1 + below(static_cast<std::int64_t>(kTimeBucketCount) - 2));
    phases.add(bucket, SimDuration{below(20)});
  }
  return phases;
}

Course RandomPolicy::decide(const JobState& job) {
  note(job);
  told_.add(job.step);
  for (const std::int64_t step : job.checkpoints) told_.add(step);
  told_.add(job.was_interrupted);
  const bool is_wild = calls_ <= kWildCalls;
  set_wake(job, 0);
  choose_nodes(*job.members);
  Course course;
  course.cause = static_cast<Cause>(below(static_cast<std::int64_t>(kCauses)));
  if (nodes_.empty() || (is_wild && chance(0.05))) {
    nodes_.clear();
    course.kind = is_wild && chance(0.03) ? Course::Kind::kGiveUp : Course::Kind::kWait;
    course.from = static_cast<ResumeFrom>(below(3));
    course.reason = "needs better luck";
    return course;
  }
  if (is_wild && chance(0.5)) course.from = chance(0.5) ? ResumeFrom::kMemory : ResumeFrom::kStorage;
  course.phases = any_phases();
  course.saves = is_wild && chance(0.3);
  course.nodes = nodes_;
  course.samples_per_step = 1 + below(5);
  course.checkpoints = any_rules();
  if (is_wild && chance(0.4)) course.decide_at_step = job.step_from(course.from) + 1 + below(12);
  pace_seed_ = random_.bits();
  pace_block_ = below(6);
  return course;
}

// Depends on the course and the step alone: an engine may ask as often as it likes.
Pace RandomPolicy::pace(std::int64_t step) {
  if (pace_block_ == 0) return {SimDuration{1 + static_cast<std::int64_t>(pace_seed_ % 9)}};
  const std::int64_t block = step / pace_block_;
  Hash hash;
  hash.add(pace_seed_);
  hash.add(block);
  return {SimDuration{1 + static_cast<std::int64_t>(hash.value() % 9)}, (block + 1) * pace_block_};
}

std::vector<PolicyMetric> RandomPolicy::metrics(std::int64_t steps) const {
  return {{"steps", static_cast<double>(steps)},
          {"calls", static_cast<double>(calls_)},
          {"digest", static_cast<double>(told_.value() >> 12)}};
}

}  // namespace goodput::testing

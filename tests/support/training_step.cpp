#include "tests/support/training_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "sim/base/random.h"

namespace goodput::testing {
namespace {

constexpr double kGrid = 1.0 / 1024;     // seconds, for exact_ties; exact in float32 for 4.6 hours
constexpr double kLeastCompute = 0.001;  // keeps no-ops of type 1 clear of the tolerance
constexpr double kNoopTolerance = 50e-6;

// Seconds, in the range of real jobs.
constexpr double kP2p = 0.0005;
constexpr double kParamsAllGather = 0.015;
constexpr double kGradsReduceScatter = 0.030;
constexpr double kSeparateGrads = 0.010;
constexpr double kLayernormGrads = 0.001;
constexpr double kEmbeddingGrads = 0.090;
// More than two clocks can be apart: the analysis insists on it.
constexpr double kLeastEmbeddingGrads = 0.060;
constexpr double kClip = 0.008;
constexpr double kOptimizer = 0.025;

// The random part of every duration.
class Draws {
 public:
  Draws(const TraceSpec& spec, std::string_view name, std::uint64_t id)
      : spec_(spec), random_(spec.seed, name, id) {}

  double compute(double seconds) {
    const double drawn = seconds * (1 + spec_.jitter * noise());
    return at_least_a_tick(std::max(drawn, kLeastCompute));
  }
  double transfer(double seconds, double least = 0) {
    return at_least_a_tick(std::max(seconds * std::exp(spec_.jitter * noise()), least));
  }
  double launch_delay() {
    return spec_.launch_delay_s > 0 ? on_grid(random_.exponential(1 / spec_.launch_delay_s)) : 0.0;
  }
  double noop() { return spec_.exact_ties ? 0.0 : random_.uniform(2e-6, 20e-6); }
  double margin() { return random_.uniform(10e-6, 30e-6); }

  double on_grid(double seconds) const { return testing::on_grid(spec_, seconds); }

 private:
  double noise() { return spec_.jitter > 0 ? random_.normal(0, 1) : 0.0; }
  double at_least_a_tick(double seconds) const {
    return spec_.exact_ties ? std::max(on_grid(seconds), kGrid) : seconds;
  }

  const TraceSpec& spec_;
  RandomStream random_;
};

// ---- Schedules

enum Direction { kForward, kBackward };
constexpr Direction kDirections[] = {kForward, kBackward};

constexpr OpType kCompute[] = {OpType::kForwardCompute, OpType::kBackwardCompute};
constexpr OpType kRecv[] = {OpType::kForwardRecv, OpType::kBackwardRecv};
constexpr OpType kSend[] = {OpType::kForwardSend, OpType::kBackwardSend};

// The k-th pass of a direction treats the same micro-batch on every stage, `mc` counted along the direction.
struct Passes {
  const TraceSpec& spec;

  int count() const { return spec.micro_batches * spec.vpp; }
  int mc(Direction direction, int k) const {
    const int along = k / spec.pp % spec.vpp;
    return direction == kForward ? along : spec.vpp - 1 - along;
  }
  int mb(int k) const {
    if (spec.vpp == 1) return k;
    return k / (spec.pp * spec.vpp) * spec.pp + k % spec.pp;
  }
  // The pass of micro-batch mb on chunk mc.
  int index(Direction direction, int mc, int mb) const {
    if (spec.vpp == 1) return mb;
    const int along = direction == kForward ? mc : spec.vpp - 1 - mc;
    return (mb / spec.pp * spec.vpp + along) * spec.pp + mb % spec.pp;
  }
};

int warmup_passes(const TraceSpec& spec, int stage) {
  const int total = Passes{spec}.count();
  if (spec.schedule == Schedule::kGPipe) return total;
  const int later_stages = spec.pp - 1 - stage;
  if (spec.vpp == 1) return std::min(later_stages, total);
  if (spec.micro_batches == spec.pp) return total;
  return std::min(2 * later_stages + (spec.vpp - 1) * spec.pp, total);
}

// Warm-up forwards, then one forward and one backward in turn, then the remaining backwards.
std::vector<Direction> schedule_of(const TraceSpec& spec, int stage) {
  const int total = Passes{spec}.count();
  const int warmup = warmup_passes(spec, stage);
  std::vector<Direction> order(static_cast<std::size_t>(warmup), kForward);
  for (int i = warmup; i < total; ++i) {
    order.push_back(kForward);
    order.push_back(kBackward);
  }
  order.insert(order.end(), static_cast<std::size_t>(warmup), kBackward);
  return order;
}

// ---- Passes and messages of one data-parallel rank

enum class Link : std::uint8_t { kMessage, kNoPeer, kNotRecorded };

struct Message {
  Link link = Link::kNotRecorded;
  int peer_stage = 0;
  int peer_k = 0;  // the same direction's pass that the other end belongs to
};

// What is the same in every step on every dp rank.
struct Plan {
  struct Stage {
    std::vector<Direction> order;
    std::array<std::vector<Message>, 2> recv;  // by direction, k
    std::array<std::vector<Message>, 2> send;
    std::array<int, 4> never_launched{};  // type 1: forward-recv, backward-recv, forward-send, backward-send
  };
  std::vector<Stage> stages;
};

Message message(const TraceSpec& spec, int stage, Direction direction, int k, bool recv) {
  const Passes passes{spec};
  const int chunk = passes.mc(direction, k) * spec.pp + stage;
  const int peer = chunk + ((direction == kForward) == recv ? -1 : 1);
  if (peer >= 0 && peer < spec.vpp * spec.pp) {
    return {Link::kMessage, peer % spec.pp, passes.index(direction, peer / spec.pp, passes.mb(k))};
  }
  const bool missing =
      recv ? spec.missing_first_recv && k == 0 : spec.missing_last_send && k == passes.count() - 1;
  return {spec.type2_noops && !missing ? Link::kNoPeer : Link::kNotRecorded};
}

std::array<int, 4> draw_never_launched(const TraceSpec& spec, int stage) {
  std::array<int, 4> counts{};
  if (!spec.type1_noops) return counts;
  RandomStream random(spec.seed, "never launched", static_cast<std::uint64_t>(stage));
  for (int& count : counts) count = static_cast<int>(random.below(3));
  counts[0] = std::max(counts[0], stage == spec.pp - 1 ? 1 : 0);  // at least one of either kind
  counts[3] = std::max(counts[3], stage == 0 ? 1 : 0);
  return counts;
}

Plan make_plan(const TraceSpec& spec) {
  Plan plan;
  for (int stage = 0; stage < spec.pp; ++stage) {
    Plan::Stage& of_stage = plan.stages.emplace_back();
    of_stage.order = schedule_of(spec, stage);
    of_stage.never_launched = draw_never_launched(spec, stage);
    for (const Direction direction : kDirections) {
      for (int k = 0; k < Passes{spec}.count(); ++k) {
        of_stage.recv[direction].push_back(message(spec, stage, direction, k, true));
        of_stage.send[direction].push_back(message(spec, stage, direction, k, false));
      }
    }
  }
  return plan;
}

// Runs the passes of all stages of one dp rank, and the messages between them.
class Pipeline {
 public:
  Pipeline(const TraceSpec& spec, const Plan& plan, std::span<Worker> workers, std::uint64_t lane)
      : spec_(spec), plan_(plan), workers_(workers), draws_(spec, "lane", lane), states_(workers.size()) {
    const auto passes = static_cast<std::size_t>(Passes{spec}.count());
    for (Worker& worker : workers_) {
      for (const Direction direction : kDirections) {
        for (const OpType type : {kCompute[direction], kRecv[direction], kSend[direction]}) {
          worker[type].assign(passes, {});
        }
      }
    }
  }

  void run(int dp_rank) {
    dp_rank_ = dp_rank;
    for (bool progress = true; progress;) {
      progress = false;
      for (int stage = 0; stage < spec_.pp; ++stage) {
        while (advance(stage)) progress = true;
      }
    }
    for (int stage = 0; stage < spec_.pp; ++stage) finish(stage);
  }

 private:
  struct State {
    std::size_t done = 0;                  // passes of the schedule
    std::array<std::size_t, 2> compute{};  // passes by direction
    std::array<std::size_t, 2> recv{};
    std::array<std::size_t, 2> send{};
    double compute_end = 0;
    std::array<double, 2> recv_end{};  // kUnknown while the last one posted is under way
    std::array<double, 2> send_end{};
  };

  const Plan::Stage& plan(int stage) const { return plan_.stages[static_cast<std::size_t>(stage)]; }
  Worker& worker(int stage) { return workers_[static_cast<std::size_t>(stage)]; }
  State& state(int stage) { return states_[static_cast<std::size_t>(stage)]; }

  bool advance(int stage) {
    bool progress = false;
    for (const Direction direction : kDirections) {
      progress = post_recv(stage, direction) || progress;
      progress = post_send(stage, direction) || progress;
    }
    return compute(stage) || progress;
  }

  // A receive is posted once the previous pass of its direction is over; the first backward one two passes
  // before it is needed, so that it overlaps with the forward pass between.
  double posting_time(int stage, Direction direction, std::size_t k) {
    if (k > 0)
      return k <= state(stage).compute[direction] ? worker(stage)[kCompute[direction]][k - 1].end : kUnknown;
    const double step_start = worker(stage).step_start;
    if (direction == kForward) return step_start;
    const auto& order = plan(stage).order;
    const auto before =
        static_cast<std::size_t>(std::find(order.begin(), order.end(), kBackward) - order.begin());
    if (before < 2) return step_start;
    return state(stage).compute[kForward] >= before - 1
               ? worker(stage)[OpType::kForwardCompute][before - 2].end
               : kUnknown;
  }

  bool post_recv(int stage, Direction direction) {
    State& at = state(stage);
    const std::size_t k = at.recv[direction];
    const auto& messages = plan(stage).recv[direction];
    if (k == messages.size() || std::isnan(at.recv_end[direction])) return false;
    const double ready = posting_time(stage, direction, k);
    if (std::isnan(ready)) return false;
    ++at.recv[direction];
    launch(messages[k], std::max(ready, at.recv_end[direction]), stage, direction, k, true);
    return true;
  }

  bool post_send(int stage, Direction direction) {
    State& at = state(stage);
    const std::size_t k = at.send[direction];
    if (k == at.compute[direction] || std::isnan(at.send_end[direction])) return false;
    const double ready = worker(stage)[kCompute[direction]][k].end;
    ++at.send[direction];
    launch(plan(stage).send[direction][k], std::max(ready, at.send_end[direction]), stage, direction, k,
           false);
    return true;
  }

  void launch(const Message& message, double ready, int stage, Direction direction, std::size_t k,
              bool recv) {
    if (message.link == Link::kNotRecorded) return;
    Event& event = worker(stage)[recv ? kRecv[direction] : kSend[direction]][k];
    double& stream_end = recv ? state(stage).recv_end[direction] : state(stage).send_end[direction];
    event.start = ready + draws_.launch_delay();
    if (message.link == Link::kNoPeer) {
      event.end = stream_end = event.start + draws_.noop();
      return;
    }
    stream_end = kUnknown;
    const OpType peer_type = recv ? kSend[direction] : kRecv[direction];
    Event& peer = worker(message.peer_stage)[peer_type][static_cast<std::size_t>(message.peer_k)];
    if (std::isnan(peer.start)) return;
    State& peer_state = state(message.peer_stage);
    double& peer_stream_end = recv ? peer_state.send_end[direction] : peer_state.recv_end[direction];
    const double both_launched = std::max(event.start, peer.start);
    event.end = stream_end = both_launched + draws_.transfer(kP2p);
    peer.end = peer_stream_end = both_launched + draws_.transfer(kP2p);
  }

  bool compute(int stage) {
    State& at = state(stage);
    const auto& order = plan(stage).order;
    if (at.done == order.size()) return false;
    const Direction direction = order[at.done];
    const std::size_t k = at.compute[direction];
    double ready = std::max(at.compute_end, worker(stage).step_start);
    if (plan(stage).recv[direction][k].link != Link::kNotRecorded) {
      const double received = worker(stage)[kRecv[direction]][k].end;
      if (std::isnan(received)) return false;
      ready = std::max(ready, received);
    }
    if (direction == kForward) ready = std::max(ready, parameters_gathered(stage, static_cast<int>(k)));
    worker(stage)[kCompute[direction]][k] = pass(stage, direction, static_cast<int>(k), ready);
    at.compute_end = worker(stage)[kCompute[direction]][k].end;
    ++at.compute[direction];
    ++at.done;
    return true;
  }

  Event pass(int stage, Direction direction, int k, double ready) {
    const Passes passes{spec_};
    double seconds = spec_.forward_s / spec_.vpp * (direction == kForward ? 1 : 2);
    if ((spec_.slow_dp_rank == kAllReplicas || dp_rank_ == spec_.slow_dp_rank) && stage == spec_.slow_stage)
      seconds *= spec_.slow_worker_factor;
    if (stage == spec_.pp - 1) seconds *= spec_.slow_last_stage_factor;
    const int mc = passes.mc(direction, k);
    const double start = ready + draws_.launch_delay();
    return {start, start + draws_.compute(seconds), mc, passes.mb(k), mc * spec_.pp + stage};
  }

  // The first pass of a chunk waits for the last bucket of its parameters.
  double parameters_gathered(int stage, int k) {
    const Passes passes{spec_};
    if (!spec_.data_parallel_ops || passes.mb(k) != 0) return 0;
    const int last_bucket = (passes.mc(kForward, k) + 1) * spec_.dp_buckets_per_chunk - 1;
    return worker(stage)[OpType::kParamsAllGather][static_cast<std::size_t>(last_bucket)].end;
  }

  void finish(int stage) {
    if (state(stage).done != plan(stage).order.size())
      throw std::logic_error("deadlock: " + to_string(spec_));
    for (const Direction direction : kDirections) {
      for (const OpType type : {kRecv[direction], kSend[direction]}) {
        std::erase_if(worker(stage)[type], [](const Event& event) { return std::isnan(event.start); });
      }
    }
  }

  const TraceSpec& spec_;
  const Plan& plan_;
  std::span<Worker> workers_;
  Draws draws_;
  std::vector<State> states_;
  int dp_rank_ = 0;
};

// ---- One training step of all workers

class TrainingStep {
 public:
  TrainingStep(const TraceSpec& spec, const Plan& plan, int index)
      : spec_(spec),
        plan_(plan),
        index_(static_cast<std::uint64_t>(index)),
        draws_(spec, "step", index_),
        workers_(static_cast<std::size_t>(spec.dp) * static_cast<std::size_t>(spec.pp)) {}

  // By dp rank, then stage.
  std::vector<Worker> run() {
    for (Worker& worker : workers_) worker.step_start = draws_.launch_delay();
    if (spec_.data_parallel_ops) gather_parameters();
    for (int dp = 0; dp < spec_.dp; ++dp) {
      const auto stages = static_cast<std::size_t>(spec_.pp);
      const std::span<Worker> lane(&worker(dp, 0), stages);
      Pipeline(spec_, plan_, lane,
               index_ * static_cast<std::uint64_t>(spec_.dp) + static_cast<std::uint64_t>(dp))
          .run(dp);
    }
    if (spec_.overlap_dp && spec_.data_parallel_ops) reduce_gradients_early();
    finish_step();
    for_each_worker([this](int dp, int stage) { add_noops(worker(dp, stage), stage); });
    return std::move(workers_);
  }

 private:
  Worker& worker(int dp, int stage) { return workers_[static_cast<std::size_t>(dp * spec_.pp + stage)]; }

  template <typename Visit>
  void for_each_worker(Visit visit) {
    for (int dp = 0; dp < spec_.dp; ++dp) {
      for (int stage = 0; stage < spec_.pp; ++stage) visit(dp, stage);
    }
  }

  static double end_of(const std::vector<Event>& events) { return events.empty() ? 0.0 : events.back().end; }

  // Launches an op of this type on a worker; its end is set later unless it has a duration.
  void launch(Worker& on, OpType type, double ready, Event event = {}) {
    event.start = ready + draws_.launch_delay();
    on[type].push_back(event);
  }
  void launch_plain(Worker& on, OpType type, double ready, double seconds, Event event = {}) {
    launch(on, type, ready, event);
    on[type].back().end = on[type].back().start + seconds;
  }

  // All of them end a transfer after the last was launched.
  void complete(std::span<Worker* const> members, OpType type, double seconds, double least = 0) {
    double launched = -std::numeric_limits<double>::infinity();
    for (Worker* member : members) launched = std::max(launched, (*member)[type].back().start);
    for (Worker* member : members) (*member)[type].back().end = launched + draws_.transfer(seconds, least);
  }

  std::vector<Worker*> all_dp_ranks(int stage) {
    std::vector<Worker*> members;
    for (int dp = 0; dp < spec_.dp; ++dp) members.push_back(&worker(dp, stage));
    return members;
  }

  void gather_parameters() {
    for (int stage = 0; stage < spec_.pp; ++stage) {
      const auto members = all_dp_ranks(stage);
      for (int bucket = 0; bucket < spec_.vpp * spec_.dp_buckets_per_chunk; ++bucket) {
        for (Worker* member : members) {
          const double ready = std::max(member->step_start, end_of((*member)[OpType::kParamsAllGather]));
          launch(*member, OpType::kParamsAllGather, ready, {.mc = bucket / spec_.dp_buckets_per_chunk});
        }
        complete(members, OpType::kParamsAllGather, kParamsAllGather / spec_.dp_buckets_per_chunk);
      }
    }
  }

  // The gradients of the last chunk are complete first.
  int chunk_of_bucket(int bucket) const { return spec_.vpp - 1 - bucket / spec_.dp_buckets_per_chunk; }

  // When the last backward pass of the chunk has computed the gradients of this bucket.
  double gradients_ready(const Worker& on, int bucket) const {
    const auto& passes = on[OpType::kBackwardCompute];
    const auto last = std::find_if(passes.rbegin(), passes.rend(),
                                   [&](const Event& pass) { return pass.mc == chunk_of_bucket(bucket); });
    const int part = bucket % spec_.dp_buckets_per_chunk + 1;
    return last->start + draws_.on_grid((last->end - last->start) * part / spec_.dp_buckets_per_chunk);
  }

  void reduce_gradients_early() {
    reduce_scatter([this](Worker& on, int bucket) { return gradients_ready(on, bucket); });
  }

  template <typename Ready>
  void reduce_scatter(Ready ready) {
    for (int stage = 0; stage < spec_.pp; ++stage) {
      const auto members = all_dp_ranks(stage);
      for (int bucket = 0; bucket < spec_.vpp * spec_.dp_buckets_per_chunk; ++bucket) {
        for (Worker* member : members) {
          const double previous = end_of((*member)[OpType::kGradsReduceScatter]);
          launch(*member, OpType::kGradsReduceScatter, std::max(previous, ready(*member, bucket)),
                 {.mc = chunk_of_bucket(bucket)});
        }
        complete(members, OpType::kGradsReduceScatter, kGradsReduceScatter / spec_.dp_buckets_per_chunk);
      }
    }
  }

  bool has_embedding(int stage) const { return stage == 0 || stage == spec_.pp - 1; }

  double embedding_end(const Worker& on) const {
    const auto& embedding = on[OpType::kEmbeddingGradsAllReduce];
    return embedding.empty() ? end_of(on[OpType::kLayernormGradsAllReduce]) : embedding.back().end;
  }

  void reduce_shared_gradients() {
    for_each_worker([this](int dp, int stage) {
      Worker& on = worker(dp, stage);
      launch_plain(on, OpType::kGc, end_of(on[OpType::kBackwardCompute]), 0, {.mb = 0});
      const double ready = std::max(end_of(on[OpType::kGc]), end_of(on[OpType::kGradsReduceScatter]));
      launch_plain(on, OpType::kLayernormGradsAllReduce, ready, draws_.transfer(kLayernormGrads));
      if (!has_embedding(stage)) return;
      launch(on, OpType::kEmbeddingGradsAllReduce, end_of(on[OpType::kLayernormGradsAllReduce]));
    });
    for (int dp = 0; dp < spec_.dp; ++dp) {
      std::vector<Worker*> members{&worker(dp, 0)};
      if (spec_.pp > 1) members.push_back(&worker(dp, spec_.pp - 1));
      complete(members, OpType::kEmbeddingGradsAllReduce, kEmbeddingGrads, kLeastEmbeddingGrads);
    }
  }

  void reduce_separate_gradients() {
    for (int stage = 0; stage < spec_.pp; ++stage) {
      const auto members = all_dp_ranks(stage);
      for (Worker* member : members) launch(*member, OpType::kSeparateGradsAllReduce, embedding_end(*member));
      complete(members, OpType::kSeparateGradsAllReduce, kSeparateGrads);
    }
  }

  void finish_step() {
    reduce_shared_gradients();
    if (spec_.data_parallel_ops && spec_.overlap_dp) reduce_separate_gradients();
    if (spec_.data_parallel_ops && !spec_.overlap_dp) {
      reduce_scatter([this](Worker& on, int) { return embedding_end(on); });
    }
    std::vector<Worker*> everyone;
    for (Worker& on : workers_) {
      double ready = std::max(embedding_end(on), end_of(on[OpType::kGradsReduceScatter]));
      ready = std::max(ready, end_of(on[OpType::kSeparateGradsAllReduce]));
      launch(on, OpType::kOptimizerClipMainGrad, ready);
      everyone.push_back(&on);
    }
    complete(everyone, OpType::kOptimizerClipMainGrad, kClip);
    for (Worker& on : workers_) {
      launch_plain(on, OpType::kOptimizer, end_of(on[OpType::kOptimizerClipMainGrad]),
                   draws_.compute(kOptimizer));
    }
  }

  // ---- What is recorded without a message

  void add_noops(Worker& on, int stage) {
    const Plan::Stage& of_stage = plan_.stages[static_cast<std::size_t>(stage)];
    for (const Direction direction : kDirections) {
      if (spec_.noops_at_tolerance) move_to_tolerance(on, of_stage, direction);
      add_trailing_recvs(on, direction, of_stage.never_launched[direction]);
      add_leading_sends(on, of_stage, direction, of_stage.never_launched[2 + direction]);
    }
  }

  // Type 2, and just not type 1.
  void move_to_tolerance(Worker& on, const Plan::Stage& of_stage, Direction direction) {
    const auto& passes = on[kCompute[direction]];
    if (of_stage.recv[direction].back().link == Link::kNoPeer) {
      Event& last = on[kRecv[direction]].back();
      last.start = passes.back().start + kNoopTolerance - draws_.margin();
      last.end = last.start + draws_.noop();
    }
    if (of_stage.send[direction].front().link == Link::kNoPeer) {
      Event& first = on[kSend[direction]].front();
      first.end = passes.front().end - kNoopTolerance + draws_.margin();
      first.start = first.end - draws_.noop();
    }
  }

  void add_trailing_recvs(Worker& on, Direction direction, int count) {
    const Event& last_pass = on[kCompute[direction]].back();
    double at = last_pass.end;
    if (spec_.noops_at_tolerance) at = last_pass.start + kNoopTolerance + draws_.margin();
    for (int i = 0; i < count; ++i) {
      at += draws_.noop();
      const double seconds = draws_.noop();
      on[kRecv[direction]].push_back({.start = at, .end = at + seconds});
      at += seconds;
    }
    if (count > 0 && spec_.outlasting_noops) {
      on[kRecv[direction]].back().end = end_of(on[OpType::kOptimizer]) + draws_.compute(kOptimizer);
    }
  }

  // Early backward sends are recorded with the first backward receive, two passes ahead of the first
  // backward.
  void add_leading_sends(Worker& on, const Plan::Stage& of_stage, Direction direction, int count) {
    double at = on.step_start;
    const auto& order = of_stage.order;
    const auto forwards =
        static_cast<std::size_t>(std::find(order.begin(), order.end(), kBackward) - order.begin());
    if (direction == kBackward && forwards >= 2) at = on[OpType::kForwardCompute][forwards - 2].end;
    std::vector<Event> leading;
    for (int i = 0; i < count; ++i) {
      at += draws_.noop();
      const double seconds = draws_.noop();
      leading.push_back({.start = at, .end = at + seconds});
      at += seconds;
    }
    if (spec_.noops_at_tolerance && count > 0) {
      const double end = on[kCompute[direction]].front().end - kNoopTolerance - draws_.margin();
      leading.back() = {.start = std::max(leading.back().start, end - draws_.noop()), .end = end};
    }
    auto& sends = on[kSend[direction]];
    sends.insert(sends.begin(), leading.begin(), leading.end());
  }

  const TraceSpec& spec_;
  const Plan& plan_;
  std::uint64_t index_;
  Draws draws_;
  std::vector<Worker> workers_;
};

}  // namespace

double on_grid(const TraceSpec& spec, double time_s) {
  return spec.exact_ties ? std::round(time_s / kGrid) * kGrid : time_s;
}

std::vector<Worker> simulate_step(const TraceSpec& spec, int index) {
  return TrainingStep(spec, make_plan(spec), index).run();
}

}  // namespace goodput::testing

#include "tests/reference/reference_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace goodput::reference {
namespace {

using namespace std::chrono_literals;

constexpr SimTime kNever = StepOutcome::kNever;

class MomentEngine {
 public:
  MomentEngine(const testing::RandomStep& step, Contention contention)
      : step_(step), contention_(contention), ops_(step.graph.size() * step.lanes) {
    flows_.resize(step.work.flows.size());
    rate_of_.assign(64, 1.0);
    lost_.assign(64, false);
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      ops_[i].remaining = static_cast<double>(step.work.durations[i].count());
      peers_.emplace_back();
      for (std::size_t j = 0; j < ops_.size(); ++j) {
        if (meets(i, j)) peers_.back().push_back(j);
      }
    }
  }

  void run() {
    while (true) {
      while (settle_moment()) {
      }
      disturb();
      share_links();
      const std::optional<SimTime> next = next_moment();
      if (!next) break;
      now_ = *next;
    }
  }

  [[nodiscard]] SimTime start_of(std::size_t i) const { return ops_[i].start; }
  [[nodiscard]] SimTime end_of(std::size_t i) const { return ops_[i].ended ? ops_[i].end : kNever; }

 private:
  struct Op {
    SimTime start = kNever;
    SimTime end = kNever;  // as things stand
    bool moves = false;    // a transfer that has been launched
    bool broken = false;
    bool ended = false;
    double remaining = 0;
    SimTime since;
  };
  struct Moving {
    SimTime begin = kNever;  // the latency is over
    SimTime end = kNever;
    bool over = false;
    double remaining = -1;
    double rate = 0;
    SimTime since;
  };

  [[nodiscard]] FlowId flow_of(std::size_t i) const {
    return step_.work.flow_of.empty() ? kNoFlow : step_.work.flow_of[i];
  }
  [[nodiscard]] const OpGraph::Unit& unit_of(std::size_t i) const {
    return step_.graph.units()[step_.graph.unit_of()[i / step_.lanes]];
  }
  [[nodiscard]] bool meets(std::size_t i, std::size_t j) const {
    return &unit_of(i) == &unit_of(j) &&
           step_.graph.partition_of(unit_of(i)).in_same_block(i % step_.lanes, j % step_.lanes);
  }
  [[nodiscard]] bool computes(std::size_t i) const { return !unit_of(i).is_group && flow_of(i) == kNoFlow; }

  // When the op may start, if that is known.
  [[nodiscard]] SimTime ready(std::size_t i) const {
    SimTime latest{};
    for (const OpId before : step_.graph.predecessors(static_cast<OpId>(i / step_.lanes))) {
      const Op& op = ops_[before * step_.lanes + i % step_.lanes];
      if (!op.ended) return kNever;
      latest = std::max(latest, op.end);
    }
    return latest + (step_.work.delays.empty() ? 0ns : step_.work.delays[i]);
  }

  // Starts and ends what can start and end now; true if anything did.
  bool settle_moment() {
    bool progress = false;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      Op& op = ops_[i];
      if (op.start == kNever && ready(i) <= now_ && !lost_[step_.worker_of(i)]) {
        op.start = op.since = now_;
        if (computes(i)) op.end = compute_end(i);
        progress = true;
      }
      if (op.start != kNever && !computes(i) && !op.moves && all_have_started(i)) {
        op.moves = progress = true;
        launch(i);
      }
      if (!op.ended && !op.broken && op.end == now_) op.ended = progress = true;
    }
    for (FlowId flow = 0; flow < flows_.size(); ++flow) {
      Moving& moving = flows_[flow];
      if (moving.over || moving.end != now_) continue;
      moving.over = progress = true;
      for (std::size_t i = 0; i < ops_.size(); ++i) {
        if (flow_of(i) == flow) ops_[i].end = now_;
      }
    }
    return progress;
  }

  [[nodiscard]] bool all_have_started(std::size_t i) const {
    return std::ranges::none_of(
        peers_[i], [&](std::size_t peer) { return ops_[peer].start == kNever || ops_[peer].broken; });
  }

  void launch(std::size_t i) {
    const FlowId id = flow_of(i);
    if (id == kNoFlow) {
      ops_[i].end = now_ + step_.work.durations[i];
      return;
    }
    const Flow& flow = step_.work.flows[id];
    if (contention_ == Contention::kNone) {
      ops_[i].end = now_ + flow.latency;
      if (flow.size.value > 0) ops_[i].end += flow.size / BytesPerSecond{least_capacity(flow)};
      return;
    }
    if (flows_[id].begin != kNever) return;
    flows_[id].begin = now_ + flow.latency;
    flows_[id].remaining = static_cast<double>(flow.size.value);
    if (flow.size.value == 0) flows_[id].end = flows_[id].begin;
  }

  [[nodiscard]] double least_capacity(const Flow& flow) const {
    double least = 1e300;
    for (const LinkId link : route(flow)) least = std::min(least, step_.work.links[link].value);
    return least;
  }
  [[nodiscard]] std::span<const LinkId> route(const Flow& flow) const {
    return std::span(step_.work.routes).subspan(flow.first_link, flow.link_count);
  }

  [[nodiscard]] SimTime compute_end(std::size_t i) const {
    const double rate = rate_of_[step_.worker_of(i)];
    if (rate == 0) return kNever;
    return now_ + SimDuration{std::llrint(ops_[i].remaining / rate)};
  }

  // Only the first visit of a moment does something.
  void disturb() {
    if (disturbed_ == now_) return;
    disturbed_ = now_;
    for (const RateChange& change : step_.disturbances.rates) {
      if (change.at != now_) continue;
      for (std::size_t i = 0; i < ops_.size(); ++i) {
        Op& op = ops_[i];
        if (step_.worker_of(i) != change.worker || op.start == kNever || op.ended || !computes(i)) continue;
        op.remaining -= rate_of_[change.worker] * static_cast<double>((now_ - op.since).count());
        op.remaining = std::max(op.remaining, 0.0);
        op.since = now_;
      }
      rate_of_[change.worker] = change.rate;
      for (std::size_t i = 0; i < ops_.size(); ++i) {
        if (step_.worker_of(i) == change.worker && ops_[i].start != kNever && computes(i) && !ops_[i].ended)
          ops_[i].end = compute_end(i);
      }
    }
    for (const WorkerLoss& loss : step_.disturbances.losses) {
      if (loss.at != now_) continue;
      lost_[loss.worker] = true;
      for (std::size_t i = 0; i < ops_.size(); ++i) {
        if (step_.worker_of(i) == loss.worker && ops_[i].start != kNever && !ops_[i].ended) break_all(i);
      }
    }
  }

  void break_all(std::size_t i) {
    for (const std::size_t peer : peers_[i]) {
      if (ops_[peer].ended) continue;
      ops_[peer].broken = true;
      if (flow_of(peer) != kNoFlow) flows_[flow_of(peer)].over = true;
    }
  }

  [[nodiscard]] bool on_links(FlowId flow) const {
    const Moving& moving = flows_[flow];
    return !moving.over && moving.begin <= now_ && step_.work.flows[flow].size.value > 0;
  }

  void share_links() {
    const std::vector<double> rates = fill();
    for (FlowId flow = 0; flow < flows_.size(); ++flow) {
      Moving& moving = flows_[flow];
      if (!on_links(flow) || std::abs(rates[flow] - moving.rate) <= 1e-9 * moving.rate) continue;
      moving.remaining -= moving.rate * 1e-9 * static_cast<double>((now_ - moving.since).count());
      moving.since = now_;
      moving.rate = rates[flow];
      moving.end = now_ + SimDuration{std::max(0LL, std::llrint(moving.remaining / moving.rate * 1e9))};
    }
  }

  // Progressive filling (see fair_share_test.cpp).
  [[nodiscard]] std::vector<double> fill() const {
    std::vector<double> rate(flows_.size(), 0);
    std::vector<bool> rising;
    for (FlowId flow = 0; flow < flows_.size(); ++flow) rising.push_back(on_links(flow));
    while (std::find(rising.begin(), rising.end(), true) != rising.end()) {
      double least = 1e300;
      LinkId full = 0;
      for (LinkId link = 0; link < step_.work.links.size(); ++link) {
        double left = step_.work.links[link].value;
        double open = 0;
        for (FlowId flow = 0; flow < flows_.size(); ++flow) {
          if (!crosses(flow, link)) continue;
          if (rising[flow])
            ++open;
          else
            left -= rate[flow];
        }
        if (open == 0 || left / open >= least) continue;
        least = left / open;
        full = link;
      }
      for (FlowId flow = 0; flow < flows_.size(); ++flow) {
        if (!rising[flow] || !crosses(flow, full)) continue;
        rate[flow] = least;
        rising[flow] = false;
      }
    }
    return rate;
  }
  [[nodiscard]] bool crosses(FlowId flow, LinkId link) const {
    const auto links = route(step_.work.flows[flow]);
    return std::find(links.begin(), links.end(), link) != links.end();
  }

  [[nodiscard]] std::optional<SimTime> next_moment() const {
    SimTime next = kNever;
    const auto consider = [&](SimTime time) {
      if (time >= now_ && (time > now_ || disturbed_ != now_)) next = std::min(next, time);
    };
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].start == kNever) consider(ready(i));
      if (!ops_[i].ended && !ops_[i].broken) consider(ops_[i].end);
    }
    for (const Moving& moving : flows_) {
      if (moving.over) continue;
      if (moving.begin != kNever) consider(moving.begin);
      if (moving.end == now_) return now_;  // a rounded rest of less than half a nanosecond
      consider(moving.end);
    }
    for (const RateChange& change : step_.disturbances.rates) consider(change.at);
    for (const WorkerLoss& loss : step_.disturbances.losses) consider(loss.at);
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!ops_[i].ended && !ops_[i].broken && ops_[i].end == now_) return now_;
    }
    if (next == kNever) return std::nullopt;
    return next;
  }

  const testing::RandomStep& step_;
  Contention contention_;
  SimTime now_;
  SimTime disturbed_ = kNever;
  std::vector<Op> ops_;
  std::vector<std::vector<std::size_t>> peers_;  // by instance: all that meet with it
  std::vector<Moving> flows_;
  std::vector<double> rate_of_;
  std::vector<bool> lost_;
};

}  // namespace

InstanceTimes run_step_by_moments(const testing::RandomStep& step, Contention contention) {
  MomentEngine engine(step, contention);
  engine.run();
  InstanceTimes times;
  for (std::size_t i = 0; i < step.work.durations.size(); ++i) {
    times.starts.push_back(engine.start_of(i));
    times.ends.push_back(engine.end_of(i));
  }
  return times;
}

}  // namespace goodput::reference

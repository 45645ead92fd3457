#include "models/cost/collectives.h"

#include <algorithm>
#include <cmath>

namespace goodput {
namespace {

constexpr double kTreeEfficiency = 0.92;  // of a ring's bandwidth
// A direct exchange shakes hands first, then every further peer adds less than a step of a ring: fitted to
// the public H200 tables (configs/calibration/h200-public.json).
constexpr double kHandshakeSteps = 2.3;
constexpr double kStepsAPeer = 0.3;
// NVLink steps that the bulk protocol takes longer to start than the low-latency one, and what of the
// bandwidth the latter reaches; fitted to the same.
constexpr double kBulkSteps = 14;
constexpr double kLowLatencyRate = 0.45;

double rate_of(const LinkSpec& link) {
  return link.bandwidth.value * link.efficiency;
}

// A call with what follows from it.
struct Scope {
  Scope(const CollectiveCall& given, const ClusterSpec& machines, CollectiveProtocol chosen)
      : call(given),
        protocol(chosen),
        intra(machines.intra_node),
        inter(machines.inter_node),
        nvlink(rate_of(machines.intra_node)),
        nic(nic_bytes_per_second(machines)),
        size(given.group.size),
        near(std::min(given.group.per_node, given.group.size)),
        nodes(given.group.nodes()),
        passes(given.kind == Collective::kAllReduce ? 2 : 1),
        pod(machines.pod) {}

  const CollectiveCall& call;
  CollectiveProtocol protocol;
  const LinkSpec& intra;
  const LinkSpec& inter;
  double nvlink;
  double nic;
  double size;
  double near;
  double nodes;
  double passes;
  PodSpec pod;

  [[nodiscard]] bool leaves_pod() const { return pod.nodes > 0 && nodes > pod.nodes; }
  // A ring or tree over consecutive nodes uses one node's share of the uplinks. It slows down only if the pod
  // has less than that.
  [[nodiscard]] double ring_nic() const {
    return leaves_pod() ? nic * std::min(1.0, pod.nodes / pod.oversubscription) : nic;
  }
  [[nodiscard]] double step_inside() const { return to_seconds(intra.hop_latency); }
  [[nodiscard]] double step_between() const {
    const bool is_bulk = protocol == CollectiveProtocol::kBulk;
    return to_seconds(is_bulk ? inter.bulk_hop_latency.value_or(inter.hop_latency) : inter.hop_latency);
  }
  // Of the one kernel that does it all: what the network adds to the start inside the node.
  [[nodiscard]] double start_between() const {
    const double start = to_seconds(inter.latency);
    return near > 1 ? std::max(0.0, start - to_seconds(intra.latency)) : start;
  }
};

LinkTime chain_latency(const Scope& scope) {
  if (scope.near <= 1) return {};
  return {to_seconds(scope.intra.latency) + scope.passes * (scope.near - 1) * scope.step_inside(), 0};
}

CollectiveTime ring(const Scope& scope) {
  CollectiveTime time{.algorithm = CollectiveAlgorithm::kRing, .inside = chain_latency(scope), .between = {}};
  const double moved = scope.passes * scope.call.bytes * (scope.size - 1) / scope.size;
  if (scope.near > 1) time.inside.transfer = moved / scope.nvlink;
  if (scope.nodes <= 1) return time;
  // On its way the ring passes all GPUs of every node that it enters.
  const double entering = scope.step_between() + (scope.near - 1) * scope.step_inside();
  time.between = {scope.start_between() + scope.passes * (scope.nodes - 1) * entering,
                  moved / scope.near / scope.ring_nic()};
  return time;
}

// Sums inside the nodes and hands them back: in the switches, or along a chain.
LinkTime sum_inside(const Scope& scope) {
  LinkTime time = chain_latency(scope);
  const double chain = 2 * (scope.near - 1) / scope.near;
  const double switches =
      (scope.near + 1) / scope.near;  // its buffer out, then everyone's share of the sums in
  const double passes = scope.intra.in_network_reduction ? std::min(chain, switches) : chain;
  time.transfer = passes * scope.call.bytes / scope.nvlink;
  return time;
}

CollectiveTime tree(const Scope& scope) {
  const double steps = std::ceil(std::log2(scope.nodes));
  const double moved = 2 * scope.call.bytes / scope.near * (scope.nodes - 1) / scope.nodes;
  const LinkTime between = {scope.start_between() + 2 * steps * scope.step_between(),
                            moved / (scope.ring_nic() * kTreeEfficiency)};
  return {.algorithm = CollectiveAlgorithm::kTree, .inside = sum_inside(scope), .between = between};
}

CollectiveTime in_network(const Scope& scope) {
  CollectiveTime time{
      .algorithm = CollectiveAlgorithm::kInNetwork, .inside = sum_inside(scope), .between = {}};
  if (scope.nodes > 1)  // up to the switches and down
    time.between = {scope.start_between() + 2 * scope.step_between(),
                    scope.call.bytes / scope.near / scope.ring_nic()};
  return time;
}

double direct_latency(const LinkSpec& link, double peers) {
  return to_seconds(link.latency) + (kHandshakeSteps + kStepsAPeer * peers) * to_seconds(link.hop_latency);
}

// What the GPU that sends most sends, if the call says it.
std::optional<CollectiveCall::LinkBytes> bytes_by_link(const CollectiveCall& call) {
  if (!call.by_link) return std::nullopt;
  return CollectiveCall::LinkBytes{call.imbalance * call.by_link->inside,
                                   call.imbalance * call.by_link->between};
}

// The GPU that sends or receives most sets the pace.
CollectiveTime all_to_all(const Scope& scope) {
  const double a_peer = scope.call.imbalance * scope.call.bytes / scope.size;
  const double far = scope.size - scope.near;
  const double outside = scope.leaves_pod() ? scope.size - scope.near * scope.pod.nodes : 0;
  CollectiveTime time{.algorithm = CollectiveAlgorithm::kDirect, .inside = {}, .between = {}};
  const auto equal = CollectiveCall::LinkBytes{a_peer * (scope.near - 1), a_peer * far};
  const CollectiveCall::LinkBytes sent = bytes_by_link(scope.call).value_or(equal);
  if (scope.near > 1) time.inside = {direct_latency(scope.intra, scope.near - 1), sent.inside / scope.nvlink};
  if (far > 0) {
    const double uplinks = std::max(1.0, outside / far * scope.pod.oversubscription);
    time.between = {direct_latency(scope.inter, far), sent.between * uplinks / scope.nic};
  }
  return time;
}

// Seconds over a link that gives the sender `rate`. A rate of the link's own for sends was measured with the
// start-up and the neighbours' sends in it.
LinkTime send_over(const LinkSpec& link, double rate, double bytes) {
  if (link.send) return {0, bytes / link.send->value};
  return {to_seconds(link.latency), bytes / rate};
}

CollectiveTime send(const Scope& scope) {
  CollectiveTime time{.algorithm = CollectiveAlgorithm::kDirect, .inside = {}, .between = {}};
  if (scope.nodes <= 1)
    time.inside = send_over(scope.intra, scope.nvlink, scope.call.bytes);
  else
    time.between = send_over(scope.inter, scope.nic, scope.call.bytes);
  return time;
}

std::vector<CollectiveTime> by_algorithm(const Scope& scope) {
  if (scope.call.kind == Collective::kAllToAll) return {all_to_all(scope)};
  std::vector<CollectiveTime> times = {ring(scope)};
  if (scope.call.kind != Collective::kAllReduce) return times;
  if (scope.nodes > 1) times.push_back(tree(scope));
  const bool can_sum = (scope.nodes > 1 ? scope.inter : scope.intra).in_network_reduction;
  if (can_sum) times.push_back(in_network(scope));
  return times;
}

CollectiveTime with_low_latency(CollectiveTime time, const Scope& scope) {
  time.protocol = CollectiveProtocol::kLowLatency;
  time.inside.transfer /= kLowLatencyRate;
  if (scope.inter.bulk_hop_latency) time.between.transfer /= kLowLatencyRate;
  return time;
}

CollectiveTime in_bulk(CollectiveTime time, const Scope& scope) {
  time.protocol = CollectiveProtocol::kBulk;
  if (scope.near > 1) time.inside.latency += kBulkSteps * scope.step_inside();
  return time;
}

}  // namespace

double nic_bytes_per_second(const ClusterSpec& cluster) {
  return rate_of(cluster.inter_node) / cluster.gpus_per_nic();
}

double CollectiveTime::seconds() const {
  const bool is_at_once = algorithm == CollectiveAlgorithm::kDirect;
  const double latency =
      is_at_once ? std::max(inside.latency, between.latency) : inside.latency + between.latency;
  return latency + std::max(inside.transfer, between.transfer);
}

std::vector<CollectiveTime> collective_times(const CollectiveCall& call, const ClusterSpec& cluster) {
  const Scope low_latency(call, cluster, CollectiveProtocol::kLowLatency);
  const Scope bulk(call, cluster, CollectiveProtocol::kBulk);
  if (call.kind == Collective::kSendRecv) return {send(bulk)};
  std::vector<CollectiveTime> times;
  for (const CollectiveTime& time : by_algorithm(low_latency))
    times.push_back(with_low_latency(time, low_latency));
  for (const CollectiveTime& time : by_algorithm(bulk)) times.push_back(in_bulk(time, bulk));
  return times;
}

double collective_seconds(const CollectiveCall& call, const ClusterSpec& cluster) {
  if (call.group.size <= 1) return 0;
  const std::vector<CollectiveTime> times = collective_times(call, cluster);
  double best = times.front().seconds();
  for (const CollectiveTime& time : times) best = std::min(best, time.seconds());
  return best;
}

}  // namespace goodput

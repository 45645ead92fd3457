// How long collectives take over the links of a cluster: latency a step plus bytes over bandwidth, for the
// algorithms NCCL chooses among.
//
// With n GPUs on N nodes, g a node, S bytes, p = 2 passes of an all-reduce and 1 of the others:
//   ring        p (n-1) steps, N-1 of each pass between nodes. The g NICs of a node carry a ring each: p
//   (n-1)/n S/g
//               a NIC, p (n-1)/n S an NVLink.
//   tree        all-reduce over several nodes: 2 log2 N steps between nodes and, a NIC, 2 (N-1)/N S/g at 92 %
//   of
//               its rate (NCCL 2.19, src/graph/tuning.cc); a chain or the switches inside nodes.
//   in-network  all-reduce where switches add up (NVLS, SHARP): S (g+1)/g an NVLink, S/g a NIC.
//   direct      all-to-all(v) and send: all peers at once.
// If pods of nodes share oversubscribed uplinks, the traffic of an all-to-all between pods runs at the rate
// of the uplinks. Rings and trees connect consecutive nodes and use one node's share of the uplinks. Sends
// are assumed to stay in the pod. Chunks follow one another, so that inside and between nodes latencies add
// up but transfers overlap: the slower one sets the pace (nccl-tests issues 196 and 290: a ring over two
// nodes runs at the rate of the NICs, a tree above it). Inside nodes each comes in two protocols: low
// latency, at 45 % of the bandwidth, or in bulk, which takes 14 steps longer to start. Both numbers are
// fitted to the public H200 tables, which this meets within 9 % in the mean and within 41 % at worst
// (docs/validation.md). Between nodes there is nothing to fit: one protocol, unless the link has a separate
// latency for large messages.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/machine/cluster.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// Seconds from the moment the last participant has started. REQUIRES: call.group.size >= 1.
[[nodiscard]] double collective_seconds(const CollectiveCall& call, const ClusterSpec& cluster);

// Bytes a second that a GPU gets of its node's NICs when all its peers use them too.
[[nodiscard]] double nic_bytes_per_second(const ClusterSpec& cluster);

enum class CollectiveAlgorithm : std::uint8_t { kRing, kTree, kInNetwork, kDirect };

enum class CollectiveProtocol : std::uint8_t { kLowLatency, kBulk };

struct LinkTime {
  double latency = 0;   // seconds, of an empty buffer
  double transfer = 0;  // seconds, in proportion to bytes
};

struct CollectiveTime {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveProtocol protocol = CollectiveProtocol::kBulk;
  LinkTime inside;   // nodes; zero where a group has one GPU a node
  LinkTime between;  // nodes, on top of the latency inside; zero where a group is on one node

  [[nodiscard]] double seconds() const;
};

// Every algorithm and protocol that can do it. REQUIRES: call.group.size >= 2.
[[nodiscard]] std::vector<CollectiveTime> collective_times(const CollectiveCall& call,
                                                           const ClusterSpec& cluster);

}  // namespace goodput

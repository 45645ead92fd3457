// The machines a job runs on: what a GPU computes, how fast its memory is, and the links between GPUs.
//
// Rates are what the hardware is rated for; what of it software reaches is an efficiency, kept apart, so that
// both can be traced to a source (configs/clusters/*.json name one for every number).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/config/config.h"
#include "sim/machine/precision.h"

namespace goodput {

inline constexpr config::Kind kClusterFiles{"clusters", "cluster"};

struct GpuSpec {
  std::string name;
  FlopsPerSecond bf16;                 // dense tensor-core rate for 16-bit inputs
  std::optional<FlopsPerSecond> fp8;   // absent: the GPU has none
  FlopsPerSecond fp32;                 // without tensor cores
  std::optional<FlopsPerSecond> tf32;  // absent: the GPU has none
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  std::int32_t multiprocessors = 1;
  BytesPerSecond host_link{25e9};  // to host memory, per direction (assumed: PCIe 4.0 x16)

  // The rate of matrix multiplications. A GPU without fp8 uses 16 bits instead, and a GPU without tf32 uses
  // fp32.
  [[nodiscard]] FlopsPerSecond rated(Precision precision) const;
};

// A class of links: NVLink or PCIe inside a node, NICs between nodes.
struct LinkSpec {
  BytesPerSecond bandwidth;   // a GPU's, one direction
  double efficiency = 1;      // what large messages reach of it, 0..1
  SimDuration latency{};      // of one message (alpha), start-up of a kernel included
  SimDuration hop_latency{};  // of every further step of a ring or tree
  std::optional<SimDuration>
      bulk_hop_latency{};  // the same with the protocol for large messages; absent: as above
  std::optional<BytesPerSecond>
      send;  // of one blocking send, pipeline stage to pipeline stage; absent: as above
  bool in_network_reduction = false;  // NVLS: switches add up, an all-reduce moves its bytes once
};

// The nodes of a pod share switches. The network between pods may have less bandwidth than the network within
// them.
struct PodSpec {
  std::int32_t nodes = 0;       // consecutive ones; 0: the network is one pod
  double oversubscription = 1;  // bandwidth of the pod's NICs divided by that of its uplinks
};

struct StorageSpec {
  BytesPerSecond write_per_node;
  BytesPerSecond read_per_node;
};

struct ClusterSpec {
  std::string name;
  std::int32_t nodes = 1;
  std::int32_t gpus_per_node = 1;
  GpuSpec gpu;
  LinkSpec intra_node;  // between the GPUs of a node
  LinkSpec inter_node;  // bandwidth: a NIC's; shared by gpus_per_nic GPUs
  double nics_per_node = 1;
  PodSpec pod;
  std::optional<StorageSpec> storage;
  Tier tier = Tier::kAssumed;  // the lowest of its numbers

  [[nodiscard]] std::int64_t gpus() const { return std::int64_t{nodes} * gpus_per_node; }
  [[nodiscard]] double gpus_per_nic() const { return gpus_per_node / nics_per_node; }
};

// configs/clusters/*.json (docs/formats/clusters.md).
[[nodiscard]] config::Fields config_fields(ClusterSpec& cluster);
[[nodiscard]] config::Fields config_fields(GpuSpec& gpu);
[[nodiscard]] config::Fields config_fields(StorageSpec& storage);
[[nodiscard]] config::Fields config_fields(PodSpec& pod);

}  // namespace goodput

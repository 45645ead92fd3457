// Prices kernels by FLOPs and bytes against what the GPU is rated for, collectives by latency and bandwidth.
//
// Valid for large dense kernels and ring or tree collectives over one NVLink domain a node and rail-aligned
// NICs. Congestion between jobs, adaptive routing and tuned split-K variants are not in it.
#pragma once

#include "sim/machine/cluster.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// What software reaches of the hardware's ratings; each has a physical meaning and can be fitted on a few
// measured steps (docs/validation.md).
struct RooflineParameters {
  double gemm_efficiency = 0.8;        // of the rated FLOP/s, for deep tiles that fill the GPU
  double fp8_gemm_efficiency = 0;      // of the rated fp8 FLOP/s; 0: gemm_efficiency
  double gemm_fill = 64;               // depth k lost to filling and draining a tile's pipeline
  double misaligned_efficiency = 0.5;  // of that, where n or k is no multiple of 4; its root: of 8
  double attention_efficiency = 0.6;   // of the rated FLOP/s, for fused attention of long sequences
  double attention_fill = 0;           // keys per query lost to diagonal tiles and startup
  double memory_efficiency = 0.8;      // of the rated memory bandwidth
  double kernel_us = 2;                // GPU time of a kernel with nothing to do
  double launch_us = 5;                // CPU time to launch a kernel
  double step_us = 0;                  // of a step, outside all kernels: Python, data loading
  double bulk_hop_us = 0;              // per ring step between nodes, large messages; 0: the link's
  double speed_spread = 0;             // standard deviation of GPU speed over the mean
  double collective_sms = 0;           // that a collective takes from concurrent kernels; 0: none
  double measured_gemm_factor = 1;     // on the speed of GEMMs that a calibration has measured
  Tier tier = Tier::kAssumed;
};

class RooflineCost final : public CostModel {
 public:
  RooflineCost(const ClusterSpec& cluster, const RooflineParameters& parameters)
      : cluster_(cluster), parameters_(parameters) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override;
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override;

  // GPU time of one kernel, launched behind another.
  [[nodiscard]] double kernel_seconds(const Kernel& kernel) const;

 private:
  [[nodiscard]] double gemm_seconds(const Kernel& kernel) const;

  ClusterSpec cluster_;
  RooflineParameters parameters_;
};

}  // namespace goodput

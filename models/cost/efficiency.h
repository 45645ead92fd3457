// The efficiencies of a roofline as keys of config files, and values that replace some of them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "models/cost/roofline.h"
#include "sim/base/tier.h"
#include "sim/config/config.h"

namespace goodput {

struct EfficiencyKey {
  std::string_view name;
  double RooflineParameters::*value;
  config::Range range;
  std::string_view meaning;
  bool zero_is_absent = false;  // 0 is the default and is not written
};

inline constexpr std::array<EfficiencyKey, 13> kEfficiencyKeys = {{
    {"gemm_efficiency", &RooflineParameters::gemm_efficiency, config::kFraction,
     "share of the rated FLOP/s that GEMMs with large k reach when they fill the GPU"},
    {"fp8_gemm_efficiency", &RooflineParameters::fp8_gemm_efficiency, config::kFraction,
     "share of the rated fp8 FLOP/s that fp8 GEMMs reach (default: gemm_efficiency)", true},
    {"gemm_fill", &RooflineParameters::gemm_fill, config::between(0, 1e9),
     "time to fill the pipeline of a GEMM tile, given as an addition to the depth k"},
    {"misaligned_efficiency", &RooflineParameters::misaligned_efficiency, config::kFraction,
     "factor on gemm_efficiency if n or k is not a multiple of 4 (if both are multiples of 4 but not of 8: "
     "the square root of this factor)"},
    {"attention_efficiency", &RooflineParameters::attention_efficiency, config::kFraction,
     "share of the rated FLOP/s that fused attention reaches on long sequences"},
    {"attention_fill", &RooflineParameters::attention_fill, config::between(0, 1e9),
     "attention over n keys takes as long as n + attention_fill keys would at the full rate", true},
    {"memory_efficiency", &RooflineParameters::memory_efficiency, config::kFraction,
     "share of the rated memory bandwidth that kernels reach"},
    {"kernel_us", &RooflineParameters::kernel_us, config::between(0, 1e9), "GPU time of an empty kernel"},
    {"launch_us", &RooflineParameters::launch_us, config::between(0, 1e9), "CPU time to launch a kernel"},
    {"step_us", &RooflineParameters::step_us, config::between(0, 1e9),
     "time per step that no kernel takes, such as Python and data loading"},
    {"bulk_hop_us", &RooflineParameters::bulk_hop_us, config::between(0, 1e9),
     "latency of one ring step between nodes, for large messages (default 0: use the cluster's "
     "hop_latency_us)",
     true},
    {"speed_spread", &RooflineParameters::speed_spread, config::between(0, 0.5),
     "standard deviation of GPU speed divided by the mean speed; every step waits for the slowest GPU", true},
    {"collective_sms", &RooflineParameters::collective_sms, config::between(0, 1e6),
     "number of multiprocessors that a collective takes from kernels that run at the same time (0: overlap "
     "is free)",
     true},
}};

// Values that replace those of a roofline, key by key. Nothing is stated at first.
struct StatedEfficiency {
  std::array<std::optional<double>, kEfficiencyKeys.size()> values{};  // in the order of kEfficiencyKeys
  std::optional<Tier> tier{};
};

// A gemm_efficiency that is stated without fp8_gemm_efficiency holds for fp8 too.
[[nodiscard]] RooflineParameters replaced(RooflineParameters parameters, const StatedEfficiency& stated);

// An object `efficiency` of clusters, plans and stacks (docs/formats/clusters.md).
[[nodiscard]] config::Fields config_fields(RooflineParameters& parameters);
[[nodiscard]] config::Fields config_fields(StatedEfficiency& stated);

}  // namespace goodput

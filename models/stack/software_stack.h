// What training software reaches of the hardware: configs/stacks/*.json (docs/formats/stacks.md).
//
// A cluster's `efficiency` says what a lone kernel sustains: one kernel after the other, nothing beside it. A
// stack holds factors on these values, fitted to measured steps of that software, and the plan's settings
// that the software takes by default.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/efficiency.h"
#include "models/cost/roofline.h"
#include "models/stack/software_choices.h"
#include "models/stack/step_family.h"
#include "sim/base/tier.h"
#include "sim/config/config.h"

namespace goodput {

inline constexpr config::Kind kStackFiles{"stacks", "stack"};
inline constexpr std::string_view kDefaultStack = "default";  // of a plan that names none

// Factors on the efficiencies of a lone kernel; absent: 1, for fp8_gemm: as gemm.
struct KernelFactors {
  std::optional<double> gemm, fp8_gemm, attention, memory;

  friend bool operator==(const KernelFactors&, const KernelFactors&) = default;
};

// Factors for some GPUs, key by key in place of those for all.
struct GpuFactors {
  std::vector<std::string> gpus;  // "H100", "H100 500W": models whose names have all these words
  KernelFactors factors;
};

// What the stack's kernels sustain when they run alone on these GPUs, if they differ from the kernels that
// the cluster's numbers describe. Example: FlashAttention-2 instead of cuDNN.
struct OwnKernels {
  std::vector<std::string> gpus;  // as in GpuFactors
  StatedEfficiency efficiency;
};

// What the plan's `parallel` holds for keys that it does not give; absent: the format's own default.
struct StackDefaults {
#define GOODPUT_STACK_DEFAULT(type, key, how) std::optional<type> key;
#include "models/stack/stack_defaults.def"
#undef GOODPUT_STACK_DEFAULT
};
inline constexpr std::array kStackDefaultKeys = {
#define GOODPUT_STACK_DEFAULT(type, key, how) std::string_view{#key},
#include "models/stack/stack_defaults.def"
#undef GOODPUT_STACK_DEFAULT
};

// Measured steps of one family, compared with the predictions of a fit that did not use them.
struct LeftOutRows {
  StepFamily family;
  std::vector<double> ratios;  // measured over predicted
};

struct SoftwareStack {
  std::string name = "none";  // "none": kernels run as fast as lone ones
  std::string release;        // to which the numbers apply; empty: not stated
  std::vector<OwnKernels> kernels;
  KernelFactors factors;
  std::vector<GpuFactors> gpu_factors;
  StatedEfficiency efficiency;  // in place of cluster x factors
  StackDefaults defaults;
  bool scales_measured = true;        // the factors also hold for measured durations of kernels
  std::vector<LeftOutRows> left_out;  // where step ranges come from (step_range.h)
  Tier tier = Tier::kAssumed;
};

[[nodiscard]] config::Fields config_fields(KernelFactors& factors);
[[nodiscard]] config::Fields config_fields(GpuFactors& factors);
[[nodiscard]] config::Fields config_fields(OwnKernels& kernels);
[[nodiscard]] config::Fields config_fields(LeftOutRows& rows);

// The factors for a GPU. Every one of them has a value.
[[nodiscard]] KernelFactors factors_for(const SoftwareStack& stack, std::string_view gpu);

// The efficiencies of kernels that run in this stack on this GPU, none above 1. Their tier is at best the
// stack's, unless the stack leaves them as they are.
[[nodiscard]] RooflineParameters in_stack(const RooflineParameters& lone_kernels, const SoftwareStack& stack,
                                          std::string_view gpu);

// A stack file. Fails with a line that names file and pointer.
[[nodiscard]] Result<SoftwareStack> read_stack(const std::string& file, const config::Library& library = {});

// The fields of a stack file. `parent`, a name or a path, is read first; the other keys replace its values.
// Files that were read are added to `sources`.
[[nodiscard]] config::Fields stack_fields(SoftwareStack& stack, std::vector<config::Source>& sources);

// The plan's key `stack`: a stack, or the name of one. If the key is absent, this reads the stack named
// "default", or leaves `stack` unchanged if no such file exists.
[[nodiscard]] config::Field stack_field(SoftwareStack& stack, std::vector<config::Source>& sources);

}  // namespace goodput

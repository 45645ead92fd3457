// Kinds of training steps whose predictions err alike: how the model is cut up, on which GPUs, in which
// precision.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace goodput {

enum class Parallelism : std::uint8_t {
  kFsdp,  // dense, parameters sharded over the replicas (ZeRO-3)
  kTpPp,  // dense, anything else
  kMoe
};
inline constexpr std::array<std::string_view, 3> kParallelismNames = {"FSDP", "TP/PP", "MoE"};

enum class GpuGeneration : std::uint8_t { kA100, kH100, kBlackwell, kOther };
inline constexpr std::array<std::string_view, 4> kGpuGenerationNames = {"A100", "H100", "Blackwell", "other"};

enum class StepPrecision : std::uint8_t { k16Bit, kFp8 };
inline constexpr std::array<std::string_view, 2> kStepPrecisionNames = {"16 bit", "fp8"};

struct StepFamily {
  Parallelism parallelism = Parallelism::kTpPp;
  GpuGeneration gpu = GpuGeneration::kOther;
  StepPrecision precision = StepPrecision::k16Bit;

  friend auto operator<=>(const StepFamily&, const StepFamily&) = default;
};

// By its name: "H100 SXM5 80GB", "NVIDIA GB200".
[[nodiscard]] GpuGeneration generation_of(std::string_view gpu);

// "FSDP on H100 in 16 bit".
[[nodiscard]] std::string to_string(const StepFamily& family);

}  // namespace goodput

#include "models/stack/step_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/cost/calibrated.h"

namespace goodput {

GpuGeneration generation_of(std::string_view gpu) {
  static constexpr std::pair<std::string_view, GpuGeneration> kGpus[] = {
      {"A100", GpuGeneration::kA100},       {"A800", GpuGeneration::kA100},
      {"H100", GpuGeneration::kH100},       {"H200", GpuGeneration::kH100},
      {"H800", GpuGeneration::kH100},       {"H20", GpuGeneration::kH100},
      {"GH200", GpuGeneration::kH100},      {"B100", GpuGeneration::kBlackwell},
      {"B200", GpuGeneration::kBlackwell},  {"B300", GpuGeneration::kBlackwell},
      {"GB200", GpuGeneration::kBlackwell}, {"GB300", GpuGeneration::kBlackwell}};
  const auto* known =
      std::ranges::find_if(kGpus, [gpu](const auto& one) { return is_same_gpu(one.first, gpu); });
  return known == std::end(kGpus) ? GpuGeneration::kOther : known->second;
}

std::string to_string(const StepFamily& family) {
  const std::string_view gpu = kGpuGenerationNames[static_cast<std::size_t>(family.gpu)];
  return fmt::format("{} on {} in {}", kParallelismNames[static_cast<std::size_t>(family.parallelism)],
                     family.gpu == GpuGeneration::kOther ? "other GPUs" : gpu,
                     kStepPrecisionNames[static_cast<std::size_t>(family.precision)]);
}

}  // namespace goodput

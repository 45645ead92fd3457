#include "models/stack/software_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "models/cost/calibrated.h"
#include "models/cost/stated_values.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Need;

constexpr int kMostAncestors = 8;
constexpr config::Range kFactors = {.least = 0, .most = 10, .is_least_excluded = true};

config::Value factor(std::optional<double>& value) {
  return config::number([&value] { return value; }, [&value](double given) { value = given; }, kFactors);
}

// `how` returns the config value of a variable.
template <typename T>
config::Value optional_value(std::optional<T>& value, config::Value (*how)(T&)) {
  const auto read = [&value, how](const Json& from, config::Place& place) -> Status {
    T given{};
    GOODPUT_TRY_STATUS(how(given).read(from, place));
    value = given;
    return Ok{};
  };
  const auto write = [&value, how](OrderedJson& into) {
    if (!value) return;
    T given = *value;
    how(given).write(into);
  };
  T unread{};
  return {how(unread).wanted, read, write, {}};
}

config::Fields default_fields(StackDefaults& defaults) {
  return {
#define GOODPUT_STACK_DEFAULT(type, key, how)                                            \
  {#key, Need::kOptional,                                                                \
   optional_value<type>(defaults.key, [](type& value) -> config::Value { return how; }), \
   "same as in plans"},
#include "models/stack/stack_defaults.def"
#undef GOODPUT_STACK_DEFAULT
  };
}

config::ObjectAccess group(std::function<config::Fields()> fields) {
  return {[] { return true; }, std::move(fields), []() -> Status { return Ok{}; }};
}

config::Fields fields_at(SoftwareStack& stack, std::vector<config::Source>& sources, int depth);

// Reads another stack into this one. It is not written: a stack that has been read is complete.
config::Value parent(SoftwareStack& stack, std::vector<config::Source>& sources, int depth) {
  const auto fields = [&stack, &sources, depth] { return fields_at(stack, sources, depth + 1); };
  config::Value value = config::object_or_name(group(fields), kStackFiles, sources);
  value.read = [&stack, depth, read = std::move(value.read)](const Json& from,
                                                             config::Place& place) -> Status {
    if (depth == kMostAncestors) {
      return place.error(
          fmt::format("has more than {} levels of parents; does the software stack inherit from itself?",
                      kMostAncestors));
    }
    GOODPUT_TRY_STATUS(read(from, place));
    stack.release.clear();
    return Ok{};
  };
  value.write = nullptr;
  return value;
}

config::Fields fields_at(SoftwareStack& stack, std::vector<config::Source>& sources, int depth) {
  const auto defaults = [&stack] { return default_fields(stack.defaults); };
  return {
      {"parent", Need::kOptional, parent(stack, sources, depth),
       "software stack that supplies the values of keys that are not set here"},
      {"name", Need::kRequired, config::text(stack.name), "name for reports"},
      {"release", Need::kOptional, stated::text(stack.release),
       "release of the software that the values were measured with"},
      {"kernels", Need::kOptional,
       config::objects(stack.kernels, "an array of objects with gpus and efficiency"),
       "efficiency of the software's own kernels when a kernel runs alone; replaces the cluster's "
       "`efficiency` key by key"},
      {"factors", Need::kOptional, config::object(stack.factors),
       "factors by which the cluster's `efficiency` values, measured with kernels that run alone, are "
       "multiplied"},
      {"gpu_factors", Need::kOptional,
       config::objects(stack.gpu_factors, "an array of objects with gpus and factors"),
       "factors for some GPUs, which replace `factors` key by key"},
      {"efficiency", Need::kOptional, config::object(stack.efficiency),
       "efficiency that replaces the product of the cluster's values and the factors, key by key"},
      {"defaults", Need::kOptional, config::object(group(defaults)),
       "defaults for keys that the plan's `parallel` does not set"},
      {"scales_measured", Need::kOptional, config::flag(stack.scales_measured),
       "cost model \"calibrated\": whether the factors also apply to measured kernels"},
      {"left_out", Need::kOptional, config::objects(stack.left_out, "an array of objects"),
       "measured steps that were left out of the fit; goodput computes the range of step times from them"},
      config::tier(stack.tier),
  };
}

KernelFactors all_set(const KernelFactors& factors) {
  const double gemm = factors.gemm.value_or(1);
  return {gemm, factors.fp8_gemm.value_or(gemm), factors.attention.value_or(1), factors.memory.value_or(1)};
}

}  // namespace

config::Fields config_fields(KernelFactors& factors) {
  return {
      {"gemm", Need::kOptional, factor(factors.gemm), "factor by which gemm_efficiency is multiplied"},
      {"fp8_gemm", Need::kOptional, factor(factors.fp8_gemm),
       "factor by which fp8_gemm_efficiency is multiplied (default: the value of gemm)"},
      {"attention", Need::kOptional, factor(factors.attention),
       "factor by which attention_efficiency is multiplied"},
      {"memory", Need::kOptional, factor(factors.memory), "factor by which memory_efficiency is multiplied"}};
}

config::Fields config_fields(GpuFactors& factors) {
  return {{"gpus", Need::kRequired, config::texts(factors.gpus),
           "list of GPU names, such as [\"H100\", \"H200\"]"},
          {"factors", Need::kRequired, config::object(factors.factors),
           "same keys as `factors` of the software stack"}};
}

config::Fields config_fields(OwnKernels& kernels) {
  return {{"gpus", Need::kRequired, config::texts(kernels.gpus),
           "list of GPU names, such as [\"H100\", \"H200\"]"},
          {"efficiency", Need::kRequired, config::object(kernels.efficiency),
           "same keys as `efficiency` in clusters"}};
}

config::Fields config_fields(LeftOutRows& rows) {
  StepFamily& family = rows.family;
  return {{"parallelism", Need::kRequired, config::choice(family.parallelism, kParallelismNames),
           "MoE, FSDP (zero 3) or TP/PP"},
          {"gpu", Need::kRequired, config::choice(family.gpu, kGpuGenerationNames), "generation of the GPU"},
          {"precision", Need::kRequired, config::choice(family.precision, kStepPrecisionNames),
           "precision of the matrix multiplications"},
          {"measured_over_predicted", Need::kRequired, config::numbers(rows.ratios, config::above(0)),
           "list of measured step time / predicted step time, one entry per measured step"}};
}

namespace {

// "H100 500W" is an "H100 96GB 500W": the same GPU, and every word of the name is in its name.
bool names_gpu(std::string_view name, std::string_view gpu) {
  if (!is_same_gpu(name, gpu)) return false;
  for (const std::string_view word : split(name, ' ')) {
    if (gpu.find(word) == std::string_view::npos) return false;
  }
  return true;
}

bool are_for(const std::vector<std::string>& gpus, std::string_view gpu) {
  return std::ranges::any_of(gpus, [gpu](const std::string& name) { return names_gpu(name, gpu); });
}

}  // namespace

KernelFactors factors_for(const SoftwareStack& stack, std::string_view gpu) {
  KernelFactors result = stack.factors;
  for (const GpuFactors& some : stack.gpu_factors) {
    if (!are_for(some.gpus, gpu)) continue;
    for (const auto member : {&KernelFactors::gemm, &KernelFactors::fp8_gemm, &KernelFactors::attention,
                              &KernelFactors::memory}) {
      if (some.factors.*member) result.*member = some.factors.*member;
    }
  }
  return all_set(result);
}

RooflineParameters in_stack(const RooflineParameters& lone_kernels, const SoftwareStack& stack,
                            std::string_view gpu) {
  const KernelFactors factors = factors_for(stack, gpu);
  RooflineParameters result = lone_kernels;
  for (const OwnKernels& own : stack.kernels) {
    if (are_for(own.gpus, gpu)) result = replaced(result, own.efficiency);
  }
  const auto scale = [](double& efficiency, double by) { efficiency = std::min(1.0, efficiency * by); };
  if (result.fp8_gemm_efficiency == 0 && *factors.fp8_gemm != *factors.gemm)
    result.fp8_gemm_efficiency = result.gemm_efficiency;
  scale(result.gemm_efficiency, *factors.gemm);
  scale(result.fp8_gemm_efficiency, *factors.fp8_gemm);
  scale(result.attention_efficiency, *factors.attention);
  scale(result.memory_efficiency, *factors.memory);
  if (stack.scales_measured) result.measured_gemm_factor = *factors.gemm;
  if (factors != all_set({})) result.tier = lowest(result.tier, stack.tier);
  return replaced(result, stack.efficiency);
}

Result<SoftwareStack> read_stack(const std::string& file, const config::Library& library) {
  SoftwareStack stack;
  std::vector<config::Source> sources;
  GOODPUT_TRY_STATUS(config::read_file(file, group([&] { return stack_fields(stack, sources); }), library));
  return stack;
}

config::Fields stack_fields(SoftwareStack& stack, std::vector<config::Source>& sources) {
  return fields_at(stack, sources, 0);
}

config::Field stack_field(SoftwareStack& stack, std::vector<config::Source>& sources) {
  config::Value value =
      config::object_or_name(group([&] { return stack_fields(stack, sources); }), kStackFiles, sources);
  const auto absent = [read = value.read](config::Place& place) -> Status {
    const Json name(std::string{kDefaultStack});
    if (!config::source_named(std::string(kDefaultStack), place, kStackFiles)) return Ok{};
    return read(name, place);
  };
  return {"stack", Need::kOptional, std::move(value), "training software; see `goodput list stacks`",
          {},      absent};
}

}  // namespace goodput

// Tutel as Lazarus (arXiv 2407.04656, section 6) runs it: like `ds`, with faster MoE kernels.
#include "models/policy/shard_policy.h"

namespace goodput {
namespace {

// Over DeepSpeed's kernels, of MoE layers; assumed.
constexpr double kSpeedup = 1.2;

class TutelSetup final : public ExpertParallelSetup {
 public:
  TutelSetup() { step_settings().moe_speedup = kSpeedup; }
};

class TutelFaultTolerantSetup final : public FaultTolerantSetup {
 public:
  TutelFaultTolerantSetup() { step_settings().moe_speedup = kSpeedup; }
};

}  // namespace

PolicyInfo tutel_policy() {
  return {"tutel", "Tutel: as ds, with faster MoE kernels",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<TutelSetup>()); }};
}

PolicyInfo tutel_ft_policy() {
  return {"tutel_ft", "Tutel that goes on while every shard of the experts survives",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<TutelFaultTolerantSetup>()); }};
}

}  // namespace goodput

// Hot spares: a fixed number of nodes trains, and spares whose processes are already up take the places of
// those that are lost. State still comes from the last checkpoint.
#include "models/policy/fixed_size_policy.h"

namespace goodput {
namespace {

class HotSparePolicy final : public FixedSizePolicy {
 public:
  HotSparePolicy(const JobModel& job, const RestartSettings& settings, TrainingSpeed& speed,
                 std::int32_t nodes, SimDuration swap)
      : FixedSizePolicy(job, settings, speed, nodes), swap_(swap) {}

 private:
  void add_restart(ResumeFrom /*from*/, Phases& phases) const override {
    // Nodes that the job had to wait for were no spares.
    if (is_waiting())
      phases.add(TimeBucket::kProgramStartup, settings().timing.startup);
    else
      phases.add(TimeBucket::kElasticReinitialization, swap_);
    phases.add(TimeBucket::kCheckpointRestore, bytes() / settings().checkpoint.read);
  }

  SimDuration swap_;
};

class HotSpareSetup final : public FixedSizeSetup {
 public:
  [[nodiscard]] config::Fields fields() override {
    config::Fields fields = FixedSizeSetup::fields();
    fields.push_back({"swap_s", config::Need::kOptional,
                      config::number(swap_, kPolicySeconds, from_seconds(1)),
                      "new process groups with the spare, in place of a start-up"});
    return fields;
  }
  [[nodiscard]] std::unique_ptr<RecoveryPolicy> make() override {
    return std::make_unique<HotSparePolicy>(job(), settings(), speed(), nodes(), swap_);
  }

 private:
  SimDuration swap_ = from_seconds(15);  // assumed: as a reconfiguration of Lazarus regroups (5 to 15 s)
};

}  // namespace

PolicyInfo hot_spare_policy() {
  return {"hot_spare", "a fixed number of nodes; running spares replace lost ones, state from the checkpoint",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<HotSpareSetup>()); }};
}

}  // namespace goodput

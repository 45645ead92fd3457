// Jobs that train on a fixed number of nodes: others that are held are spares, and without enough of them the
// job waits.
#pragma once

#include <cstdint>

#include "models/policy/restart_setup.h"

namespace goodput {

class FixedSizePolicy : public RestartPolicy {
 public:
  FixedSizePolicy(const JobModel& job, const RestartSettings& settings, TrainingSpeed& speed,
                  std::int32_t nodes)
      : RestartPolicy(job, settings, speed), nodes_(nodes) {}

 protected:
  [[nodiscard]] std::int32_t wanted(std::int32_t available) const final {
    return available >= nodes_ ? nodes_ : 0;
  }

 private:
  std::int32_t nodes_;
};

class FixedSizeSetup : public RestartSetup {
 public:
  [[nodiscard]] config::Fields fields() override;
  [[nodiscard]] Status prepare(const JobModel& job) override;

 protected:
  [[nodiscard]] std::int32_t nodes() const { return nodes_used_; }

 private:
  std::int32_t nodes_ = 0;  // 0: as many as the plan's GPUs take
  std::int32_t nodes_used_ = 0;
};

}  // namespace goodput

#include "tools/trace/job_json.h"

#include "sim/base/json.h"

namespace goodput {

OrderedJson job_json(const JobMetadata& job) {
  return {{"trial_name", job.trial_name}, {"run_id", job.run_id},        {"dp_size", job.dp_size},
          {"pp_size", job.pp_size},       {"tp_size", job.tp_size},      {"dsp_size", job.dsp_size},
          {"vpp_size", job.vpp_size},     {"world_size", job.world_size}};
}

}  // namespace goodput

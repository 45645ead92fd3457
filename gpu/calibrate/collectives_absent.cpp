// Where there was no NCCL to build with.
#include "gpu/calibrate/collectives.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr const char* kNoHeader =
    "no NCCL: this program was built without the NCCL header; rebuild it with -DNCCL_ROOT=/path";

}  // namespace

CollectiveSearch find_collectives() {
  return {"", kNoHeader};
}

RankPlace place_of_this_rank() {
  return {};
}

CalibrationOutcome measure_collectives(RankProcess&, const RankPlace&, const CollectiveRun&,
                                       const CalibrationHooks&, MeasuredPoints&) {
  throw RankError(kNoHeader);
}

}  // namespace goodput::gpu::calibrate

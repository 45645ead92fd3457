// Whether two engines agree about a run.
#pragma once

#include "sim/job/job_engine.h"

namespace goodput::testing {

// CHECKs it, to the nanosecond.
void check_same(const JobResult& got, const JobResult& want);

}  // namespace goodput::testing

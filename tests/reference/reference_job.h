// The slow, obvious reference of sim/job/job_engine.h: one step, one save, one phase at a time, and a journal
// of everything that is added up in the end. Linked into tests only; it shares the interfaces and the
// membership with the production engine, and nothing else.
//
// A step and the checkpoints after it are done together or not at all. It has no answer for runs that get
// nowhere: they throw.
#pragma once

#include "sim/job/job_engine.h"

namespace goodput::reference {

[[nodiscard]] JobResult run_job_step_by_step(const JobGoal& goal, const PriceSchedule& prices,
                                             FailureModel& failures, RecoveryPolicy& policy);

}  // namespace goodput::reference

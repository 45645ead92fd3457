#include "models/job/job_model.h"

#include <utility>

#include "models/cost/cost_models.h"

namespace goodput {

JobModel::JobModel(TrainingPlan plan, JobRouting routing, JobStart start, std::unique_ptr<CostModel> cost)
    : plan_(std::move(plan)),
      routing_(std::move(routing)),
      start_(start),
      modules_(checkpoint_model(plan_.model)),
      cost_(std::move(cost)),
      steps_(plan_, *cost_) {}

Result<std::unique_ptr<const JobModel>> JobModel::make(TrainingPlan plan, JobRouting routing,
                                                       JobStart start) {
  GOODPUT_TRY(std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(plan)));
  return std::unique_ptr<const JobModel>(
      new JobModel(std::move(plan), std::move(routing), start, std::move(cost)));
}

}  // namespace goodput

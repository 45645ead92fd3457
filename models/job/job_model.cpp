#include "models/job/job_model.h"

#include <limits>
#include <utility>

#include "models/cost/cost_models.h"

namespace goodput {

JobModel::JobModel(JobTerms terms, JobRouting routing, std::unique_ptr<CostModel> cost)
    : terms_(std::move(terms)),
      routing_(std::move(routing)),
      modules_(checkpoint_model(terms_.plan.model)),
      cost_(std::move(cost)),
      steps_(terms_.plan, *cost_, terms_.batch) {}

Result<std::unique_ptr<const JobModel>> JobModel::make(JobTerms terms, JobRouting routing) {
  GOODPUT_TRY(std::unique_ptr<CostModel> cost, make_cost_model(cost_inputs(terms.plan)));
  if (terms.most_nodes > 0) terms.plan.cluster.nodes = terms.most_nodes;
  std::unique_ptr<JobModel> job(new JobModel(std::move(terms), std::move(routing), std::move(cost)));
  GOODPUT_TRY(job->plan_step_, job->steps().planned(job->plan().parallel));
  return std::unique_ptr<const JobModel>(std::move(job));
}

std::optional<double> JobModel::mtbf_s(std::int32_t nodes) const {
  if (!terms_.interruptions_per_s) return std::nullopt;
  const double per_s = terms_.interruptions_per_s(nodes);
  return per_s > 0 ? 1 / per_s : std::numeric_limits<double>::infinity();
}

std::int32_t JobModel::plan_nodes() const {
  const std::int64_t per_node = plan().cluster.gpus_per_node;
  return static_cast<std::int32_t>((plan().parallel.gpus() + per_node - 1) / per_node);
}

double JobModel::ideal_node_seconds_per_sample() const {
  return to_seconds(plan_step_.step) * plan_nodes() / static_cast<double>(plan().parallel.global_batch);
}

}  // namespace goodput

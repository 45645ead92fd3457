#include "models/job/job_model.h"

#include <limits>
#include <utility>

namespace goodput {

JobModel::JobModel(const JobTerms& terms, std::unique_ptr<const TimedPlan> own, const TimedPlan& timed)
    : own_(std::move(own)),
      timed_(&timed),
      start_(terms.start),
      most_nodes_(terms.most_nodes > 0 ? terms.most_nodes : timed.plan().cluster.nodes),
      max_training_nodes_(terms.max_training_nodes > 0 ? std::min(terms.max_training_nodes, most_nodes_)
                                                       : most_nodes_),
      nodes_where_(terms.nodes_where),
      nodes_ever_(terms.nodes_ever),
      interruptions_per_s_(terms.interruptions_per_s) {}

Result<std::unique_ptr<const JobModel>> JobModel::make(JobTerms terms, JobRouting routing) {
  TrainingPlan plan = std::exchange(terms.plan, {});
  GOODPUT_TRY(std::unique_ptr<const TimedPlan> timed,
              TimedPlan::make(std::move(plan), terms.batch, std::move(routing)));
  const TimedPlan& own = *timed;
  return std::unique_ptr<const JobModel>(new JobModel(terms, std::move(timed), own));
}

std::unique_ptr<const JobModel> JobModel::make(const JobTerms& terms, const TimedPlan& timed) {
  return std::unique_ptr<const JobModel>(new JobModel(terms, nullptr, timed));
}

std::optional<double> JobModel::mtbf_s(std::int32_t nodes) const {
  if (!interruptions_per_s_) return std::nullopt;
  const double per_s = interruptions_.at({nodes}, [&] { return interruptions_per_s_(nodes); });
  return per_s > 0 ? 1 / per_s : std::numeric_limits<double>::infinity();
}

std::int32_t JobModel::plan_nodes() const {
  const std::int64_t per_node = plan().cluster.gpus_per_node;
  return static_cast<std::int32_t>((plan().parallel.gpus() + per_node - 1) / per_node);
}

double JobModel::ideal_node_seconds_per_sample() const {
  return to_seconds(timed_->own_step().step) * plan_nodes() /
         static_cast<double>(plan().parallel.global_batch);
}

}  // namespace goodput

// Failures at a constant rate: a node's age says nothing.
#include "models/failure/failure_setup.h"
#include "models/failure/node_renewals.h"

namespace goodput {
namespace {

struct ExponentialFailures {
  NodeLives lives{};
};

struct ExponentialLifetime {
  double mean_s;

  [[nodiscard]] double draw(RandomStream& random) const { return random.exponential(1 / mean_s); }
  [[nodiscard]] double draw_first(RandomStream& random) const { return draw(random); }
};

config::Fields config_fields(ExponentialFailures& failures) {
  return config_fields(failures.lives);
}

Status config_finish(ExponentialFailures& failures) {
  return config_finish(failures.lives);
}

NodeId& default_nodes(ExponentialFailures& failures) {
  return failures.lives.nodes;
}

InterruptionRate interruption_rate(const ExponentialFailures& failures, const FailureInputs& /*inputs*/) {
  return renewal_rate(failures.lives);
}

Result<std::unique_ptr<FailureModel>> make_failures(const ExponentialFailures& failures,
                                                    const FailureInputs& inputs) {
  GOODPUT_TRY_STATUS(check_node_count(failures.lives.nodes));
  const ExponentialLifetime lifetime{mtbf_seconds(failures.lives)};
  return make_renewals(failures.lives, lifetime, inputs.key);
}

}  // namespace

FailureModelInfo failure_exponential() {
  return {
      .name = "exponential",
      .summary = "nodes fail at a constant rate and are repaired",
      .example =
          R"({"model": "exponential", "nodes": 2048, "failures_per_1000_node_days": 6.5, "repair_s": 3600})",
      .make = make_failure_setup<ExponentialFailures>};
}

}  // namespace goodput

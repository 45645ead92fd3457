// Failures at a constant rate: a node's age says nothing.
#include "models/failure/failure_models.h"
#include "models/failure/node_renewals.h"

namespace goodput {
namespace {

struct ExponentialLifetime {
  double mean_s;

  [[nodiscard]] double draw(RandomStream& random) const { return random.exponential(1 / mean_s); }
  [[nodiscard]] double draw_first(RandomStream& random) const { return draw(random); }
};

}  // namespace

config::Fields config_fields(ExponentialFailures& failures) {
  return config_fields(failures.lives);
}

Status config_finish(ExponentialFailures& failures) {
  return config_finish(failures.lives);
}

Result<std::unique_ptr<FailureModel>> make_failures(const ExponentialFailures& failures,
                                                    const FailureInputs& inputs) {
  const ExponentialLifetime lifetime{mtbf_seconds(failures.lives)};
  return make_renewals(failures.lives, lifetime, inputs.key);
}

}  // namespace goodput

// Failures that get rarer (shape below 1: infant mortality) or more frequent (above 1: wear) with age.
#include <cmath>

#include "models/failure/failure_fields.h"
#include "models/failure/failure_setup.h"
#include "models/failure/node_renewals.h"

namespace goodput {
namespace {

struct WeibullFailures {
  enum class InitialAge : std::uint8_t {
    kNew,         // all nodes start their life with the job: k < 1 fails more at first, k > 1 less
    kStationary,  // they have been running for long: one failure every MTBF / nodes from the start
  };
  NodeLives lives{};
  double shape = 1;
  InitialAge initial_age = InitialAge::kStationary;
};

// Gamma(shape, 1) by squeezing a cube of a normal (Marsaglia and Tsang, 2000). REQUIRES: shape >= 1.
double draw_gamma(double shape, RandomStream& random) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(0, 1);
    const double cube = std::pow(1 + c * x, 3);
    if (cube <= 0) continue;
    if (std::log1p(-random.uniform()) < x * x / 2 + d * (1 - cube + std::log(cube))) return d * cube;
  }
}

class WeibullLifetime {
 public:
  // The mean of scale * E^(1/shape), E ~ Exp(1), is scale * Gamma(1 + 1/shape).
  WeibullLifetime(double mean_s, const WeibullFailures& failures)
      : shape_(failures.shape),
        scale_(mean_s / std::tgamma(1 + 1 / failures.shape)),
        initial_age_(failures.initial_age) {}

  [[nodiscard]] double draw(RandomStream& random) const {
    return scale_ * std::pow(random.exponential(1), 1 / shape_);
  }

  // Of a node that has been running for long, the time left has density (1 - F(t)) / mean. Whoever looks in
  // at some moment meets long lives more often: f(t) t / mean, i.e. scale * G^(1/shape) with
  // G ~ Gamma(1 + 1/shape), and is anywhere within that life.
  [[nodiscard]] double draw_first(RandomStream& random) const {
    if (initial_age_ == WeibullFailures::InitialAge::kNew) return draw(random);
    const double life = scale_ * std::pow(draw_gamma(1 + 1 / shape_, random), 1 / shape_);
    return life * random.uniform();
  }

 private:
  double shape_;
  double scale_;
  WeibullFailures::InitialAge initial_age_;
};

config::Fields config_fields(WeibullFailures& failures) {
  static constexpr std::array<std::string_view, 2> kAgeNames = {"new", "stationary"};
  config::Fields fields = config_fields(failures.lives);
  fields.push_back({"shape", config::Need::kRequired,
                    config::number(failures.shape, config::between(0.2, 20)),
                    "shape parameter of the distribution; below 1: failures become rarer as a node ages; "
                    "above 1: more frequent"});
  fields.push_back(
      {"initial_age", config::Need::kOptional, config::choice(failures.initial_age, kAgeNames),
       "age of the nodes at the start. new: 0; stationary: the nodes have been running for a long time"});
  return fields;
}

Status config_finish(WeibullFailures& failures) {
  return config_finish(failures.lives);
}

NodeId& default_nodes(WeibullFailures& failures) {
  return failures.lives.nodes;
}

InterruptionRate interruption_rate(const WeibullFailures& failures, const FailureInputs& /*inputs*/) {
  return renewal_rate(failures.lives);
}

Result<std::unique_ptr<FailureModel>> make_failures(const WeibullFailures& failures,
                                                    const FailureInputs& inputs) {
  GOODPUT_TRY_STATUS(check_node_count(failures.lives.nodes));
  const WeibullLifetime lifetime(mtbf_seconds(failures.lives), failures);
  return make_renewals(failures.lives, lifetime, inputs.key);
}

}  // namespace

FailureModelInfo failure_weibull() {
  return {
      .name = "weibull",
      .summary = "nodes fail less often (shape < 1) or more often (shape > 1) as they age",
      .example = R"({"model": "weibull", "nodes": 256, "shape": 0.7, "mtbf_hours": 500, "repair_s": 1800})",
      .make = make_failure_setup<WeibullFailures>};
}

}  // namespace goodput

#include "models/routing/synthetic_routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sim/base/apportion.h"
#include "sim/base/json.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;

constexpr std::int64_t kMostIterations = 10'000'000;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMostCounts = std::int64_t{1} << 27;  // 1 GiB
constexpr config::Range kSpread = config::between(0.001, 50);

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// The c with sum sigmoid(logit + c) = top_k: Newton's method, kept inside a bracket that shrinks.
double find_threshold(const std::vector<double>& logits, double top_k) {
  constexpr int kMostSteps = 200;
  constexpr double kMargin = 50;  // sigmoid(-50) is 2e-22
  const auto [least, most] = std::minmax_element(logits.begin(), logits.end());
  double low = -*most - kMargin;
  double high = -*least + kMargin;
  double c = (low + high) / 2;
  for (int step = 0; step < kMostSteps && high - low > 1e-12 * (1 + std::abs(c)); ++step) {
    double sum = 0;
    double slope = 0;
    for (const double logit : logits) {
      const double share = sigmoid(logit + c);
      sum += share;
      slope += share * (1 - share);
    }
    (sum < top_k ? low : high) = c;
    const double next = c + (top_k - sum) / slope;
    const bool is_inside = next > low && next < high;  // false for nan and inf, too
    if (is_inside && std::abs(next - c) <= 1e-14 * (1 + std::abs(c))) return next;
    c = is_inside ? next : (low + high) / 2;
  }
  return c;
}

// Spread and accumulated drift at every recorded iteration.
class Course {
 public:
  explicit Course(const std::vector<RoutingCoursePoint>& points) : points_(points) {}

  [[nodiscard]] double spread(std::int64_t iteration) const {
    const auto next = std::upper_bound(points_.begin(), points_.end(), iteration, is_before);
    if (next == points_.begin()) return points_.front().spread;
    if (next == points_.end()) return points_.back().spread;
    const RoutingCoursePoint& from = *std::prev(next);
    // Counted from 1, so that iteration 0 has a logarithm.
    const auto log_of = [](std::int64_t i) { return std::log1p(static_cast<double>(i)); };
    const double way =
        (log_of(iteration) - log_of(from.iteration)) / (log_of(next->iteration) - log_of(from.iteration));
    return from.spread * std::pow(next->spread / from.spread, way);
  }

  // The sum of drift over from <= i < to.
  [[nodiscard]] double drift(std::int64_t from, std::int64_t to) const {
    double sum = 0;
    while (from < to) {
      const auto next = std::upper_bound(points_.begin(), points_.end(), from, is_before);
      const std::int64_t until = next == points_.end() ? to : std::min(to, next->iteration);
      const RoutingCoursePoint& point = next == points_.begin() ? points_.front() : *std::prev(next);
      sum += point.drift * static_cast<double>(until - from);
      from = until;
    }
    return sum;
  }

 private:
  static bool is_before(std::int64_t iteration, const RoutingCoursePoint& point) {
    return iteration < point.iteration;
  }

  const std::vector<RoutingCoursePoint>& points_;
};

// The router of one layer, iteration by iteration.
class LayerRouter {
 public:
  LayerRouter(const RoutingModel& model, std::uint64_t seed, std::uint64_t layer)
      : model_(model),
        course_(model.course),
        walk_(seed, "routing walk", layer),
        noise_(seed, "routing noise", layer),
        factor_(std::exp(model.layer_spread * RandomStream(seed, "routing layer", layer).normal(0, 1))),
        popularity_(static_cast<std::size_t>(model.experts)),
        logits_(popularity_.size()) {}

  // Iterations must ascend.
  [[nodiscard]] std::vector<std::int64_t> loads(std::int64_t iteration) {
    move_to(iteration);
    const double spread = course_.spread(iteration) * factor_;
    for (std::size_t e = 0; e < logits_.size(); ++e) {
      logits_[e] = spread * popularity_[e] + model_.noise * noise_.normal(0, 1);
    }
    return to_tokens(top_k_shares(logits_, model_.top_k));
  }

 private:
  void move_to(std::int64_t iteration) {
    const double kept = is_first_ ? 0 : std::exp(-course_.drift(last_, iteration));
    const double new_part = std::sqrt(1 - kept * kept);
    for (double& y : popularity_) y = kept * y + new_part * walk_.normal(0, 1);
    is_first_ = false;
    last_ = iteration;
  }

  [[nodiscard]] std::vector<std::int64_t> to_tokens(const std::vector<double>& shares) const {
    constexpr double kSteps = 1099511627776;  // 2^40: finer than any count of tokens
    std::vector<std::int64_t> weights(shares.size());
    std::transform(shares.begin(), shares.end(), weights.begin(),
                   [](double share) { return static_cast<std::int64_t>(share * kSteps); });
    return apportion(weights, model_.tokens * model_.top_k);
  }

  const RoutingModel& model_;
  Course course_;
  RandomStream walk_;
  RandomStream noise_;
  double factor_;
  std::vector<double> popularity_;  // y
  std::vector<double> logits_;
  std::int64_t last_ = 0;
  bool is_first_ = true;
};

Status read_course(const Json& value, const config::Place& place, std::vector<RoutingCoursePoint>& course) {
  if (!value.is_array()) return place.error("must be an array of points {iteration, spread, drift}");
  course.clear();
  for (std::size_t i = 0; i < value.size(); ++i) {
    config::Place at = place.at(std::to_string(i));
    RoutingCoursePoint point;
    GOODPUT_TRY_STATUS(config::object(point).read(value[i], at));
    if (!course.empty() && course.back().iteration >= point.iteration) {
      return at.at("iteration")
          .error(fmt::format("must be more than the iteration of the previous point ({}), not {}",
                             course.back().iteration, point.iteration));
    }
    course.push_back(point);
  }
  return Ok{};
}

config::Value course_value(std::vector<RoutingCoursePoint>& course) {
  return {"an array of points",
          [&course](const Json& value, config::Place& place) { return read_course(value, place, course); },
          [&course](OrderedJson& into) {
            into = OrderedJson::array();
            for (RoutingCoursePoint point : course) into.push_back(config::write(config_fields(point)));
          },
          {}};
}

}  // namespace

std::vector<double> top_k_shares(const std::vector<double>& logits, std::int32_t top_k) {
  const double c = find_threshold(logits, top_k);
  std::vector<double> shares(logits.size());
  std::transform(logits.begin(), logits.end(), shares.begin(),
                 [&](double logit) { return sigmoid(logit + c) / top_k; });
  return shares;
}

RoutingTrace synthesize_routing(const RoutingModel& model, std::uint64_t seed) {
  const auto layers = static_cast<std::size_t>(model.layers);
  const auto experts = static_cast<std::size_t>(model.experts);
  std::vector<std::int64_t> iterations(static_cast<std::size_t>(model.iterations));
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    iterations[i] = model.first_iteration + static_cast<std::int64_t>(i) * model.interval;
  }
  std::vector<std::int64_t> numbers(layers);
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  std::vector<std::int64_t> loads(iterations.size() * layers * experts);
  for (std::size_t l = 0; l < layers; ++l) {
    LayerRouter router(model, seed, l);
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      const std::vector<std::int64_t> row = router.loads(iterations[i]);
      std::copy(row.begin(), row.end(),
                loads.begin() + static_cast<std::ptrdiff_t>((i * layers + l) * experts));
    }
  }
  return RoutingTrace(std::move(iterations), std::move(numbers), model.experts, std::move(loads));
}

config::Fields config_fields(RoutingCoursePoint& point) {
  return {{"iteration", Need::kRequired, config::integer(point.iteration, 0, kMostIterations), "ascending"},
          {"spread", Need::kRequired, config::number(point.spread, kSpread),
           "standard deviation of a layer's logits; between points, the logarithm of the standard deviation "
           "is linear in log(1 + iteration)"},
          {"drift", Need::kRequired, config::number(point.drift, config::between(0, 100)),
           "rate of drift of the logits per iteration, up to the next point; after 1/drift iterations, 37 % "
           "of a logit's drifting part remains"}};
}

config::Fields config_fields(RoutingModel& model) {
  return {
      {"layers", Need::kRequired, config::integer(model.layers, 1, 65536),
       "number of layers that have experts"},
      {"experts", Need::kRequired, config::integer(model.experts, 2, 65536), "number of experts per layer"},
      {"top_k", Need::kRequired, config::integer(model.top_k, 1, 65535),
       "number of experts that each token is sent to"},
      {"tokens", Need::kRequired, config::integer(model.tokens, 1, kMostTokens),
       "number of tokens per iteration over all ranks; each token counts top_k times"},
      {"first_iteration", Need::kOptional, config::integer(model.first_iteration, 0, kMostIterations),
       "first recorded iteration"},
      {"interval", Need::kOptional, config::integer(model.interval, 1, kMostIterations),
       "number of iterations from one recorded iteration to the next"},
      {"iterations", Need::kOptional, config::integer(model.iterations, 1, kMostIterations),
       "number of recorded iterations"},
      {"layer_spread", Need::kOptional, config::number(model.layer_spread, config::between(0, 3)),
       "how much spread differs between layers, as the standard deviation of the logarithm of spread"},
      {"noise", Need::kOptional, config::number(model.noise, config::between(0, 10)),
       "random noise of the logits in each iteration, in addition to drift, as a standard deviation"},
      {"course", Need::kRequired, course_value(model.course), "how the routing changes while a job trains"}};
}

Status config_finish(RoutingModel& model) {
  if (model.top_k >= model.experts) {
    return Error{
        fmt::format("must be less than the number of experts ({}), not {}", model.experts, model.top_k),
        {.pointer = "/top_k"}};
  }
  if (model.course.empty()) return Error{"must have at least one point", {.pointer = "/course"}};
  const std::int64_t most_rows = kMostCounts / model.layers / model.experts;
  if (model.iterations > most_rows) {
    return Error{fmt::format("must be at most {}, not {}: with {} layers x {} experts the trace would have "
                             "more than {} counts",
                             most_rows, model.iterations, model.layers, model.experts, kMostCounts),
                 {.pointer = "/iterations"}};
  }
  return Ok{};
}

}  // namespace goodput

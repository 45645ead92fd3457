#include "models/fleet/fleet_mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <variant>

#include "sim/base/json.h"

namespace goodput {
namespace {

using config::Need;

constexpr double kMostSlowdown = 20;
constexpr double kSharesWithin = 1e-6;  // of 1: decimals in a file

// The alternatives of Straggler that a severity can be found for.
constexpr std::string_view kFleetKinds[] = {kStragglerKinds[0], kStragglerKinds[1], kStragglerKinds[2],
                                            kStragglerKinds[3]};
constexpr config::Range kShare = config::between(0, 1);

// The sizes that the reader cannot know together.
Status check_shares(const FleetMixture& mixture) {
  double causes = 0;
  for (const FleetCause& cause : mixture.causes) causes += cause.share;
  if (causes > 1 + kSharesWithin) {
    return Error{fmt::format("have shares of {:g} together, more than 1", causes), {.pointer = "/causes"}};
  }
  double shapes = 0;
  for (const FleetShape& shape : mixture.shapes) shapes += shape.share;
  if (std::abs(shapes - 1) > kSharesWithin) {
    return Error{fmt::format("have shares of {:g} together, want 1", shapes), {.pointer = "/shapes"}};
  }
  return Ok{};
}

config::Fields fields_of_studies(FleetMixture& mixture) {
  return {{"restarted_share", Need::kOptional, config::number(mixture.restarted_share, kShare),
           "of the jobs, restarted more than 15 times"},
          {"short_share", Need::kOptional, config::number(mixture.short_share, kShare),
           "of the jobs, recorded for two steps only"},
          {"median_discrepancy", Need::kOptional,
           config::number(mixture.median_discrepancy, config::between(0, 0.5)),
           "of the replay, through late launches"},
          {"discrepancy_sigma", Need::kOptional,
           config::number(mixture.discrepancy_sigma, config::between(0, 3)), "deviation of its logarithm"},
          {"median_hours", Need::kOptional, config::number(mixture.median_hours, config::above(0)),
           "that a job runs"},
          {"hours_sigma", Need::kOptional, config::number(mixture.hours_sigma, config::between(0, 3)),
           "deviation of their logarithm"},
          {"hosts", Need::kOptional, config::integer(mixture.hosts, 1, 1'000'000), "that jobs are placed on"},
          {"bad_hosts", Need::kOptional, config::integer(mixture.bad_hosts, 0, 1'000'000),
           "of these, on which worker faults are; 0: on any"}};
}

}  // namespace

double SlowdownQuantiles::at(double probability) const {
  const auto between = [](double low, double high, double share) { return low + (high - low) * share; };
  if (probability < 0.5) return between(least, median, probability / 0.5);
  if (probability < 0.9) return between(median, p90, (probability - 0.5) / 0.4);
  return between(p90, most, (probability - 0.9) / 0.1);
}

config::Fields config_fields(SlowdownQuantiles& quantiles) {
  const config::Range range = config::between(1, kMostSlowdown);
  return {{"least", Need::kRequired, config::number(quantiles.least, range), "S of the least slowed job"},
          {"median", Need::kRequired, config::number(quantiles.median, range), "of S"},
          {"p90", Need::kRequired, config::number(quantiles.p90, range), "90 % of the jobs are slowed less"},
          {"most", Need::kRequired, config::number(quantiles.most, range), "S of the most slowed job"}};
}

Status config_finish(const SlowdownQuantiles& quantiles) {
  if (quantiles.least <= quantiles.median && quantiles.median <= quantiles.p90 &&
      quantiles.p90 <= quantiles.most) {
    return Ok{};
  }
  return Error{"its quantiles fall; want least <= median <= p90 <= most"};
}

config::Fields config_fields(FleetCause& cause) {
  return {{"kind", Need::kRequired, config::choice(cause.kind, kFleetKinds), "what slows these jobs down"},
          {"share", Need::kRequired, config::number(cause.share, kShare), "of the jobs"},
          {"slowdown", Need::kRequired, config::object(cause.slowdown), "S of these jobs"}};
}

config::Fields config_fields(FleetShape& shape) {
  constexpr std::int64_t kMostWorkers = 4096;
  return {{"share", Need::kRequired, config::number(shape.share, kShare), "of the jobs"},
          {"dp", Need::kRequired, config::integer(shape.dp, 2, kMostWorkers), "data-parallel replicas"},
          {"pp", Need::kRequired, config::integer(shape.pp, 1, 64), "pipeline stages"},
          {"gpus_per_worker", Need::kRequired, config::integer(shape.gpus_per_worker, 1, kMostWorkers),
           "tensor and context parallelism"},
          {"micro_batches", Need::kRequired, config::integer(shape.micro_batches, 2, kMostWorkers),
           "of a replica and step"}};
}

config::Fields config_fields(FleetMixture& mixture) {
  config::Fields fields = {
      {"causes", Need::kRequired, config::objects(mixture.causes, "an array of causes"),
       "why jobs straggle, and how much; the others straggle for no cause"},
      {"shapes", Need::kRequired, config::objects(mixture.shapes, "an array of shapes"),
       "how jobs are cut up; their shares are 1 together"},
      {"trace", Need::kOptional, config::object(mixture.trace), "length and noise"},
      {"forward_s", Need::kOptional, config::number(mixture.forward_s, config::between(1e-3, 10)),
       "of a forward pass; backward passes take twice as long"},
      {"median_tokens", Need::kOptional, config::number(mixture.median_tokens, config::at_least(1)),
       "of a document, where lengths of documents slow a job down"},
      {"tokens_sigma", Need::kOptional, config::number(mixture.tokens_sigma, config::between(0, 5)),
       "deviation of the logarithm of that"},
      {"sequence_length", Need::kOptional, config::integer(mixture.sequence_length, 1, 1'000'000'000),
       "tokens"}};
  for (config::Field& field : fields_of_studies(mixture)) fields.push_back(std::move(field));
  return fields;
}

Status config_finish(FleetMixture& mixture) {
  if (mixture.bad_hosts > mixture.hosts) {
    return Error{fmt::format("is {}, more than the {} hosts", mixture.bad_hosts, mixture.hosts),
                 {.pointer = "/bad_hosts"}};
  }
  return check_shares(mixture);
}

Result<FleetMixture> read_fleet_mixture(const std::string& path, const config::Library& library) {
  GOODPUT_TRY(FleetMixture mixture, config::read<FleetMixture>(path, library));
  mixture.file = path;
  return mixture;
}

}  // namespace goodput

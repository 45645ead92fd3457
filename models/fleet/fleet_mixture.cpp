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
    return Error{fmt::format("shares must add up to at most 1, not {:g}", causes), {.pointer = "/causes"}};
  }
  double shapes = 0;
  for (const FleetShape& shape : mixture.shapes) shapes += shape.share;
  if (std::abs(shapes - 1) > kSharesWithin) {
    return Error{fmt::format("shares must add up to 1, not {:g}", shapes), {.pointer = "/shapes"}};
  }
  return Ok{};
}

config::Fields fields_of_studies(FleetMixture& mixture) {
  return {
      {"restarted_share", Need::kOptional, config::number(mixture.restarted_share, kShare),
       "share of jobs that restarted more than 15 times"},
      {"short_share", Need::kOptional, config::number(mixture.short_share, kShare),
       "share of jobs with only two recorded steps"},
      {"median_discrepancy", Need::kOptional,
       config::number(mixture.median_discrepancy, config::between(0, 0.5)),
       "median, over jobs, of the replay's relative error in step time, which late launches cause"},
      {"discrepancy_sigma", Need::kOptional, config::number(mixture.discrepancy_sigma, config::between(0, 3)),
       "standard deviation of the logarithm of the replay's error"},
      {"median_hours", Need::kOptional, config::number(mixture.median_hours, config::above(0)),
       "median run time of a job"},
      {"hours_sigma", Need::kOptional, config::number(mixture.hours_sigma, config::between(0, 3)),
       "standard deviation of the logarithm of the run time"},
      {"hosts", Need::kOptional, config::integer(mixture.hosts, 1, 1'000'000),
       "number of hosts that jobs are placed on"},
      {"bad_hosts", Need::kOptional, config::integer(mixture.bad_hosts, 0, 1'000'000),
       "number of hosts on which all worker faults occur (0: faults occur on any host)"}};
}

}  // namespace

double SlowdownQuantiles::at(double probability) const {
  const auto between = [](double low, double high, double share) { return low + (high - low) * share; };
  if (probability < 0.5) return between(min, median, probability / 0.5);
  if (probability < 0.9) return between(median, p90, (probability - 0.5) / 0.4);
  return between(p90, max, (probability - 0.9) / 0.1);
}

config::Fields config_fields(SlowdownQuantiles& quantiles) {
  const config::Range range = config::between(1, kMostSlowdown);
  return {config::renamed(
              {"min", Need::kRequired, config::number(quantiles.min, range), "lowest slowdown S of a job"},
              "least"),
          {"median", Need::kRequired, config::number(quantiles.median, range), "median slowdown S"},
          {"p90", Need::kRequired, config::number(quantiles.p90, range), "90th percentile of the slowdown S"},
          config::renamed(
              {"max", Need::kRequired, config::number(quantiles.max, range), "highest slowdown S of a job"},
              "most")};
}

Status config_finish(const SlowdownQuantiles& quantiles) {
  if (quantiles.min <= quantiles.median && quantiles.median <= quantiles.p90 &&
      quantiles.p90 <= quantiles.max) {
    return Ok{};
  }
  return Error{"must satisfy min <= median <= p90 <= max"};
}

config::Fields config_fields(FleetCause& cause) {
  return {{"kind", Need::kRequired, config::choice(cause.kind, kFleetKinds), "cause of the slowdown"},
          {"share", Need::kRequired, config::number(cause.share, kShare), "share of all jobs"},
          {"slowdown", Need::kRequired, config::object(cause.slowdown),
           "distribution of the slowdown S of jobs with this cause"}};
}

config::Fields config_fields(FleetShape& shape) {
  constexpr std::int64_t kMostWorkers = 4096;
  return {
      {"share", Need::kRequired, config::number(shape.share, kShare), "share of all jobs"},
      {"dp", Need::kRequired, config::integer(shape.dp, 2, kMostWorkers), "number of data-parallel replicas"},
      {"pp", Need::kRequired, config::integer(shape.pp, 1, 64), "number of pipeline stages"},
      {"gpus_per_worker", Need::kRequired, config::integer(shape.gpus_per_worker, 1, kMostWorkers),
       "number of GPUs per worker (tensor x context parallelism)"},
      {"micro_batches", Need::kRequired, config::integer(shape.micro_batches, 2, kMostWorkers),
       "number of micro-batches per replica and step"}};
}

config::Fields config_fields(FleetMixture& mixture) {
  config::Fields fields = {
      {"causes", Need::kRequired, config::objects(mixture.causes, "an array of causes"),
       "list of causes of slowdown, with the share of jobs that each cause affects and the size of the "
       "slowdown; the remaining jobs are not slowed down"},
      {"shapes", Need::kRequired, config::objects(mixture.shapes, "an array of shapes"),
       "list of parallel layouts of jobs; their shares must add up to 1"},
      {"trace", Need::kOptional, config::object(mixture.trace),
       "number of steps and amount of noise in each trace"},
      {"forward_s", Need::kOptional, config::number(mixture.forward_s, config::between(1e-3, 10)),
       "how long a forward pass takes; backward passes take twice as long"},
      {"median_tokens", Need::kOptional, config::number(mixture.median_tokens, config::at_least(1)),
       "median number of tokens per document, in jobs that uneven sequence lengths slow down"},
      {"tokens_sigma", Need::kOptional, config::number(mixture.tokens_sigma, config::between(0, 5)),
       "standard deviation of the logarithm of the number of tokens per document"},
      {"sequence_length", Need::kOptional, config::integer(mixture.sequence_length, 1, 1'000'000'000),
       "number of tokens per sequence"}};
  for (config::Field& field : fields_of_studies(mixture)) fields.push_back(std::move(field));
  return fields;
}

Status config_finish(FleetMixture& mixture) {
  if (mixture.bad_hosts > mixture.hosts) {
    return Error{
        fmt::format("must be at most the number of hosts ({1}), not {0}", mixture.bad_hosts, mixture.hosts),
        {.pointer = "/bad_hosts"}};
  }
  return check_shares(mixture);
}

Result<FleetMixture> read_fleet_mixture(const std::string& path, const config::Library& library) {
  FleetMixture mixture;
  GOODPUT_TRY(mixture.notes, config::read_file(path, config::access(mixture), library));
  mixture.file = path;
  return mixture;
}

}  // namespace goodput

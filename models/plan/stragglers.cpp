#include "models/plan/stragglers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/json.h"
#include "sim/base/registry.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;

constexpr std::int64_t kMostSteps = 1'000'000;
constexpr double kMostSeconds = 60;  // of longer ones float32 times would lose the ops
constexpr config::Range kFactor = config::between(0.01, 1e4);

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

Fields fields_of(SlowWorker& slow) {
  return {
      {"dp", Need::kRequired, config::integer(slow.dp, 0), "data-parallel rank of the worker"},
      {"stage", Need::kRequired, config::integer(slow.stage, 0), "pipeline stage of the worker"},
      {"factor", Need::kRequired, config::number(slow.factor, kFactor),
       "slowdown factor of the worker's passes and optimizer"},
      {"from_step", Need::kOptional, config::integer(slow.from_step, 1, kMostSteps),
       "first affected step, counted from 1"},
      {"to_step", Need::kOptional, config::integer(slow.to_step, 0, kMostSteps),
       "last affected step; 0: the last step of the trace"},
      {"from_factor", Need::kOptional, config::number(slow.from_factor, config::between(0, 1e4)),
       "slowdown factor at from_step, which then grows linearly to factor; 0: factor applies to all steps"}};
}

Fields fields_of(StagePartition& partition) {
  return {{"stage", Need::kRequired, config::integer(partition.stage, 0), "slow pipeline stage"},
          {"factor", Need::kRequired, config::number(partition.factor, kFactor),
           "slowdown factor of the stage's passes"}};
}

Fields fields_of(SequenceLengths& lengths) {
  return {
      {"median_tokens", Need::kOptional, config::number(lengths.median_tokens, config::at_least(1)),
       "median length of the documents, in tokens"},
      {"sigma", Need::kOptional, config::number(lengths.sigma, config::between(0, 10)),
       "standard deviation of the logarithm of the document lengths"},
      {"attention_share", Need::kOptional,
       config::number([&lengths] { return lengths.attention_share; },
                      [&lengths](double share) { lengths.attention_share = share; }, config::between(0, 1)),
       "fraction of a pass that attention scores take when the sequence is a single document (default: "
       "their share of the plan's FLOPs)"}};
}

Fields fields_of(GcPauses& pauses) {
  return {{"passes", Need::kOptional, config::choice(pauses.passes, GcPauses::kPassesNames),
           "which passes the pauses interrupt"},
          {"every_steps", Need::kOptional, config::integer(pauses.every_steps, 1, kMostSteps),
           "number of steps from one pause of a worker to the next"},
          {"pause_s", Need::kRequired,
           config::number(pauses.pause, config::between(0, kMostSeconds), from_seconds(1)),
           "mean length of a pause"}};
}

Fields fields_of(LaunchDelays& delays) {
  return {{"ops", Need::kOptional, config::choice(delays.ops, LaunchDelays::kOpsNames),
           "which ops start late. first: only the first forward pass of stage 0 (data loading)"},
          {"mean_s", Need::kRequired,
           config::number(delays.mean, config::between(0, kMostSeconds), from_seconds(1)),
           "mean delay; delays are exponentially distributed"}};
}

Fields fields_of(SlowLink& link) {
  return {{"dp", Need::kOptional, config::integer(link.dp, SlowLink::kAllReplicas),
           "data-parallel rank with the slow link; -1: all replicas"},
          {"stage", Need::kRequired, config::integer(link.stage, 0),
           "pipeline stage; the slow link is from this stage to the next"},
          {"factor", Need::kRequired, config::number(link.factor, kFactor),
           "slowdown factor of the link's messages"},
          {"from_step", Need::kOptional, config::integer(link.from_step, 1, kMostSteps),
           "first affected step, counted from 1"},
          {"to_step", Need::kOptional, config::integer(link.to_step, 0, kMostSteps),
           "last affected step; 0: the last step of the trace"}};
}

Fields fields_of(NicFlap& flap) {
  return {{"dp", Need::kRequired, config::integer(flap.dp, 0), "data-parallel rank of the worker"},
          {"stage", Need::kRequired, config::integer(flap.stage, 0), "pipeline stage of the worker"},
          {"share", Need::kOptional, config::number(flap.share, config::between(0, 1)),
           "fraction of the worker's transfers that are slow"},
          {"factor", Need::kOptional, config::number(flap.factor, kFactor),
           "slowdown factor of the slow transfers"}};
}

template <std::size_t... kIndex>
Straggler make(std::size_t kind, std::index_sequence<kIndex...> /*kinds*/) {
  Straggler straggler;
  ((kIndex == kind ? static_cast<void>(straggler.emplace<kIndex>()) : static_cast<void>(0)), ...);
  return straggler;
}

Result<Straggler> of_kind(const Json& value, const config::Place& place) {
  if (!value.is_object()) return place.error("must be a straggler: {\"kind\": ..., ...}");
  const std::string kinds = fmt::format("{}", fmt::join(kStragglerKinds, ", "));
  const auto kind = value.find("kind");
  if (kind == value.end()) return place.at("kind").error("is missing; it must be one of " + kinds);
  if (!kind->is_string()) return place.at("kind").error("must be one of " + kinds);
  const auto& name = kind->get_ref<const std::string&>();
  const Result<std::size_t> found = index_of_name(kStragglerKinds, "straggler", name);
  if (!found) return place.at("kind").error(found.error().what);
  return make(*found, std::make_index_sequence<std::variant_size_v<Straggler>>());
}

Status read_stragglers(const Json& value, const config::Place& place, std::vector<Straggler>& stragglers) {
  if (!value.is_array()) return place.error("must be an array of stragglers");
  stragglers.clear();
  for (std::size_t i = 0; i < value.size(); ++i) {
    config::Place at = place.at(std::to_string(i));
    GOODPUT_TRY(Straggler straggler, of_kind(value[i], at));
    GOODPUT_TRY_STATUS(config::object(straggler).read(value[i], at));
    stragglers.push_back(straggler);
  }
  return Ok{};
}

OrderedJson write_stragglers(const std::vector<Straggler>& stragglers) {
  auto list = OrderedJson::array();
  for (Straggler straggler : stragglers) list.push_back(config::write(config_fields(straggler)));
  return list;
}

// The first field of the straggler that the job does not have, and why.
std::optional<Error> unknown_place(const Straggler& straggler, const JobShape& job) {
  const auto beyond = [](std::string_view field, std::int64_t value, std::int64_t count,
                         std::string_view things) -> std::optional<Error> {
    if (value < count) return std::nullopt;
    return Error{fmt::format("is {}, but the job has only {} {}, numbered from 0", value, count, things),
                 {.pointer = fmt::format("/{}", field)}};
  };
  const auto worker = [&](std::int32_t dp, std::int32_t stage) {
    auto problem = beyond("dp", dp, job.dp, "data-parallel ranks");
    return problem ? problem : beyond("stage", stage, job.pp, "stages");
  };
  const auto window = [&](std::int64_t from_step, std::int64_t to_step) -> std::optional<Error> {
    if (from_step > job.steps) {
      return Error{fmt::format("is {}, but the trace has steps 1 to {}", from_step, job.steps),
                   {.pointer = "/from_step"}};
    }
    if (to_step == 0 || to_step >= from_step) return std::nullopt;
    return Error{fmt::format("must be at least from_step ({1}), not {0}", to_step, from_step),
                 {.pointer = "/to_step"}};
  };
  const auto visit =
      Overloaded{[&](const SlowWorker& slow) -> std::optional<Error> {
                   if (auto problem = worker(slow.dp, slow.stage)) return problem;
                   return window(slow.from_step, slow.to_step);
                 },
                 [&](const SlowLink& link) -> std::optional<Error> {
                   if (auto problem = worker(link.dp, link.stage)) return problem;
                   if (job.pp == 1) return Error{"requires at least 2 pipeline stages, but the job has 1"};
                   return window(link.from_step, link.to_step);
                 },
                 [&](const StagePartition& partition) -> std::optional<Error> {
                   if (auto problem = beyond("stage", partition.stage, job.pp, "stages")) return problem;
                   if (job.pp > 1) return std::nullopt;
                   return Error{"requires at least 2 pipeline stages, but the job has 1"};
                 },
                 [&](const NicFlap& flap) -> std::optional<Error> {
                   if (auto problem = worker(flap.dp, flap.stage)) return problem;
                   if (job.dp > 1 || job.pp > 1) return std::nullopt;
                   return Error{"requires at least 2 workers, but the job has 1"};
                 },
                 [](const auto& /*anywhere*/) -> std::optional<Error> { return std::nullopt; }};
  return std::visit(visit, straggler);
}

}  // namespace

config::Fields config_fields(Straggler& straggler) {
  const std::string_view name = kind_of(straggler);
  const config::Value kind{
      fmt::format("one of {}", fmt::join(kStragglerKinds, ", ")),
      [](const Json&, config::Place&) -> Status { return Ok{}; },  // which fields there are
      [name](OrderedJson& into) { into = name; },
      {}};
  Fields fields = {{"kind", Need::kRequired, kind, "kind of straggler"}};
  for (config::Field& field : std::visit([](auto& of) { return fields_of(of); }, straggler)) {
    fields.push_back(std::move(field));
  }
  return fields;
}

config::Value stragglers_value(std::vector<Straggler>& stragglers) {
  return {"an array of stragglers",
          [&stragglers](const Json& value, config::Place& place) {
            return read_stragglers(value, place, stragglers);
          },
          [&stragglers](OrderedJson& into) {
            if (!stragglers.empty()) into = write_stragglers(stragglers);
          },
          {}};
}

config::Fields config_fields(TraceSettings& settings) {
  return {
      {"steps", Need::kOptional, config::integer(settings.steps, 1, kMostSteps), "number of training steps"},
      {"jitter", Need::kOptional, config::number(settings.jitter, config::between(0, 1)),
       "standard deviation of the logarithm of op times"}};
}

config::Fields config_fields(SynthSettings& settings) {
  return {
      {"stragglers", Need::kOptional, stragglers_value(settings.stragglers), "stragglers of the job"},
      {"trace", Need::kOptional, config::object(settings.trace), "number of steps and noise of the trace"}};
}

Status check_stragglers(const std::vector<Straggler>& stragglers, const JobShape& job) {
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    if (auto problem = unknown_place(stragglers[i], job)) {
      return std::move(*problem).inside(fmt::format("/{}", i));
    }
  }
  return Ok{};
}

double draw_sequence_cost(const SequenceLengths& lengths, std::int64_t length, std::int32_t sequences,
                          RandomStream& random) {
  // Shorter documents would not move the sum, and a long sequence would have too many of them.
  const double shortest = std::max(1.0, static_cast<double>(length) / 4096);
  double squares = 0;
  for (std::int32_t sequence = 0; sequence < sequences; ++sequence) {
    for (double left = static_cast<double>(length); left > 0;) {
      const double drawn = std::exp(random.normal(std::log(lengths.median_tokens), lengths.sigma));
      const double document = std::min(left, std::max(shortest, std::round(drawn)));
      squares += document * document;
      left -= document;
    }
  }
  const double longest =
      static_cast<double>(sequences) * static_cast<double>(length) * static_cast<double>(length);
  const double share = lengths.attention_share.value();
  return 1 - share + share * squares / longest;
}

std::string describe(const Straggler& straggler) {
  const auto visit = Overloaded{
      [](const SlowWorker& slow) {
        const std::string until = slow.to_step == 0 ? "the last step" : fmt::format("{}", slow.to_step);
        const std::string growing = slow.from_factor == 0 ? "" : fmt::format("{:g}x to ", slow.from_factor);
        return fmt::format("computation on dp {} stage {} takes {}{:g}x as long from step {} to {}", slow.dp,
                           slow.stage, growing, slow.factor, slow.from_step, until);
      },
      [](const StagePartition& partition) {
        return fmt::format("the passes of stage {} take {:g}x as long in all replicas", partition.stage,
                           partition.factor);
      },
      [](const SequenceLengths& lengths) {
        const std::string share =
            lengths.attention_share
                ? fmt::format("; attention scores take a fraction of {:.3g} of a pass with one document",
                              *lengths.attention_share)
                : "";
        return fmt::format("the median document has {:g} tokens (standard deviation of the logarithm {:g}){}",
                           lengths.median_tokens, lengths.sigma, share);
      },
      [](const GcPauses& pauses) {
        return fmt::format("every worker pauses for {:g} s once every {} steps", to_seconds(pauses.pause),
                           pauses.every_steps);
      },
      [](const LaunchDelays& delays) {
        return fmt::format("{} start {:g} s late on average",
                           delays.ops == LaunchDelays::Ops::kFirst ? "the first passes" : "all ops",
                           to_seconds(delays.mean));
      },
      [](const SlowLink& link) {
        const std::string of = link.dp < 0 ? "all replicas" : fmt::format("dp {}", link.dp);
        const std::string until = link.to_step == 0 ? "the last step" : fmt::format("{}", link.to_step);
        return fmt::format(
            "messages between stage {} and the next take {:g}x as long in {} from step {} to {}", link.stage,
            link.factor, of, link.from_step, until);
      },
      [](const NicFlap& flap) {
        return fmt::format("a fraction of {:g} of the transfers of dp {} stage {} takes {:g}x as long",
                           flap.share, flap.dp, flap.stage, flap.factor);
      }};
  return std::visit(visit, straggler);
}

}  // namespace goodput

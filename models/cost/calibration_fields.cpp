// The fields of a calibration file. 0 and "" are not stated, and not written.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "models/cost/calibration.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;
using config::Place;
using config::Value;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMost = 1'000'000'000'000'000;
constexpr std::int64_t kMostRanks = 1'000'000;
constexpr std::array<std::string_view, 1> kSchema = {"goodput.calibration/1"};
constexpr std::string_view kCorrectnessOnly = "correctness_only";

template <typename T>
Value unless(T& value, T unstated, Value how) {
  how.write = [&value, unstated, write = std::move(how.write)](ordered_json& into) {
    if (value != unstated) write(into);
  };
  return how;
}
Value count(std::int64_t& value, std::int64_t most = kMost) {
  return unless(value, std::int64_t{0}, config::integer(value, 1, most));
}
Value positive(double& value) {
  return unless(value, 0.0, config::number(value, config::above(0)));
}
Value not_negative(double& value) {
  return unless(value, 0.0, config::number(value, config::at_least(0)));
}
Value text(std::string& value) {
  return unless(value, std::string{}, config::text(value));
}

Error not_an_array(const Place& place, std::string_view of) {
  return place.error(fmt::format("is no array, want an array of {}", of));
}

// REQUIRES: `read_one` reads an element into its last argument.
template <typename T, typename ReadOne>
Status read_array(const json& from, Place& place, std::vector<T>& values, std::string_view of,
                  ReadOne read_one) {
  if (!from.is_array()) return not_an_array(place, of);
  values.clear();
  for (const json& element : from) {
    Place at = place.at(std::to_string(values.size()));
    GOODPUT_TRY_STATUS(read_one(element, at, values.emplace_back()));
    if (at.tier) place.tier = lowest(place.tier.value_or(*at.tier), *at.tier);
  }
  return Ok{};
}

Value texts(std::vector<std::string>& values) {
  const auto read = [&values](const json& from, Place& place) {
    return read_array(from, place, values, "texts", [](const json& one, Place& at, std::string& value) {
      return config::text(value).read(one, at);
    });
  };
  const auto write = [&values](ordered_json& into) {
    if (!values.empty()) into = values;
  };
  return {"an array of texts", read, write, {}};
}

Value interval(std::vector<double>& values) {
  const auto read = [&values](const json& from, Place& place) {
    return read_array(from, place, values, "two numbers", [](const json& one, Place& at, double& value) {
      return config::number(value, {}).read(one, at);
    });
  };
  const auto write = [&values](ordered_json& into) {
    if (!values.empty()) into = values;
  };
  return {"an array of two numbers", read, write, {}};
}

Status always_fine(const json&, const Place&) {
  return Ok{};
}

// `check` sees an element before it is read.
template <typename T>
Value objects(std::vector<T>& values, std::string_view of,
              Status (*check)(const json&, const Place&) = always_fine) {
  const auto read = [&values, of, check](const json& from, Place& place) {
    return read_array(from, place, values, of, [check](const json& one, Place& at, T& value) -> Status {
      GOODPUT_TRY_STATUS(check(one, at));
      return config::object(value).read(one, at);
    });
  };
  const auto write = [&values](ordered_json& into) {
    if (!values.empty()) into = ordered_json::array();
    for (T& value : values) into.push_back(config::write(config_fields(value)));
  };
  return {fmt::format("an array of {}", of), read, write, {}};
}

// A time that says nothing of a machine at work is refused before anything else is read of it.
Status check_tier(const json& op, const Place& place) {
  if (!op.is_object()) return Ok{};
  const auto tier = op.find("tier");
  Place at = place.at("tier");
  if (tier == op.end()) return at.error("is missing; say where the times come from");
  if (!tier->is_string() || tier->get_ref<const std::string&>() != kCorrectnessOnly) return Ok{};
  return at.error("is \"correctness_only\": the ranks took turns on one GPU, which is no cost of a network");
}

Value type(MeasuredType& value) {
  const auto get = [&value] { return static_cast<std::size_t>(value) - 1; };
  const auto set = [&value](std::size_t index) { value = static_cast<MeasuredType>(index + 1); };
  return unless(value, MeasuredType::kUnstated, config::choice(get, set, kMeasuredTypeNames));
}

Value no_wrong_results() {
  const auto read = [](const json& from, const Place& place) -> Status {
    if (from == 0) return Ok{};
    return place.error(
        fmt::format("is {}, want 0: the time of a wrong result counts for nothing", from.dump()));
  };
  return {"0", read, {}, {}};
}

Fields size_fields(MeasuredPoint& point) {
  return {
      {"bytes", Need::kOptional, count(point.bytes), "size of a collective or copy"},
      {"tokens", Need::kOptional, count(point.tokens), "size of the dispatcher's stages and of attention"},
      {"m", Need::kOptional, count(point.m), "rows of a GEMM"},
  };
}

}  // namespace

Fields config_fields(MeasuredMachine& machine) {
  return {
      {"gpu", Need::kRequired, config::text(machine.gpu), "as the driver calls it: \"NVIDIA H200\""},
      {"stands_for", Need::kOptional, texts(machine.stands_for),
       "other GPUs that it may be taken for, at tier assumed: \"H100\""},
      {"gpus", Need::kOptional, count(machine.gpus), "in a node"},
      {"sm", Need::kOptional, count(machine.multiprocessors), "multiprocessors"},
      {"hbm_gib", Need::kOptional, positive(machine.memory_gib), "GPU memory"},
      {"driver", Need::kOptional, text(machine.driver), "version"},
      {"cuda", Need::kOptional, text(machine.cuda), "version"},
      {"nccl", Need::kOptional, text(machine.nccl), "version"},
      {"sm_mhz", Need::kOptional, positive(machine.sm_mhz), "clock read while measuring"},
      {"memory_mhz", Need::kOptional, positive(machine.memory_mhz), "clock read while measuring"},
      {"bf16_tflops", Need::kOptional, positive(machine.bf16_tflops),
       "the vendor's rating; absent: that of the cluster's GPU"},
      {"memory_gb_per_s", Need::kOptional, positive(machine.memory_gb_per_s),
       "the vendor's rating; absent: that of the cluster's GPU"},
  };
}

Fields config_fields(MeasurementRun& run) {
  return {
      {"git", Need::kOptional, text(run.git), "revision of what measured"},
      {"utc", Need::kOptional, text(run.utc), "when it started"},
      {"argv", Need::kOptional, texts(run.argv), "its command line"},
  };
}

Fields config_fields(MeasurementMethod& method) {
  return {
      {"warm_up", Need::kOptional, count(method.warm_up), "calls before the first sample"},
      {"samples", Need::kOptional, count(method.samples), "a point, at least"},
      {"timer", Need::kOptional, text(method.timer), "what took the times"},
      {"caches", Need::kOptional, text(method.caches), "how data were kept out of the L2 cache"},
      {"stop", Need::kOptional, text(method.stop), "the stopping rule"},
      {"notes", Need::kOptional, text(method.notes), "anything else"},
  };
}

Fields config_fields(MeasuredCeilings& ceilings) {
  return {
      {"copy_1r1w_gb_per_s", Need::kOptional, positive(ceilings.copy_1r1w_gb_per_s),
       "bytes read and written"},
      {"copy_1r8w_gb_per_s", Need::kOptional, positive(ceilings.copy_1r8w_gb_per_s),
       "read once, written 8 times"},
      {"gemm_bf16_tflops", Need::kOptional, positive(ceilings.gemm_bf16_tflops), "a large square GEMM"},
  };
}

Fields config_fields(MeasuredParams& params) {
  return {
      {"ranks", Need::kOptional, count(params.ranks, kMostRanks), "GPUs that take part"},
      {"per_node", Need::kOptional, count(params.per_node, kMostRanks), "of them in one node; absent: all"},
      {"n", Need::kOptional, count(params.n), "columns of a GEMM's result"},
      {"k", Need::kOptional, count(params.k), "what a GEMM sums over"},
      {"experts", Need::kOptional, count(params.experts), ""},
      {"top_k", Need::kOptional, count(params.top_k), "experts a token"},
      {"hidden", Need::kOptional, count(params.hidden), "values a token"},
      {"heads", Need::kOptional, count(params.heads), ""},
      {"head_dim", Need::kOptional, count(params.head_dim), ""},
      {"dtype", Need::kOptional, type(params.dtype), "of the data"},
      {"pinned", Need::kOptional, unless(params.is_pinned, false, config::flag(params.is_pinned)),
       "host memory is page-locked"},
      {"beside_gemm", Need::kOptional,
       unless(params.is_beside_gemm, false, config::flag(params.is_beside_gemm)),
       "a GEMM ran at the same time"},
  };
}

Fields config_fields(MeasuredPoint& point) {
  Fields fields = size_fields(point);
  const Fields rest = {
      {"median_us", Need::kRequired, config::number(point.median_us, config::above(0)), "of one op"},
      {"p05_us", Need::kOptional, positive(point.p05_us), "5th percentile"},
      {"p95_us", Need::kOptional, positive(point.p95_us), "95th percentile"},
      {"min_us", Need::kOptional, positive(point.min_us), "the shortest"},
      {"n", Need::kOptional, count(point.samples), "samples"},
      {"cv", Need::kOptional, not_negative(point.cv), "standard deviation over mean"},
      {"nwrong", Need::kOptional, no_wrong_results(), "wrong values in the result"},
  };
  fields.insert(fields.end(), rest.begin(), rest.end());
  return fields;
}

Fields config_fields(MeasuredFit& fit) {
  return {
      {"lo", Need::kRequired, config::number(fit.lo, config::at_least(0)), "smallest size"},
      {"hi", Need::kRequired, config::number(fit.hi, config::above(0)), "largest size"},
      {"alpha_us", Need::kRequired, config::number(fit.alpha_us, config::at_least(0)), "at size 0"},
      {"GBps_bus", Need::kRequired, config::number(fit.bus_gb_per_s, config::above(0)),
       "bus bandwidth, as nccl-tests define it"},
      {"max_rel", Need::kOptional, not_negative(fit.max_rel), "largest relative error"},
  };
}

Fields config_fields(Measurement& measurement) {
  return {
      {"op", Need::kRequired, config::choice(measurement.op, kMeasuredOpNames), "what was timed"},
      {"params", Need::kOptional, config::object(measurement.params), "its shape, but for the size"},
      {"source", Need::kOptional, text(measurement.source), "where the times come from"},
      {"points", Need::kRequired, objects(measurement.points, "points"), "by ascending size"},
      {"fit", Need::kOptional, objects(measurement.fit, "fits"), "lines through the points, for people"},
      config::tier(measurement.tier),
  };
}

Fields config_fields(AssumedNumber& assumed) {
  return {
      {"name", Need::kRequired, config::text(assumed.name), "with its unit: all_to_all_peer_us"},
      {"value", Need::kRequired, config::number(assumed.value, {}), ""},
      {"range", Need::kOptional, interval(assumed.range), "to sweep"},
      {"cite", Need::kOptional, text(assumed.cite), "who says so"},
      config::tier(assumed.tier),
  };
}

Fields config_fields(Calibration& calibration) {
  const auto schema = [](std::size_t) {};
  return {
      {"schema", Need::kRequired, config::choice([] { return std::size_t{0}; }, schema, kSchema), ""},
      {"source", Need::kOptional, text(calibration.source), "where the numbers come from"},
      {"licence", Need::kOptional, text(calibration.licence), "of the numbers, where others published them"},
      {"machine", Need::kRequired, config::object(calibration.machine), "what was measured"},
      {"run", Need::kOptional, config::object(calibration.run), "by which program, when"},
      {"method", Need::kOptional, config::object(calibration.method), "how"},
      {"ceilings", Need::kOptional, config::object(calibration.ceilings), "the best of simple programs"},
      {"ops", Need::kRequired, objects(calibration.ops, "ops", check_tier), "a table each"},
      {"assumed", Need::kOptional, objects(calibration.assumed, "assumed numbers"), "what nobody measured"},
  };
}

}  // namespace goodput

// The fields of a calibration file, but for those of its tables (models/cost/measured_fields.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "models/cost/calibration.h"
#include "models/cost/object_lists.h"
#include "models/cost/stated_values.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;
using config::Place;
using config::Value;
using stated::objects;
using stated::read_array;

constexpr std::array<std::string_view, 1> kSchema = {"goodput.calibration/1"};

// What says nothing of a machine at work, and why.
struct RefusedTier {
  std::string_view name;
  std::string_view why;
};
constexpr RefusedTier kRefusedTiers[] = {
    {"correctness_only", "the ranks took turns on one GPU, so no network was measured"},
    {"emulated", "the kernels ran on a CPU, not on a GPU"}};

Value texts(std::vector<std::string>& values) {
  const auto read = [&values](const Json& from, Place& place) {
    return read_array(from, place, values, "strings", [](const Json& one, Place& at, std::string& value) {
      return config::text(value).read(one, at);
    });
  };
  const auto write = [&values](OrderedJson& into) {
    if (!values.empty()) into = values;
  };
  return {"an array of strings", read, write, {}};
}

Value interval(std::vector<double>& values) {
  const auto read = [&values](const Json& from, Place& place) {
    return read_array(from, place, values, "two numbers", [](const Json& one, Place& at, double& value) {
      return config::number(value, {}).read(one, at);
    });
  };
  const auto write = [&values](OrderedJson& into) {
    if (!values.empty()) into = values;
  };
  return {"an array of two numbers", read, write, {}};
}

// Such a time is refused before anything else is read of it.
Status check_tier(const Json& timed, const Place& place) {
  if (!timed.is_object()) return Ok{};
  const auto tier = timed.find("tier");
  Place at = place.at("tier");
  if (tier == timed.end()) return at.error("is missing; state where the times come from");
  const auto refused = std::find_if(std::begin(kRefusedTiers), std::end(kRefusedTiers),
                                    [&tier](const RefusedTier& one) { return *tier == one.name; });
  if (refused == std::end(kRefusedTiers)) return Ok{};
  return at.error(fmt::format("\"{}\" times cannot be used: {}", refused->name, refused->why));
}

}  // namespace

Fields config_fields(MeasuredMachine& machine) {
  return {
      {"gpu", Need::kRequired, config::text(machine.gpu),
       "name of the GPU as the driver reports it, such as \"NVIDIA H200\""},
      {"stands_for", Need::kOptional, texts(machine.stands_for),
       "list of other GPUs that these times may be used for (with tier \"assumed\"), such as \"H100\""},
      {"gpus", Need::kOptional, stated::count(machine.gpus), "number of GPUs per node"},
      {"sm", Need::kOptional, stated::count(machine.multiprocessors), "multiprocessors"},
      {"hbm_gib", Need::kOptional, stated::positive(machine.memory_gib), "size of the GPU memory"},
      {"driver", Need::kOptional, stated::text(machine.driver), "driver version"},
      {"cuda", Need::kOptional, stated::text(machine.cuda), "CUDA version"},
      {"nccl", Need::kOptional, stated::text(machine.nccl), "NCCL version"},
      {"sm_mhz", Need::kOptional, stated::positive(machine.sm_mhz), "SM clock during the measurement"},
      {"memory_mhz", Need::kOptional, stated::positive(machine.memory_mhz),
       "memory clock during the measurement"},
      {"power_w", Need::kOptional, stated::positive(machine.power_w), "power limit per GPU"},
      {"ecc", Need::kOptional, stated::flag(machine.ecc), "whether ECC is on"},
      {"mig", Need::kOptional, stated::flag(machine.mig),
       "whether the GPU is partitioned into MIG instances"},
      {"bf16_tflops", Need::kOptional, stated::positive(machine.bf16_tflops),
       "vendor's 16-bit rate of this GPU (default: rate of the cluster's GPU)"},
      {"memory_gb_per_s", Need::kOptional, stated::positive(machine.memory_gb_per_s),
       "vendor's memory bandwidth of this GPU (default: bandwidth of the cluster's GPU)"},
  };
}

Fields config_fields(MeasurementRun& run) {
  return {
      {"git", Need::kOptional, stated::text(run.git), "revision of the program that took the measurements"},
      {"utc", Need::kOptional, stated::text(run.utc), "time when the measurement started"},
      {"argv", Need::kOptional, texts(run.argv), "command line of the program, as a list of arguments"},
  };
}

Fields config_fields(MeasurementMethod& method) {
  return {
      {"warm_up", Need::kOptional, stated::count(method.warm_up),
       "number of warm-up calls before the first sample"},
      {"samples", Need::kOptional, stated::count(method.samples), "minimum number of samples per point"},
      {"timer", Need::kOptional, stated::text(method.timer), "timer that measured the times"},
      {"caches", Need::kOptional, stated::text(method.caches), "how data was kept out of the L2 cache"},
      {"stop", Need::kOptional, stated::text(method.stop), "rule for when a point has enough samples"},
      {"notes", Need::kOptional, stated::text(method.notes), "other notes on the method"},
  };
}

Fields config_fields(MeasuredCeilings& ceilings) {
  return {
      {"copy_1r1w_gb_per_s", Need::kOptional, stated::positive(ceilings.copy_1r1w_gb_per_s),
       "highest rate of a copy kernel with one read and one write per element"},
      {"copy_1r8w_gb_per_s", Need::kOptional, stated::positive(ceilings.copy_1r8w_gb_per_s),
       "highest rate of a copy kernel with one read and eight writes per element"},
      {"gemm_bf16_tflops", Need::kOptional, stated::positive(ceilings.gemm_bf16_tflops),
       "highest rate of a large square GEMM"},
  };
}

Fields config_fields(Measurement& measurement) {
  return {
      {"op", Need::kRequired, config::choice(measurement.op, kMeasuredOpNames), "operation that was timed"},
      {"params", Need::kOptional, config::object(measurement.params),
       "shape of the operation, without the size that varies from point to point"},
      {"source", Need::kOptional, stated::text(measurement.source), "where the times come from"},
      {"points", Need::kRequired, objects(measurement.points, "points"),
       "list of measured points in ascending order of size"},
      {"fit", Need::kOptional, objects(measurement.fit, "fits"),
       "list of lines fitted to the points, for information only"},
      config::tier(measurement.tier),
  };
}

Fields config_fields(AssumedNumber& assumed) {
  return {
      {"name", Need::kRequired, config::text(assumed.name),
       "name that includes the unit, such as all_to_all_peer_us"},
      {"value", Need::kRequired, config::number(assumed.value, {}), "the assumed number"},
      {"range", Need::kOptional, interval(assumed.range),
       "range in which the value may be varied: [min, max]"},
      {"cite", Need::kOptional, stated::text(assumed.cite), "where the value comes from"},
      config::tier(assumed.tier),
  };
}

Fields config_fields(Calibration& calibration) {
  const auto schema = [](std::size_t) {};
  return {
      {"schema", Need::kRequired, config::choice([] { return std::size_t{0}; }, schema, kSchema), ""},
      {"source", Need::kOptional, stated::text(calibration.source), "where the numbers come from"},
      {"licence", Need::kOptional, stated::text(calibration.licence),
       "license of the numbers, if others published them"},
      {"machine", Need::kRequired, config::object(calibration.machine),
       "machine on which the times were measured"},
      {"run", Need::kOptional, config::object(calibration.run),
       "program that took the measurements, and when"},
      {"method", Need::kOptional, config::object(calibration.method), "how the measurements were taken"},
      {"ceilings", Need::kOptional, config::object(calibration.ceilings),
       "highest rates that simple programs reach on this machine"},
      {"ops", Need::kRequired, objects(calibration.ops, "ops", check_tier),
       "list of tables, one for each operation and shape"},
      {"checks", Need::kOptional, objects(calibration.checks, "checks", check_tier),
       "list of blocks and training steps that ran on the machine, to compare predictions with"},
      {"assumed", Need::kOptional, objects(calibration.assumed, "assumed numbers"),
       "list of numbers that were assumed, not measured"},
  };
}

}  // namespace goodput

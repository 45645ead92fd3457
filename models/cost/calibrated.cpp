#include "models/cost/calibrated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>

#include "models/cost/cost_models.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

// By name.
constexpr std::string_view kDefaultCalibration = "h200-public";
// A launch time that moves a sequence by less has no say in its tier.
constexpr double kMatters = 0.01;

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// The first word with a digit, in capitals: "H200" of "NVIDIA H200 SXM".
std::string model_word(std::string_view name) {
  std::string word;
  bool has_digit = false;
  for (const char c : name) {
    if (!is_letter_or_digit(c)) {
      if (has_digit) return word;
      word.clear();
      continue;
    }
    has_digit |= std::isdigit(static_cast<unsigned char>(c)) != 0;
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return has_digit ? word : std::string(name);
}

std::optional<Collective> collective_of(MeasuredOp op) {
  switch (op) {
    case MeasuredOp::kAllReduce:
      return Collective::kAllReduce;
    case MeasuredOp::kAllGather:
      return Collective::kAllGather;
    case MeasuredOp::kReduceScatter:
      return Collective::kReduceScatter;
    case MeasuredOp::kAllToAll:
      return Collective::kAllToAll;
    case MeasuredOp::kSendRecv:
      return Collective::kSendRecv;
    default:
      return std::nullopt;
  }
}

MeasuredCurve curve_by_bytes(const Measurement& measurement) {
  std::vector<CurvePoint> points;
  for (const MeasuredPoint& point : measurement.points)
    points.push_back({static_cast<double>(point.bytes), 1e-6 * point.median_us});
  return MeasuredCurve::rising(std::move(points));
}

LinkTime link_time(const MeasuredCurve& curve, double bytes) {
  return {curve.first(), curve.extended_at(bytes) - curve.first()};
}

LinkTime log_mean(LinkTime below, LinkTime above, double weight) {
  const double total =
      goodput::log_mean(below.latency + below.transfer, above.latency + above.transfer, weight);
  const double latency = goodput::log_mean(below.latency, above.latency, weight);
  return {latency, total - latency};
}

// Of the buffer, through every link of a ring in one pass.
double ring_share(double members) {
  return (members - 1) / members;
}

// Of the group, those in one node.
std::int32_t near_of(const CollectiveCall& call) {
  return std::min(call.group.per_node, call.group.size);
}
// The buffer of an all-to-all among `near` GPUs of one node that moves as many bytes inside it.
double buffer_inside(const CollectiveCall& call, std::int32_t near) {
  if (call.by_link && near > 1) return call.imbalance * call.by_link->inside / ring_share(near);
  return call.imbalance * call.bytes * near / call.group.size;
}
// Whether a collective over several nodes does something inside each of them.
bool has_inside(const CollectiveCall& call) {
  return near_of(call) > 1 && call.kind != Collective::kSendRecv;
}

GpuRatings ratings_of(const GpuSpec& gpu) {
  return {gpu.bf16.value, gpu.memory_bandwidth.value};
}
GpuRatings ratings_of(const MeasuredMachine& machine, const GpuSpec& otherwise) {
  GpuRatings ratings = ratings_of(otherwise);
  if (machine.bf16_tflops > 0) ratings.flops_per_second = 1e12 * machine.bf16_tflops;
  if (machine.memory_gb_per_s > 0) ratings.bytes_per_second = 1e9 * machine.memory_gb_per_s;
  return ratings;
}

}  // namespace

Result<config::Source> find_calibration(const CostInputs& inputs) {
  const bool is_given = !inputs.calibration.empty();
  if (is_given && !config::is_name(inputs.calibration)) return config::Source{inputs.calibration, {}};
  const std::string_view name = is_given ? std::string_view(inputs.calibration) : kDefaultCalibration;
  Result<config::Source> found = config::find_from(inputs.file, inputs.library, kCalibrationFiles, name);
  if (found || !found.error().where.file.empty()) return found;
  const std::string_view missing = is_given ? "" : "is missing, and the default cannot be used: ";
  return Error{fmt::format("{}{}", missing, found.error().what),
               {.file = inputs.file, .pointer = inputs.pointer + "/cost/calibration"}};
}

bool is_same_gpu(std::string_view one, std::string_view other) {
  return model_word(one) == model_word(other);
}

Status check_machine(const Calibration& calibration, const ClusterSpec& cluster) {
  const MeasuredMachine& machine = calibration.machine;
  if (machine.mig.value_or(false))
    return Error{
        "is true: these times are from a part of a GPU (a MIG instance) and do not apply to a whole GPU; "
        "measure without MIG",
        {.pointer = "/machine/mig"}};
  const auto is_cluster = [&](const std::string& gpu) { return is_same_gpu(gpu, cluster.gpu.name); };
  if (is_cluster(machine.gpu) ||
      std::any_of(machine.stands_for.begin(), machine.stands_for.end(), is_cluster))
    return Ok{};
  return Error{fmt::format("is {}, but the cluster has GPU {}; measure the GPU of the cluster, or add that "
                           "GPU to \"stands_for\"",
                           in_quotes(machine.gpu), in_quotes(cluster.gpu.name)),
               {.pointer = "/machine/gpu"}};
}

CalibratedCost::CalibratedCost(const ClusterSpec& cluster, const RooflineParameters& parameters,
                               const Calibration& calibration)
    : cluster_(cluster),
      roofline_(cluster, parameters),
      gemm_factor_(parameters.measured_gemm_factor),
      best_tier_(is_same_gpu(calibration.machine.gpu, cluster.gpu.name) ? Tier::kMeasured : Tier::kAssumed),
      ratings_(ratings_of(cluster.gpu)),
      gemms_(calibration.ops, ratings_of(calibration.machine, cluster.gpu)) {
  for (const Measurement& measurement : calibration.ops) {
    add_collective(measurement);
    add_schedule(measurement);
  }
}

// The number of tokens does not matter: schedules are computed from counts.
void CalibratedCost::add_schedule(const Measurement& measurement) {
  const MeasuredParams& params = measurement.params;
  if (measurement.op != MeasuredOp::kSchedule || params.policy != MeasuredPolicy::kProportional) return;
  const Cost cost{1e-6 * measurement.points.back().median_us, lowest(best_tier_, measurement.tier)};
  schedules_[params.ranks].emplace(params.experts, cost);
}

// Of several tables for one group (other data types) the first counts.
void CalibratedCost::add_collective(const Measurement& measurement) {
  const auto kind = collective_of(measurement.op);
  if (!kind || !is_plain(measurement)) return;
  const auto ranks = static_cast<std::int32_t>(measurement.params.ranks);
  const auto per_node = static_cast<std::int32_t>(measurement.params.per_node);
  CollectiveTable table{curve_by_bytes(measurement), measurement.tier};
  if (per_node == 0 || per_node == ranks)
    in_node_[*kind].emplace(ranks, std::move(table));
  else
    over_nodes_.emplace(std::pair{*kind, Group{ranks, per_node}}, std::move(table));
}

// A kernel to which the roofline gives this time, so that launches weigh in as for its own kernels.
Kernel CalibratedCost::lasting(double seconds, std::int32_t launches) const {
  constexpr double kProbe = 1e9;
  Kernel kernel{.kind = Kernel::Kind::kMemory, .launches = launches};
  const double idle = roofline_.kernel_seconds(kernel);
  kernel.bytes = kProbe;
  const double a_byte = (roofline_.kernel_seconds(kernel) - idle) / kProbe;
  kernel.bytes = std::max(0.0, seconds - idle) / a_byte;
  return kernel;
}

Cost CalibratedCost::kernels(std::span<const Kernel> sequence) const {
  std::vector<Kernel> priced(sequence.begin(), sequence.end());
  double on_gpu = 0;
  Tier tier = best_tier_;
  bool is_all_measured = true;
  for (Kernel& kernel : priced) {
    if (const auto measured = gemms_.cost(kernel, ratings_)) {
      kernel = lasting(measured->seconds / gemm_factor_, kernel.launches);
      tier = lowest(tier, measured->tier);
    } else {
      is_all_measured = false;
    }
    on_gpu += roofline_.kernel_seconds(kernel);
  }
  Cost cost = roofline_.kernels(priced);
  const bool is_launch_bound = cost.seconds > (1 + kMatters) * on_gpu;
  cost.tier = is_all_measured && !is_launch_bound ? tier : lowest(tier, cost.tier);
  return cost;
}

std::optional<CalibratedCost::Inside> CalibratedCost::inside_node(Collective kind, std::int32_t ranks,
                                                                  double bytes) const {
  const auto tables = in_node_.find(kind);
  if (tables == in_node_.end()) return std::nullopt;
  const ByRanks& by_ranks = tables->second;
  const auto above = by_ranks.lower_bound(ranks);
  if (above == by_ranks.end()) return std::nullopt;
  const LinkTime time = link_time(above->second.by_bytes, bytes);
  if (above->first == ranks) return Inside{time, lowest(best_tier_, above->second.tier)};
  if (above == by_ranks.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const LinkTime smaller = link_time(below->second.by_bytes, bytes);
  const Tier tier = lowest(lowest(best_tier_, Tier::kModel), lowest(below->second.tier, above->second.tier));
  return Inside{log_mean(smaller, time, log_weight(below->first, ranks, above->first)), tier};
}

const CalibratedCost::CollectiveTable* CalibratedCost::table_over_nodes(const CollectiveCall& call) const {
  const auto table = over_nodes_.find({call.kind, Group{call.group.size, call.group.per_node}});
  return table == over_nodes_.end() ? nullptr : &table->second;
}

std::optional<Cost> CalibratedCost::dispatch_schedule(std::int32_t ranks, std::int32_t experts) const {
  if (schedules_.empty()) return std::nullopt;
  Tier tier = best_tier_;
  std::vector<CurvePoint> by_ranks;
  for (const auto& [of_ranks, tables] : schedules_) {
    std::vector<CurvePoint> by_experts;
    for (const auto& [of_experts, cost] : tables) {
      by_experts.push_back({static_cast<double>(of_experts), cost.seconds});
      tier = lowest(tier, cost.tier);
    }
    by_ranks.push_back(
        {static_cast<double>(of_ranks), MeasuredCurve(std::move(by_experts)).clamped_at(experts)});
  }
  const auto exact = schedules_.find(ranks);
  if (exact == schedules_.end() || !exact->second.contains(experts)) tier = lowest(tier, Tier::kModel);
  return Cost{MeasuredCurve::rising(std::move(by_ranks)).extended_at(ranks), tier};
}

Cost CalibratedCost::over_nodes(const CollectiveCall& call) const {
  const CollectiveTable* table = call.by_link ? nullptr : table_over_nodes(call);
  if (table != nullptr)
    return {table->by_bytes.extended_at(call.bytes * call.imbalance), lowest(best_tier_, table->tier)};
  const Cost modelled = roofline_.collective(call);
  const std::int32_t near = near_of(call);
  // Those of an all-to-all that stay in the node; of the others a node handles the whole buffer.
  const bool is_all_to_all = call.kind == Collective::kAllToAll;
  const auto inside = inside_node(call.kind, near, is_all_to_all ? buffer_inside(call, near) : call.bytes);
  if (!has_inside(call) || !inside) return modelled;
  std::optional<double> best;
  for (CollectiveTime time : collective_times(call, cluster_)) {
    time.inside = inside->time;
    if (time.algorithm == CollectiveAlgorithm::kRing)
      time.inside.transfer *= ring_share(call.group.size) / ring_share(near);
    best = std::min(best.value_or(time.seconds()), time.seconds());
  }
  return {best.value_or(modelled.seconds), lowest(inside->tier, modelled.tier)};
}

Cost CalibratedCost::collective(const CollectiveCall& call) const {
  if (call.group.size <= 1) return {0, best_tier_};
  if (call.group.nodes() > 1) return over_nodes(call);
  const auto inside = inside_node(call.kind, call.group.size, buffer_inside(call, call.group.size));
  if (!inside) return roofline_.collective(call);
  return {inside->time.latency + inside->time.transfer, inside->tier};
}

TableCoverage CalibratedCost::coverage(const Kernel& kernel) const {
  if (!gemms_.cost(kernel, ratings_)) return TableCoverage::kNone;
  return gemms_.has_measured(kernel) ? TableCoverage::kMeasured : TableCoverage::kCarriedOver;
}

TableCoverage CalibratedCost::coverage(const CollectiveCall& call) const {
  const bool is_over_nodes = call.group.nodes() > 1;
  if (is_over_nodes && !call.by_link && table_over_nodes(call)) return TableCoverage::kMeasured;
  const std::int32_t near = near_of(call);
  if ((is_over_nodes && !has_inside(call)) || !inside_node(call.kind, near, call.bytes))
    return TableCoverage::kNone;
  if (is_over_nodes) return TableCoverage::kInNodes;
  return in_node_.at(call.kind).contains(near) ? TableCoverage::kMeasured : TableCoverage::kCarriedOver;
}

namespace {

Result<std::unique_ptr<CostModel>> make_calibrated(const CostInputs& inputs) {
  GOODPUT_TRY(const config::Source source, find_calibration(inputs));
  GOODPUT_TRY(const Calibration calibration, read_calibration(source.file, inputs.library));
  if (const Status fits = check_machine(calibration, inputs.cluster); !fits)
    return fits.error().in_file(source.file);
  return std::unique_ptr<CostModel>(
      std::make_unique<CalibratedCost>(inputs.cluster, inputs.roofline, calibration));
}

}  // namespace

CostModelInfo cost_model_calibrated() {
  return {.name = "calibrated",
          .summary = "measured tables, interpolated; the roofline model outside their range",
          .make = make_calibrated,
          .reads_calibration = true};
}

}  // namespace goodput

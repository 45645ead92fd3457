#include "models/cost/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

enum class SizeKey : std::uint8_t { kNone, kBytes, kTokens, kM };
constexpr std::array<std::string_view, 4> kSizeKeys = {"", "bytes", "tokens", "m"};

struct OpInfo {
  SizeKey size;
  std::string_view params;
};
constexpr std::array kOps = {
#define GOODPUT_MEASURED_OP(enumerator, name, size, params) OpInfo{SizeKey::size, params},
#include "models/cost/measured_ops.def"
#undef GOODPUT_MEASURED_OP
};

const OpInfo& info(MeasuredOp op) {
  return kOps[static_cast<std::size_t>(op)];
}

std::int64_t size_by(SizeKey key, const MeasuredPoint& point) {
  switch (key) {
    case SizeKey::kNone:
      return 0;
    case SizeKey::kBytes:
      return point.bytes;
    case SizeKey::kTokens:
      return point.tokens;
    case SizeKey::kM:
      return point.m;
  }
  GOODPUT_CHECK(false, "unknown size key");
}

Status check_point(const Measurement& measurement, std::size_t index) {
  const MeasuredPoint& point = measurement.points[index];
  const SizeKey key = info(measurement.op).size;
  const std::string_view key_name = size_key(measurement.op);
  const std::string at = fmt::format("/points/{}", index);
  if (key == SizeKey::kNone) {
    if (measurement.points.size() == 1 && point.size() == 0) return Ok{};
    return Error{fmt::format("must be one point without a size for op \"{}\"", to_string(measurement.op)),
                 {.pointer = "/points"}};
  }
  if (size_by(key, point) == 0 || size_by(key, point) != point.size())
    return Error{
        fmt::format("must have the size key \"{}\" and no other size key, like every point of op \"{}\"",
                    key_name, to_string(measurement.op)),
        {.pointer = at}};
  if (index > 0 && point.size() <= measurement.points[index - 1].size())
    return Error{fmt::format("is {0}, but must be more than the size of the previous point ({1})",
                             point.size(), measurement.points[index - 1].size()),
                 {.pointer = fmt::format("{}/{}", at, key_name)}};
  return Ok{};
}

Status check_params(Measurement& measurement) {
  const OrderedJson given = config::write(config_fields(measurement.params));
  for (const std::string_view key : split(info(measurement.op).params, ' ')) {
    if (!key.empty() && !given.contains(key))
      return Error{fmt::format("is missing; op \"{}\" requires it", to_string(measurement.op)),
                   {.pointer = fmt::format("/params/{}", key)}};
  }
  const MeasuredParams& params = measurement.params;
  if (is_collective(measurement.op) && params.ranks < 2)
    return Error{
        "must be 2 or more, not 1: a collective on one rank is a copy and does not measure a network",
        {.pointer = "/params/ranks"}};
  if (params.per_node > params.ranks)
    return Error{
        fmt::format("must be at most the number of ranks ({1}), not {0}", params.per_node, params.ranks),
        {.pointer = "/params/per_node"}};
  return Ok{};
}

}  // namespace

std::string_view size_key(MeasuredOp op) {
  return kSizeKeys[static_cast<std::size_t>(info(op).size)];
}

bool is_collective(MeasuredOp op) {
  return op <= MeasuredOp::kSendRecv;
}

double bus_factor(MeasuredOp op, std::int64_t ranks) {
  const auto members = static_cast<double>(ranks);
  switch (op) {
    case MeasuredOp::kAllReduce:
      return 2 * (members - 1) / members;
    case MeasuredOp::kAllGather:
    case MeasuredOp::kReduceScatter:
    case MeasuredOp::kAllToAll:
      return (members - 1) / members;
    default:
      return 1;
  }
}

bool is_plain(const Measurement& measurement) {
  MeasuredParams params = measurement.params;
  const OrderedJson given = config::write(config_fields(params));
  std::vector<std::string_view> plain = split(info(measurement.op).params, ' ');
  plain.insert(plain.end(), {"per_node", "dtype"});
  return std::all_of(given.items().begin(), given.items().end(), [&plain](const auto& item) {
    return std::find(plain.begin(), plain.end(), item.key) != plain.end();
  });
}

Status config_finish(Measurement& measurement) {
  GOODPUT_TRY_STATUS(check_params(measurement));
  if (measurement.points.empty()) return Error{"must have at least one point", {.pointer = "/points"}};
  for (std::size_t index = 0; index < measurement.points.size(); ++index)
    GOODPUT_TRY_STATUS(check_point(measurement, index));
  return Ok{};
}

Status config_finish(AssumedNumber& assumed) {
  const std::vector<double>& range = assumed.range;
  if (range.empty()) return Ok{};
  if (range.size() != 2 || range[0] > range[1]) return Error{"must be [min, max]", {.pointer = "/range"}};
  if (assumed.value >= range[0] && assumed.value <= range[1]) return Ok{};
  return Error{fmt::format("is {}, but must be in \"range\", {} to {}", assumed.value, range[0], range[1]),
               {.pointer = "/value"}};
}

Status config_finish(Calibration& calibration) {
  const std::vector<Measurement>& ops = calibration.ops;
  for (std::size_t later = 1; later < ops.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (ops[earlier].op == ops[later].op && ops[earlier].params == ops[later].params)
        return Error{fmt::format("has the same op and params as /ops/{}; give each table only once", earlier),
                     {.pointer = fmt::format("/ops/{}", later)}};
    }
  }
  return Ok{};
}

Result<Calibration> read_calibration(const std::string& path, const config::Library& library) {
  Calibration calibration;
  GOODPUT_TRY_STATUS(config::read_file(path, config::access(calibration), library, {}, &kCalibrationFiles));
  return calibration;
}

}  // namespace goodput

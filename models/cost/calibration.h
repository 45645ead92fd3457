// What was measured on a machine: goodput.calibration/1, the only thing that passes from the GPU part to the
// simulator (docs/formats/calibration.md).
//
// A number that was not stated is 0, a text empty. Times are GPU times of one op, in microseconds as in the
// file; sizes of collectives are those of CollectiveCall::bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/config/config.h"

namespace goodput {

inline constexpr config::Kind kCalibrationFiles{"calibration", "calibration"};

enum class MeasuredOp : std::uint8_t {
#define GOODPUT_MEASURED_OP(enumerator, name, size, params) enumerator,
#include "models/cost/measured_ops.def"
#undef GOODPUT_MEASURED_OP
};

inline constexpr std::array kMeasuredOpNames = {
#define GOODPUT_MEASURED_OP(enumerator, name, size, params) std::string_view{name},
#include "models/cost/measured_ops.def"
#undef GOODPUT_MEASURED_OP
};
[[nodiscard]] constexpr std::string_view to_string(MeasuredOp op) {
  return kMeasuredOpNames[static_cast<std::size_t>(op)];
}

// Which key of a point is its size: "bytes", "tokens", "m"; empty: an op without sizes.
[[nodiscard]] std::string_view size_key(MeasuredOp op);
[[nodiscard]] bool is_collective(MeasuredOp op);

// Bus bandwidth over buffer size per time, as nccl-tests define it (doc/PERFORMANCE.md); 1 for other ops.
[[nodiscard]] double bus_factor(MeasuredOp op, std::int64_t ranks);

enum class MeasuredType : std::uint8_t { kUnstated, kFp32, kBf16, kFp16, kFp8, kInt8 };
// Of those behind kUnstated.
inline constexpr std::string_view kMeasuredTypeNames[] = {"fp32", "bf16", "fp16", "fp8", "int8"};

// What is said in one word; 0: unstated.
enum class MeasuredNorm : std::uint8_t { kUnstated, kRms, kLayer };
enum class MeasuredLayout : std::uint8_t { kForward, kInputGradient, kWeightGradient };
enum class MeasuredPolicy : std::uint8_t { kUnstated, kProportional, kPacked };
enum class MeasuredCopy : std::uint8_t { kNone, kCopy, kD2h, kH2d };
inline constexpr std::string_view kMeasuredNormNames[] = {"rms", "layer"};
inline constexpr std::string_view kMeasuredLayoutNames[] = {"dgrad", "wgrad"};
inline constexpr std::string_view kMeasuredPolicyNames[] = {"proportional", "packed"};
inline constexpr std::string_view kMeasuredCopyNames[] = {"copy", "d2h", "h2d"};

struct MeasuredParams {
  std::int64_t ranks = 0;
  std::int64_t per_node = 0;  // of the ranks; 0: all
  std::int64_t n = 0, k = 0;
  std::int64_t experts = 0, top_k = 0, hidden = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  MeasuredType dtype = MeasuredType::kUnstated;
  MeasuredNorm norm = MeasuredNorm::kUnstated;
  bool is_causal = false;                            // attention to earlier tokens only
  bool is_backward = false;                          // the gradients
  MeasuredLayout layout = MeasuredLayout::kForward;  // of a GEMM: which of its three products
  std::string loads{};  // routing model whose loads the experts have; empty: equal
  MeasuredPolicy policy = MeasuredPolicy::kUnstated;  // by which the dispatcher shares tokens out
  bool is_sustained = false;                          // back to back, until the clock has settled
  bool is_pinned = false;                             // host memory
  bool is_beside_gemm = false;                        // a GEMM ran at the same time
  MeasuredCopy beside_copy = MeasuredCopy::kNone;     // such a copy ran at the same time

  friend bool operator==(const MeasuredParams&, const MeasuredParams&) = default;
};

struct MeasuredPoint {
  std::int64_t bytes = 0, tokens = 0, m = 0;  // one of them
  double median_us = 0;
  double p05_us = 0, p95_us = 0, min_us = 0;
  double cv = 0;
  std::int64_t samples = 0;
  double sm_mhz = 0;         // clock while it was measured
  double power_w = 0;        // drawn by the GPU then
  bool is_unsteady = false;  // rounds of it differ

  [[nodiscard]] std::int64_t size() const { return bytes + tokens + m; }
  friend bool operator==(const MeasuredPoint&, const MeasuredPoint&) = default;
};

// alpha + bytes over bus bandwidth, between two sizes. For people; costs come from the points.
struct MeasuredFit {
  double lo = 0, hi = 0;
  double alpha_us = 0;
  double bus_gb_per_s = 0;
  double max_rel = 0;  // the largest relative error

  friend bool operator==(const MeasuredFit&, const MeasuredFit&) = default;
};

struct Measurement {
  MeasuredOp op = MeasuredOp::kAllReduce;
  MeasuredParams params{};
  Tier tier = Tier::kAssumed;
  std::string source{};
  std::vector<MeasuredPoint> points{};  // in ascending size, at least one
  std::vector<MeasuredFit> fit{};

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

struct MeasuredMachine {
  std::string gpu;                      // as the driver calls it
  std::vector<std::string> stands_for;  // GPUs that it may be taken for, at tier assumed: "H100"
  std::int64_t gpus = 0;                // in a node
  std::int64_t multiprocessors = 0;
  double memory_gib = 0;
  std::string driver, cuda, nccl;
  double sm_mhz = 0, memory_mhz = 0;  // while measuring
  double power_w = 0;                 // the limit
  std::optional<bool> ecc, mig;       // none: not known
  double bf16_tflops = 0;             // the vendor's ratings
  double memory_gb_per_s = 0;

  friend bool operator==(const MeasuredMachine&, const MeasuredMachine&) = default;
};

struct MeasurementRun {
  std::string git, utc;
  std::vector<std::string> argv;

  friend bool operator==(const MeasurementRun&, const MeasurementRun&) = default;
};

struct MeasurementMethod {
  std::int64_t warm_up = 0, samples = 0;
  std::string timer, caches, stop, notes;

  friend bool operator==(const MeasurementMethod&, const MeasurementMethod&) = default;
};

// The best that simple programs reached on the machine.
struct MeasuredCeilings {
  double copy_1r1w_gb_per_s = 0;
  double copy_1r8w_gb_per_s = 0;
  double gemm_bf16_tflops = 0;

  friend bool operator==(const MeasuredCeilings&, const MeasuredCeilings&) = default;
};

// What a block of a training step is (docs/calibrate.md, "Checks").
enum class MeasuredBlock : std::uint8_t { kUnstated, kDenseLayer, kMoeLayer };
enum class MeasuredDispatch : std::uint8_t { kUnstated, kFlexible, kPadded };
inline constexpr std::string_view kMeasuredBlockNames[] = {"dense_layer", "moe_layer"};
inline constexpr std::string_view kMeasuredDispatchNames[] = {"flexible", "padded"};

struct BlockParams {
  std::string model{};
  std::int64_t tokens = 0;  // of the rank
  std::int64_t hidden = 0, ffn = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t tp = 0;
  std::int64_t experts = 0, top_k = 0;
  std::int64_t ranks = 0;  // that share the experts
  std::int64_t slots = 0;  // expert replicas of a rank
  std::string loads{};     // how tokens are divided among experts
  MeasuredDispatch dispatch = MeasuredDispatch::kUnstated;
  MeasuredType dtype = MeasuredType::kUnstated;
  bool is_gated = false;
  std::int64_t load_ratio = 0;  // eighths of the tokens that one of eight experts gets
  bool is_sustained = false;
  std::vector<std::int32_t> expert_rows{};  // of every expert of the rank, padding included

  friend bool operator==(const BlockParams&, const BlockParams&) = default;
};

struct MeasuredPart {
  std::string part{};
  bool is_backward = false;
  double median_us = 0;  // 0: less than the timer resolves

  friend bool operator==(const MeasuredPart&, const MeasuredPart&) = default;
};

// A block or a whole step that ran on the machine.
struct MeasuredCheck {
  std::string name{}, source{};
  double median_us = 0;
  double p05_us = 0, p95_us = 0, min_us = 0;
  double cv = 0;
  std::int64_t samples = 0;
  Tier tier = Tier::kAssumed;
  MeasuredBlock block = MeasuredBlock::kUnstated;
  BlockParams params{};
  std::vector<MeasuredPart> parts{};  // in the order in which they ran
  double sm_mhz = 0, power_w = 0;
  bool is_unsteady = false;

  friend bool operator==(const MeasuredCheck&, const MeasuredCheck&) = default;
};

struct AssumedNumber {
  std::string name{};
  double value = 0;
  std::vector<double> range{};  // least and most
  Tier tier = Tier::kAssumed;
  std::string cite{};

  friend bool operator==(const AssumedNumber&, const AssumedNumber&) = default;
};

struct Calibration {
  std::string source, licence;
  MeasuredMachine machine;
  MeasurementRun run;
  MeasurementMethod method;
  MeasuredCeilings ceilings;
  std::vector<Measurement> ops;
  std::vector<MeasuredCheck> checks;
  std::vector<AssumedNumber> assumed;

  friend bool operator==(const Calibration&, const Calibration&) = default;
};

// Of the op as such: with no params but those it wants, per_node and dtype. Other tables say what the op
// takes in another manner, or beside other work.
[[nodiscard]] bool is_plain(const Measurement& measurement);

// Strict; errors name file and JSON pointer. A file without ops is fine: a run that was cut short.
Result<Calibration> read_calibration(const std::string& path, const config::Library& library = {});

// The fields of the file, for reading, writing and describing it.
[[nodiscard]] config::Fields config_fields(Calibration& calibration);
[[nodiscard]] config::Fields config_fields(MeasuredMachine& machine);
[[nodiscard]] config::Fields config_fields(MeasurementRun& run);
[[nodiscard]] config::Fields config_fields(MeasurementMethod& method);
[[nodiscard]] config::Fields config_fields(MeasuredCeilings& ceilings);
[[nodiscard]] config::Fields config_fields(Measurement& measurement);
[[nodiscard]] config::Fields config_fields(MeasuredParams& params);
[[nodiscard]] config::Fields config_fields(MeasuredPoint& point);
[[nodiscard]] config::Fields config_fields(MeasuredFit& fit);
[[nodiscard]] config::Fields config_fields(MeasuredCheck& check);
[[nodiscard]] config::Fields config_fields(BlockParams& params);
[[nodiscard]] config::Fields config_fields(MeasuredPart& part);
[[nodiscard]] config::Fields config_fields(AssumedNumber& assumed);
[[nodiscard]] Status config_finish(Calibration& calibration);
[[nodiscard]] Status config_finish(Measurement& measurement);
[[nodiscard]] Status config_finish(MeasuredPoint& point);
[[nodiscard]] Status config_finish(MeasuredCheck& check);
[[nodiscard]] Status config_finish(AssumedNumber& assumed);

}  // namespace goodput

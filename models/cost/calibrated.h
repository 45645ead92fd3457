// Prices ops by what was measured on such a machine (models/cost/calibration.h), and by the roofline where
// that ends.
//
// Collectives inside a node: the table of their kind and group size, log-log in bytes; below the grid its
// first time, beyond it the line through its last two points. Times are made to rise with size
// (MeasuredCurve::rising). Group sizes between two tables are interpolated log-log in the number of GPUs,
// tier at best `model`; outside them the roofline answers. An unbalanced all-to-all takes as long as a
// balanced one of its busiest GPU's bytes. Groups over several nodes: what happens inside a node from the
// table, the rest from the roofline's model of NICs; never a table of fewer or more nodes. GEMMs in 16 bits:
// models/cost/gemm_table.h. Dispatch schedules: the tables of the proportional policy, log-log in experts,
// then in ranks; beyond the grid the last number of experts, and the line through the last two numbers of
// ranks. All else: the roofline.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cost/calibration.h"
#include "models/cost/collectives.h"
#include "models/cost/cost_inputs.h"
#include "models/cost/gemm_table.h"
#include "models/cost/measured_curve.h"
#include "models/cost/roofline.h"
#include "sim/base/errors.h"
#include "sim/machine/cluster.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// What of a price is from the tables.
enum class TableCoverage : std::uint8_t {
  kMeasured,     // the op's own table
  kCarriedOver,  // tables of other shapes, sizes of a GEMM or numbers of GPUs
  kInNodes,      // what happens inside nodes; between them the roofline
  kNone          // the roofline
};

// The file that `inputs` name, else the default one.
Result<config::Source> find_calibration(const CostInputs& inputs);

class CalibratedCost final : public CostModel {
 public:
  // REQUIRES: check_machine(calibration, cluster).
  CalibratedCost(const ClusterSpec& cluster, const RooflineParameters& parameters,
                 const Calibration& calibration);

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override;
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override;
  [[nodiscard]] std::optional<Cost> dispatch_schedule(std::int32_t ranks,
                                                      std::int32_t experts) const override;

  // Of the prices that these have, a kernel alone. REQUIRES: call.group.size > 1.
  [[nodiscard]] TableCoverage coverage(const Kernel& kernel) const;
  [[nodiscard]] TableCoverage coverage(const CollectiveCall& call) const;

 private:
  struct CollectiveTable {
    MeasuredCurve by_bytes;
    Tier tier = Tier::kAssumed;
  };
  using ByRanks = std::map<std::int32_t, CollectiveTable>;
  using Group = std::pair<std::int32_t, std::int32_t>;  // GPUs, of them in a node
  // Of a group within a node.
  struct Inside {
    LinkTime time;
    Tier tier = Tier::kAssumed;
  };

  void add_collective(const Measurement& measurement);
  void add_schedule(const Measurement& measurement);
  [[nodiscard]] std::optional<Inside> inside_node(Collective kind, std::int32_t ranks, double bytes) const;
  [[nodiscard]] Cost over_nodes(const CollectiveCall& call) const;
  // The table of exactly this group over several nodes; null: there is none.
  [[nodiscard]] const CollectiveTable* table_over_nodes(const CollectiveCall& call) const;
  [[nodiscard]] Kernel lasting(double seconds, std::int32_t launches) const;

  ClusterSpec cluster_;
  RooflineCost roofline_;
  double gemm_factor_;  // on the speed of measured GEMMs
  Tier best_tier_;      // assumed where the machine only stands for the cluster's GPU
  GpuRatings ratings_;
  GemmTable gemms_;
  std::map<std::int64_t, std::map<std::int64_t, Cost>> schedules_;  // by ranks, then experts
  std::map<Collective, ByRanks> in_node_;
  std::map<std::pair<Collective, Group>, CollectiveTable> over_nodes_;
};

// Were these numbers taken on the cluster's GPU, or one that may stand for it? Two names mean one GPU when
// their first words with a digit agree: "NVIDIA H200" and "H200 SXM 141GB".
[[nodiscard]] bool is_same_gpu(std::string_view one, std::string_view other);
Status check_machine(const Calibration& calibration, const ClusterSpec& cluster);

}  // namespace goodput

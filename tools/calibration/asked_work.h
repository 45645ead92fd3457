// What a step asks of a cost model, sorted into pieces for each of which one table could answer.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "models/cost/calibrated.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// Collectives of a group; products that have two of m, n and k in common; or all work of a kind of which a
// cost model knows no more.
struct AskedWork {
  enum class Kind : std::uint8_t { kCollective, kGemm, kAttention, kMemory };
  Kind kind = Kind::kMemory;
  Collective collective = Collective::kAllReduce;
  std::int32_t ranks = 0, per_node = 0;
  std::int64_t m = 0, n = 0, k = 0, batch = 0;  // m or k is 0: they differ in it
  Precision precision = Precision::kBf16;
  TableCoverage coverage = TableCoverage::kNone;

  // "gemm: n 4096, k 14336, 16 bits"
  [[nodiscard]] std::string name() const;
  // What its pieces differ in: "m", "k", "bytes".
  [[nodiscard]] std::string_view size_key() const;

  friend auto operator<=>(const AskedWork&, const AskedWork&) = default;
};

// Sizes that were asked for.
struct AskedSizes {
  double least = 0, most = 0;

  void add(double size);
};

struct AskedProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 0;
  Precision precision = Precision::kBf16;

  friend auto operator<=>(const AskedProduct&, const AskedProduct&) = default;
};

// Everything that was asked, by work. Products are of one n and k with any m, as tables are; but of one m and
// n where many k go with these, and fewer m with n and k: a gradient of weights sums over the tokens of each
// expert.
class AskedStep {
 public:
  void add(const Kernel& kernel);
  void add(const CollectiveCall& call, const CalibratedCost& cost);
  // Once all is added.
  void sort_products(const CalibratedCost& cost);

  [[nodiscard]] const std::map<AskedWork, AskedSizes>& works() const { return works_; }
  // REQUIRES: the kernel was added, and sort_products() called.
  [[nodiscard]] AskedWork work_of(const Kernel& kernel) const;
  [[nodiscard]] static AskedWork work_of(const CollectiveCall& call, const CalibratedCost& cost);

 private:
  std::map<AskedProduct, AskedWork> products_;
  std::map<AskedWork, AskedSizes> works_;
};

// Prices as a calibration does, and notes what is asked. For one thread.
class AskedCost final : public CostModel {
 public:
  // Keeps references.
  AskedCost(const CalibratedCost& cost, AskedStep& asked) : cost_(cost), asked_(asked) {}

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override;
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override;

 private:
  const CalibratedCost& cost_;
  AskedStep& asked_;
};

// Prices as a calibration does, but gives some work for free. For any thread.
class CostWithout final : public CostModel {
 public:
  // Keeps references.
  CostWithout(const CalibratedCost& cost, const AskedStep& asked, std::set<AskedWork> free);

  [[nodiscard]] Cost kernels(std::span<const Kernel> sequence) const override;
  [[nodiscard]] Cost collective(const CollectiveCall& call) const override;

 private:
  const CalibratedCost& cost_;
  const AskedStep& asked_;
  std::set<AskedWork> free_;
};

}  // namespace goodput

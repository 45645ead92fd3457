// A product of a block: ready to run on the block's memory, and to be checked there.
#pragma once

#include <cstdint>

#include "gpu/calibrate/gemm_case.h"
#include "gpu/calibrate/grouped_check.h"

namespace goodput::gpu::calibrate {

class BlockProduct {
 public:
  // Throws MatmulError. The operands are the caller's to write.
  BlockProduct(const GemmShape& shape, const GemmOperands& operands) : gemm_(shape), operands_(operands) {}

  void run(cudaStream_t stream) const { gemm_.run(operands_, 0, stream); }
  [[nodiscard]] std::string source() const { return gemm_.source(0); }
  // Overwrites the operands.
  [[nodiscard]] std::uint64_t count_wrong_results(const Stream& stream) const {
    return count_wrong(gemm_, 0, operands_, stream);
  }

 private:
  Gemm gemm_;
  GemmOperands operands_;
};

// The same of all experts of a rank.
class BlockGroups {
 public:
  BlockGroups(const GroupedShape& shape, const GroupedOperands& operands)
      : gemm_(shape, {operands}), operands_(operands) {}

  void run(cudaStream_t stream) const { gemm_.run(0, stream); }
  [[nodiscard]] std::string source() const { return gemm_.source(); }
  [[nodiscard]] std::uint64_t count_wrong_results(const Stream& stream) const {
    return count_wrong(gemm_, 0, operands_, stream);
  }

 private:
  GroupedGemm gemm_;
  GroupedOperands operands_;
};

}  // namespace goodput::gpu::calibrate

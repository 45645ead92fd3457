// Products of groups by cuBLAS: by its call for groups, or one after another. As in matmul_cublas.cpp its
// first operand is ours W, its rows are our columns.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gpu/calibrate/cublas_library.h"
#include "gpu/calibrate/matmul.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr auto kGroupWorkspaceBytes = static_cast<std::size_t>(kMatmulWorkspaceBytes);

GroupedOperands operands_of(const GroupProduct& group, const GroupedOperands& all) {
  return {all.a + group.a, all.b + group.b, all.y + group.y};
}

#if CUBLAS_VERSION >= 120500
void check_grouped(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw MatmulError(std::string(what) + ": " + cublasLtGetStatusName(status));
}

// One for the process, never released, as that of cublasLt.
cublasHandle_t cublas_handle() {
  static const cublasHandle_t handle = [] {
    cublasHandle_t made = nullptr;
    check_grouped(cublasCreate(&made), "cublasCreate");
    return made;
  }();
  return handle;
}

// The call for groups, one group an expert: frameworks know of no two experts that they get as many rows.
class GroupedCall {
 public:
  GroupedCall(const GroupedShape& shape, const std::vector<GroupedOperands>& sets)
      : groups_(shape.products()),
        turn_b_(groups_.size(), shape.layout == OperandLayout::kForward ? CUBLAS_OP_T : CUBLAS_OP_N),
        turn_a_(groups_.size(), shape.layout == OperandLayout::kWgrad ? CUBLAS_OP_T : CUBLAS_OP_N),
        one_(groups_.size(), 1),
        ones_(groups_.size(), 1.0F),
        zeros_(groups_.size(), 0.0F) {
    for (const GroupProduct& group : groups_) {
      const GemmShape& product = group.product;
      columns_.push_back(static_cast<int>(product.n));
      rows_.push_back(static_cast<int>(product.m));
      inner_.push_back(static_cast<int>(product.k));
      row_of_b_.push_back(static_cast<int>(shape.layout == OperandLayout::kForward ? product.k : product.n));
      row_of_a_.push_back(static_cast<int>(shape.layout == OperandLayout::kWgrad ? product.m : product.k));
    }
    for (const GroupedOperands& set : sets) {
      std::vector<const void*> a;
      std::vector<const void*> b;
      std::vector<void*> y;
      for (const GroupProduct& group : groups_) {
        const GroupedOperands of_group = operands_of(group, set);
        a.push_back(of_group.a);
        b.push_back(of_group.b);
        y.push_back(of_group.y);
      }
      addresses_.push_back({upload(a), upload(b), upload(y)});
    }
  }

  void run(int set, cudaStream_t stream) {
    if (groups_.empty()) return;
    Addresses& at = addresses_.at(static_cast<std::size_t>(set));
    // A new stream takes the workspace away.
    check_grouped(cublasSetStream(cublas_handle(), stream), "cublasSetStream");
    check_grouped(cublasSetWorkspace(cublas_handle(), workspace_.data(), kGroupWorkspaceBytes),
                  "cublasSetWorkspace");
    check_grouped(cublasGemmGroupedBatchedEx(
                      cublas_handle(), turn_b_.data(), turn_a_.data(), columns_.data(), rows_.data(),
                      inner_.data(), ones_.data(), at.b.data(), CUDA_R_16BF, row_of_b_.data(), at.a.data(),
                      CUDA_R_16BF, row_of_a_.data(), zeros_.data(), at.y.data(), CUDA_R_16BF, columns_.data(),
                      static_cast<int>(groups_.size()), one_.data(), CUBLAS_COMPUTE_32F),
                  "cublasGemmGroupedBatchedEx");
  }

 private:
  // On the device, as the call wants them.
  struct Addresses {
    DeviceBuffer<const void*> a;
    DeviceBuffer<const void*> b;
    DeviceBuffer<void*> y;
  };

  std::vector<GroupProduct> groups_;
  std::vector<cublasOperation_t> turn_b_;
  std::vector<cublasOperation_t> turn_a_;
  std::vector<int> columns_;
  std::vector<int> inner_;
  std::vector<int> row_of_b_;  // elements from one row of the operand in memory to the next
  std::vector<int> row_of_a_;
  std::vector<int> one_;
  std::vector<float> ones_;
  std::vector<float> zeros_;
  std::vector<int> rows_;
  std::vector<Addresses> addresses_;
  DeviceBuffer<unsigned char> workspace_{kGroupWorkspaceBytes};
};
#else
// Never made: has_grouped_gemm() says that there is none.
class GroupedCall {
 public:
  GroupedCall(const GroupedShape&, const std::vector<GroupedOperands>&) {}
  void run(int, cudaStream_t) {}
};
#endif

// One product after another; experts with as many rows share one.
class OneByOne {
 public:
  OneByOne(const GroupedShape& shape, std::vector<GroupedOperands> sets)
      : groups_(shape.products()), sets_(std::move(sets)) {
    for (const GroupProduct& group : groups_) {
      const auto same = [&](const std::unique_ptr<Gemm>& gemm) {
        return gemm->shape().m == group.product.m && gemm->shape().k == group.product.k;
      };
      auto found = std::find_if(gemms_.begin(), gemms_.end(), same);
      if (found == gemms_.end()) {
        gemms_.push_back(std::make_unique<Gemm>(group.product));
        found = gemms_.end() - 1;
      }
      gemm_of_.push_back(static_cast<std::size_t>(found - gemms_.begin()));
    }
  }

  void run(int set, cudaStream_t stream) const {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const GroupedOperands at = operands_of(groups_[i], sets_.at(static_cast<std::size_t>(set)));
      gemms_[gemm_of_[i]]->run({at.a, at.b, at.y}, 0, stream);
    }
  }

 private:
  std::vector<GroupProduct> groups_;
  std::vector<GroupedOperands> sets_;
  std::vector<std::unique_ptr<Gemm>> gemms_;
  std::vector<std::size_t> gemm_of_;
};

}  // namespace

struct GroupedGemm::State {
  std::unique_ptr<GroupedCall> at_once;  // null: one by one
  std::unique_ptr<OneByOne> one_by_one;
};

GroupedGemm::GroupedGemm(GroupedShape shape, const std::vector<GroupedOperands>& sets)
    : shape_(std::move(shape)), state_(std::make_unique<State>()) {
  if (has_grouped_gemm()) {
    state_->at_once = std::make_unique<GroupedCall>(shape_, sets);
  } else {
    state_->one_by_one = std::make_unique<OneByOne>(shape_, sets);
  }
}
GroupedGemm::~GroupedGemm() = default;

std::string GroupedGemm::source() const {
  return state_->at_once ? "cublasGemmGroupedBatchedEx" : "a loop of cublasLtMatmul, first answers";
}

void GroupedGemm::run(int set, cudaStream_t stream) const {
  if (state_->at_once) return state_->at_once->run(set, stream);
  state_->one_by_one->run(set, stream);
}

}  // namespace goodput::gpu::calibrate

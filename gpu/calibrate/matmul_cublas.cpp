// Products by cuBLAS. Its matrices are column-major, so what it multiplies is y^T = B^T A^T: its first
// operand is ours B, its rows are our columns.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstdint>
#include <utility>

#include "gpu/calibrate/cublas_library.h"
#include "gpu/calibrate/matmul.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr auto kWorkspaceBytes = static_cast<std::size_t>(kMatmulWorkspaceBytes);
constexpr float kOne = 1;
constexpr float kZero = 0;

void check_cublas(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw MatmulError(what + ": " + cublasLtGetStatusName(status));
}

// One for the process, never released: making one may load kernels, which takes longer than measuring does.
cublasLtHandle_t lt_handle() {
  static const cublasLtHandle_t handle = [] {
    cublasLtHandle_t made = nullptr;
    check_cublas(cublasLtCreate(&made), "cublasLtCreate");
    return made;
  }();
  return handle;
}

// Owns a descriptor of cuBLAS.
template <class Descriptor, cublasStatus_t (*kDestroy)(Descriptor)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&&) = delete;
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (descriptor_ != nullptr) static_cast<void>(kDestroy(descriptor_));
  }
  [[nodiscard]] Descriptor get() const { return descriptor_; }
  [[nodiscard]] Descriptor* place() { return &descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
};
using Product = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cublasOperation_t turned(bool is_turned) {
  return is_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
}

// What lies as rows x columns, row after row.
void set_layout(Layout& layout, cudaDataType type, std::int64_t rows, std::int64_t columns) {
  check_cublas(cublasLtMatrixLayoutCreate(layout.place(), type, static_cast<std::uint64_t>(columns),
                                          static_cast<std::uint64_t>(rows), columns),
               "cublasLtMatrixLayoutCreate");
}

template <class T>
void set_preference(Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  check_cublas(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
}

template <class T>
void set_product(Product& product, cublasLtMatmulDescAttributes_t attribute, T value) {
  check_cublas(cublasLtMatmulDescSetAttribute(product.get(), attribute, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
}

std::string ordinal_text(int answer) {
  return answer == 0 ? "first answer" : "answer " + std::to_string(answer + 1);
}

}  // namespace

struct Gemm::State {
  Product product;
  Layout a;
  Layout b;
  Layout y;
  std::vector<cublasLtMatmulHeuristicResult_t> answers;
  DeviceBuffer<unsigned char> workspace{kWorkspaceBytes};

  explicit State(const GemmShape& shape);
  void ask(const GemmShape& shape, int most);
};

Gemm::State::State(const GemmShape& shape) {
  const bool turned_a = shape.layout == OperandLayout::kWgrad;
  const bool turned_b = shape.layout == OperandLayout::kForward;
  const cudaDataType type = shape.type == MatrixType::kFp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
  check_cublas(cublasLtMatmulDescCreate(product.place(), CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate");
  set_product(product, CUBLASLT_MATMUL_DESC_TRANSA, turned(turned_b));
  set_product(product, CUBLASLT_MATMUL_DESC_TRANSB, turned(turned_a));
  set_layout(a, type, turned_a ? shape.k : shape.m, turned_a ? shape.m : shape.k);
  set_layout(b, type, turned_b ? shape.n : shape.k, turned_b ? shape.k : shape.n);
  set_layout(y, CUDA_R_16BF, shape.m, shape.n);
}

// Parts of a sum may be added up in fp32 only, so that it is an fp32 sum whatever the answer is.
void Gemm::State::ask(const GemmShape& shape, int most) {
  Preference preference;
  check_cublas(cublasLtMatmulPreferenceCreate(preference.place()), "cublasLtMatmulPreferenceCreate");
  set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  set_preference(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  answers.resize(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(lt_handle(), product.get(), b.get(), a.get(), y.get(), y.get(),
                                     preference.get(), most, answers.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0))
    throw MatmulError("cublasLtMatmul has no algorithm for " + text_of(shape));
  check_cublas(status, "cublasLtMatmulAlgoGetHeuristic for " + text_of(shape));
  answers.resize(static_cast<std::size_t>(found));
}

Gemm::Gemm(const GemmShape& shape, int most) : shape_(shape), state_(std::make_unique<State>(shape)) {
  state_->ask(shape, most);
}
Gemm::~Gemm() = default;

int Gemm::answers() const {
  return static_cast<int>(state_->answers.size());
}

std::string Gemm::source(int answer) const {
  return "cublasLtMatmul, " + ordinal_text(answer) +
         (shape_.type == MatrixType::kFp8 ? ", without fast accumulation" : "");
}

void Gemm::run(const GemmOperands& operands, int answer, cudaStream_t stream) const {
  State& s = *state_;
  const auto& algorithm = s.answers.at(static_cast<std::size_t>(answer)).algo;
  check_cublas(cublasLtMatmul(lt_handle(), s.product.get(), &kOne, operands.b, s.b.get(), operands.a,
                              s.a.get(), &kZero, operands.y, s.y.get(), operands.y, s.y.get(), &algorithm,
                              s.workspace.data(), kWorkspaceBytes, stream),
               "cublasLtMatmul for " + text_of(shape_));
}

}  // namespace goodput::gpu::calibrate

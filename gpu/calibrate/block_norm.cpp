#include "gpu/calibrate/block_norm.h"

#include <vector>

#include "gpu/bench/routing.h"
#include "gpu/calibrate/norm_reference.h"
#include "gpu/calibrate/product_data.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::uint64_t kWeightSeed = 500;
constexpr std::int64_t kRowsChecked = 16;

std::vector<double> row_of(const Bf16* rows, std::int64_t row, std::int64_t hidden) {
  std::vector<double> values;
  for (const Bf16 value : download(rows + row * hidden, static_cast<std::size_t>(hidden)))
    values.push_back(double{to_float(value)});
  return values;
}

std::uint64_t count_different(const std::vector<double>& found, const std::vector<double>& expected) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += is_normed_right(found[i], expected[i]) ? 0 : 1;
  return wrong;
}

int processors_of_device() {
  int device = 0;
  int count = 0;
  GOODPUT_CUDA(cudaGetDevice(&device));
  GOODPUT_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

}  // namespace

BlockNorm::BlockNorm(std::int64_t tokens, std::int64_t hidden, const NormRows& rows)
    : shape_{NormKind::kRms, tokens, hidden},
      rows_(rows),
      multiprocessors_(processors_of_device()),
      weight_(static_cast<std::size_t>(hidden)),
      rstd_(static_cast<std::size_t>(tokens)),
      d_weight_(static_cast<std::size_t>(hidden)),
      partial_(norm_partial_elements(shape_, multiprocessors_)) {}

void BlockNorm::fill(cudaStream_t stream) {
  fill_matrix(weight_.data(), MatrixType::kBf16, shape_.hidden, MatrixFill::kDense, kWeightSeed, stream);
}

void BlockNorm::forward(cudaStream_t stream) {
  norm_forward(shape_, {rows_.x, weight_.data(), nullptr, rows_.y, mean_.data(), rstd_.data()},
               multiprocessors_, stream);
}

void BlockNorm::backward(cudaStream_t stream) {
  norm_backward(shape_,
                {rows_.dy, rows_.x, weight_.data(), mean_.data(), rstd_.data(), rows_.dx, d_weight_.data(),
                 nullptr, partial_.data()},
                multiprocessors_, stream);
}

std::uint64_t BlockNorm::count_wrong(const Stream& stream) {
  const std::int64_t hidden = shape_.hidden;
  const std::int64_t elements = shape_.tokens * hidden;
  fill(stream.get());
  fill_matrix(rows_.x, MatrixType::kBf16, elements, MatrixFill::kDense, kWeightSeed + 1, stream.get());
  fill_matrix(rows_.dy, MatrixType::kBf16, elements, MatrixFill::kDense, kWeightSeed + 2, stream.get());
  forward(stream.get());
  backward(stream.get());
  stream.synchronize();
  const std::vector<double> weight = row_of(weight_.data(), 0, hidden);
  const std::vector<double> no_bias(weight.size());
  std::uint64_t wrong = 0;
  for (const std::int64_t row : bench::spread_sample(shape_.tokens, kRowsChecked)) {
    const NormedRow normed = reference_norm(shape_.kind, row_of(rows_.x, row, hidden));
    wrong += count_different(row_of(rows_.y, row, hidden), reference_norm_forward(normed, weight, no_bias));
    wrong +=
        count_different(row_of(rows_.dx, row, hidden),
                        reference_norm_backward(shape_.kind, normed, weight, row_of(rows_.dy, row, hidden)));
  }
  return wrong;
}

}  // namespace goodput::gpu::calibrate

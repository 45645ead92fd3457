// What gpu/calibrate/matmul_cublas*.cpp make of the cuBLAS that is found: products against ones by hand, and
// what is said where there is none. Memory of the device is the host's here: without a GPU, and with
// cublas_stub.cpp for a library, they run all the same.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "gpu/calibrate/cublas_library.h"
#include "gpu/calibrate/e4m3.h"
#include "gpu/calibrate/matmul.h"

extern "C" {
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
  return "";
}
const char* cudaGetErrorName(cudaError_t) {
  return "";
}
}

namespace {

using goodput::gpu::Bf16;
using goodput::gpu::from_float;
using namespace goodput::gpu::calibrate;

// Small numbers, no two rows alike: sums are exact.
float number_at(std::int64_t index) {
  return static_cast<float>(index * index % 7 - 3);
}

std::vector<Bf16> bf16_numbers(std::int64_t count) {
  std::vector<Bf16> data;
  for (std::int64_t i = 0; i < count; ++i) data.push_back(from_float<Bf16>(number_at(i)));
  return data;
}

std::vector<E4m3> fp8_numbers(std::int64_t count) {
  constexpr std::uint8_t kMagnitudes[] = {0x00, 0x38, 0x40, 0x44};  // 0, 1, 2, 3
  std::vector<E4m3> data;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<int>(number_at(i));
    const std::uint8_t magnitude = kMagnitudes[std::abs(value)];
    data.push_back({static_cast<std::uint8_t>(value < 0 ? magnitude | 0x80 : magnitude)});
  }
  return data;
}

// Element (row, column) of y, by hand.
float product_at(const GemmShape& shape, std::int64_t row, std::int64_t column) {
  float sum = 0;
  for (std::int64_t i = 0; i < shape.k; ++i) {
    const bool turned_a = shape.layout == OperandLayout::kWgrad;
    const bool turned_b = shape.layout == OperandLayout::kForward;
    sum += number_at(turned_a ? i * shape.m + row : row * shape.k + i) *
           number_at(turned_b ? column * shape.k + i : i * shape.n + column);
  }
  return sum;
}

bool is_right(const GemmShape& shape) {
  const Gemm gemm(shape);
  std::vector<Bf16> y(static_cast<std::size_t>(shape.m * shape.n));
  if (shape.type == MatrixType::kFp8) {
    gemm.run({fp8_numbers(shape.m * shape.k).data(), fp8_numbers(shape.k * shape.n).data(), y.data()}, 0,
             nullptr);
  } else {
    gemm.run({bf16_numbers(shape.m * shape.k).data(), bf16_numbers(shape.k * shape.n).data(), y.data()}, 0,
             nullptr);
  }
  for (std::int64_t at = 0; at < shape.m * shape.n; ++at) {
    const float expected = product_at(shape, at / shape.n, at % shape.n);
    if (to_float(y[static_cast<std::size_t>(at)]) != to_float(from_float<Bf16>(expected))) return false;
  }
  return true;
}

// Weights of every expert, rows of x one expert after another.
bool is_grouped_right(const std::vector<std::int64_t>& rows) {
  constexpr std::int64_t kColumns = 5;
  constexpr std::int64_t kInner = 4;
  const GroupedShape shape{kColumns, kInner, rows};
  const std::vector<Bf16> x = bf16_numbers(shape.all_rows() * kInner);
  const std::vector<Bf16> w = bf16_numbers(static_cast<std::int64_t>(rows.size()) * kColumns * kInner);
  std::vector<Bf16> y(static_cast<std::size_t>(shape.all_rows() * kColumns));
  GroupedGemm(shape, {{nullptr, nullptr, nullptr}, {x.data(), w.data(), y.data()}}).run(1, nullptr);
  std::int64_t row = 0;
  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    for (const std::int64_t end = row + rows[expert]; row < end; ++row) {
      for (std::int64_t column = 0; column < kColumns; ++column) {
        float sum = 0;
        for (std::int64_t i = 0; i < kInner; ++i) {
          sum += number_at(row * kInner + i) *
                 number_at((static_cast<std::int64_t>(expert) * kColumns + column) * kInner + i);
        }
        if (to_float(y[static_cast<std::size_t>(row * kColumns + column)]) != sum) return false;
      }
    }
  }
  return true;
}

// The same of gradients, at the places that GroupedShape::products() says.
bool are_gradients_right(const std::vector<std::int64_t>& rows, OperandLayout layout) {
  const GroupedShape shape{5, 4, rows, layout};
  const std::vector<Bf16> a = bf16_numbers(shape.a_elements());
  const std::vector<Bf16> b = bf16_numbers(shape.b_elements());
  std::vector<Bf16> y(static_cast<std::size_t>(shape.y_elements()));
  GroupedGemm(shape, {{a.data(), b.data(), y.data()}}).run(0, nullptr);
  for (const GroupProduct& group : shape.products()) {
    const GemmShape& product = group.product;
    for (std::int64_t at = 0; at < product.m * product.n; ++at) {
      const std::int64_t row = at / product.n;
      const std::int64_t column = at % product.n;
      float sum = 0;
      for (std::int64_t i = 0; i < product.k; ++i) {
        const std::int64_t in_a = layout == OperandLayout::kWgrad ? i * product.m + row : row * product.k + i;
        sum += number_at(group.a + in_a) * number_at(group.b + i * product.n + column);
      }
      if (to_float(y[static_cast<std::size_t>(group.y + at)]) != sum) return false;
    }
  }
  return true;
}

void print(const char* what, const std::function<std::string()>& result) {
  try {
    std::printf("%s: %s\n", what, result().c_str());
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", what, error.what());
  }
}

void print_product(const GemmShape& shape) {
  print(text_of(shape).c_str(), [&] { return is_right(shape) ? "right" : "wrong"; });
}

}  // namespace

int main() {
  print("before", [] { return is_right({1, 1, 1}) ? "right" : "wrong"; });
  const MatmulSearch search = find_matmul();
  std::printf("found: %s%s\n", search.version.c_str(), search.why_none.c_str());
  if (!search.why_none.empty()) return 0;
  for (const OperandLayout layout : {OperandLayout::kForward, OperandLayout::kDgrad, OperandLayout::kWgrad})
    print_product({3, 5, 4, MatrixType::kBf16, layout});
  print_product({3, 5, 4, MatrixType::kFp8});
  print_product({3, 5, 4, MatrixType::kFp8, OperandLayout::kDgrad});
  print("grouped dgrad", [] {
    return are_gradients_right({2, 0, 3, 2}, OperandLayout::kDgrad) ? "right" : "wrong";
  });
  print("grouped wgrad", [] {
    return are_gradients_right({2, 0, 3, 2}, OperandLayout::kWgrad) ? "right" : "wrong";
  });
  for (const std::int64_t failing : {13, 14, 15, 16}) print_product({3, failing, 4});
  print("answers", [] {
    const Gemm gemm({3, 5, 4}, 8);
    return std::to_string(gemm.answers()) + ", " + gemm.source(0) + ", " + gemm.source(2);
  });
  print("grouped", [] { return is_grouped_right({2, 0, 3, 2}) ? "right" : "wrong"; });
  print("no rows", [] { return is_grouped_right({0, 0}) ? "right" : "wrong"; });
  print("grouped, failing", [] {
    GroupedGemm({16, 4, {1}}, {{nullptr, nullptr, nullptr}}).run(0, nullptr);
    return "no error";
  });
  print("grouped by", [] { return GroupedGemm({5, 4, {1}}, {{nullptr, nullptr, nullptr}}).source(); });
}

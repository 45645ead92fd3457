#include "gpu/bench/row_check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "gpu/bench/payload.h"
#include "gpu/bench/routing.h"
#include "gpu/reference_rows.h"

namespace goodput::gpu::bench {
namespace {

// Elements of all rows that belong to the tokens of a check: less than a second of a host's work, for there
// are some 80 points and few minutes. gpu_test compares all.
constexpr std::int64_t kMostElements = 50'000'000;
// Tokens and rows compared at a time: bounds the memory of the host.
constexpr std::size_t kChunk = 512;

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

// Rows of a payload, one behind the other.
std::vector<Bf16> payload_rows(const std::vector<std::int64_t>& rows, std::int64_t hidden,
                               std::uint64_t seed) {
  std::vector<Bf16> values;
  values.reserve(rows.size() * size(hidden));
  for (const std::int64_t row : rows) {
    for (std::int64_t i = 0; i < hidden; ++i) values.push_back(payload(seed, row * hidden + i));
  }
  return values;
}

// Rows of device memory, one behind the other.
std::vector<Bf16> fetch_rows(const Bf16* device, const std::vector<std::int64_t>& rows, std::int64_t hidden) {
  const std::size_t width = size(hidden);
  PinnedBuffer<Bf16> staged(rows.size() * width);
  const Stream stream;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    GOODPUT_CUDA(cudaMemcpyAsync(staged.data() + i * width, device + rows[i] * hidden, width * sizeof(Bf16),
                                 cudaMemcpyDeviceToHost, stream.get()));
  }
  stream.synchronize();
  return {staged.data(), staged.data() + staged.size()};
}

// Bit for bit.
template <class T>
void compare(const std::vector<T>& got, const std::vector<T>& expected, Check& check) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    check.nwrong += std::memcmp(&got[i], &expected[i], sizeof(T)) != 0 ? 1 : 0;
  }
  check.compared += expected.size();
}

// Some of the tokens as a layer of their own: its rows are numbered as its slots are.
struct Part {
  std::vector<std::int64_t> tokens;     // their numbers in the layer
  std::vector<std::int64_t> rows;       // the rows of their slots
  std::vector<std::int32_t> positions;  // 0, 1, 2, ...
  std::vector<float> weights;
};

Part part_of(const TokenOperands& operands, const std::vector<std::int64_t>& tokens) {
  Part part{tokens, {}, {}, {}};
  for (const std::int64_t token : tokens) {
    for (std::int64_t j = 0; j < operands.layer.top_k; ++j) {
      const std::size_t slot = size(token * operands.layer.top_k + j);
      part.rows.push_back(operands.positions[slot]);
      part.weights.push_back(operands.weights[slot]);
    }
  }
  part.positions.resize(part.rows.size());
  std::iota(part.positions.begin(), part.positions.end(), 0);
  return part;
}

// `check_part` for the tokens of the check, kChunk at a time.
template <class CheckPart>
Check check_tokens(const TokenOperands& operands, const CheckPart& check_part) {
  const std::int64_t most =
      std::max<std::int64_t>(kMostElements / (operands.layer.hidden * operands.layer.top_k), 2);
  const std::vector<std::int64_t> sample = spread_sample(operands.layer.tokens, most);
  Check check;
  check.items = static_cast<std::int64_t>(sample.size());
  check.of = operands.layer.tokens;
  for (std::size_t first = 0; first < sample.size(); first += kChunk) {
    const auto begin = sample.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = sample.begin() + static_cast<std::ptrdiff_t>(std::min(first + kChunk, sample.size()));
    check_part(part_of(operands, {begin, end}), check);
  }
  return check;
}

// The weights are those of the part, or none.
enum class Weighting { kNone, kOfPart };

Check check_sums(const TokenOperands& operands, Weighting weighting) {
  const std::int64_t hidden = operands.layer.hidden;
  return check_tokens(operands, [&](const Part& part, Check& check) {
    const std::vector<Bf16> expected =
        reference::combine(payload_rows(part.rows, hidden, operands.row_seed), part.positions,
                           weighting == Weighting::kOfPart ? part.weights : std::vector<float>{},
                           static_cast<int>(operands.layer.top_k), static_cast<int>(hidden));
    compare(fetch_rows(operands.output, part.tokens, hidden), expected, check);
  });
}

}  // namespace

Check check_scatter(const TokenOperands& operands) {
  const std::int64_t hidden = operands.layer.hidden;
  return check_tokens(operands, [&](const Part& part, Check& check) {
    std::vector<Bf16> expected(part.rows.size() * size(hidden));
    reference::scatter(payload_rows(part.tokens, hidden, operands.token_seed), part.positions,
                       static_cast<int>(operands.layer.top_k), static_cast<int>(hidden), expected);
    compare(fetch_rows(operands.output, part.rows, hidden), expected, check);
  });
}

Check check_scatter_backward(const TokenOperands& operands) {
  return check_sums(operands, Weighting::kNone);
}

Check check_combine(const TokenOperands& operands) {
  return check_sums(operands, Weighting::kOfPart);
}

Check check_combine_backward(const TokenOperands& operands) {
  const std::int64_t hidden = operands.layer.hidden;
  return check_tokens(operands, [&](const Part& part, Check& check) {
    const reference::CombineGradient<Bf16> expected = reference::combine_backward(
        payload_rows(part.tokens, hidden, operands.token_seed),
        payload_rows(part.rows, hidden, operands.row_seed), part.positions, part.weights,
        static_cast<int>(operands.layer.top_k), static_cast<int>(hidden));
    compare(fetch_rows(operands.output, part.rows, hidden), expected.d_rows, check);
    const std::size_t choices = size(operands.layer.top_k);
    std::vector<float> d_weights(part.rows.size());
    for (std::size_t i = 0; i < part.tokens.size(); ++i) {
      GOODPUT_CUDA(cudaMemcpy(d_weights.data() + i * choices,
                              operands.d_weights + part.tokens[i] * operands.layer.top_k,
                              choices * sizeof(float), cudaMemcpyDeviceToHost));
    }
    compare(d_weights, expected.d_weights, check);
  });
}

Check check_moved_rows(const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& to,
                       std::int64_t hidden, std::uint64_t seed, const Bf16* output) {
  const std::vector<std::int64_t> sample = spread_sample(static_cast<std::int64_t>(from.size()),
                                                         std::max<std::int64_t>(kMostElements / hidden, 2));
  Check check;
  check.items = static_cast<std::int64_t>(sample.size());
  check.of = static_cast<std::int64_t>(from.size());
  for (std::size_t first = 0; first < sample.size(); first += kChunk) {
    std::vector<std::int64_t> sources;
    std::vector<std::int64_t> targets;
    for (std::size_t i = first; i < std::min(first + kChunk, sample.size()); ++i) {
      sources.push_back(from[size(sample[i])]);
      targets.push_back(to[size(sample[i])]);
    }
    compare(fetch_rows(output, targets, hidden), payload_rows(sources, hidden, seed), check);
  }
  return check;
}

}  // namespace goodput::gpu::bench

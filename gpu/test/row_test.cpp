// Copies and sums of rows on their own: every way through them, at every alignment, and beyond 2^31 bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "gpu/combine.h"
#include "gpu/row_copy.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"

namespace goodput::gpu::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

struct CopyCase {
  std::int64_t row_bytes;
  std::int64_t items;
  std::int32_t top_k;
  std::int32_t offset;  // of both buffers, from an address that is a multiple of 256
  CopyPath path;
};

std::string name_of(const CopyCase& copy) {
  return "row_bytes=" + std::to_string(copy.row_bytes) + " items=" + std::to_string(copy.items) +
         " top_k=" + std::to_string(copy.top_k) + " offset=" + std::to_string(copy.offset) + " " +
         gpu::name_of(copy.path);
}

Bytes random_bytes(std::size_t count, Random& random) {
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return bytes;
}

// A random order of 0 .. count - 1.
std::vector<std::int32_t> permutation(std::int32_t count, Random& random) {
  std::vector<std::int32_t> order(size(count));
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t j = random.below(i + 1);
    order[size(i)] = order[size(j)];
    order[size(j)] = i;
  }
  return order;
}

void move_row(const Bytes& from, std::int64_t row, Bytes& to, std::int64_t target, const CopyCase& copy) {
  std::copy_n(from.begin() + copy.offset + row * copy.row_bytes, copy.row_bytes,
              to.begin() + copy.offset + target * copy.row_bytes);
}

std::string wrong_scatter(const CopyCase& copy, const CopyDevice& device, Random& random) {
  // Two rows more than there are choices: nobody writes them. A tenth of the choices have none.
  const auto targets = static_cast<std::int32_t>(copy.items * copy.top_k) + 2;
  std::vector<std::int32_t> map = permutation(targets, random);
  map.resize(size(copy.items * copy.top_k));
  for (std::int32_t& row : map) row = random.below(10) == 0 ? -1 : row;
  const Bytes from = random_bytes(size(copy.offset + copy.items * copy.row_bytes), random);
  Bytes expected = poisoned_host<std::uint8_t>(size(copy.offset + targets * copy.row_bytes));
  for (std::size_t slot = 0; slot < map.size(); ++slot) {
    if (map[slot] >= 0)
      move_row(from, static_cast<std::int64_t>(slot) / copy.top_k, expected, map[slot], copy);
  }

  const Stream stream;
  const auto d_from = upload(from);
  const auto d_map = upload(map);
  auto d_to = poisoned<std::uint8_t>(expected.size());
  scatter_rows({d_from.data() + copy.offset, d_to.data() + copy.offset, copy.row_bytes, copy.items},
               d_map.data(), copy.top_k, copy.path, device, stream.get());
  return differ("scattered bytes", download(d_to.data(), d_to.size()), expected);
}

std::string wrong_gather(const CopyCase& copy, const CopyDevice& device, Random& random) {
  const std::vector<std::int32_t> map = permutation(static_cast<std::int32_t>(copy.items), random);
  const Bytes from = random_bytes(size(copy.offset + copy.items * copy.row_bytes), random);
  Bytes expected = poisoned_host<std::uint8_t>(from.size());
  for (std::size_t item = 0; item < map.size(); ++item) {
    move_row(from, map[item], expected, static_cast<std::int64_t>(item), copy);
  }

  const Stream stream;
  const auto d_from = upload(from);
  const auto d_map = upload(map);
  auto d_to = poisoned<std::uint8_t>(expected.size());
  gather_rows({d_from.data() + copy.offset, d_to.data() + copy.offset, copy.row_bytes, copy.items},
              d_map.data(), copy.path, device, stream.get());
  return differ("gathered bytes", download(d_to.data(), d_to.size()), expected);
}

std::string wrong_copy(const CopyCase& copy) {
  const CopyDevice device = copy_device();
  if (is_bulk(copy.path) && !device.has_bulk_copy) return kNoBulkCopy;
  Random random(static_cast<std::uint64_t>(copy.row_bytes * 1000 + copy.items));
  return first_of({wrong_scatter(copy, device, random),
                   copy.top_k == 1 ? wrong_gather(copy, device, random) : std::string()});
}

// Rows of one element to several pieces of the bulk path, the last one short.
void add_copies(Size size, std::vector<Test>& tests) {
  const auto add = [&](const CopyCase& copy) {
    tests.push_back({"copy: " + name_of(copy), [copy] { return wrong_copy(copy); }});
  };
  const std::int64_t items = size == Size::kSmall ? 37 : 1000;
  for (const CopyPath path : {CopyPath::kVector, CopyPath::kBulk, CopyPath::kBulkEvictFirst}) {
    for (const std::int64_t row_bytes : {16, 48, 2048, 8192, 8208, 14336, 24592, 65536}) {
      add({row_bytes, items, 1, 0, path});
      add({row_bytes, items / 4, 8, 0, path});
    }
    for (std::int32_t top_k = 2; top_k <= 7; ++top_k) add({80, items, top_k, 0, path});
    for (const std::int64_t few : {0, 1, 5}) add({4096, few, 2, 0, path});
  }
  for (const std::int64_t row_bytes : {2, 4, 6, 12, 14, 30, 1026, 1028}) {
    add({row_bytes, items, 1, 0, CopyPath::kVector});
    add({row_bytes, items, 3, 0, CopyPath::kVector});
  }
  for (const std::int32_t offset : {2, 4, 8}) {
    add({64, items, 1, offset, CopyPath::kVector});
    add({64, items, 5, offset, CopyPath::kVector});
  }
}

// All choices, element types and both ways of reading; bits must not depend on the way.
template <class T>
std::string wrong_sums(std::int32_t hidden, std::int32_t top_k, std::int32_t offset) {
  constexpr std::int32_t kTokens = 19;
  const CopyDevice device = copy_device();
  Random random(static_cast<std::uint64_t>(hidden * 100 + top_k));
  const std::size_t shift = size(offset);
  const std::int32_t rows = kTokens * top_k;
  std::vector<std::int32_t> positions = permutation(rows, random);
  for (std::int32_t& position : positions) position = random.below(10) == 0 ? -1 : position;
  const auto returned = random_rows<T>(size(rows) * size(hidden), random);
  const auto dy = random_rows<T>(kTokens * size(hidden), random);
  const auto weights = random_rows<float>(positions.size(), random);
  const auto gradient = reference::combine_backward(dy, returned, positions, weights, top_k, hidden);
  // Rows that no slot names are 0 in the reference and stay poison here.
  auto d_rows_expected = poisoned_host<T>(gradient.d_rows.size());
  for (const std::int32_t row : positions) {
    if (row < 0) continue;
    std::copy_n(gradient.d_rows.begin() + std::int64_t{row} * hidden, hidden,
                d_rows_expected.begin() + std::int64_t{row} * hidden);
  }

  const auto shifted = [&](const std::vector<T>& host) {
    std::vector<T> moved(shift);
    moved.insert(moved.end(), host.begin(), host.end());
    return upload(moved);
  };
  const Stream stream;
  const auto d_positions = upload(positions);
  const auto d_returned = shifted(returned);
  const auto d_dy = shifted(dy);
  const auto d_weights = upload(weights);
  auto y = poisoned<T>(shift + dy.size());
  auto plain = poisoned<T>(shift + dy.size());
  auto d_rows = poisoned<T>(shift + returned.size());
  auto d_d_weights = poisoned<float>(weights.size());
  const TokenRows shape{kElementType<T>, hidden, kTokens, top_k, d_positions.data()};
  combine_rows(shape, d_returned.data() + shift, d_weights.data(), y.data() + shift, device, stream.get());
  combine_rows(shape, d_returned.data() + shift, nullptr, plain.data() + shift, device, stream.get());
  combine_rows_backward(shape, d_dy.data() + shift, d_returned.data() + shift, d_weights.data(),
                        d_rows.data() + shift, d_d_weights.data(), device, stream.get());
  return first_of(
      {differ("weighted sums", download(y.data() + shift, dy.size()),
              reference::combine(returned, positions, weights, top_k, hidden)),
       differ("plain sums", download(plain.data() + shift, dy.size()),
              reference::combine(returned, positions, {}, top_k, hidden)),
       differ("gradients of rows", download(d_rows.data() + shift, returned.size()), d_rows_expected),
       differ("gradients of weights", download(d_d_weights.data(), weights.size()), gradient.d_weights)});
}

template <class T>
void add_sums(Size size, std::vector<Test>& tests) {
  const std::vector<std::int32_t> widths = size == Size::kSmall
                                               ? std::vector<std::int32_t>{8, 264, 13}
                                               : std::vector<std::int32_t>{8, 264, 13, 1, 4104, 7168};
  for (const std::int32_t hidden : widths) {
    for (std::int32_t top_k = 1; top_k <= kMaxTopK; ++top_k) {
      for (const std::int32_t offset : {0, 1}) {
        const std::string name = std::string("sums: ") + gpu::name_of(kElementType<T>) +
                                 " hidden=" + std::to_string(hidden) + " top_k=" + std::to_string(top_k) +
                                 (offset == 0 ? "" : " misaligned");
        tests.push_back({name, [=] { return wrong_sums<T>(hidden, top_k, offset); }});
      }
    }
  }
}

// Every bit pattern of a 16-bit type with weights that make its sums overflow, underflow and become NaN.
template <class T>
std::string wrong_special_values() {
  constexpr std::int32_t kHidden = 1024;
  constexpr std::int32_t kRows = 65536 / kHidden;
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> factors = {1, -0.0F, 0x1p-20F, 0x1p20F, -3.3F, infinity, std::nanf("")};
  std::vector<T> rows;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) rows.push_back(T{static_cast<std::uint16_t>(bits)});
  std::vector<std::int32_t> positions;
  std::vector<float> weights;
  for (const float factor : factors) {
    for (std::int32_t row = 0; row < kRows; ++row) {
      positions.push_back(row);
      weights.push_back(factor);
    }
  }
  const Stream stream;
  const auto d_rows = upload(rows);
  const auto d_positions = upload(positions);
  const auto d_weights = upload(weights);
  auto y = poisoned<T>(positions.size() * kHidden);
  const TokenRows shape{kElementType<T>, kHidden, static_cast<std::int64_t>(positions.size()), 1,
                        d_positions.data()};
  combine_rows(shape, d_rows.data(), d_weights.data(), y.data(), copy_device(), stream.get());
  return differ("weighted values", download(y.data(), y.size()),
                reference::combine(rows, positions, weights, 1, kHidden));
}

// Rows on both sides of 2^31 and 2^32 bytes.
std::string wrong_far_rows(CopyPath path) {
  constexpr std::int64_t kRowBytes = 16384;
  constexpr std::array<std::int32_t, 6> kRows = {0, 131'071, 131'072, 200'000, 262'143, 262'150};
  const CopyDevice device = copy_device();
  if (is_bulk(path) && !device.has_bulk_copy) return kNoBulkCopy;
  Random random(7);
  const std::vector<std::int32_t> map(kRows.begin(), kRows.end());
  const auto from = random_rows<float>(kRows.size() * kRowBytes / sizeof(float), random);
  const auto ones = std::vector<float>(kRows.size(), 1.0F);

  const Stream stream;
  const auto d_from = upload(from);
  const auto d_map = upload(map);
  DeviceBuffer<unsigned char> far(size((std::int64_t{kRows.back()} + 1) * kRowBytes));
  auto gathered = poisoned<float>(from.size());
  auto summed = poisoned<float>(from.size());
  scatter_rows({d_from.data(), far.data(), kRowBytes, kRows.size()}, d_map.data(), 1, path, device,
               stream.get());
  gather_rows({far.data(), gathered.data(), kRowBytes, kRows.size()}, d_map.data(), path, device,
              stream.get());
  const TokenRows shape{ElementType::kFp32, kRowBytes / 4, kRows.size(), 1, d_map.data()};
  combine_rows(shape, far.data(), nullptr, summed.data(), device, stream.get());
  stream.synchronize();
  std::vector<float> last(kRowBytes / sizeof(float));
  GOODPUT_CUDA(
      cudaMemcpy(last.data(), far.data() + kRows.back() * kRowBytes, kRowBytes, cudaMemcpyDeviceToHost));
  return first_of({differ("the last row", last, std::vector<float>(from.end() - kRowBytes / 4, from.end())),
                   differ("gathered rows", download(gathered.data(), from.size()), from),
                   differ("summed rows", download(summed.data(), from.size()), from)});
}

std::string wrong_far_gradients() {
  constexpr std::int32_t kHidden = 8192;
  constexpr std::int32_t kFar = 262'150;  // 16 KiB each
  Random random(8);
  const auto row = random_rows<Bf16>(kHidden, random);
  const auto dy = random_rows<Bf16>(kHidden, random);
  const Stream stream;
  const auto d_positions = upload(std::vector<std::int32_t>{kFar});
  const auto d_weights = upload(std::vector<float>{0.5F});
  const auto d_dy = upload(dy);
  DeviceBuffer<Bf16> rows((std::size_t{kFar} + 1) * kHidden);
  DeviceBuffer<Bf16> d_rows(rows.size());
  auto d_d_weights = poisoned<float>(1);
  constexpr std::size_t kOffset = std::size_t{kFar} * kHidden;
  GOODPUT_CUDA(
      cudaMemcpy(rows.data() + kOffset, row.data(), row.size() * sizeof(Bf16), cudaMemcpyHostToDevice));
  finish_default_stream();
  const TokenRows shape{ElementType::kBf16, kHidden, 1, 1, d_positions.data()};
  combine_rows_backward(shape, d_dy.data(), rows.data(), d_weights.data(), d_rows.data(), d_d_weights.data(),
                        copy_device(), stream.get());
  const auto gradient = reference::combine_backward(dy, row, {0}, {0.5F}, 1, kHidden);
  return first_of(
      {differ("the row's gradient", download(d_rows.data() + kOffset, row.size()), gradient.d_rows),
       differ("the weight's gradient", download(d_d_weights.data(), 1), gradient.d_weights)});
}

}  // namespace

std::vector<Test> row_tests(Size size) {
  std::vector<Test> tests;
  add_copies(size, tests);
  add_sums<Bf16>(size, tests);
  add_sums<Fp16>(size, tests);
  add_sums<float>(size, tests);
  tests.push_back({"sums: every bf16 value, special weights", wrong_special_values<Bf16>});
  tests.push_back({"sums: every fp16 value, special weights", wrong_special_values<Fp16>});
  tests.push_back({"far: rows beyond 2^32 bytes, vector", [] { return wrong_far_rows(CopyPath::kVector); }});
  tests.push_back({"far: rows beyond 2^32 bytes, bulk", [] { return wrong_far_rows(CopyPath::kBulk); }});
  tests.push_back({"far: gradients of rows beyond 2^32 bytes", wrong_far_gradients});
  return tests;
}

}  // namespace goodput::gpu::testing

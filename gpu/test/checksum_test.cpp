// Checksums of blocks of memory, of every length and address that takes another way.
#include "gpu/checksum.h"

#include "gpu/reference_checksum.h"
#include "gpu/row_copy.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"

namespace goodput::gpu::testing {
namespace {

std::vector<unsigned char> random_bytes(std::size_t count, Random& random) {
  std::vector<unsigned char> bytes(count);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.below(256));
  return bytes;
}

// `offset`: of every block from an address that is a multiple of 256.
std::string wrong_checksums(const std::vector<std::int64_t>& lengths, std::size_t offset) {
  Random random(lengths.size() + offset);
  std::vector<DeviceBuffer<unsigned char>> memory;
  std::vector<Block> blocks;
  std::vector<std::uint64_t> expected;
  std::int64_t most_bytes = 0;
  for (const std::int64_t length : lengths) {
    const std::vector<unsigned char> bytes = random_bytes(static_cast<std::size_t>(length), random);
    std::vector<unsigned char> surrounded = random_bytes(offset, random);
    surrounded.insert(surrounded.end(), bytes.begin(), bytes.end());
    surrounded.push_back(static_cast<unsigned char>(random.below(256)));
    memory.push_back(upload(surrounded));
    blocks.push_back({memory.back().data() + offset, length});
    expected.push_back(reference::checksum(bytes));
    most_bytes = std::max(most_bytes, length);
  }
  const DeviceBuffer<Block> d_blocks = upload(blocks);
  DeviceBuffer<std::uint64_t> sums = poisoned<std::uint64_t>(blocks.size());
  const Stream stream;
  checksum_blocks(d_blocks.data(), static_cast<std::int32_t>(blocks.size()), most_bytes,
                  copy_device().multiprocessors, sums.data(), stream.get());
  return differ("checksums", download(sums.data(), sums.size()), expected);
}

}  // namespace

std::vector<Test> checksum_tests(Size size) {
  std::vector<std::int64_t> short_blocks;
  for (std::int64_t length = 0; length <= 70; ++length) short_blocks.push_back(length);
  const std::int64_t large = size == Size::kSmall ? 100'003 : 300'000'007;
  std::vector<Test> tests;
  for (const std::size_t offset : {0U, 16U, 1U, 8U, 15U}) {
    const std::string at = " bytes at offset " + std::to_string(offset);
    tests.push_back({"checksum: 0 to 70" + at, [=] { return wrong_checksums(short_blocks, offset); }});
    tests.push_back({"checksum: " + std::to_string(large) + at, [=] {
                       return wrong_checksums({large, 4096, 0, large / 2}, offset);
                     }});
  }
  tests.push_back({"checksum: no blocks", [] { return wrong_checksums({}, 0); }});
  return tests;
}

}  // namespace goodput::gpu::testing

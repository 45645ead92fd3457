#include "tools/sweep/store/journal_pool.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/tools/sweep/store/random_sweep.h"

namespace goodput {
namespace {

TEST_CASE("journal pool: more files than may be open at once, here and there") {
  const testing::SweepFolder folder;
  std::filesystem::create_directory(folder.path());
  JournalPool pool;
  constexpr std::uint32_t kFiles = 300;
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    const std::string path = folder.path() + "/" + std::to_string(i);
    testing::write_bytes(path, "file " + std::to_string(1000 + i));
    CHECK(pool.add(path) == i);
  }
  for (std::uint32_t i = 0; i < 3 * kFiles; ++i) {
    const std::uint32_t file = i * 7 % kFiles;
    const auto read = pool.read(file, 5, 4);
    REQUIRE(read);
    CHECK(*read == std::to_string(1000 + file));
  }
}

TEST_CASE("journal pool: what is not there and what ends early is an error") {
  const testing::SweepFolder folder;
  std::filesystem::create_directory(folder.path());
  const std::string path = folder.path() + "/j";
  JournalPool pool;
  const std::uint32_t file = pool.add(path);
  const auto message = [&] {
    const auto read = pool.read(file, 2, 4);
    return read ? std::string(*read) : read.error().message();
  };
  CHECK(message() == path + ": cannot read: No such file or directory");
  testing::write_bytes(path, "01234");
  CHECK(message() == path + ": became shorter while it was being read; merge again");
  testing::write_bytes(path, "012345");
  CHECK(message() == "2345");
}

}  // namespace
}  // namespace goodput

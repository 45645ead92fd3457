// A test of gpu_test: a name, and a function that says the first thing that is wrong. No framework: GPU
// machines may have none.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace goodput::gpu::testing {

struct Test {
  std::string name;
  std::function<std::string()> wrong;  // "": passed; kNoBulkCopy: skipped
};

inline constexpr const char* kNoBulkCopy = "skipped: this GPU has no bulk copies";

// kSmall is for the sanitizers and the emulator: the same tests with fewer and smaller cases.
enum class Size { kSmall, kFull };

// Defined in the file of the same name.
std::vector<Test> rank_tests(Size size);
std::vector<Test> cluster_tests(Size size);
std::vector<Test> row_tests(Size size);
std::vector<Test> input_tests(Size size);
std::vector<Test> replay_tests(Size size);
std::vector<Test> checksum_tests(Size size);

// The first of the reasons that is not empty.
inline std::string first_of(std::initializer_list<std::string> reasons) {
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace goodput::gpu::testing

// gpu_test: the kernels against the CPU reference, bit for bit. The last line is `N passed, N failed`; the
// exit code is 0 when nothing failed, 1 otherwise, 77 where there is no GPU to use.
#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <string>

#include "gpu/device.h"
#include "gpu/test/test.h"

namespace goodput::gpu::testing {
namespace {

constexpr int kSkipped = 77;
constexpr const char* kUsage =
    "usage: gpu_test [--small] [--only SUBSTRING] [--list]\n  --small           Fewer and smaller cases, for "
    "compute-sanitizer and the emulator\n  --only SUBSTRING  Only tests whose name contains SUBSTRING\n  "
    "--list            List the names of the tests\n"
#if defined(GOODPUT_SIMT)
    "  --order ORDER     Order of the threads of a block: ascending, descending or the seed of a random "
    "order\n"
#endif
    ;

struct Options {
  Size size = Size::kFull;
  std::string only;
  bool list = false;
};

std::vector<Test> all_tests(Size size) {
  std::vector<Test> tests;
  for (const auto& tests_of :
       {input_tests, replay_tests, row_tests, checksum_tests, rank_tests, cluster_tests}) {
    for (Test& test : tests_of(size)) tests.push_back(std::move(test));
  }
  return tests;
}

std::string run(const Test& test) {
  try {
    return test.wrong();
  } catch (const std::exception& error) {
    return std::string("unexpected error: ") + error.what();
  }
}

int run_all(const Options& options) {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  for (const Test& test : all_tests(options.size)) {
    if (test.name.find(options.only) == std::string::npos) continue;
    // Before it runs, so that one that hangs has said which it is.
    std::printf("%s\n", test.name.c_str());
    std::fflush(stdout);
    if (options.list) continue;
    const std::string wrong = run(test);
    ++(wrong.empty() ? passed : wrong == kNoBulkCopy ? skipped : failed);
    if (!wrong.empty() && wrong != kNoBulkCopy) {
      std::printf("FAILED %s\n  %s\n", test.name.c_str(), wrong.c_str());
    }
  }
  if (options.list) return 0;
  std::printf("%d passed, %d failed", passed, failed);
  std::printf(skipped == 0 ? "\n" : ", %d skipped: this GPU has no bulk copies\n", skipped);
  return failed == 0 && passed > 0 ? 0 : 1;
}

#if defined(GOODPUT_SIMT)
// False: no order.
bool set_order(const std::string& order) {
  if (order == "ascending") {
    simt::set_schedule({simt::Order::kAscending, 0});
  } else if (order == "descending") {
    simt::set_schedule({simt::Order::kDescending, 0});
  } else {
    const bool digits =
        !order.empty() && order.size() < 19 && order.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return false;
    simt::set_schedule({simt::Order::kRandom, std::stoull(order)});
  }
  return true;
}
#endif

int main_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--small") {
      options.size = Size::kSmall;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--only" && has_value) {
      options.only = argv[++i];
#if defined(GOODPUT_SIMT)
    } else if (argument == "--order" && has_value && set_order(argv[i + 1])) {
      ++i;
#endif
    } else {
      if (argument != "--help")
        std::fprintf(stderr, "gpu_test: unknown option, or its value is missing or wrong: %s\n",
                     argument.c_str());
      std::fprintf(argument == "--help" ? stdout : stderr, "%s", kUsage);
      return argument == "--help" ? 0 : 1;
    }
  }
  const DeviceSearch search = options.list ? DeviceSearch{1, ""} : find_devices();
  if (search.count == 0) {
    std::printf("skipped: %s\n", search.why_none.c_str());
    return kSkipped;
  }
  return run_all(options);
}

}  // namespace
}  // namespace goodput::gpu::testing

int main(int argc, char** argv) {
  return goodput::gpu::testing::main_of(argc, argv);
}

// What nccl_test and nccl_loopback say of machines without a GPU, or with too few: which the emulator
// pretends.
#include "gpu/nccl/test/check_program.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "gpu/nccl/rank_launcher.h"
#include "gpu/nccl/shared_page.h"
#include "tests/gpu/nccl_ranks.h"
#include "tests/simt/runtime.h"

namespace goodput::gpu::testing {
namespace {

struct ProgramEnd {
  int status = -1;
  std::string printed;
};

// In a process of its own, with what it prints in a file in memory.
ProgramEnd run_program(Sharing sharing, const simt::DriverAnswers& driver, std::vector<std::string> arguments,
                       const char* local_rank = nullptr) {
  const int file = memfd_create("printed", 0);
  SharedPage<int> status;
  const auto ends = run_ranks({}, [&](RankProcess&) {
    simt::set_driver_answers(driver);
    if (local_rank != nullptr) {
      for (const auto& [name, value] :
           {std::pair{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"LOCAL_RANK", local_rank}})
        setenv(name, value, 1);
    }
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    std::string name = "the_program";
    std::vector<char*> argv{name.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    *status = run_check_program("the_program", sharing, static_cast<int>(argv.size()), argv.data());
  });
  CHECK(message_of(ends) == "");
  std::array<char, 4096> text{};
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  close(file);
  return {*status, std::string(text.data(), bytes < 0 ? 0 : static_cast<std::size_t>(bytes))};
}

const simt::DriverAnswers kNoGpu{cudaSuccess, 0, 13000};
const simt::DriverAnswers kTwoGpus{cudaSuccess, 2, 13000};
const std::string kIdFile = "check_program_test.id";  // never written: no rank gets as far

TEST_CASE("check program: without a GPU it is skipped, with the reason") {
  for (const Sharing sharing : {Sharing::kOwnGpu, Sharing::kOneGpu}) {
    const ProgramEnd end = run_program(sharing, kNoGpu, {});
    CHECK(end.status == 77);
    CHECK(end.printed == "skipped: no GPU\n");
  }
}

TEST_CASE("check program: one rank of many without a GPU fails, for the others wait for it") {
  const ProgramEnd rank = run_program(Sharing::kOwnGpu, kNoGpu, {"--id-file", kIdFile}, "0");
  CHECK(rank.status == 1);
  CHECK(rank.printed == "the_program: no GPU\n");
}

TEST_CASE("check program: a driver that is too old is skipped, with both versions") {
  const ProgramEnd end = run_program(Sharing::kOwnGpu, {cudaErrorInsufficientDriver, 1, 12020}, {});
  CHECK(end.status == 77);
  CHECK(has(end.printed, "skipped: the CUDA driver supports CUDA 12.2, but this program needs 13.0: "));
}

TEST_CASE("check program: more ranks than GPUs are refused, with how many there are") {
  const ProgramEnd end = run_program(Sharing::kOwnGpu, kTwoGpus, {"--ranks", "3"});
  CHECK(end.status == 1);
  CHECK(end.printed ==
        "the_program: --ranks is 3, but there are 2 GPUs: each rank needs its own GPU (nccl_loopback lets "
        "ranks share one)\n");
}

TEST_CASE("check program: a process whose GPU its machine does not have is refused") {
  const ProgramEnd end = run_program(Sharing::kOwnGpu, kTwoGpus, {"--id-file", kIdFile}, "2");
  CHECK(end.status == 1);
  CHECK(end.printed ==
        "the_program: this is local process 2 of a machine that has 2 GPUs: start one process per GPU\n");
}

}  // namespace
}  // namespace goodput::gpu::testing

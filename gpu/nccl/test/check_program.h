// What the programs nccl_test and nccl_loopback share: options, the search for GPUs and NCCL, ranks, the last
// line `N passed, N failed`. Exit codes: 0 nothing failed, 1 otherwise, 77 where it could not be tried.
#pragma once

namespace goodput::gpu::testing {

enum class Sharing {
  kOwnGpu,  // nccl_test: every rank has a GPU of its own
  kOneGpu,  // nccl_loopback: all share the first; where NCCL refuses that, it is skipped
};

int run_check_program(const char* name, Sharing sharing, int argc, char** argv);

}  // namespace goodput::gpu::testing

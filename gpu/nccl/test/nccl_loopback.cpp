// nccl_loopback: what nccl_test does, with all ranks on one GPU (gpu/nccl/loopback.h). Nothing of it is a
// time.
#include "gpu/nccl/test/check_program.h"

int main(int argc, char** argv) {
  using namespace goodput::gpu::testing;
  return run_check_program("nccl_loopback", Sharing::kOneGpu, argc, argv);
}

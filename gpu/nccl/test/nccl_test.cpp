// nccl_test: a layer over NCCL against the virtual transport, captured exchanges, migration; a rank a GPU.
#include "gpu/nccl/test/check_program.h"

int main(int argc, char** argv) {
  using namespace goodput::gpu::testing;
  return run_check_program("nccl_test", Sharing::kOwnGpu, argc, argv);
}

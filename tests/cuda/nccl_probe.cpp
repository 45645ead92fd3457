// What find_nccl() finds, and what the functions of <nccl.h> answer before and after: a line each.
#include <nccl.h>

#include <cstdint>
#include <cstdio>

#include "gpu/nccl/nccl_library.h"

namespace {

// Arguments that nothing may look at: nccl_stub.cpp counts them.
template <class Pointer>
Pointer at(std::intptr_t number) {
  return reinterpret_cast<Pointer>(number);
}

template <class Number>
void print(Number number) {
  std::printf(" %d", static_cast<int>(number));
}

void print_answers() {
  ncclUniqueId id{};
  id.internal[127] = 3;
  const auto op = [](int number) { return static_cast<ncclRedOp_t>(number); };
  const auto type = [](int number) { return static_cast<ncclDataType_t>(number); };
  print(ncclGetUniqueId(at<ncclUniqueId*>(1)));
  print(ncclCommInitRankConfig(at<ncclComm_t*>(1), 2, id, 4, at<ncclConfig_t*>(5)));
  print(ncclCommSplit(at<ncclComm_t>(1), 2, 3, at<ncclComm_t*>(4), at<ncclConfig_t*>(5)));
  print(ncclCommCount(at<ncclComm_t>(1), at<int*>(2)));
  print(ncclCommUserRank(at<ncclComm_t>(1), at<int*>(2)));
  print(ncclCommFinalize(at<ncclComm_t>(1)));
  print(ncclCommDestroy(at<ncclComm_t>(1)));
  print(ncclCommAbort(at<ncclComm_t>(1)));
  std::printf(" '%s' '%s'", ncclGetErrorString(static_cast<ncclResult_t>(1)),
              ncclGetLastError(at<ncclComm_t>(1)));
  print(ncclCommGetAsyncError(at<ncclComm_t>(1), at<ncclResult_t*>(2)));
  print(ncclAllReduce(at<void*>(1), at<void*>(2), 3, type(4), op(5), at<ncclComm_t>(6), at<cudaStream_t>(7)));
  print(ncclReduceScatter(at<void*>(1), at<void*>(2), 3, type(4), op(5), at<ncclComm_t>(6),
                          at<cudaStream_t>(7)));
  print(ncclAllGather(at<void*>(1), at<void*>(2), 3, type(4), at<ncclComm_t>(5), at<cudaStream_t>(6)));
  print(ncclSend(at<void*>(1), 2, type(3), 4, at<ncclComm_t>(5), at<cudaStream_t>(6)));
  print(ncclRecv(at<void*>(1), 2, type(3), 4, at<ncclComm_t>(5), at<cudaStream_t>(6)));
  print(ncclGroupStart());
  print(ncclGroupEnd());
  std::printf("\n");
}

}  // namespace

int main(int argc, char** /*argv*/) {
  print_answers();
  const goodput::gpu::NcclSearch search = goodput::gpu::find_nccl();
  std::printf("%d %s\n", search.version, search.why_none.c_str());
  if (argc > 1) print_answers();  // only of a stub: what arguments are is nothing to a real one
}

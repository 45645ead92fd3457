// How communicators end that have work left.
#include <doctest/doctest.h>

#include "tests/simt/kernel_case.h"
#include "tests/simt/nccl_case.h"

namespace simt {
namespace {

TEST_CASE("nccl: a graph of a communicator is neither waited for in vain nor launched when that has ended") {
  const NcclRank r = alone(Blocking::kYes);
  const DeviceBuffer buffer(4);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal);
  CHECK(ncclAllGather(buffer.data(), buffer.data(), 4, ncclInt8, r.comm, r.stream) == ncclSuccess);
  CHECK(cudaStreamEndCapture(r.stream, &graph) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
  cudaGraphDestroy(graph);
  CHECK(ncclCommFinalize(r.comm) == ncclInvalidUsage);
  CHECK(last_error() ==
        "ncclCommFinalize: a graph that captured the communicator is left: destroy it before");
  CHECK(cudaGraphLaunch(exec, r.stream) == cudaSuccess);  // never ends, but for the abort
  CHECK(cudaStreamQuery(r.stream) == cudaErrorNotReady);
  CHECK(ncclCommAbort(r.comm) == ncclSuccess);
  CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
  CHECK(cudaGraphLaunch(exec, r.stream) == cudaSuccess);
  CHECK(error_of([&] { cudaStreamSynchronize(r.stream); }) ==
        "simt: a graph of a communicator that has ended was launched");
  cudaGraphExecDestroy(exec);
  cudaStreamDestroy(r.stream);
}

// Both ranks wait for each other in a message that none sends: rank 0 does `rank_0`, rank 1 misses it.
template <class Rank0>
RankAnswers in_vain(Rank0 rank_0) {
  const ncclUniqueId id = new_id();
  return run_ranks(2, [&](int rank) {
    const NcclRank r(id, rank, 2);
    const DeviceBuffer buffer(2);
    const ncclResult_t queued = ncclRecv(buffer.data(), 2, ncclInt8, 1 - rank, r.comm, r.stream);
    if (rank == 1) return r.failure_of(queued);
    r.queue(queued);
    rank_0(r, buffer);
    require(buffer.content() == std::vector<unsigned char>{0xCB, 0xCB}, "received");
    return std::string();
  });
}

const RankAnswers kMissed = {{"", "6: rank 0 is gone"}};

TEST_CASE("nccl: an abort drops what is queued and what the open group holds, and the stream goes on") {
  CHECK(in_vain([](const NcclRank& r, const DeviceBuffer& buffer) {
          const DeviceBuffer mark(1);
          cudaMemsetAsync(mark.data(), 7, 1, r.stream);
          for (int query = 0; query < 5; ++query)
            require(cudaStreamQuery(r.stream) == cudaErrorNotReady && *mark.data() != 7, "ended too early");
          ncclGroupStart();
          expect(ncclSend(buffer.data(), 1, ncclInt8, 1, r.comm, r.stream), ncclSuccess);
          expect(ncclCommAbort(r.comm), ncclSuccess);
          expect(ncclGroupEnd(), ncclSuccess);
          require(cudaStreamSynchronize(r.stream) == cudaSuccess, "no end");
          require(*mark.data() == 7, "the stream did not go on");
        }) == kMissed);
}

TEST_CASE("nccl: an abort ends a group that no poll has queued, and a joining that nobody joins") {
  const NcclRank r = alone();
  const DeviceBuffer buffer(1);
  CHECK(ncclAllGather(buffer.data(), buffer.data(), 1, ncclInt8, r.comm, r.stream) == ncclInProgress);
  CHECK(ncclCommAbort(r.comm) == ncclSuccess);
  CHECK(cudaStreamSynchronize(r.stream) == cudaSuccess);
  ncclComm_t comm = nullptr;
  CHECK(join(&comm, new_id(), 1, 2, Blocking::kNo) == ncclInProgress);
  CHECK(poll_once(comm) == ncclInProgress);
  CHECK(ncclCommAbort(comm) == ncclSuccess);
  cudaStreamDestroy(r.stream);
}

__global__ void trap_kernel() {
  __trap();
}

TEST_CASE("nccl: a failed kernel drops an operation that had begun, and with it the communicator") {
  CHECK(in_vain([](const NcclRank& r, const DeviceBuffer&) {
          for (int query = 0; query < 5; ++query)
            require(cudaStreamQuery(r.stream) == cudaErrorNotReady, "ended");
          cudaLaunchConfig_t config{};
          config.gridDim = 1;
          config.blockDim = 32;
          cudaLaunchKernelEx(&config, trap_kernel);
          error_of([] { cudaDeviceSynchronize(); });
          expect(settle(r.comm), ncclUnhandledCudaError);
          expect_text("a failed kernel dropped an operation that had begun", r.comm);
          expect(ncclCommAbort(r.comm), ncclSuccess);
        }) == kMissed);
}

}  // namespace
}  // namespace simt

// Calls of NCCL that are wrong in one process, faults on order, and ranks that die.
#include <doctest/doctest.h>

#include <cstdint>

#include "tests/simt/kernel_case.h"
#include "tests/simt/nccl_case.h"

namespace simt {
namespace {

TEST_CASE("nccl: a communicator takes a configuration, a rank and an id that are some") {
  ncclComm_t comm = nullptr;
  ncclConfig_t config{};
  const ncclUniqueId id = new_id();
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommInitRankConfig: config was not initialised with NCCL_CONFIG_INITIALIZER");
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 2;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommInitRankConfig: config.blocking is 2, not 0 or 1");
  config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 0;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommInitRankConfig: config.minCTAs is not positive");
  config.minCTAs = 1;
  config.maxCTAs = 0;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommInitRankConfig: config.maxCTAs is not positive");
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 1, nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommInitRankConfig: rank 1 of 1 ranks");
  CHECK(ncclCommInitRankConfig(&comm, 1, ncclUniqueId{}, 0, nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommInitRankConfig: id is not from ncclGetUniqueId");
  CHECK(ncclCommInitRankConfig(nullptr, 1, id, 0, nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommInitRankConfig: comm is a null pointer");
  CHECK(comm == nullptr);
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, nullptr) == ncclSuccess);  // no configuration: blocking
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("nccl: where an answer should go is no null pointer") {
  const NcclRank r = alone();
  CHECK(ncclGetVersion(nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclGetVersion: version is a null pointer");
  CHECK(ncclGetUniqueId(nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclGetUniqueId: uniqueId is a null pointer");
  CHECK(ncclCommGetAsyncError(r.comm, nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommGetAsyncError: asyncError is a null pointer");
  CHECK(ncclCommCount(r.comm, nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommCount: count is a null pointer");
  CHECK(ncclCommUserRank(r.comm, nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommUserRank: rank is a null pointer");
  r.end();
}

TEST_CASE("nccl: buffers are device memory, and types, peers and streams are some") {
  const NcclRank r = alone();
  const DeviceBuffer buffer(0);  // 16 bytes with its guard
  int host = 0;
  const auto refused = [](ncclResult_t result) {
    return result == ncclInvalidArgument ? last_error() : "taken";
  };
  CHECK(refused(ncclSend(&host, 1, ncclInt32, 0, r.comm, r.stream)) ==
        "ncclSend: sendbuff is not 4 bytes of device memory");
  CHECK(refused(ncclRecv(buffer.data() + 8, 9, ncclInt8, 0, r.comm, r.stream)) ==
        "ncclRecv: recvbuff is not 9 bytes of device memory");
  CHECK(refused(ncclAllGather(nullptr, buffer.data(), 1, ncclFloat64, r.comm, r.stream)) ==
        "ncclAllGather: sendbuff is not 8 bytes of device memory");
  CHECK(refused(ncclAllGather(buffer.data(), &host, 1, ncclFloat16, r.comm, r.stream)) ==
        "ncclAllGather: recvbuff is not 2 bytes of device memory");
  CHECK(refused(ncclSend(buffer.data(), 1, ncclNumTypes, 0, r.comm, r.stream)) ==
        "ncclSend: datatype 12 is none");
  CHECK(refused(ncclSend(buffer.data(), 1, ncclInt8, 1, r.comm, r.stream)) == "ncclSend: peer 1 of 1 ranks");
  CHECK(refused(ncclRecv(buffer.data(), 1, ncclInt8, -1, r.comm, r.stream)) ==
        "ncclRecv: peer -1 of 1 ranks");
  CHECK(refused(ncclSend(buffer.data(), SIZE_MAX / 2, ncclInt64, 0, r.comm, r.stream)) ==
        "ncclSend: count 9223372036854775807 is beyond all device memory");
  int no_stream = 0;
  CHECK(
      refused(ncclSend(buffer.data(), 1, ncclInt8, 0, r.comm, reinterpret_cast<cudaStream_t>(&no_stream))) ==
      "ncclSend: stream is no stream of this device");
  CHECK(poll_once(r.comm) == ncclSuccess);  // none of it was queued, and the communicator is well
  r.end();
}

TEST_CASE("nccl: what a rank sends to itself it receives in the same group") {
  const NcclRank r = alone();
  const DeviceBuffer buffer(8);
  CHECK(ncclSend(buffer.data(), 1, ncclInt8, 0, r.comm, r.stream) == ncclInvalidUsage);
  CHECK(last_error() == "ncclGroupEnd: rank 0 sends 1 messages to itself and receives 0 in the group");
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclSend(buffer.data(), 2, ncclInt8, 0, r.comm, r.stream) == ncclSuccess);
  CHECK(ncclRecv(buffer.data(), 1, ncclInt8, 0, r.comm, r.stream) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(last_error() == "ncclGroupEnd: rank 0 sends 2 bytes to rank 0, which expects 1");
  CHECK(poll_once(r.comm) == ncclSuccess);
  r.end();
}

TEST_CASE("nccl: a communicator whose last call is in progress takes no other") {
  ncclComm_t comm = nullptr;
  const DeviceBuffer buffer(1);
  int count = 0;
  CHECK(join(&comm, new_id(), 0, 1, Blocking::kNo) == ncclInProgress);
  const std::string in_progress =
      ": the communicator's last call is in progress: poll ncclCommGetAsyncError before";
  CHECK(ncclCommCount(comm, &count) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommCount" + in_progress);
  CHECK(ncclCommFinalize(comm) == ncclInvalidArgument);
  CHECK(ncclCommDestroy(comm) == ncclInvalidArgument);
  CHECK(settle(comm) == ncclSuccess);
  CHECK(ncclCommCount(comm, &count) == ncclSuccess);
  CHECK(ncclAllGather(buffer.data(), buffer.data(), 1, ncclInt8, comm, nullptr) == ncclInProgress);
  CHECK(ncclAllGather(buffer.data(), buffer.data(), 1, ncclInt8, comm, nullptr) == ncclInvalidArgument);
  CHECK(last_error() == "ncclAllGather" + in_progress);
  CHECK(settle(comm) == ncclSuccess);
  CHECK(ncclCommFinalize(comm) == ncclInProgress);
  CHECK(ncclCommDestroy(comm) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommDestroy" + in_progress);
  CHECK(settle(comm) == ncclSuccess);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("nccl: handles that are none, and those of what has ended, are told") {
  const NcclRank destroyed = alone(Blocking::kYes);
  const NcclRank aborted = alone();
  int count = 0;
  ncclResult_t state = ncclSuccess;
  CHECK(ncclCommDestroy(destroyed.comm) == ncclSuccess);
  CHECK(ncclCommAbort(aborted.comm) == ncclSuccess);
  CHECK(ncclCommCount(destroyed.comm, &count) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommCount: comm was ended by ncclCommDestroy");
  CHECK(ncclCommGetAsyncError(aborted.comm, &state) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommGetAsyncError: comm was ended by ncclCommAbort");
  CHECK(ncclCommAbort(aborted.comm) == ncclInvalidArgument);
  CHECK(ncclCommDestroy(destroyed.comm) == ncclInvalidArgument);
  CHECK(ncclSend(nullptr, 0, ncclInt8, 0, reinterpret_cast<ncclComm_t>(&count), nullptr) ==
        ncclInvalidArgument);
  CHECK(last_error() == "ncclSend: comm is no communicator");
  CHECK(ncclCommCount(nullptr, &count) == ncclInvalidArgument);
  for (const auto end : {ncclCommFinalize, ncclCommDestroy, ncclCommAbort})
    CHECK(end(nullptr) == ncclSuccess);
  for (const NcclRank& r : {destroyed, aborted}) cudaStreamDestroy(r.stream);
}

TEST_CASE("nccl: a communicator is finalized once, and takes no data afterwards") {
  const NcclRank r = alone();
  CHECK(ncclCommFinalize(r.comm) == ncclInProgress);
  CHECK(settle(r.comm) == ncclSuccess);
  CHECK(ncclCommFinalize(r.comm) == ncclInvalidArgument);
  CHECK(last_error() == "ncclCommFinalize: the communicator was finalized already");
  CHECK(ncclSend(nullptr, 0, ncclInt8, 0, r.comm, r.stream) == ncclInvalidUsage);
  CHECK(last_error() == "ncclSend: the communicator was finalized");
  CHECK(ncclCommDestroy(r.comm) == ncclSuccess);
  cudaStreamDestroy(r.stream);
}

TEST_CASE("nccl: groups that are left open, or never were, are told") {
  const NcclRank r = alone(Blocking::kYes);
  ncclComm_t other = nullptr;
  ncclResult_t state = ncclSuccess;
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(last_error() == "ncclGroupEnd: no group is open: ncclGroupStart is missing");
  const std::string open = ": a group is open: ncclGroupEnd is missing";
  ncclGroupStart();
  CHECK(ncclCommGetAsyncError(r.comm, &state) == ncclInvalidUsage);
  CHECK(last_error() == "ncclCommGetAsyncError" + open);
  CHECK(ncclCommFinalize(r.comm) == ncclInvalidUsage);
  CHECK(last_error() == "ncclCommFinalize" + open);
  CHECK(ncclCommDestroy(r.comm) == ncclInvalidUsage);
  CHECK(last_error() == "ncclCommDestroy" + open);
  CHECK(join(&other, new_id(), 0, 1, Blocking::kYes) == ncclInvalidUsage);
  CHECK(last_error() == "ncclCommInitRankConfig" + open);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);  // of what failed in it
  ncclGroupStart();
  CHECK(ncclGroupEnd() == ncclSuccess);
  r.end();
}

TEST_CASE("nccl: a call that fails takes its group with it, an inner group too") {
  const NcclRank r = alone(Blocking::kYes);
  const DeviceBuffer from(1);
  const DeviceBuffer to(1);
  *from.data() = 1;
  ncclGroupStart();
  ncclGroupStart();
  CHECK(ncclAllGather(from.data(), to.data(), 1, ncclInt8, r.comm, r.stream) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(ncclSend(nullptr, 1, ncclInt8, 0, r.comm, r.stream) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);
  cudaStreamSynchronize(r.stream);
  CHECK(*to.data() == 0xCB);
  CHECK(ncclAllGather(from.data(), to.data(), 1, ncclInt8, r.comm, r.stream) == ncclSuccess);
  cudaStreamSynchronize(r.stream);
  CHECK(*to.data() == 1);
  r.end();
}

TEST_CASE("nccl: the streams of a group are all captured, or none is, and exist when it is queued") {
  const NcclRank r = alone();
  const DeviceBuffer buffer(4);
  cudaStream_t side = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  const auto gather_on_both = [&] {
    ncclGroupStart();
    CHECK(ncclAllGather(buffer.data(), buffer.data(), 1, ncclInt8, r.comm, r.stream) == ncclSuccess);
    CHECK(ncclAllGather(buffer.data(), buffer.data(), 1, ncclInt8, r.comm, side) == ncclSuccess);
    return ncclGroupEnd();
  };
  cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal);
  CHECK(gather_on_both() == ncclInvalidUsage);
  CHECK(last_error() == "ncclGroupEnd: some of the group's streams are captured and others are not");
  cudaStreamEndCapture(side, &graph);
  cudaGraphDestroy(graph);
  CHECK(gather_on_both() == ncclInProgress);
  cudaStreamDestroy(side);
  CHECK(settle(r.comm) == ncclUnhandledCudaError);
  CHECK(std::string(ncclGetLastError(r.comm)) == "a group cannot be queued: invalid resource handle");
  CHECK(ncclAllGather(buffer.data(), buffer.data(), 1, ncclInt8, r.comm, r.stream) == ncclUnhandledCudaError);
  CHECK(last_error() ==
        "ncclAllGather: the communicator has failed: a group cannot be queued: invalid resource handle");
  CHECK(ncclCommDestroy(r.comm) == ncclUnhandledCudaError);
  CHECK(ncclCommAbort(r.comm) == ncclSuccess);
  cudaStreamDestroy(r.stream);
  cudaGetLastError();
}

}  // namespace
}  // namespace simt

// An NCCL that does nothing but say that it was called, to try how one is loaded. Compiled with the version
// that it has, STUB_VERSION, and -DSTUB_WITHOUT_GROUP_END, -DSTUB_WITHOUT_VERSION or -DSTUB_FAILS.
#include <nccl.h>

#include <cstdint>

namespace {

std::intptr_t number(const void* pointer) {
  return reinterpret_cast<std::intptr_t>(pointer);
}

// A result that only this function gives, where its arguments are 1, 2, 3, ...
template <class... Arguments>
ncclResult_t answer(int result, Arguments... arguments) {
  std::intptr_t expected = 0;
  const bool right = ((static_cast<std::intptr_t>(arguments) == ++expected) && ...);
  return static_cast<ncclResult_t>(right ? result : 99);
}

}  // namespace

#ifndef STUB_WITHOUT_VERSION
ncclResult_t ncclGetVersion(int* version) {
  *version = STUB_VERSION;
#ifdef STUB_FAILS
  return ncclInternalError;
#else
  return ncclSuccess;
#endif
}
#endif

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return answer(11, number(id));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return answer(12, number(comm), ranks, id.internal[127], rank, number(config));
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child, ncclConfig_t* config) {
  return answer(31, number(comm), color, key, number(child), number(config));
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return answer(32, number(comm), number(count));
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answer(33, number(comm), number(rank));
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return answer(13, number(comm));
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return answer(14, number(comm));
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return answer(15, number(comm));
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == 1 ? "16" : "99";
}

const char* ncclGetLastError(ncclComm_t comm) {
  return number(comm) == 1 ? "17" : "99";
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return answer(18, number(comm), number(error));
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return answer(34, number(send), number(receive), count, type, op, number(comm), number(stream));
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return answer(35, number(send), number(receive), count, type, op, number(comm), number(stream));
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return answer(21, number(send), number(receive), count, type, number(comm), number(stream));
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return answer(22, number(send), count, type, peer, number(comm), number(stream));
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return answer(23, number(receive), count, type, peer, number(comm), number(stream));
}

ncclResult_t ncclGroupStart() {
  return answer(24);
}

#ifndef STUB_WITHOUT_GROUP_END
ncclResult_t ncclGroupEnd() {
  return answer(25);
}
#endif

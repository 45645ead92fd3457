// The functions of nccl.h: each counts for the faults on order, then asks the library.
#include <array>

#include "tests/simt/nccl_faults.h"
#include "tests/simt/nccl_library.h"

namespace {

constexpr std::array<const char*, ncclNumResults> kResultTexts = {
    "no error",         "unhandled CUDA error", "unhandled system error",   "internal error",
    "invalid argument", "invalid usage",        "a remote process is gone", "operation in progress",
};

simt::NcclLibrary& library() {
  return simt::nccl_library();
}

ncclResult_t count_call(const char* call) {
  const ncclResult_t ordered = simt::count_nccl_call();
  return ordered == ncclSuccess ? ordered : library().fail(call, ordered, "fails as ordered");
}

ncclResult_t move_data(simt::DataCall call) {
  const ncclResult_t ordered = count_call(simt::name_of(call.op));
  call.corrupted = simt::is_to_corrupt();
  return ordered == ncclSuccess ? library().move_data(call) : ordered;
}

ncclResult_t null_pointer(const char* call, const char* argument) {
  return library().fail(call, ncclInvalidArgument, std::string(argument) + " is a null pointer");
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return null_pointer("ncclGetVersion", "version");
  const int ordered = simt::faulty_nccl_version();
  *version = ordered == 0 ? NCCL_VERSION_CODE : ordered;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return null_pointer("ncclGetUniqueId", "uniqueId");
  *id = simt::make_nccl_id();
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  constexpr const char* kCall = "ncclCommInitRankConfig";
  const std::string wrong = simt::note_nccl_rank(rank);
  if (!wrong.empty()) return library().fail(kCall, ncclInvalidArgument, wrong);
  if (const ncclResult_t ordered = count_call(kCall); ordered != ncclSuccess) return ordered;
  return library().init(comm, {id, rank, ranks}, config);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  const ncclResult_t ordered = count_call("ncclCommSplit");
  return ordered == ncclSuccess ? library().split(comm, color, key, newcomm, config) : ordered;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const ncclResult_t ordered = count_call("ncclCommFinalize");
  return ordered == ncclSuccess ? library().finalize(comm) : ordered;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return library().destroy(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return library().abort(comm);
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result < 0 || result >= ncclNumResults ? "unknown result code"
                                                : kResultTexts[static_cast<std::size_t>(result)];
}

const char* ncclGetLastError(ncclComm_t) {  // of whichever it was, as NCCL's
  return library().last_error();
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return library().get_state(comm, error);
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  ncclResult_t result = ncclSuccess;
  const simt::NcclCommunicator* const communicator = library().usable("ncclCommCount", comm, result);
  if (communicator == nullptr) return result;
  if (count == nullptr) return null_pointer("ncclCommCount", "count");
  *count = communicator->ranks();
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  ncclResult_t result = ncclSuccess;
  const simt::NcclCommunicator* const communicator = library().usable("ncclCommUserRank", comm, result);
  if (communicator == nullptr) return result;
  if (rank == nullptr) return null_pointer("ncclCommUserRank", "rank");
  *rank = communicator->rank();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return move_data({simt::DataOp::kAllReduce, from, to, count, type, 0, comm, stream, false, op});
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return move_data({simt::DataOp::kReduceScatter, from, to, count, type, 0, comm, stream, false, op});
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return move_data({simt::DataOp::kAllGather, from, to, count, type, 0, comm, stream, false});
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return move_data({simt::DataOp::kSend, from, nullptr, count, type, peer, comm, stream, false});
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return move_data({simt::DataOp::kReceive, nullptr, to, count, type, peer, comm, stream, false});
}

ncclResult_t ncclGroupStart() {
  library().start_group();
  return ncclSuccess;
}

// The failure on order is the group's, which ends all the same.
ncclResult_t ncclGroupEnd() {
  const ncclResult_t ordered = count_call("ncclGroupEnd");
  const ncclResult_t result = library().end_group();
  return ordered == ncclSuccess ? result : ordered;
}

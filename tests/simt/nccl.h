// Stands in for NCCL's header of this name: the part of NCCL 2.28.9 that gpu/ uses, with its names, values
// and signatures, on the emulated devices of this folder.
//
// A rank is a process. Every two ranks share a Unix stream socket; the unique id is the random name under
// which they find each other, so any process may make it, and nothing stays in the file system. A rank
// connects to the lower ones and accepts the higher ones; both sides compare id, rank and number of ranks.
//
// Operations are as lazy as the streams they are queued on (runtime.h), can be captured and replayed. All
// of a group is one operation of its first stream, before and behind which the group's other streams wait,
// and the operations of a communicator run one after another in the order of their calls, those of a graph
// in the graph's. Sends and receives of a group progress together. Device memory is read from the
// operation's first step on and written as data comes in.
//
// A non-blocking communicator returns ncclInProgress from ncclCommInitRankConfig, ncclGroupEnd (or a call
// outside of a group), ncclCommSplit and ncclCommFinalize, and goes on in ncclCommGetAsyncError alone: a
// caller that does not poll has queued nothing. A group is queued by the first poll. While the state is
// ncclInProgress other calls return ncclInvalidArgument.
//
// Sums over ranks are taken in the order of ranks, so all ranks get the same bits: of ncclInt32, ncclFloat32
// and ncclBfloat16, ncclSum alone.
//
// Every message says what call, how many bytes and of which type it is, and the receiver compares. What NCCL
// leaves undefined is told: calls or sizes that do not match, a rank that is in another call or finalizes,
// handles that are none, groups that are left open, a stale graph (std::runtime_error when it runs). What
// is found while operations run is the communicator's async error: ncclInvalidUsage, or ncclRemoteError if
// a peer ended that owed something; ncclGetLastError says in a line what. The operation then never ends,
// as a kernel that spins, until ncclCommAbort drops what the communicator had queued.
//
// ncclCommSplit: the new communicator is there when the one that is split is no longer in progress; where its
// handle goes must stay until then, or until that one has ended.
//
// ncclCommFinalize runs what the communicator has queued, waits for graphs that captured it to be
// destroyed, and meets all ranks. ncclCommDestroy of what is not finalized does that first, and waits.
//
// Every rank has a GPU of its own, unless the environment has SIMT_NCCL_ONE_GPU: then they share one, and
// those with the same NCCL_HOSTID are refused.
//
// Not modelled: threads, several ranks in a process, ncclCommInitRankConfig and ncclCommSplit in a group,
// progress while nobody waits (a rank that waits for another by other means than a stream hangs where a GPU
// would have gone on), the order between a graph and what is queued on another stream, circles of ranks that
// wait for each other (they wait for ever, as on GPUs), that ncclCommAbort waits for graphs that captured the
// communicator (here it returns at once), the configuration but for `blocking`, and timing.
#pragma once

#include <climits>
#include <cstddef>

#include "tests/simt/cuda_runtime.h"

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_VERSION_CODE 22809
// Minor versions had one digit up to 2.8.
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_COMM_NULL NULL
#define NCCL_SPLIT_NOCOLOR -1

extern "C" {

typedef struct ncclComm* ncclComm_t;

struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8,
};

enum ncclDataType_t {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12,
};

enum ncclRedOp_t {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
};

struct ncclConfig_t {
  std::size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
};

#define NCCL_CONFIG_INITIALIZER                                                                     \
  {                                                                                                 \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH),             \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT                                                \
  }

ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);

const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);

ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();

}  // extern "C"

// The functions of <nccl.h> that we use, as an import library defines them: each calls what was loaded. They
// are compiled to be hidden (CMakeLists.txt), or NCCL's own calls of them could end here.
#include "gpu/nccl/nccl_library.h"

#include <dlfcn.h>
#include <nccl.h>

#if NCCL_VERSION_CODE < 21900
#error "nccl.h is older than NCCL 2.19; set -DNCCL_ROOT=/path to use a newer one"
#endif

namespace goodput::gpu {
namespace {

struct NcclFunctions {
  decltype(ncclGetVersion)* get_version = nullptr;
  decltype(ncclGetUniqueId)* get_unique_id = nullptr;
  decltype(ncclCommInitRankConfig)* comm_init_rank_config = nullptr;
  decltype(ncclCommSplit)* comm_split = nullptr;
  decltype(ncclCommCount)* comm_count = nullptr;
  decltype(ncclCommUserRank)* comm_user_rank = nullptr;
  decltype(ncclCommFinalize)* comm_finalize = nullptr;
  decltype(ncclCommDestroy)* comm_destroy = nullptr;
  decltype(ncclCommAbort)* comm_abort = nullptr;
  decltype(ncclGetErrorString)* get_error_string = nullptr;
  decltype(ncclGetLastError)* get_last_error = nullptr;
  decltype(ncclCommGetAsyncError)* comm_get_async_error = nullptr;
  decltype(ncclAllReduce)* all_reduce = nullptr;
  decltype(ncclReduceScatter)* reduce_scatter = nullptr;
  decltype(ncclAllGather)* all_gather = nullptr;
  decltype(ncclSend)* send = nullptr;
  decltype(ncclRecv)* recv = nullptr;
  decltype(ncclGroupStart)* group_start = nullptr;
  decltype(ncclGroupEnd)* group_end = nullptr;
};

// Finds functions in a library, until one is not there.
class SymbolSearch {
 public:
  explicit SymbolSearch(void* library) : library_(library) {}

  template <class Function>
  SymbolSearch& find(const char* name, Function*& function) {
    if (!problem_.empty()) return *this;
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) problem_ = dlerror();
    return *this;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void* library_;
  std::string problem_;
};

// Of the library that was loaded; it stays loaded, and so do they.
NcclFunctions& loaded_functions() {
  static NcclFunctions functions;
  return functions;
}

std::string find_functions(void* library, NcclFunctions& found) {
  return SymbolSearch(library)
      .find("ncclGetUniqueId", found.get_unique_id)
      .find("ncclCommInitRankConfig", found.comm_init_rank_config)
      .find("ncclCommSplit", found.comm_split)
      .find("ncclCommCount", found.comm_count)
      .find("ncclCommUserRank", found.comm_user_rank)
      .find("ncclCommFinalize", found.comm_finalize)
      .find("ncclCommDestroy", found.comm_destroy)
      .find("ncclCommAbort", found.comm_abort)
      .find("ncclGetErrorString", found.get_error_string)
      .find("ncclGetLastError", found.get_last_error)
      .find("ncclCommGetAsyncError", found.comm_get_async_error)
      .find("ncclAllReduce", found.all_reduce)
      .find("ncclReduceScatter", found.reduce_scatter)
      .find("ncclAllGather", found.all_gather)
      .find("ncclSend", found.send)
      .find("ncclRecv", found.recv)
      .find("ncclGroupStart", found.group_start)
      .find("ncclGroupEnd", found.group_end)
      .problem();
}

template <class... Parameters>
ncclResult_t forward(ncclResult_t (*NcclFunctions::*function)(Parameters...), Parameters... arguments) {
  const auto loaded = loaded_functions().*function;
  return loaded == nullptr ? ncclSystemError : loaded(arguments...);
}

}  // namespace

// The version comes first: an old library lacks functions, and its age is why.
NcclSearch load_nccl() {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {0, dlerror()};
  NcclFunctions found;
  const std::string no_version = SymbolSearch(library).find("ncclGetVersion", found.get_version).problem();
  if (!no_version.empty()) return {0, no_version};
  int version = 0;
  if (found.get_version(&version) != ncclSuccess) return {0, "libnccl.so.2 does not report its version"};
  NcclSearch search{version, find_functions(library, found)};
  if (usable_nccl(search).why_none.empty()) loaded_functions() = found;
  return search;
}

}  // namespace goodput::gpu

using goodput::gpu::forward;
using goodput::gpu::loaded_functions;
using goodput::gpu::NcclFunctions;

ncclResult_t ncclGetVersion(int* version) {
  return forward(&NcclFunctions::get_version, version);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return forward(&NcclFunctions::get_unique_id, id);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return forward(&NcclFunctions::comm_init_rank_config, comm, ranks, id, rank, config);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child, ncclConfig_t* config) {
  return forward(&NcclFunctions::comm_split, comm, color, key, child, config);
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  return forward(&NcclFunctions::comm_count, comm, count);
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return forward(&NcclFunctions::comm_user_rank, comm, rank);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return forward(&NcclFunctions::comm_finalize, comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return forward(&NcclFunctions::comm_destroy, comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return forward(&NcclFunctions::comm_abort, comm);
}

const char* ncclGetErrorString(ncclResult_t result) {
  auto* const loaded = loaded_functions().get_error_string;
  return loaded == nullptr ? "NCCL was not loaded" : loaded(result);
}

const char* ncclGetLastError(ncclComm_t comm) {
  auto* const loaded = loaded_functions().get_last_error;
  return loaded == nullptr ? "" : loaded(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return forward(&NcclFunctions::comm_get_async_error, comm, error);
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return forward(&NcclFunctions::all_reduce, send, receive, count, type, op, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return forward(&NcclFunctions::reduce_scatter, send, receive, count, type, op, comm, stream);
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return forward(&NcclFunctions::all_gather, send, receive, count, type, comm, stream);
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return forward(&NcclFunctions::send, send, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return forward(&NcclFunctions::recv, receive, count, type, peer, comm, stream);
}

ncclResult_t ncclGroupStart() {
  return forward(&NcclFunctions::group_start);
}

ncclResult_t ncclGroupEnd() {
  return forward(&NcclFunctions::group_end);
}

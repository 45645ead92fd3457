// What the functions of nccl.h work on: the communicators of this process, the group that is open, and the
// text of the last error.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simt/nccl_communicator.h"
#include "tests/simt/nccl_transfers.h"

// A handle: never freed, so that one that is used too late is told from all others.
struct ncclComm {
  std::shared_ptr<simt::NcclCommunicator> communicator;  // nullptr: it has ended
  const char* ended_by = nullptr;
  ncclComm** split_to = nullptr;  // where the handle of a split goes
};

namespace simt {

class NcclLibrary {
 public:
  NcclLibrary();
  ~NcclLibrary();
  NcclLibrary(const NcclLibrary&) = delete;
  NcclLibrary& operator=(const NcclLibrary&) = delete;

  // Notes the text for ncclGetLastError. The result is a call's: within a group it is the group's too.
  ncclResult_t fail(const char* call, ncclResult_t result, const std::string& what);
  // Of the last call that failed, or that found a communicator failed.
  const char* last_error() const { return last_error_.c_str(); }

  ncclResult_t init(ncclComm_t* handle, const NcclHello& own, const ncclConfig_t* config);
  ncclResult_t split(ncclComm_t handle, int color, int key, ncclComm_t* child, const ncclConfig_t* config);
  ncclResult_t get_state(ncclComm_t handle, ncclResult_t* state);
  ncclResult_t finalize(ncclComm_t handle);
  ncclResult_t destroy(ncclComm_t handle);
  ncclResult_t abort(ncclComm_t handle);

  // nullptr, with the reason noted and in `result`: it is none, or not ready for another call.
  NcclCommunicator* usable(const char* call, ncclComm_t handle, ncclResult_t& result);

  // nccl_group.cpp.
  ncclResult_t move_data(const DataCall& call);
  void start_group() { ++group_depth_; }
  ncclResult_t end_group();

 private:
  NcclCommunicator* find(const char* call, ncclComm_t handle, ncclResult_t& result);
  ncclComm_t handle_of(std::shared_ptr<NcclCommunicator> communicator);
  void deliver_split(ncclComm& handle);
  ncclResult_t check_no_group(const char* call);
  ncclResult_t check(const DataCall& call, const NcclCommunicator& communicator);
  ncclResult_t check_buffers(const DataCall& call, int ranks);
  ncclResult_t submit_all();
  ncclResult_t check(const GroupWork& work, const NcclCommunicator& communicator);
  GroupWork& work_of(NcclCommunicator& communicator);
  void end(ncclComm_t handle, const char* by);

  std::vector<std::unique_ptr<ncclComm>> handles_;
  int group_depth_ = 0;
  ncclResult_t group_error_ = ncclSuccess;
  std::vector<std::pair<NcclCommunicator*, GroupWork>> group_;  // in the order of their first calls
  std::string last_error_;
};

// The one library, as NCCL's functions have no parameter for it.
NcclLibrary& nccl_library();

}  // namespace simt

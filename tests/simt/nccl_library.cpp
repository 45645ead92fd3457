#include "tests/simt/nccl_library.h"

#include <algorithm>
#include <utility>

#include "tests/simt/runtime.h"

namespace simt {

namespace {

constexpr unsigned kConfigMagic = 0xcafebeef;

// What is wrong with a configuration, or "".
std::string config_error(const ncclConfig_t& config) {
  const auto is_set = [](int value) { return value != NCCL_CONFIG_UNDEF_INT; };
  if (config.size != sizeof config || config.magic != kConfigMagic)
    return "config was not initialised with NCCL_CONFIG_INITIALIZER";
  if (is_set(config.blocking) && config.blocking != 0 && config.blocking != 1)
    return "config.blocking is " + std::to_string(config.blocking) + ", not 0 or 1";
  if (is_set(config.minCTAs) && config.minCTAs <= 0) return "config.minCTAs is not positive";
  if (is_set(config.maxCTAs) && config.maxCTAs <= 0) return "config.maxCTAs is not positive";
  return "";
}

}  // namespace

NcclLibrary& nccl_library() {
  static NcclLibrary the_library;
  return the_library;
}

// The runtime must outlive what is closed at the end of the process.
NcclLibrary::NcclLibrary() {
  runtime();
}

NcclLibrary::~NcclLibrary() {
  for (const auto& handle : handles_)
    if (handle->communicator != nullptr) handle->communicator->close();
}

ncclResult_t NcclLibrary::fail(const char* call, ncclResult_t result, const std::string& what) {
  last_error_ = std::string(call) + ": " + what;
  if (group_depth_ > 0 && group_error_ == ncclSuccess) group_error_ = result;
  return result;
}

NcclCommunicator* NcclLibrary::find(const char* call, ncclComm_t handle, ncclResult_t& result) {
  const auto found = std::find_if(handles_.begin(), handles_.end(),
                                  [&](const auto& known) { return known.get() == handle; });
  if (found != handles_.end() && (*found)->communicator != nullptr) {
    result = ncclSuccess;
    return (*found)->communicator.get();
  }
  const std::string what = found == handles_.end() ? "comm is no communicator"
                                                   : std::string("comm was ended by ") + (*found)->ended_by;
  result = fail(call, ncclInvalidArgument, what);
  return nullptr;
}

NcclCommunicator* NcclLibrary::usable(const char* call, ncclComm_t handle, ncclResult_t& result) {
  NcclCommunicator* const found = find(call, handle, result);
  if (found == nullptr) return nullptr;
  if (found->failed()) {
    result = fail(call, found->state(), "the communicator has failed: " + found->failure_text());
  } else if (found->state() == ncclInProgress) {
    result = fail(call, ncclInvalidArgument,
                  "the communicator's last call is in progress: poll ncclCommGetAsyncError before");
  }
  return result == ncclSuccess ? found : nullptr;
}

ncclResult_t NcclLibrary::check_no_group(const char* call) {
  if (group_depth_ == 0) return ncclSuccess;
  return fail(call, ncclInvalidUsage, "a group is open: ncclGroupEnd is missing");
}

ncclResult_t NcclLibrary::init(ncclComm_t* handle, const NcclHello& own, const ncclConfig_t* config) {
  constexpr const char* kCall = "ncclCommInitRankConfig";
  if (handle == nullptr) return fail(kCall, ncclInvalidArgument, "comm is a null pointer");
  *handle = nullptr;
  if (const ncclResult_t error = check_no_group(kCall); error != ncclSuccess) return error;
  if (config != nullptr && !config_error(*config).empty())
    return fail(kCall, ncclInvalidArgument, config_error(*config));
  if (own.ranks < 1 || own.rank < 0 || own.rank >= own.ranks)
    return fail(kCall, ncclInvalidArgument,
                "rank " + std::to_string(own.rank) + " of " + std::to_string(own.ranks) + " ranks");
  if (!is_nccl_id(own.id)) return fail(kCall, ncclInvalidArgument, "id is not from ncclGetUniqueId");
  auto communicator = std::make_shared<NcclCommunicator>(own, config == nullptr || config->blocking != 0);
  const ncclResult_t result = communicator->settle();
  if (communicator->failed()) return fail(kCall, result, communicator->failure_text());
  *handle = handle_of(std::move(communicator));
  return result;
}

ncclComm_t NcclLibrary::handle_of(std::shared_ptr<NcclCommunicator> communicator) {
  handles_.push_back(std::make_unique<ncclComm>());
  handles_.back()->communicator = std::move(communicator);
  return handles_.back().get();
}

ncclResult_t NcclLibrary::split(ncclComm_t handle, int color, int key, ncclComm_t* child,
                                const ncclConfig_t* config) {
  constexpr const char* kCall = "ncclCommSplit";
  if (child == nullptr) return fail(kCall, ncclInvalidArgument, "newcomm is a null pointer");
  *child = nullptr;
  ncclResult_t result = ncclSuccess;
  NcclCommunicator* const communicator = usable(kCall, handle, result);
  if (communicator == nullptr) return result;
  result = check_no_group(kCall);
  if (result != ncclSuccess) return result;
  if (communicator->finalized()) return fail(kCall, ncclInvalidUsage, "the communicator was finalized");
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
    return fail(kCall, ncclInvalidArgument, "color " + std::to_string(color) + " is negative");
  if (config != nullptr && !config_error(*config).empty())
    return fail(kCall, ncclInvalidArgument, config_error(*config));
  if (communicator->is_busy())
    return fail(kCall, ncclInvalidUsage,
                "operations of the communicator have not ended: wait for them before");
  handle->split_to = child;
  const bool blocking = config == nullptr ? communicator->blocking() : config->blocking != 0;
  result = communicator->split(color, key, blocking);
  if (communicator->failed()) return fail(kCall, result, communicator->failure_text());
  deliver_split(*handle);
  return result;
}

void NcclLibrary::deliver_split(ncclComm& handle) {
  std::shared_ptr<NcclCommunicator> child = handle.communicator->take_child();
  if (child != nullptr) *handle.split_to = handle_of(std::move(child));
}

ncclResult_t NcclLibrary::get_state(ncclComm_t handle, ncclResult_t* state) {
  constexpr const char* kCall = "ncclCommGetAsyncError";
  ncclResult_t result = ncclSuccess;
  NcclCommunicator* const communicator = find(kCall, handle, result);
  if (communicator == nullptr) return result;
  if (state == nullptr) return fail(kCall, ncclInvalidArgument, "asyncError is a null pointer");
  result = check_no_group(kCall);
  if (result != ncclSuccess) return result;
  communicator->poll();
  *state = communicator->state();
  deliver_split(*handle);
  if (communicator->failed()) last_error_ = communicator->failure_text();
  return ncclSuccess;
}

ncclResult_t NcclLibrary::finalize(ncclComm_t handle) {
  constexpr const char* kCall = "ncclCommFinalize";
  if (handle == nullptr) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  NcclCommunicator* const communicator = usable(kCall, handle, result);
  if (communicator == nullptr) return result;
  result = check_no_group(kCall);
  if (result != ncclSuccess) return result;
  if (communicator->finalized())
    return fail(kCall, ncclInvalidArgument, "the communicator was finalized already");
  result = communicator->finalize();
  return communicator->failed() ? fail(kCall, result, communicator->failure_text()) : result;
}

ncclResult_t NcclLibrary::destroy(ncclComm_t handle) {
  constexpr const char* kCall = "ncclCommDestroy";
  if (handle == nullptr) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  NcclCommunicator* const communicator = usable(kCall, handle, result);
  if (communicator == nullptr) return result;
  result = check_no_group(kCall);
  if (result != ncclSuccess) return result;
  communicator->become_blocking();
  if (!communicator->finalized()) result = communicator->finalize();
  if (communicator->failed()) return fail(kCall, result, communicator->failure_text());
  end(handle, kCall);
  return ncclSuccess;
}

ncclResult_t NcclLibrary::abort(ncclComm_t handle) {
  constexpr const char* kCall = "ncclCommAbort";
  if (handle == nullptr) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  const NcclCommunicator* const communicator = find(kCall, handle, result);
  if (communicator == nullptr) return result;
  group_.erase(std::remove_if(group_.begin(), group_.end(),
                              [&](const auto& entry) { return entry.first == communicator; }),
               group_.end());
  end(handle, kCall);
  return ncclSuccess;
}

void NcclLibrary::end(ncclComm_t handle, const char* by) {
  handle->communicator->close();
  handle->communicator = nullptr;
  handle->ended_by = by;
}

}  // namespace simt

// The calls that move data, and the groups they are in.
#include <algorithm>
#include <utility>

#include "tests/simt/nccl_library.h"
#include "tests/simt/runtime.h"

namespace simt {

ncclResult_t NcclLibrary::move_data(const DataCall& call) {
  ncclResult_t result = ncclSuccess;
  NcclCommunicator* const communicator = usable(name_of(call.op), call.comm, result);
  if (communicator == nullptr) return result;
  result = check(call, *communicator);
  if (result != ncclSuccess) return result;
  GroupWork& work = work_of(*communicator);
  add_transfers(work, call, communicator->rank(), communicator->ranks());
  if (std::find(work.streams.begin(), work.streams.end(), call.stream) == work.streams.end())
    work.streams.push_back(call.stream);
  return group_depth_ == 0 ? submit_all() : ncclSuccess;
}

GroupWork& NcclLibrary::work_of(NcclCommunicator& communicator) {
  for (auto& [of, work] : group_)
    if (of == &communicator) return work;
  group_.emplace_back(&communicator, GroupWork{});
  return group_.back().second;
}

ncclResult_t NcclLibrary::check(const DataCall& call, const NcclCommunicator& communicator) {
  const char* const name = name_of(call.op);
  if (communicator.finalized()) return fail(name, ncclInvalidUsage, "the communicator was finalized");
  if (bytes_of(call.type) == 0)
    return fail(name, ncclInvalidArgument, "datatype " + std::to_string(call.type) + " is none");
  if (call.peer < 0 || call.peer >= communicator.ranks())
    return fail(
        name, ncclInvalidArgument,
        "peer " + std::to_string(call.peer) + " of " + std::to_string(communicator.ranks()) + " ranks");
  if (const std::string error = sum_error(call); !error.empty())
    return fail(name, ncclInvalidArgument, error);
  if (runtime().stream(call.stream) == nullptr)
    return fail(name, ncclInvalidArgument, "stream is no stream of this device");
  return check_buffers(call, communicator.ranks());
}

ncclResult_t NcclLibrary::check_buffers(const DataCall& call, int ranks) {
  const char* const name = name_of(call.op);
  if (call.count > kDeviceBytes)
    return fail(name, ncclInvalidArgument,
                "count " + std::to_string(call.count) + " is beyond all device memory");
  const BufferBlocks blocks = blocks_of(call.op, ranks);
  const auto error_of = [&](const char* buffer, const void* first, int times) -> std::string {
    const std::size_t bytes = call.count * bytes_of(call.type) * static_cast<std::size_t>(times);
    if (bytes == 0 || runtime().memory().holds(first, bytes)) return "";
    return std::string(buffer) + " is not " + std::to_string(bytes) + " bytes of device memory";
  };
  std::string error = error_of("sendbuff", call.from, blocks.from);
  if (error.empty()) error = error_of("recvbuff", call.to, blocks.to);
  return error.empty() ? ncclSuccess : fail(name, ncclInvalidArgument, error);
}

// An inner end reports what has failed so far and queues nothing.
ncclResult_t NcclLibrary::end_group() {
  constexpr const char* kCall = "ncclGroupEnd";
  if (group_depth_ == 0) return fail(kCall, ncclInvalidUsage, "no group is open: ncclGroupStart is missing");
  if (--group_depth_ > 0) return group_error_;
  return submit_all();
}

// Of a group in which a call failed nothing is queued.
ncclResult_t NcclLibrary::submit_all() {
  auto group = std::exchange(group_, {});
  ncclResult_t result = std::exchange(group_error_, ncclSuccess);
  for (const auto& [communicator, work] : group)
    if (result == ncclSuccess) result = check(work, *communicator);
  if (result != ncclSuccess) return result;
  for (auto& [communicator, work] : group) {
    const ncclResult_t submitted = communicator->submit(std::move(work));
    if (communicator->failed()) return fail("ncclGroupEnd", submitted, communicator->failure_text());
    if (submitted != ncclSuccess) result = submitted;
  }
  return result;
}

ncclResult_t NcclLibrary::check(const GroupWork& work, const NcclCommunicator& communicator) {
  const std::string wrong = mismatch_with_itself(work, communicator.rank());
  if (!wrong.empty()) return fail("ncclGroupEnd", ncclInvalidUsage, wrong);
  const auto capture_of = [](cudaStream_t handle) {
    const CUstream_st* const stream = runtime().stream(handle);
    return stream == nullptr ? nullptr : stream->capture;
  };
  for (const cudaStream_t stream : work.streams)
    if (capture_of(stream) != capture_of(work.streams.front()))
      return fail("ncclGroupEnd", ncclInvalidUsage,
                  "some of the group's streams are captured and others are not");
  return ncclSuccess;
}

}  // namespace simt

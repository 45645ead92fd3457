#include "gpu/nccl/communicator.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "gpu/cuda_call.h"
#include "gpu/nccl/call_apart.h"
#include "gpu/nccl/nccl_call.h"

namespace goodput::gpu {
namespace {

using std::chrono::microseconds;

// A wait that is short is polled, a longer one sleeps between two looks.
constexpr microseconds kPolled{200};
constexpr microseconds kSlept{100};
// How long the end of a communicator is waited for that was aborted.
constexpr std::chrono::milliseconds kAbort{2000};

UniqueId make_id() {
  ncclUniqueId id;
  GOODPUT_NCCL_CALL(ncclGetUniqueId(&id));
  UniqueId bytes;
  static_assert(sizeof id == std::tuple_size_v<UniqueId>, "a UniqueId must be as large as the id of NCCL");
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes;
}

bool is_done(cudaError_t answer, const char* query) {
  if (answer == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());  // an answer, which CUDA keeps as an error
    return false;
  }
  check_cuda(answer, query, __FILE__, __LINE__);
  return true;
}

// How long after an error the launcher is given to say that another rank is gone, which may be the cause. Who
// only saw it end waits longer than who may have been the first to fail.
std::chrono::milliseconds obituary_patience(ncclResult_t code) {
  if (code == ncclInvalidArgument || code == ncclInvalidUsage) return std::chrono::milliseconds(0);
  return std::chrono::milliseconds(code == ncclRemoteError ? 1000 : 100);
}

}  // namespace

Communicator::Communicator(RankProcess& process, std::chrono::milliseconds deadline)
    : process_(process),
      rank_(process.rank()),
      ranks_(process.ranks()),
      deadline_(deadline),
      exceptions_(std::uncaught_exceptions()) {
  const UniqueId id = process.share(make_id);
  or_abort([&] { join(id); });
  process.joined();
}

Communicator::Communicator(const Communicator& parent, ncclComm_t comm)
    : process_(parent.process_),
      rank_(parent.rank_),
      ranks_(parent.ranks_),
      deadline_(parent.deadline_),
      exceptions_(std::uncaught_exceptions()),
      comm_(comm) {}

Communicator::~Communicator() {
  if (comm_ != nullptr && std::uncaught_exceptions() > exceptions_) abort();
  if (comm_ != nullptr) {
    try {
      close();
    } catch (const std::exception&) {  // it is aborted
    }
  }
  if (ended_.valid()) ended_.wait_for(kAbort);
}

void Communicator::join(const UniqueId& id) {
  ncclUniqueId nccl_id;
  std::memcpy(&nccl_id, id.data(), sizeof nccl_id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  GOODPUT_NCCL_CALL(ncclCommInitRankConfig(&comm_, ranks_, nccl_id, rank_, &config));
  settle();
}

// The one that is split is in progress until the other is there.
std::unique_ptr<Communicator> Communicator::split(std::int32_t color) {
  check_open();
  what_ = "splitting";
  made_ = std::make_shared<ncclComm_t>(nullptr);
  or_abort([&] {
    GOODPUT_NCCL_CALL(ncclCommSplit(comm_, color, rank_, made_.get(), nullptr));
    settle();
  });
  std::unique_ptr<Communicator> child(new Communicator(*this, *made_));
  child->or_abort([&] {
    child->settle();
    GOODPUT_NCCL_CALL(ncclCommUserRank(child->comm_, &child->rank_));
    GOODPUT_NCCL_CALL(ncclCommCount(child->comm_, &child->ranks_));
  });
  return child;
}

void Communicator::group(const char* what, const std::function<void(ncclComm_t)>& queue) {
  check_open();
  what_ = what;
  or_abort([&] {
    GOODPUT_NCCL_CALL(ncclGroupStart());
    try {
      queue(comm_);
    } catch (...) {
      static_cast<void>(ncclGroupEnd());  // may begin what is there already, which the abort ends
      throw;
    }
    GOODPUT_NCCL_CALL(ncclGroupEnd());
    settle();
  });
}

void Communicator::synchronize(cudaStream_t stream) {
  check_open();
  or_abort([&] { wait_until([&] { return is_done(cudaStreamQuery(stream), "cudaStreamQuery"); }); });
}

void Communicator::synchronize(cudaEvent_t event) {
  check_open();
  or_abort([&] { wait_until([&] { return is_done(cudaEventQuery(event), "cudaEventQuery"); }); });
}

// What NCCL destroys it does not return to be aborted.
void Communicator::close() {
  check_open();
  what_ = "closing";
  or_abort([&] {
    GOODPUT_NCCL_CALL(ncclCommFinalize(comm_));
    settle();
  });
  why_ended_ = "it was closed";
  const auto destroyed = std::make_shared<ncclResult_t>(ncclSuccess);
  ended_ =
      call_apart([destroyed, comm = std::exchange(comm_, nullptr)] { *destroyed = ncclCommDestroy(comm); });
  if (ended_.wait_for(deadline_) != std::future_status::ready) {
    throw DeadlineError(name() + ": NCCL did not destroy it within " + std::to_string(deadline_.count()) +
                        " ms");
  }
  if (*destroyed != ncclSuccess) throw NcclError(*destroyed, name() + ": ncclCommDestroy");
}

void Communicator::check_open() const {
  if (comm_ == nullptr) throw std::logic_error(name() + " can no longer be used: " + why_ended_);
}

ncclResult_t Communicator::state() const {
  ncclResult_t state = ncclSuccess;
  GOODPUT_NCCL_CALL(ncclCommGetAsyncError(comm_, &state));
  return state;
}

// Until NCCL's own threads are done with what was begun.
void Communicator::settle() {
  wait_until([this] { return state() != ncclInProgress; });
}

void Communicator::wait_until(const std::function<bool()>& done) {
  const Clock::time_point began = Clock::now();
  while (!done()) {
    const bool is_long = Clock::now() - began > kPolled;
    check_peers(began, is_long);
    if (is_long) {
      std::this_thread::sleep_for(kSlept);
    } else {
      std::this_thread::yield();
    }
  }
  check_state();
}

void Communicator::check_state() const {
  const ncclResult_t code = state();
  if (code != ncclSuccess && code != ncclInProgress) throw NcclError(code, name() + ": " + what_);
}

void Communicator::check_peers(Clock::time_point began, bool ask_process) const {
  check_state();
  if (ask_process) {
    if (const std::string lost = process_.lost(); !lost.empty()) throw LostRank(lost);
  }
  if (Clock::now() - began > deadline_) {
    throw DeadlineError(name() + ": " + what_ + " did not end within " + std::to_string(deadline_.count()) +
                        " ms: another rank hangs or does something else; the operation was aborted");
  }
}

void Communicator::or_abort(const std::function<void()>& step) {
  try {
    step();
  } catch (const NcclError& error) {
    if (comm_ == nullptr) throw;  // it was aborted within the step
    why_ended_ = error.what();
    abort();
    check_obituary(error.code());
    throw;
  } catch (const std::exception& error) {
    if (comm_ != nullptr) why_ended_ = error.what();
    abort();
    throw;
  } catch (...) {
    why_ended_ = "an exception that is not a std::exception";
    abort();
    throw;
  }
}

// Where a peer is gone, what its launcher knows of it says more than NCCL can.
void Communicator::check_obituary(ncclResult_t code) const {
  const Clock::time_point began = Clock::now();
  while (Clock::now() - began < obituary_patience(code)) {
    if (const std::string lost = process_.lost(); !lost.empty()) throw LostRank(lost);
    std::this_thread::sleep_for(kSlept);
  }
}

// Its flags, which end what runs on the device, are the first thing that NCCL sets.
void Communicator::abort() {
  ncclComm_t const comm = std::exchange(comm_, nullptr);
  if (comm == nullptr) return;
  ended_ = call_apart([comm, kept = made_] { static_cast<void>(ncclCommAbort(comm)); });
}

std::string Communicator::name() const {
  const auto place = [](std::int32_t rank, std::int32_t ranks) {
    return "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
  };
  const std::string own = "the communicator of " + place(rank_, ranks_);
  if (ranks_ == process_.ranks()) return own;
  return own + " (" + place(process_.rank(), process_.ranks()) + " in all)";
}

}  // namespace goodput::gpu

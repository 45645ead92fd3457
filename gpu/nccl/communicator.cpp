#include "gpu/nccl/communicator.h"

#include <cstring>
#include <exception>
#include <thread>

#include "gpu/cuda_call.h"
#include "gpu/nccl/nccl_call.h"

namespace goodput::gpu {
namespace {

using std::chrono::microseconds;

// A wait that is short is polled, a longer one sleeps between two looks.
constexpr microseconds kPolled{200};
constexpr microseconds kSlept{100};
// How long after NCCL has lost a peer the launcher is given to say which, and why.
constexpr std::chrono::milliseconds kObituary{1000};

UniqueId make_id() {
  ncclUniqueId id;
  GOODPUT_NCCL_CALL(ncclGetUniqueId(&id));
  UniqueId bytes;
  static_assert(sizeof id == std::tuple_size_v<UniqueId>, "NCCL's id is as large as a UniqueId");
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes;
}

bool is_done(cudaError_t query) {
  if (query == cudaErrorNotReady) return false;
  GOODPUT_CUDA(query);
  return true;
}

}  // namespace

Communicator::Communicator(RankProcess& process, std::chrono::milliseconds deadline)
    : process_(process), deadline_(deadline), exceptions_(std::uncaught_exceptions()) {
  const UniqueId id = process.share(make_id);
  or_abort([&] { join(id); });
  process.joined();
}

Communicator::~Communicator() {
  if (comm_ == nullptr) return;
  if (std::uncaught_exceptions() > exceptions_) {
    abort();
    return;
  }
  try {
    close();
  } catch (const std::exception&) {  // it is aborted
  }
}

void Communicator::join(const UniqueId& id) {
  ncclUniqueId nccl_id;
  std::memcpy(&nccl_id, id.data(), sizeof nccl_id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  GOODPUT_NCCL_CALL(ncclCommInitRankConfig(&comm_, process_.ranks(), nccl_id, process_.rank(), &config));
  settle();
}

void Communicator::group(const char* what, const std::function<void(ncclComm_t)>& queue) {
  check_open();
  what_ = what;
  or_abort([&] {
    GOODPUT_NCCL_CALL(ncclGroupStart());
    try {
      queue(comm_);
    } catch (...) {
      static_cast<void>(ncclGroupEnd());  // says again what failed
      throw;
    }
    GOODPUT_NCCL_CALL(ncclGroupEnd());
    settle();
  });
}

void Communicator::synchronize(cudaStream_t stream) {
  check_open();
  or_abort([&] { wait_until([&] { return is_done(cudaStreamQuery(stream)); }); });
}

void Communicator::synchronize(cudaEvent_t event) {
  check_open();
  or_abort([&] { wait_until([&] { return is_done(cudaEventQuery(event)); }); });
}

void Communicator::close() {
  check_open();
  what_ = "closing";
  or_abort([&] {
    GOODPUT_NCCL_CALL(ncclCommFinalize(comm_));
    settle();
    GOODPUT_NCCL_CALL(ncclCommDestroy(comm_));
  });
  comm_ = nullptr;
  why_aborted_ = "it was closed";
}

void Communicator::check_open() const {
  if (comm_ == nullptr) throw std::logic_error(name() + " cannot be used any more: " + why_aborted_);
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
  while (true) {
    const bool is_over = done();
    const bool is_long = Clock::now() - began > kPolled;
    check_peers(began, is_long);
    if (is_over) return;
    if (is_long) {
      std::this_thread::sleep_for(kSlept);
    } else {
      std::this_thread::yield();
    }
  }
}

void Communicator::check_peers(Clock::time_point began, bool ask_process) const {
  const ncclResult_t code = state();
  if (code != ncclSuccess && code != ncclInProgress) fail(code);
  if (ask_process) {
    if (const std::string lost = process_.lost(); !lost.empty()) throw LostRank(lost);
  }
  if (Clock::now() - began > deadline_) {
    throw DeadlineError(name() + ": " + what_ + " has not ended after " + std::to_string(deadline_.count()) +
                        " ms: another rank hangs, or does something else; it is aborted");
  }
}

// Where a peer is gone, what its launcher knows of it says more than NCCL can.
void Communicator::fail(ncclResult_t code) const {
  const NcclError error(code, name() + ": " + what_);
  const Clock::time_point began = Clock::now();
  while (code == ncclRemoteError && Clock::now() - began < kObituary) {
    if (const std::string lost = process_.lost(); !lost.empty()) throw LostRank(lost);
    std::this_thread::sleep_for(kSlept);
  }
  throw error;
}

template <class Step>
void Communicator::or_abort(const Step& step) {
  try {
    step();
  } catch (const std::exception& error) {
    why_aborted_ = error.what();
    abort();
    throw;
  }
}

void Communicator::abort() {
  if (comm_ != nullptr) static_cast<void>(ncclCommAbort(comm_));
  comm_ = nullptr;
}

std::string Communicator::name() const {
  return "the communicator of rank " + std::to_string(process_.rank()) + " of " +
         std::to_string(process_.ranks());
}

}  // namespace goodput::gpu

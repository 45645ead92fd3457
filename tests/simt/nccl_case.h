// What the tests of nccl.h share: a rank with a communicator and a stream, and messages to know again.
//
// Ranks are processes (rank_processes.h): what is wrong is thrown, and is the rank's answer.
#pragma once

#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/simt/cuda_runtime.h"
#include "tests/simt/nccl.h"
#include "tests/simt/nccl_faults.h"
#include "tests/simt/rank_processes.h"

namespace simt {

inline void require(bool is_so, const std::string& what) {
  if (!is_so) throw std::runtime_error(what);
}

inline void expect(ncclResult_t got, ncclResult_t wanted, int line = __builtin_LINE()) {
  require(got == wanted, "line " + std::to_string(line) + ": " + std::to_string(got) + " instead of " +
                             std::to_string(wanted) + ", " + ncclGetLastError(nullptr));
}

inline void expect_text(const std::string& wanted, ncclComm_t comm = nullptr, int line = __builtin_LINE()) {
  const std::string text = ncclGetLastError(comm);
  require(text == wanted, "line " + std::to_string(line) + ": " + text);
}

inline ncclUniqueId new_id() {
  ncclUniqueId id{};
  expect(ncclGetUniqueId(&id), ncclSuccess);
  return id;
}

inline ncclResult_t poll_once(ncclComm_t comm) {
  ncclResult_t state = ncclInternalError;
  expect(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  return state;
}

// Polls until nothing is in progress.
inline ncclResult_t settle(ncclComm_t comm) {
  ncclResult_t state = poll_once(comm);
  while (state == ncclInProgress) state = poll_once(comm);
  return state;
}

// Until the stream has done all, or the communicator has failed.
inline ncclResult_t wait_for_stream(cudaStream_t stream, ncclComm_t comm) {
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    ncclResult_t state = ncclSuccess;
    expect(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    if (state != ncclSuccess) return state;
  }
  return ncclSuccess;
}

enum class Blocking { kNo, kYes };

inline ncclResult_t join(ncclComm_t* comm, const ncclUniqueId& id, int rank, int ranks, Blocking blocking) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocking == Blocking::kYes ? 1 : 0;
  return ncclCommInitRankConfig(comm, ranks, id, rank, &config);
}

class NcclRank {
 public:
  NcclRank(const ncclUniqueId& id, int own, int all, Blocking blocking = Blocking::kNo)
      : rank(own), ranks(all), blocking_(blocking) {
    const ncclResult_t begun = join(&comm, id, own, all, blocking);
    expect(begun, blocking == Blocking::kYes ? ncclSuccess : ncclInProgress);
    expect(settle(comm), ncclSuccess);
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "no stream");
  }

  // What starts something returns, which then is awaited.
  void queue(ncclResult_t result, int line = __builtin_LINE()) const {
    expect(result, blocking_ == Blocking::kYes ? ncclSuccess : ncclInProgress, line);
    expect(settle(comm), ncclSuccess, line);
  }

  void wait(int line = __builtin_LINE()) const { expect(wait_for_stream(stream, comm), ncclSuccess, line); }

  void end() const {
    queue(ncclCommFinalize(comm));
    expect(ncclCommDestroy(comm), ncclSuccess);
    cudaStreamDestroy(stream);
  }

  // Queues, runs until the communicator fails, and gives it up.
  std::string failure_of(ncclResult_t queued) const {
    queue(queued);
    const ncclResult_t state = wait_for_stream(stream, comm);
    for (int query = 0; query < 3 && state != ncclSuccess; ++query)
      require(cudaStreamQuery(stream) == cudaErrorNotReady, "a failed operation ends");
    const std::string text =
        std::to_string(state) + ": " + (state == ncclSuccess ? "" : ncclGetLastError(comm));
    expect(ncclCommAbort(comm), ncclSuccess);
    require(cudaStreamSynchronize(stream) == cudaSuccess, "the stream does not go on");
    return text;
  }

  int rank;
  int ranks;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;

 private:
  Blocking blocking_;
};

// A communicator of one rank, in the process that tests.
inline NcclRank alone(Blocking blocking = Blocking::kNo) {
  return {new_id(), 0, 1, blocking};
}

inline std::string last_error() {
  return ncclGetLastError(nullptr);
}

// Device memory, poisoned as every other; it may be looked at without a copy, which reads what is there now.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    require(cudaMalloc(&data_, bytes + kGuard) == cudaSuccess, "no memory");
  }
  // Freeing waits for all that is queued: not behind what is wrong, which may be that it never ends.
  ~DeviceBuffer() {
    if (std::uncaught_exceptions() == 0) cudaFree(data_);
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  unsigned char* data() const { return data_; }
  std::vector<unsigned char> content() const { return {data_, data_ + bytes_}; }
  bool guard_is_poison() const {
    for (std::size_t b = bytes_; b < bytes_ + kGuard; ++b)
      if (data_[b] != 0xCB) return false;
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 16;

  unsigned char* data_ = nullptr;
  std::size_t bytes_;
};

// What `from` sends to `to`: 251 bytes of their own, repeated, so that no piece can stand for another.
inline void write_message(unsigned char* where, std::size_t bytes, int from, int to) {
  const std::size_t period = bytes < 251 ? bytes : 251;
  for (std::size_t b = 0; b < period; ++b)
    where[b] =
        static_cast<unsigned char>(b + 37 * static_cast<unsigned>(from) + 101 * static_cast<unsigned>(to));
  for (std::size_t done = period; done < bytes;) {
    const std::size_t piece = done < bytes - done ? done : bytes - done;
    std::memcpy(where + done, where, piece);
    done += piece;
  }
}

inline std::vector<unsigned char> message(std::size_t bytes, int from, int to) {
  std::vector<unsigned char> text(bytes);
  write_message(text.data(), bytes, from, to);
  return text;
}

}  // namespace simt

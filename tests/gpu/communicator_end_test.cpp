// How a communicator ends: closed by its destructor, aborted behind an exception, and what is left then.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <thread>

#include "gpu/cuda_call.h"
#include "gpu/device_memory.h"
#include "gpu/nccl/communicator.h"
#include "gpu/nccl/nccl_call.h"
#include "tests/gpu/nccl_ranks.h"

namespace goodput::gpu::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

void expect(bool is_so, const std::string& what) {
  if (!is_so) throw std::runtime_error(what);
}

std::string message_of_call(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::ptrdiff_t open_files_here() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

LaunchOptions ranks_of(std::int32_t ranks) {
  LaunchOptions options;
  options.ranks = ranks;
  options.limit = seconds(60);
  return options;
}

// A number to one rank from another. Its memory outlives the communicator.
struct OneNumber {
  Stream stream;
  DeviceBuffer<std::int32_t> number;

  void queue(Communicator& communicator, std::int32_t from, std::int32_t to) {
    communicator.group("one number", [&](ncclComm_t comm) {
      if (communicator.rank() == from)
        GOODPUT_NCCL_CALL(ncclSend(number.data(), 1, ncclInt32, to, comm, stream.get()));
      if (communicator.rank() == to)
        GOODPUT_NCCL_CALL(ncclRecv(number.data(), 1, ncclInt32, from, comm, stream.get()));
    });
  }
  void wait(Communicator& communicator) const { communicator.synchronize(stream.get()); }
};

// Rank 0 sends 7 and lets the destructor wait, rank 1 waits for it.
void send_7(RankProcess& process) {
  OneNumber one{{}, upload<std::int32_t>({process.rank() == 0 ? 7 : 0})};
  Communicator communicator(process, seconds(20));
  one.queue(communicator, 0, 1);
  if (process.rank() == 0) return;
  one.wait(communicator);
  expect(download(one.number.data(), 1).front() == 7, "another number");
}

TEST_CASE("communicator: its destructor delivers what was queued") {
  CHECK(message_of(run_ranks(ranks_of(2), send_7)) == "");
}

TEST_CASE("communicator: made while an exception is on its way, it still delivers what was queued") {
  struct Last {
    RankProcess& process;
    ~Last() { send_7(process); }
  };
  const auto ends = run_ranks(ranks_of(2), [](RankProcess& process) {
    try {
      const Last last{process};
      throw std::runtime_error("on its way");
    } catch (const std::runtime_error&) {
    }
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("communicator: behind an exception of the caller it is aborted, not closed") {
  LaunchOptions options = ranks_of(2);
  options.grace = milliseconds(200);
  const auto began = steady_clock::now();
  const auto ends = run_ranks(options, [](RankProcess& process) {
    const Communicator communicator(process, seconds(5));
    if (process.rank() == 1) throw std::runtime_error("of the caller");
    std::this_thread::sleep_for(seconds(30));
  });
  // Closing would have waited 5 s for rank 0.
  CHECK(steady_clock::now() - began < seconds(3));
  CHECK(error_of(ends, 1) == "of the caller");
  CHECK(ends[0].consequence);
}

TEST_CASE("communicator: a rank that is gone also ends those who wait for another one") {
  LaunchOptions options = ranks_of(3);
  options.grace = seconds(1);
  const auto ends = run_ranks(options, [](RankProcess& process) {
    OneNumber one{{}, upload<std::int32_t>({0})};
    Communicator communicator(process, seconds(20));
    if (process.rank() == 1) raise(SIGKILL);
    if (process.rank() == 2) std::this_thread::sleep_for(seconds(30));
    one.queue(communicator, 2, 0);  // rank 1 owes nothing: NCCL has nothing to say
    one.wait(communicator);
  });
  CHECK(error_of(ends, 0) == "rank 1 was killed by signal 9 (SIGKILL)");
}

TEST_CASE("communicator: what a caller throws out of a group leaves no group open") {
  const auto ends = run_nccl_ranks({.ranks = 1}, [](Communicator& communicator) {
    const auto queue = [](ncclComm_t) { throw std::runtime_error("of the caller"); };
    expect(message_of_call([&] { communicator.group("a group", queue); }) == "of the caller",
           "another error");
    throw std::runtime_error(ncclGroupEnd() == ncclInvalidUsage ? "none is open" : "one is open");
  });
  CHECK(error_of(ends, 0) == "none is open");
}

TEST_CASE("communicator: the process is told once that it has joined, and not where joining failed") {
  class Counted final : public RankProcess {
   public:
    explicit Counted(std::int32_t ranks) : ranks_(ranks) {}
    [[nodiscard]] std::int32_t rank() const override { return 0; }
    [[nodiscard]] std::int32_t ranks() const override { return ranks_; }
    [[nodiscard]] std::int32_t local_rank() const override { return 0; }
    UniqueId share(const std::function<UniqueId()>& make) override { return make(); }
    void joined() override { ++times_joined; }
    [[nodiscard]] std::string lost() override { return ""; }
    int times_joined = 0;

   private:
    std::int32_t ranks_;
  };
  // In a process of its own, for its open files are counted.
  const auto ends = run_ranks(ranks_of(1), [](RankProcess&) {
    const std::ptrdiff_t files = open_files_here();
    Counted alone(1);
    Communicator(alone).close();
    expect(alone.times_joined == 1, "joined " + std::to_string(alone.times_joined) + " times");
    expect(open_files_here() == files, "what was closed leaves files open");

    Counted first_of_two(2);
    expect(message_of_call([&] { Communicator(first_of_two, milliseconds(50)); }) ==
               "the communicator of rank 0 of 2: joining did not end within 50 ms: another rank hangs or "
               "does something else; the operation was aborted",
           "another error");
    expect(first_of_two.times_joined == 0, "joined alone");
    expect(open_files_here() == files, "what could not join leaves files open");
  });
  CHECK(message_of(ends) == "");
}

TEST_CASE("communicator: closing without another rank ends at the deadline, and says what was waited for") {
  LaunchOptions options = ranks_of(2);
  options.grace = milliseconds(200);
  const auto ends = run_ranks(options, [](RankProcess& process) {
    Communicator communicator(process, milliseconds(300));
    if (process.rank() == 1) std::this_thread::sleep_for(seconds(30));
    communicator.close();
  });
  CHECK(has(error_of(ends, 0), "of rank 0 of 2: closing did not end within 300 ms"));
}

TEST_CASE("communicator: an event or stream that cannot be asked is an error, after which it is aborted") {
  const auto ends = run_nccl_ranks({.ranks = 1}, [](Communicator& communicator) {
    const auto no_event = [&] { communicator.synchronize(cudaEvent_t{}); };
    const std::string first = message_of_call(no_event);
    expect(has(first, "cudaErrorInvalidResourceHandle"), "no event: " + first);
    throw std::runtime_error(message_of_call(no_event));
  });
  CHECK(has(error_of(ends, 0), "the communicator of rank 0 of 1 can no longer be used: "));
  CHECK(has(error_of(ends, 0), "cudaErrorInvalidResourceHandle"));
}

}  // namespace
}  // namespace goodput::gpu::testing

// NCCL between processes: what arrives where, and when.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/simt/kernel_case.h"
#include "tests/simt/nccl_case.h"

namespace simt {
namespace {

constexpr std::size_t kLarge = std::size_t{10} << 20;  // many times what a socket holds

constexpr std::size_t kReplayBytes = 300000;  // more than it holds

// Rank r asks its peers in the order r, r + 1, ..., or if it is odd in the opposite one.
int peer_of(const NcclRank& r, int step) {
  const int distance = r.rank % 2 == 0 ? step : r.ranks - step;
  return (r.rank + distance) % r.ranks;
}

ncclResult_t queue_all_to_all(const NcclRank& r, const DeviceBuffer& from, const DeviceBuffer& to,
                              std::size_t bytes) {
  expect(ncclGroupStart(), ncclSuccess);
  for (int step = 0; step < r.ranks; ++step) {
    const int peer = peer_of(r, step);
    const std::size_t offset = static_cast<std::size_t>(peer) * bytes;
    expect(ncclSend(from.data() + offset, bytes, ncclInt8, peer, r.comm, r.stream), ncclSuccess);
    expect(ncclRecv(to.data() + offset, bytes, ncclInt8, peer, r.comm, r.stream), ncclSuccess);
  }
  return ncclGroupEnd();
}

// Whether block p of `to` is what p sent: to everybody (-1 stands for them), or to this rank.
void require_blocks(const NcclRank& r, const DeviceBuffer& to, std::size_t bytes, int receiver) {
  for (int peer = 0; peer < r.ranks; ++peer) {
    const std::vector<unsigned char> wanted = message(bytes, peer, receiver);
    require(std::equal(wanted.begin(), wanted.end(), to.data() + static_cast<std::size_t>(peer) * bytes),
            std::to_string(bytes) + " bytes of rank " + std::to_string(peer));
  }
  require(to.guard_is_poison(), "written beyond the end");
}

void gather(const NcclRank& r, std::size_t bytes) {
  const std::size_t all = bytes * static_cast<std::size_t>(r.ranks);
  const DeviceBuffer from(bytes);
  const DeviceBuffer to(all);
  write_message(from.data(), bytes, r.rank, -1);
  r.queue(ncclAllGather(from.data(), to.data(), bytes, ncclUint8, r.comm, r.stream));
  r.wait();
  require_blocks(r, to, bytes, -1);
}

void exchange(const NcclRank& r, std::size_t bytes) {
  const std::size_t all = bytes * static_cast<std::size_t>(r.ranks);
  const DeviceBuffer from(all);
  const DeviceBuffer to(all);
  for (int peer = 0; peer < r.ranks; ++peer)
    write_message(from.data() + static_cast<std::size_t>(peer) * bytes, bytes, r.rank, peer);
  r.queue(queue_all_to_all(r, from, to, bytes));
  r.wait();
  require_blocks(r, to, bytes, r.rank);
}

TEST_CASE("nccl: ranks gather and exchange messages of every size, whatever the order of peers") {
  for (const int ranks : {1, 2, 3, 8}) {
    CAPTURE(ranks);
    const ncclUniqueId id = new_id();
    // Of 8 ranks that is the size of all they receive.
    const std::size_t large = ranks == 8 ? kLarge / 8 : kLarge;
    CHECK(run_ranks(ranks, [&](int rank) {
            const NcclRank r(id, rank, ranks);
            for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, large}) {
              gather(r, bytes);
              exchange(r, bytes);
            }
            r.end();
            return std::string();
          }) == all_well(ranks));
  }
}

TEST_CASE("nccl: ranks whose schedules differ gather and exchange the same") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const ncclUniqueId id = new_id();
    CHECK(run_ranks(3, [&](int rank) {
            const ScheduleScope scope({Order::kRandom, 10 * seed + static_cast<std::uint64_t>(rank)});
            const NcclRank r(id, rank, 3);
            for (const std::size_t bytes : {std::size_t{3}, std::size_t{500000}}) {
              gather(r, bytes);
              exchange(r, bytes);
            }
            r.end();
            return std::string();
          }) == all_well(3));
  }
}

TEST_CASE("nccl: blocking communicators need no polls, and know their size and rank") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          const NcclRank r(id, rank, 2, Blocking::kYes);
          int count = 0;
          int own = -1;
          expect(ncclCommCount(r.comm, &count), ncclSuccess);
          expect(ncclCommUserRank(r.comm, &own), ncclSuccess);
          require(count == 2 && own == rank, "a wrong rank");
          const DeviceBuffer cells(8);
          write_message(cells.data() + 4 * rank, 4, rank, -1);
          // In place, and nobody polls.
          expect(ncclAllGather(cells.data() + 4 * rank, cells.data(), 1, ncclFloat32, r.comm, r.stream),
                 ncclSuccess);
          require(cudaStreamSynchronize(r.stream) == cudaSuccess, "no end");
          require_blocks(r, cells, 4, -1);
          expect(ncclCommDestroy(r.comm), ncclSuccess);  // finalizes too
          return std::string();
        }) == all_well(2));
}

TEST_CASE("nccl: messages between two ranks, and to oneself, arrive in the order of the calls") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          const NcclRank r(id, rank, 2);
          const DeviceBuffer from(4);
          const DeviceBuffer to(4);
          write_message(from.data(), 4, rank, 9);
          ncclGroupStart();
          for (int m = 0; m < 2; ++m) {
            for (const int peer : {1 - rank, rank}) {
              const std::size_t cell = static_cast<std::size_t>(2 * m + (peer == rank ? 1 : 0));
              expect(ncclSend(from.data() + cell, 1, ncclInt8, peer, r.comm, r.stream), ncclSuccess);
              expect(ncclRecv(to.data() + cell, 1, ncclInt8, peer, r.comm, r.stream), ncclSuccess);
            }
          }
          r.queue(ncclGroupEnd());
          r.wait();
          const std::vector<unsigned char> theirs = message(4, 1 - rank, 9);
          const std::vector<unsigned char> own = message(4, rank, 9);
          require(to.content() == std::vector<unsigned char>{theirs[0], own[1], theirs[2], own[3]},
                  "wrong order");
          r.end();
          return std::string();
        }) == all_well(2));
}

TEST_CASE("nccl: a captured graph gathers and exchanges anew at every launch, with the data of then") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(3, [&](int rank) {
          const NcclRank r(id, rank, 3);
          const DeviceBuffer from(3 * kReplayBytes);
          const DeviceBuffer exchanged(3 * kReplayBytes);
          const DeviceBuffer gathered(3 * kReplayBytes);
          cudaGraph_t graph = nullptr;
          cudaGraphExec_t exec = nullptr;
          cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal);
          r.queue(queue_all_to_all(r, from, exchanged, kReplayBytes));
          r.queue(ncclAllGather(from.data(), gathered.data(), kReplayBytes, ncclInt8, r.comm, r.stream));
          require(cudaStreamEndCapture(r.stream, &graph) == cudaSuccess, "no graph");
          require(cudaGraphInstantiate(&exec, graph) == cudaSuccess, "no executable graph");
          for (int launch = 0; launch < 3; ++launch) {
            for (int peer = 0; peer < 3; ++peer)
              write_message(from.data() + static_cast<std::size_t>(peer) * kReplayBytes, kReplayBytes,
                            rank + launch, peer);
            require(cudaGraphLaunch(exec, r.stream) == cudaSuccess, "no launch");
            r.wait();
            for (int peer = 0; peer < 3; ++peer) {
              const auto block = [&](const DeviceBuffer& of) {
                return of.data() + static_cast<std::size_t>(peer) * kReplayBytes;
              };
              const auto to_this = message(kReplayBytes, peer + launch, rank);
              const auto to_all = message(kReplayBytes, peer + launch, 0);
              require(std::equal(to_this.begin(), to_this.end(), block(exchanged)), "exchanged");
              require(std::equal(to_all.begin(), to_all.end(), block(gathered)), "gathered");
            }
          }
          // Finalizing waits for the graph.
          expect(ncclCommFinalize(r.comm), ncclInProgress);
          ncclResult_t state = ncclSuccess;
          for (int poll = 0; poll < 5; ++poll) {
            ncclCommGetAsyncError(r.comm, &state);
            expect(state, ncclInProgress);
          }
          cudaGraphDestroy(graph);
          cudaGraphExecDestroy(exec);
          expect(settle(r.comm), ncclSuccess);
          expect(ncclCommDestroy(r.comm), ncclSuccess);
          return std::string();
        }) == all_well(3));
}

TEST_CASE("nccl: nothing moves before somebody waits, and a group that is not polled is not queued") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          const NcclRank r(id, rank, 2);
          const DeviceBuffer from(2);
          const DeviceBuffer to(2);
          cudaMemset(from.data(), 1, 2);
          cudaDeviceSynchronize();
          expect(queue_all_to_all(r, from, to, 1), ncclInProgress);
          require(cudaStreamSynchronize(r.stream) == cudaSuccess, "no end");
          require(to.content() == std::vector<unsigned char>{0xCB, 0xCB}, "moved without a poll");
          expect(settle(r.comm), ncclSuccess);
          expect(settle(r.comm), ncclSuccess);
          require(to.content() == std::vector<unsigned char>{0xCB, 0xCB}, "moved while nobody waited");
          from.data()[0] = from.data()[1] = 2;  // read when it runs, not when it was called
          r.wait();
          require(to.content() == std::vector<unsigned char>{2, 2}, "not moved");
          r.end();
          return std::string();
        }) == all_well(2));
}

TEST_CASE("nccl: a group on two streams waits for both, and both wait for it") {
  for (const Schedule schedule : schedules()) {
    const ncclUniqueId id = new_id();
    CHECK(run_ranks(2, [&](int rank) {
            const ScheduleScope scope(schedule);
            const NcclRank r(id, rank, 2);
            cudaStream_t side = nullptr;
            cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
            const DeviceBuffer from(2);
            const DeviceBuffer to(2);
            const DeviceBuffer copies(2);
            cudaMemsetAsync(from.data(), 3 + rank, 1, r.stream);
            cudaMemsetAsync(from.data() + 1, 5 + rank, 1, side);
            ncclGroupStart();
            expect(ncclSend(from.data(), 1, ncclInt8, 1 - rank, r.comm, r.stream), ncclSuccess);
            expect(ncclRecv(to.data(), 1, ncclInt8, 1 - rank, r.comm, r.stream), ncclSuccess);
            expect(ncclSend(from.data() + 1, 1, ncclInt8, 1 - rank, r.comm, side), ncclSuccess);
            expect(ncclRecv(to.data() + 1, 1, ncclInt8, 1 - rank, r.comm, side), ncclSuccess);
            r.queue(ncclGroupEnd());
            cudaMemcpyAsync(copies.data(), to.data(), 1, cudaMemcpyDeviceToDevice, r.stream);
            cudaMemcpyAsync(copies.data() + 1, to.data() + 1, 1, cudaMemcpyDeviceToDevice, side);
            require(cudaDeviceSynchronize() == cudaSuccess, "no end");
            const unsigned char theirs = static_cast<unsigned char>(1 - rank);
            const std::vector<unsigned char> wanted = {static_cast<unsigned char>(3 + theirs),
                                                       static_cast<unsigned char>(5 + theirs)};
            require(copies.content() == wanted, "too early");
            r.end();
            return std::string();
          }) == all_well(2));
  }
}

// Sizes differ: two that changed places would not match.
TEST_CASE("nccl: operations of a communicator on two streams run in the order of their calls") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ncclUniqueId id = new_id();
    CHECK(run_ranks(3, [&](int rank) {
            const ScheduleScope scope({Order::kRandom, 10 * seed + static_cast<std::uint64_t>(rank)});
            const NcclRank r(id, rank, 3);
            cudaStream_t side = nullptr;
            cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
            const DeviceBuffer from(4);
            const DeviceBuffer to(12);
            for (std::size_t bytes = 1; bytes <= 4; ++bytes)
              r.queue(ncclAllGather(from.data(), to.data(), bytes, ncclInt8, r.comm,
                                    bytes % 2 == 0 ? r.stream : side));
            r.wait();
            require(cudaDeviceSynchronize() == cudaSuccess, "no end");
            r.end();
            return std::string();
          }) == all_well(3));
  }
}

// Which comes first is nobody's business, but not between two messages of the other.
TEST_CASE("nccl: a graph and what is queued on another stream run one after the other") {
  for (const Schedule schedule : schedules()) {
    const ncclUniqueId id = new_id();
    CHECK(run_ranks(2, [&](int rank) {
            const ScheduleScope scope(schedule);
            const NcclRank r(id, rank, 2);
            cudaStream_t side = nullptr;
            cudaGraph_t graph = nullptr;
            cudaGraphExec_t exec = nullptr;
            cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
            const DeviceBuffer from(kReplayBytes);
            const DeviceBuffer captured(2 * kReplayBytes);
            const DeviceBuffer queued(2 * kReplayBytes);
            write_message(from.data(), kReplayBytes, rank, -1);
            cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal);
            r.queue(ncclAllGather(from.data(), captured.data(), kReplayBytes, ncclInt8, r.comm, side));
            cudaStreamEndCapture(side, &graph);
            cudaGraphInstantiate(&exec, graph);
            cudaGraphLaunch(exec, side);
            r.queue(ncclAllGather(from.data(), queued.data(), kReplayBytes, ncclInt8, r.comm, r.stream));
            expect(wait_for_stream(r.stream, r.comm), ncclSuccess);
            expect(wait_for_stream(side, r.comm), ncclSuccess);
            require_blocks(r, captured, kReplayBytes, -1);
            require_blocks(r, queued, kReplayBytes, -1);
            cudaGraphDestroy(graph);
            cudaGraphExecDestroy(exec);
            r.end();
            return std::string();
          }) == all_well(2));
  }
}

TEST_CASE("nccl: destroying a communicator delivers what is queued") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          const NcclRank r(id, rank, 2);
          const DeviceBuffer from(1);
          const DeviceBuffer to(2);
          *from.data() = static_cast<unsigned char>(rank);
          r.queue(ncclAllGather(from.data(), to.data(), 1, ncclInt8, r.comm, r.stream));
          expect(ncclCommDestroy(r.comm), ncclSuccess);
          require(to.content() == std::vector<unsigned char>{0, 1}, "not delivered");
          return std::string();
        }) == all_well(2));
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST_CASE("nccl: communicators that were destroyed or aborted leave no file open") {
  const ncclUniqueId first = new_id();
  const ncclUniqueId second = new_id();
  CHECK(run_ranks(3, [&](int rank) {
          const std::size_t before = open_files();
          const NcclRank kept(first, rank, 3);
          const NcclRank dropped(second, rank, 3);
          require(open_files() == before + 6, "a listener and two sockets each");
          gather(kept, 10);
          gather(dropped, 10);
          const DeviceBuffer cells(3);
          dropped.queue(ncclAllGather(cells.data(), cells.data(), 1, ncclInt8, dropped.comm, dropped.stream));
          expect(ncclCommAbort(dropped.comm), ncclSuccess);
          require(open_files() == before + 3, "an aborted operation holds files");
          gather(kept, 11);
          kept.end();
          require(open_files() == before, "files are open");
          return std::string();
        }) == all_well(3));
}

TEST_CASE("nccl: the version and the names of results are NCCL's, and every id is another") {
  int version = 0;
  CHECK(ncclGetVersion(&version) == ncclSuccess);
  CHECK(version == 22809);
  CHECK(NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH) == NCCL_VERSION_CODE);
  CHECK(NCCL_VERSION(2, 8, 3) == 2803);
  CHECK(std::string(ncclGetErrorString(ncclInvalidUsage)) == "invalid usage");
  CHECK(std::string(ncclGetErrorString(ncclNumResults)) == "unknown result code");
  CHECK(std::memcmp(new_id().internal, new_id().internal, NCCL_UNIQUE_ID_BYTES) != 0);
}

}  // namespace
}  // namespace simt

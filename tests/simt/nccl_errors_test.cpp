// NCCL between processes that do not agree, and calls that no communicator takes.
#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/simt/nccl_case.h"
#include "tests/simt/nccl_rendezvous.h"
#include "tests/simt/nccl_transfers.h"

namespace simt {
namespace {

// What the ranks' communicators fail with ("0: ": not at all) when each queues what `queue` does.
template <class Queue>
RankAnswers failures(int ranks, Queue queue) {
  const ncclUniqueId id = new_id();
  return run_ranks(ranks, [&](int rank) {
    const NcclRank r(id, rank, ranks);
    const DeviceBuffer from(256);
    const DeviceBuffer to(256);
    return r.failure_of(queue(r, from.data(), to.data()));
  });
}

TEST_CASE("nccl: sizes, types and calls that do not match are told by who receives") {
  CHECK(failures(2, [](const NcclRank& r, auto* from, auto* to) {
          return r.rank == 1 ? ncclSend(from, 64, ncclInt8, 0, r.comm, r.stream)
                             : ncclRecv(to, 32, ncclInt8, 1, r.comm, r.stream);
        }) == RankAnswers{{"5: rank 1 sends 64 bytes to rank 0, which expects 32", "0: "}});
  CHECK(failures(2, [](const NcclRank& r, auto* from, auto* to) {
          return r.rank == 1 ? ncclSend(from, 4, ncclInt32, 0, r.comm, r.stream)
                             : ncclRecv(to, 4, ncclFloat32, 1, r.comm, r.stream);
        }) == RankAnswers{{"5: rank 1 sends ncclInt32 to rank 0, which expects ncclFloat32", "0: "}});
  CHECK(failures(2,
                 [](const NcclRank& r, auto* from, auto* to) {
                   return ncclAllGather(from, to, r.rank == 1 ? 8 : 4, ncclBfloat16, r.comm, r.stream);
                 }) == RankAnswers{{"5: rank 1 gathers 16 bytes to rank 0, which expects 8",
                                    "5: rank 0 gathers 8 bytes to rank 1, which expects 16"}});
  CHECK(
      failures(2,
               [](const NcclRank& r, auto* from, auto* to) {
                 return r.rank == 1 ? ncclSend(from, 4, ncclInt8, 0, r.comm, r.stream)
                                    : ncclAllGather(from, to, 4, ncclInt8, r.comm, r.stream);
               }) ==
      RankAnswers{
          {"5: rank 1 is in ncclSend where rank 0 is in ncclAllGather: a collective that not all ranks call",
           "0: "}});
  CHECK(failures(2,
                 [](const NcclRank& r, auto* from, auto* to) {
                   return r.rank == 1 ? ncclAllGather(from, to, 4, ncclInt8, r.comm, r.stream)
                                      : ncclRecv(to, 4, ncclInt8, 1, r.comm, r.stream);
                 })
            .by_rank[0] ==
        "5: rank 1 is in ncclAllGather where rank 0 is in ncclRecv: a collective that not all ranks call");
}

TEST_CASE("nccl: a message that is not the next one is told") {
  const MessageHeader header{MessageKind::kSendReceive, ncclInt8, 4, 0};
  CHECK(mismatch_with(Transfer{}, 4, 0, 1, header).empty());
  CHECK(mismatch_with(Transfer{}, 3, 0, 1, header) ==
        "message 4 of rank 1 came to rank 0, which expects message 3");
}

TEST_CASE("nccl: a message larger than what is expected is told though it cannot be sent to its end") {
  const ncclUniqueId id = new_id();
  CHECK(
      run_ranks(2, [&](int rank) {
        const NcclRank r(id, rank, 2);
        const DeviceBuffer buffer(std::size_t{4} << 20);
        return r.failure_of(rank == 1 ? ncclSend(buffer.data(), 4U << 20, ncclInt8, 0, r.comm, r.stream)
                                      : ncclRecv(buffer.data(), 32, ncclInt8, 1, r.comm, r.stream));
      }) == RankAnswers{{"5: rank 1 sends 4194304 bytes to rank 0, which expects 32", "6: rank 0 is gone"}});
}

// Rank 1 finalizes; what rank 0 does there is told where it can be seen.
template <class Rank0>
RankAnswers with_one_that_finalizes(Rank0 rank_0) {
  const ncclUniqueId id = new_id();
  return run_ranks(2, [&](int rank) {
    const NcclRank r(id, rank, 2);
    const DeviceBuffer buffer(64);
    if (rank == 0) r.queue(rank_0(r, buffer.data()));
    expect(ncclCommFinalize(r.comm), ncclInProgress);
    const ncclResult_t state = settle(r.comm);
    const std::string text = std::to_string(state) + ": " + ncclGetLastError(r.comm);
    // The operation never ends, but for this.
    expect(ncclCommAbort(r.comm), ncclSuccess);
    require(cudaDeviceSynchronize() == cudaSuccess, "work is left");
    return text;
  });
}

TEST_CASE("nccl: work that no rank matches before it finalizes is told") {
  CHECK(with_one_that_finalizes([](const NcclRank& r, auto* buffer) {
          return ncclRecv(buffer, 64, ncclInt8, 1, r.comm, r.stream);
        }).by_rank[0] ==
        "5: rank 1 is in ncclCommFinalize where rank 0 is in ncclRecv: a collective that not all ranks call");
  CHECK(with_one_that_finalizes([](const NcclRank& r, auto* buffer) {
          return ncclSend(buffer, 64, ncclInt8, 1, r.comm, r.stream);
        }).by_rank[1] ==
        "5: rank 0 is in ncclSend where rank 1 is in ncclCommFinalize: a collective that not all ranks call");
  CHECK(with_one_that_finalizes([](const NcclRank& r, auto* buffer) {
          return ncclAllGather(buffer, buffer, 32, ncclInt8, r.comm, r.stream);
        }).by_rank[0] ==
        "5: rank 1 is in ncclCommFinalize where rank 0 is in ncclAllGather: a collective that not all ranks "
        "call");
}

TEST_CASE("nccl: ranks that disagree on how many they are do not join") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2,
                  [&](int rank) {
                    ncclComm_t comm = nullptr;
                    expect(join(&comm, id, rank, 2 + rank, Blocking::kNo), ncclInProgress);
                    const ncclResult_t state = settle(comm);
                    const std::string text = std::to_string(state) + ": " + ncclGetLastError(comm);
                    expect(ncclCommAbort(comm), ncclSuccess);
                    return text;
                  }) == RankAnswers{{"5: rank 1 has a communicator of 3 ranks, rank 0 of 2",
                                     "5: rank 0 has a communicator of 2 ranks, rank 1 of 3"}});
}

TEST_CASE("nccl: who comes with another number of ranks when all have joined is told, and nobody else") {
  const ncclUniqueId id = new_id();
  ncclComm_t comm = nullptr;
  REQUIRE(join(&comm, id, 0, 1, Blocking::kYes) == ncclSuccess);
  Rendezvous late({id, 1, 2});
  CHECK_FALSE(late.step().happened());
  CHECK(poll_once(comm) == ncclSuccess);
  CHECK(late.step().text == "rank 0 has a communicator of 1 ranks, rank 1 of 2");
  CHECK(poll_once(comm) == ncclSuccess);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("nccl: a rank that two processes are is told to the second") {
  const ncclUniqueId id = new_id();
  ncclComm_t comm = nullptr;
  CHECK(join(&comm, id, 0, 2, Blocking::kNo) == ncclInProgress);
  CHECK(poll_once(comm) == ncclInProgress);
  CHECK(run_ranks(1, [&](int) {
          ncclComm_t second = nullptr;
          expect(join(&second, id, 0, 2, Blocking::kYes), ncclInvalidUsage);
          return std::string(ncclGetLastError(nullptr));
        }) == RankAnswers{{"ncclCommInitRankConfig: another process is rank 0 already"}});
  CHECK(ncclCommAbort(comm) == ncclSuccess);
}

// A socket to rank 0 of a communicator.
Descriptor stranger(const ncclUniqueId& id) {
  Descriptor made(socket(AF_UNIX, SOCK_STREAM, 0));
  const std::string name = nccl_address(id, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  REQUIRE(connect(made.number(), reinterpret_cast<const sockaddr*>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) == 0);
  return made;
}

// What rank 0 of 3 fails with when something else than a rank comes.
template <class Say>
std::string failure_with_stranger(Say say) {
  const ncclUniqueId id = new_id();
  ncclComm_t comm = nullptr;
  REQUIRE(join(&comm, id, 0, 3, Blocking::kNo) == ncclInProgress);
  REQUIRE(poll_once(comm) == ncclInProgress);
  {
    Channel channel(stranger(id));
    say(channel, id);
    REQUIRE(poll_once(comm) != ncclSuccess);
  }
  const ncclResult_t state = settle(comm);
  const std::string text = std::to_string(state) + ": " + ncclGetLastError(comm);
  REQUIRE(ncclCommAbort(comm) == ncclSuccess);
  return text;
}

void say_hello(Channel& channel, const NcclHello& hello, MessageKind kind = MessageKind::kHello) {
  channel.start(kind, 0, &hello, sizeof hello);
  REQUIRE(channel.send() == Transmission::kDone);
}

TEST_CASE("nccl: a handshake with somebody else fails") {
  CHECK(failure_with_stranger([](Channel& channel, const ncclUniqueId& id) {
          say_hello(channel, {id, 1, 3}, MessageKind::kAllGather);
        }) == "5: a rank does not begin with a handshake");
  CHECK(failure_with_stranger([](Channel& channel, const ncclUniqueId&) {
          say_hello(channel, {make_nccl_id(), 1, 3});
        }) == "5: rank 1 of another communicator came to rank 0");
  CHECK(failure_with_stranger([](Channel& channel, const ncclUniqueId& id) {
          say_hello(channel, {id, 0, 3});
        }) == "5: rank 0 did not expect a process that says it is rank 0");
  CHECK(failure_with_stranger([](Channel&, const ncclUniqueId&) {}) == "6: a rank is gone");
  CHECK(failure_with_stranger([](Channel& channel, const ncclUniqueId& id) {
          say_hello(channel, {id, 2, 3});
        }) == "6: rank 2 is gone");
}

}  // namespace
}  // namespace simt

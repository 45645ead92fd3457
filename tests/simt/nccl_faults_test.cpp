// Faults on order, and ranks that die.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>

#include "tests/simt/nccl_case.h"

namespace simt {
namespace {

// Joins, gathers and finalizes until something fails.
ncclResult_t live(ncclComm_t comm, cudaStream_t stream, const DeviceBuffer& cells) {
  ncclResult_t state = settle(comm);
  if (state != ncclSuccess) return state;
  expect(ncclAllGather(cells.data(), cells.data(), 1, ncclInt8, comm, stream), ncclInProgress);
  state = settle(comm);
  if (state == ncclSuccess) state = wait_for_stream(stream, comm);
  if (state != ncclSuccess) return state;
  expect(ncclCommFinalize(comm), ncclInProgress);
  return settle(comm);
}

TEST_CASE("nccl: a rank that is killed ends the polls of all others") {
  // Calls: 1 joins, 2 gathers, 3 finalizes. A rank that dies as it joins is not missed before it has come.
  for (const int call : {2, 3}) {
    CAPTURE(call);
    const ncclUniqueId id = new_id();
    const auto start = std::chrono::steady_clock::now();
    CHECK(run_ranks(4, [&](int rank) {
            NcclFaults faults;
            if (rank == 2) faults.die_at_call = call;
            set_nccl_faults(faults);
            ncclComm_t comm = nullptr;
            cudaStream_t stream = nullptr;
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
            const DeviceBuffer cells(4);
            expect(join(&comm, id, rank, 4, Blocking::kNo), ncclInProgress);
            expect(live(comm, stream, cells), ncclRemoteError);
            std::string text = ncclGetLastError(comm);
            text[5] = '2';  // one that gives up because of rank 2 may be missed first
            expect(ncclCommAbort(comm), ncclSuccess);
            require(cudaStreamSynchronize(stream) == cudaSuccess, "the stream does not go on");
            return text;
          }) == RankAnswers{{"rank 2 is gone", "rank 2 is gone", "killed by signal 9", "rank 2 is gone"}});
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  }
}

TEST_CASE("nccl: a rank that is gone is named to the one that waits for it") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          NcclFaults faults;
          if (rank == 1) faults.die_at_call = 2;
          set_nccl_faults(faults);
          const NcclRank r(id, rank, 2);
          const DeviceBuffer buffer(std::size_t{4} << 20);
          return rank == 0 ? r.failure_of(ncclSend(buffer.data(), 4U << 20, ncclInt8, 1, r.comm, r.stream))
                           : r.failure_of(ncclRecv(buffer.data(), 4U << 20, ncclInt8, 0, r.comm, r.stream));
        }) == RankAnswers{{"6: rank 1 is gone", "killed by signal 9"}});
}

TEST_CASE("nccl: what a rank sent before it was gone tells more than that it is") {
  const ncclUniqueId id = new_id();
  const ncclUniqueId until_end = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          const NcclRank r(id, rank, 2);
          const NcclRank other(until_end, rank, 2);
          const DeviceBuffer buffer(64);
          if (rank == 1) {
            r.queue(ncclSend(buffer.data(), 64, ncclInt8, 0, r.comm, r.stream));
            r.wait();
            return std::string();
          }
          const std::string end =
              other.failure_of(ncclRecv(buffer.data(), 1, ncclInt8, 1, other.comm, other.stream));
          require(end == "6: rank 1 is gone", end);
          ncclGroupStart();
          expect(ncclSend(buffer.data(), 1, ncclInt8, 1, r.comm, r.stream), ncclSuccess);
          expect(ncclRecv(buffer.data(), 32, ncclInt8, 1, r.comm, r.stream), ncclSuccess);
          return r.failure_of(ncclGroupEnd());
        }) == RankAnswers{{"5: rank 1 sends 64 bytes to rank 0, which expects 32", ""}});
}

TEST_CASE("nccl: a rank that ended when all it owed was delivered is not missed") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          const NcclRank r(id, rank, 2);
          const DeviceBuffer buffer(1);
          *buffer.data() = static_cast<unsigned char>(rank);
          if (rank == 1) {
            r.queue(ncclSend(buffer.data(), 1, ncclInt8, 0, r.comm, r.stream));
            r.wait();
            return std::string();  // without an end of the communicator
          }
          r.queue(ncclRecv(buffer.data(), 1, ncclInt8, 1, r.comm, r.stream));
          r.wait();
          require(*buffer.data() == 1, "not delivered");
          expect(poll_once(r.comm), ncclSuccess);
          return std::string();
        }) == all_well(2));
}

TEST_CASE("nccl: the call on order fails and does nothing, counted from the joining") {
  const auto rank_main = [](int fail_call) {
    return [fail_call](int) {
      NcclFaults faults;
      faults.fail_call = fail_call;
      faults.fail_with = ncclInternalError;
      set_nccl_faults(faults);
      const ncclUniqueId id = new_id();
      ncclComm_t comm = nullptr;
      std::string results = std::to_string(join(&comm, id, 0, 1, Blocking::kYes));
      if (comm == nullptr) return results + " " + ncclGetLastError(nullptr);
      const DeviceBuffer cell(1);
      const DeviceBuffer to(1);
      *cell.data() = 5;
      const auto note = [&](ncclResult_t result) { results += std::to_string(result); };
      ncclGroupStart();
      note(ncclSend(cell.data(), 1, ncclInt8, 0, comm, nullptr));
      note(ncclRecv(to.data(), 1, ncclInt8, 0, comm, nullptr));
      note(ncclGroupEnd());
      cudaDeviceSynchronize();
      results += *to.data() == 5 ? "=" : "-";
      note(ncclAllGather(cell.data(), to.data(), 1, ncclInt8, comm, nullptr));
      note(ncclCommFinalize(comm));
      note(ncclCommDestroy(comm));
      return results;
    };
  };
  RankAnswers results;
  for (int fail_call = 0; fail_call <= 6; ++fail_call)
    results.by_rank.push_back(run_ranks(1, rank_main(fail_call)).by_rank[0]);
  // A group in which a call failed fails and moves nothing.
  CHECK(results == RankAnswers{{"0000=000", "3 ncclCommInitRankConfig: fails as ordered", "0303-000",
                                "0033-000", "0003-000", "0000=300", "0000=030"}});
}

TEST_CASE("nccl: the call on order is late, and the version is another") {
  CHECK(run_ranks(1, [](int) {
          NcclFaults faults;
          faults.delay_at_call = 1;
          faults.delay = std::chrono::milliseconds(20);
          faults.version = 21803;
          set_nccl_faults(faults);
          int version = 0;
          expect(ncclGetVersion(&version), ncclSuccess);
          require(version == 21803, "the version");
          const auto start = std::chrono::steady_clock::now();
          const NcclRank r(new_id(), 0, 1);
          require(std::chrono::steady_clock::now() - start >= faults.delay, "not late");
          r.end();
          return std::string();
        }) == all_well(1));
}

RankAnswers all_say(std::size_t ranks, const std::string& answer) {
  return {std::vector<std::string>(ranks, answer)};
}

// What two processes get that join, each with the environment variable.
RankAnswers with_environment(const std::string& faults) {
  const ncclUniqueId id = new_id();
  return run_ranks(2, [&](int rank) -> std::string {
    setenv("SIMT_NCCL_FAULTS", faults.c_str(), 1);
    set_nccl_faults_of_environment();
    ncclComm_t comm = nullptr;
    return join(&comm, id, rank, 2, Blocking::kNo) == ncclInProgress ? "joins" : ncclGetLastError(nullptr);
  });
}

TEST_CASE("nccl: the environment orders faults, for a rank or for all") {
  const std::string call = "ncclCommInitRankConfig: ";
  const std::string failure = call + "fails as ordered";
  CHECK(with_environment("") == RankAnswers{{"joins", "joins"}});
  CHECK(with_environment("rank=1 fail_call=1 delay_at_call=1 delay=1 version=21803") ==
        RankAnswers{{"joins", failure}});
  CHECK(with_environment("fail_call=1 fail_with=2") == RankAnswers{{failure, failure}});
  CHECK(with_environment("rank=0 die_at_call=1") == RankAnswers{{"killed by signal 9", "joins"}});
  const std::string none_of =
      "\" is none of rank, fail_call, fail_with, die_at_call, delay_at_call, delay, corrupt_at_call, "
      "version=NUMBER";
  for (const std::string word : {"dye_at_call=3", "rank", "rank=x", "rank=-1", "delay="})
    CHECK(with_environment(word) == all_say(2, call + "SIMT_NCCL_FAULTS: \"" + word + none_of));
}

}  // namespace
}  // namespace simt

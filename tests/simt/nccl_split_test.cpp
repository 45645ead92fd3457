// Communicators made of others.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>

#include "tests/simt/kernel_case.h"
#include "tests/simt/nccl_case.h"

namespace simt {
namespace {

// What a non-blocking split makes, awaited as NCCL wants it: by asking the one that is split.
ncclComm_t split_of(const NcclRank& r, int color, int key) {
  ncclComm_t child = nullptr;
  expect(ncclCommSplit(r.comm, color, key, &child, nullptr), ncclInProgress);
  require(child == nullptr, "it is there before it can be");
  expect(settle(r.comm), ncclSuccess);
  if (child != nullptr) expect(settle(child), ncclSuccess);
  return child;
}

// "rank of ranks: the rank in the first one of each that is in it, in order".
std::string roster(ncclComm_t comm, const NcclRank& parent) {
  int ranks = 0;
  int rank = -1;
  expect(ncclCommCount(comm, &ranks), ncclSuccess);
  expect(ncclCommUserRank(comm, &rank), ncclSuccess);
  const DeviceBuffer own(1);
  const DeviceBuffer all(static_cast<std::size_t>(ranks));
  *own.data() = static_cast<unsigned char>(parent.rank);
  expect(ncclAllGather(own.data(), all.data(), 1, ncclInt8, comm, parent.stream), ncclInProgress);
  expect(settle(comm), ncclSuccess);
  expect(wait_for_stream(parent.stream, comm), ncclSuccess);
  std::string text = std::to_string(rank) + " of " + std::to_string(ranks) + ":";
  for (const unsigned char one : all.content()) text.append(" ").append(std::to_string(one));
  return text;
}

void end(ncclComm_t comm) {
  expect(ncclCommFinalize(comm), ncclInProgress);
  expect(settle(comm), ncclSuccess);
  expect(ncclCommDestroy(comm), ncclSuccess);
}

TEST_CASE("nccl: a split makes a communicator of every color, ordered by key, then by rank") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(5,
                  [&](int rank) {
                    const NcclRank r(id, rank, 5);
                    // Even ranks 0, 2, 4 with descending keys; odd ones with the same.
                    const ncclComm_t child = split_of(r, rank % 2, rank % 2 == 0 ? -rank : 9);
                    std::string text = roster(child, r) + " | " + roster(r.comm, r);
                    end(child);
                    r.end();
                    return text;
                  }) == RankAnswers{{"2 of 3: 4 2 0 | 0 of 5: 0 1 2 3 4", "0 of 2: 1 3 | 1 of 5: 0 1 2 3 4",
                                     "1 of 3: 4 2 0 | 2 of 5: 0 1 2 3 4", "1 of 2: 1 3 | 3 of 5: 0 1 2 3 4",
                                     "0 of 3: 4 2 0 | 4 of 5: 0 1 2 3 4"}});
}

TEST_CASE("nccl: a rank without a color gets no communicator, and the one that was split goes on") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(3,
                  [&](int rank) {
                    const NcclRank r(id, rank, 3);
                    std::string text;
                    for (const int outsider : {1, 2}) {
                      const ncclComm_t child = split_of(r, rank == outsider ? NCCL_SPLIT_NOCOLOR : 7, 0);
                      text += child == nullptr ? "none" : roster(child, r);
                      text += ", " + roster(r.comm, r) + "; ";
                      if (child != nullptr) end(child);
                    }
                    r.end();
                    return text;
                  }) == RankAnswers{{"0 of 2: 0 2, 0 of 3: 0 1 2; 0 of 2: 0 1, 0 of 3: 0 1 2; ",
                                     "none, 1 of 3: 0 1 2; 1 of 2: 0 1, 1 of 3: 0 1 2; ",
                                     "1 of 2: 0 2, 2 of 3: 0 1 2; none, 2 of 3: 0 1 2; "}});
}

TEST_CASE("nccl: what a split made is split again, outlives the first and leaves no file open") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(4, [&](int rank) {
          const auto open_files = [] {
            return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                 std::filesystem::directory_iterator());
          };
          const auto before = open_files();
          const NcclRank r(id, rank, 4);
          const ncclComm_t half = split_of(r, rank / 2, 0);
          ncclComm_t alone = nullptr;
          expect(ncclCommSplit(half, rank, 0, &alone, nullptr), ncclInProgress);
          expect(settle(half), ncclSuccess);
          end(half);
          const std::string text = roster(alone, r);
          expect(ncclCommAbort(alone), ncclSuccess);
          r.end();
          require(open_files() == before, "files are open");
          return text;
        }) == RankAnswers{{"0 of 1: 0", "0 of 1: 1", "0 of 1: 2", "0 of 1: 3"}});
}

TEST_CASE("nccl: a split inherits whether it blocks, or is told") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(2, [&](int rank) {
          const NcclRank r(id, rank, 2, Blocking::kYes);
          const DeviceBuffer cells(2);
          ncclComm_t blocking = nullptr;
          expect(ncclCommSplit(r.comm, 0, 0, &blocking, nullptr), ncclSuccess);
          expect(ncclAllGather(cells.data(), cells.data(), 1, ncclInt8, blocking, r.stream), ncclSuccess);
          ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
          config.blocking = 0;
          ncclComm_t other = nullptr;
          expect(ncclCommSplit(r.comm, 0, 0, &other, &config), ncclSuccess);
          expect(ncclAllGather(cells.data(), cells.data(), 1, ncclInt8, other, r.stream), ncclInProgress);
          expect(settle(other), ncclSuccess);
          require(cudaStreamSynchronize(r.stream) == cudaSuccess, "no end");
          for (const ncclComm_t comm : {blocking, other, r.comm}) expect(ncclCommDestroy(comm), ncclSuccess);
          return std::string();
        }) == all_well(2));
}

TEST_CASE("nccl: splits that cannot be are refused") {
  const NcclRank r = alone();
  const DeviceBuffer cell(1);
  ncclComm_t child = nullptr;
  const auto problem_of = [](ncclResult_t result) { return std::to_string(result) + ": " + last_error(); };
  CHECK(problem_of(ncclCommSplit(r.comm, 0, 0, nullptr, nullptr)) ==
        "4: ncclCommSplit: newcomm is a null pointer");
  CHECK(problem_of(ncclCommSplit(nullptr, 0, 0, &child, nullptr)) ==
        "4: ncclCommSplit: comm is no communicator");
  CHECK(problem_of(ncclCommSplit(r.comm, -2, 0, &child, nullptr)) ==
        "4: ncclCommSplit: color -2 is negative");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 3;
  CHECK(problem_of(ncclCommSplit(r.comm, 0, 0, &child, &config)) ==
        "4: ncclCommSplit: config.blocking is 3, not 0 or 1");
  ncclGroupStart();
  CHECK(problem_of(ncclCommSplit(r.comm, 0, 0, &child, nullptr)) ==
        "5: ncclCommSplit: a group is open: ncclGroupEnd is missing");
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  r.queue(ncclAllGather(cell.data(), cell.data(), 1, ncclInt8, r.comm, r.stream));
  CHECK(problem_of(ncclCommSplit(r.comm, 0, 0, &child, nullptr)) ==
        "5: ncclCommSplit: operations of the communicator have not ended: wait for them before");
  r.wait();
  CHECK(ncclCommSplit(r.comm, 0, 0, &child, nullptr) == ncclInProgress);
  CHECK(problem_of(ncclCommSplit(r.comm, 0, 0, &child, nullptr)) ==
        "4: ncclCommSplit: the communicator's last call is in progress: poll ncclCommGetAsyncError before");
  CHECK(settle(r.comm) == ncclSuccess);
  CHECK(ncclCommFinalize(r.comm) == ncclInProgress);
  CHECK(settle(r.comm) == ncclSuccess);
  CHECK(problem_of(ncclCommSplit(r.comm, 0, 0, &child, nullptr)) ==
        "5: ncclCommSplit: the communicator was finalized");
  CHECK(ncclCommDestroy(r.comm) == ncclSuccess);
  cudaStreamDestroy(r.stream);
}

// What every rank's communicator fails with that is split by all but the last, which does something else.
template <class Last>
RankAnswers split_without_last(int ranks, Last last) {
  const ncclUniqueId id = new_id();
  return run_ranks(ranks, [&](int rank) {
    const NcclRank r(id, rank, ranks);
    roster(r.comm, r);  // so all have joined
    ncclComm_t child = nullptr;
    if (rank == ranks - 1) {
      last(r);
    } else {
      expect(ncclCommSplit(r.comm, rank == 0 ? NCCL_SPLIT_NOCOLOR : 0, 0, &child, nullptr), ncclInProgress);
    }
    const ncclResult_t state = settle(r.comm);  // first: it may change the last error
    std::string text = std::to_string(state) + ": " + ncclGetLastError(r.comm);
    require(child == nullptr, "there is one");
    expect(ncclCommAbort(r.comm), ncclSuccess);
    if (text.rfind("6: rank ", 0) == 0) text[8] = '2';  // or one that gave up because of rank 2
    return text;
  });
}

TEST_CASE("nccl: a rank that does something else where others split is told, and so are they") {
  const RankAnswers answers =
      split_without_last(2, [](const NcclRank& r) { expect(ncclCommFinalize(r.comm), ncclInProgress); });
  CHECK(answers == RankAnswers{{"5: rank 1 is in ncclCommFinalize where rank 0 is in ncclCommSplit: a "
                                "collective that not all ranks call",
                                "5: rank 0 is in ncclCommSplit where rank 1 is in ncclCommFinalize: a "
                                "collective that not all ranks call"}});
}

TEST_CASE("nccl: a rank that dies before a split, or within it, ends it for all within 2 s") {
  const auto began = std::chrono::steady_clock::now();
  CHECK(split_without_last(3, [](const NcclRank&) { std::raise(SIGKILL); }) ==
        RankAnswers{{"6: rank 2 is gone", "6: rank 2 is gone", "killed by signal 9"}});
  // It says what it wants and never comes: those without a color have nobody to wait for.
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(3, [&](int rank) {
          const NcclRank r(id, rank, 3);
          roster(r.comm, r);
          ncclComm_t child = nullptr;
          expect(ncclCommSplit(r.comm, rank == 0 ? NCCL_SPLIT_NOCOLOR : 0, 0, &child, nullptr),
                 ncclInProgress);
          if (rank == 2) {
            expect(poll_once(r.comm), ncclInProgress);
            std::raise(SIGKILL);
          }
          const std::string text = std::to_string(settle(r.comm));
          expect(ncclCommAbort(r.comm), ncclSuccess);
          return text;
        }) == RankAnswers{{"0", "6", "killed by signal 9"}});
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
}

TEST_CASE("nccl: an abort ends a split that nobody joins, and a split on order fails") {
  CHECK(run_ranks(2, [id = new_id()](int rank) {
          NcclFaults faults;
          faults.fail_call = 2;  // behind the joining
          if (rank == 1) set_nccl_faults(faults);
          const NcclRank r(id, rank, 2);
          ncclComm_t child = nullptr;
          const ncclResult_t begun = ncclCommSplit(r.comm, 0, 0, &child, nullptr);
          std::string text = rank == 1 ? ncclGetLastError(r.comm) : std::to_string(begun);
          if (rank == 0) expect(poll_once(r.comm), ncclInProgress);
          expect(ncclCommAbort(r.comm), ncclSuccess);
          require(child == nullptr, "there is one");
          return text;
        }).by_rank[1] == "ncclCommSplit: fails as ordered");
}

}  // namespace
}  // namespace simt

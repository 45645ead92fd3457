// Reductions: the sums, bit by bit, and which ranks get them.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tests/simt/kernel_case.h"
#include "tests/simt/nccl_case.h"
#include "tests/simt/nccl_sum.h"

namespace simt {
namespace {

template <class Element>
Element sum_of(Element a, Element b, ncclDataType_t type) {
  add_to(&a, &b, sizeof a, type);
  return a;
}

TEST_CASE("nccl: sums are those of the type, and of bf16 rounded to nearest even") {
  CHECK(sum_of<std::int32_t>(-7, 3, ncclInt32) == -4);
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  CHECK(sum_of<std::int32_t>(most, 1, ncclInt32) == std::numeric_limits<std::int32_t>::min());
  CHECK(sum_of<float>(16777216.0F, 1.0F, ncclFloat32) == 16777216.0F);  // 2^24: odd numbers end there
  // bf16 has 8 bits: 256 = 0x4380 + 1 = 0x3F80 is half way to 258 = 0x4381 and stays; 258 + 1 goes on to 260.
  CHECK(sum_of<std::uint16_t>(0x4380, 0x3F80, ncclBfloat16) == 0x4380);
  CHECK(sum_of<std::uint16_t>(0x4381, 0x3F80, ncclBfloat16) == 0x4382);
  CHECK(sum_of<std::uint16_t>(0x3F80, 0x3F80, ncclBfloat16) == 0x4000);
  CHECK_FALSE(is_summable(ncclFloat16));
}

constexpr std::size_t kLargeCount = 300000;  // more than sockets hold

// Element i of block b of a rank.
std::int32_t term(int rank, std::size_t block, std::size_t i) {
  return static_cast<std::int32_t>(i % 1000 + 7 * block) * (rank + 1);
}

// Over ranks 0 to ranks - 1: the sum of rank + 1 is ranks (ranks + 1) / 2.
std::int32_t sum_of_terms(int ranks, std::size_t block, std::size_t i) {
  return term(0, block, i) * (ranks * (ranks + 1) / 2);
}

std::int32_t* numbers_of(const DeviceBuffer& buffer) {
  return reinterpret_cast<std::int32_t*>(buffer.data());
}

void reduce_to_all(const NcclRank& r, std::size_t count) {
  const DeviceBuffer from(4 * count);
  const DeviceBuffer to(4 * count);
  for (std::size_t i = 0; i < count; ++i) numbers_of(from)[i] = term(r.rank, 0, i);
  r.queue(ncclAllReduce(from.data(), to.data(), count, ncclInt32, ncclSum, r.comm, r.stream));
  r.wait();
  for (std::size_t i = 0; i < count; ++i) {
    require(numbers_of(to)[i] == sum_of_terms(r.ranks, 0, i), "sum " + std::to_string(i));
    require(numbers_of(from)[i] == term(r.rank, 0, i), "a summand was written to");
  }
  require(to.guard_is_poison(), "written beyond the end");
}

void reduce_to_each(const NcclRank& r, std::size_t count) {
  const auto blocks = static_cast<std::size_t>(r.ranks);
  const DeviceBuffer from(4 * count * blocks);
  const DeviceBuffer to(4 * count);
  for (std::size_t at = 0; at < count * blocks; ++at)
    numbers_of(from)[at] = term(r.rank, at / count, at % count);
  r.queue(ncclReduceScatter(from.data(), to.data(), count, ncclInt32, ncclSum, r.comm, r.stream));
  r.wait();
  for (std::size_t i = 0; i < count; ++i)
    require(numbers_of(to)[i] == sum_of_terms(r.ranks, static_cast<std::size_t>(r.rank), i),
            "sum " + std::to_string(i));
  require(to.guard_is_poison(), "written beyond the end");
}

TEST_CASE("nccl: all-reduce gives all ranks all sums, reduce-scatter each those of its block") {
  for (const int ranks : {1, 2, 3, 8}) {
    CAPTURE(ranks);
    const ncclUniqueId id = new_id();
    CHECK(run_ranks(ranks, [&](int rank) {
            const ScheduleScope scope({Order::kRandom, static_cast<std::uint64_t>(rank)});
            const NcclRank r(id, rank, ranks);
            for (const std::size_t count :
                 {std::size_t{0}, std::size_t{1}, std::size_t{1025}, ranks == 8 ? 1000 : kLargeCount}) {
              reduce_to_all(r, count);
              reduce_to_each(r, count);
            }
            r.end();
            return std::string();
          }) == all_well(ranks));
  }
}

TEST_CASE("nccl: sums may be where their summands are, and a graph takes them anew at every launch") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(3, [&](int rank) {
          const NcclRank r(id, rank, 3);
          const DeviceBuffer cells(12);
          cudaGraph_t graph = nullptr;
          cudaGraphExec_t exec = nullptr;
          cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal);
          r.queue(ncclAllReduce(cells.data(), cells.data(), 3, ncclInt32, ncclSum, r.comm, r.stream));
          require(cudaStreamEndCapture(r.stream, &graph) == cudaSuccess, "no graph");
          require(cudaGraphInstantiate(&exec, graph) == cudaSuccess, "no executable graph");
          for (int c = 0; c < 3; ++c) numbers_of(cells)[c] = rank + c;
          std::vector<std::int32_t> sums = {3, 6, 9};  // 0 + 1 + 2, and 3 more for each
          for (int launch = 0; launch < 3; ++launch) {
            require(cudaGraphLaunch(exec, r.stream) == cudaSuccess, "no launch");
            r.wait();
            require(std::vector<std::int32_t>(numbers_of(cells), numbers_of(cells) + 3) == sums, "sums");
            for (std::int32_t& sum : sums) sum *= 3;  // now all ranks have the same
          }
          // In place, reduce-scatter's block is the rank's own of its summands.
          for (int c = 0; c < 3; ++c) numbers_of(cells)[c] = rank + 10 * c;
          r.queue(ncclReduceScatter(cells.data(), cells.data() + 4 * rank, 1, ncclInt32, ncclSum, r.comm,
                                    r.stream));
          r.wait();
          require(numbers_of(cells)[rank] == 3 + 30 * rank, "its own sum");
          cudaGraphDestroy(graph);
          cudaGraphExecDestroy(exec);
          r.end();
          return std::string();
        }) == all_well(3));
}

TEST_CASE("nccl: sums of every rank have the same bits, and a group may take several") {
  // 1e8 + 1 - 1e8 is 0 or 1 in fp32, as the order is: here that of ranks, (1e8 + 1) - 1e8 = 0.
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(3, [&](int rank) {
          const NcclRank r(id, rank, 3);
          const DeviceBuffer from(4);
          const DeviceBuffer sum(4);
          const DeviceBuffer block(4);
          const DeviceBuffer blocks(12);
          const float summand = rank == 0 ? 1e8F : rank == 1 ? 1.0F : -1e8F;
          std::memcpy(from.data(), &summand, 4);
          for (int b = 0; b < 3; ++b) numbers_of(blocks)[b] = 5 * b;
          expect(ncclGroupStart(), ncclSuccess);
          expect(ncclAllReduce(from.data(), sum.data(), 1, ncclFloat32, ncclSum, r.comm, r.stream),
                 ncclSuccess);
          expect(ncclReduceScatter(blocks.data(), block.data(), 1, ncclInt32, ncclSum, r.comm, r.stream),
                 ncclSuccess);
          r.queue(ncclGroupEnd());
          r.wait();
          float got = 1;
          std::memcpy(&got, sum.data(), 4);
          require(got == 0.0F, "another order");
          require(*numbers_of(block) == 15 * rank, "another block");
          r.end();
          return std::string();
        }) == all_well(3));
}

TEST_CASE("nccl: sums that are not emulated, and buffers that do not hold them, are refused") {
  const NcclRank r = alone();
  const DeviceBuffer buffer(0);  // 16 bytes with its guard
  const auto refused = [](ncclResult_t result) {
    return result == ncclInvalidArgument ? last_error() : "taken";
  };
  CHECK(refused(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclMax, r.comm, r.stream)) ==
        "ncclAllReduce: op 2 is not emulated, only ncclSum is");
  CHECK(
      refused(ncclReduceScatter(buffer.data(), buffer.data(), 1, ncclFloat16, ncclSum, r.comm, r.stream)) ==
      "ncclReduceScatter: ncclFloat16 is not emulated in sums, only ncclInt32, ncclFloat32 and ncclBfloat16 "
      "are");
  CHECK(refused(ncclAllReduce(buffer.data(), buffer.data(), 5, ncclInt32, ncclSum, r.comm, r.stream)) ==
        "ncclAllReduce: sendbuff is not 20 bytes of device memory");
  CHECK(refused(ncclReduceScatter(buffer.data(), nullptr, 1, ncclInt32, ncclSum, r.comm, r.stream)) ==
        "ncclReduceScatter: recvbuff is not 4 bytes of device memory");
  CHECK(poll_once(r.comm) == ncclSuccess);
  r.end();
}

// What two ranks' communicators fail with.
template <class Queue>
RankAnswers failures_of_two(Queue queue) {
  const ncclUniqueId id = new_id();
  return run_ranks(2, [&](int rank) {
    const NcclRank r(id, rank, 2);
    const DeviceBuffer from(64);
    const DeviceBuffer to(64);
    return r.failure_of(queue(r, from.data(), to.data()));
  });
}

TEST_CASE("nccl: reductions of other sizes, or met by another call, are told") {
  CHECK(failures_of_two([](const NcclRank& r, auto* from, auto* to) {
          return ncclAllReduce(from, to, r.rank == 1 ? 8 : 4, ncclInt32, ncclSum, r.comm, r.stream);
        }) == RankAnswers{{"5: rank 1 adds 32 bytes to rank 0, which expects 16",
                           "5: rank 0 adds 16 bytes to rank 1, which expects 32"}});
  CHECK(failures_of_two([](const NcclRank& r, auto* from, auto* to) {
          return r.rank == 1 ? ncclReduceScatter(from, to, 4, ncclInt32, ncclSum, r.comm, r.stream)
                             : ncclAllReduce(from, to, 4, ncclInt32, ncclSum, r.comm, r.stream);
        }).by_rank[0] ==
        "5: rank 1 is in ncclReduceScatter where rank 0 is in ncclAllReduce: a collective that not all ranks "
        "call");
}

TEST_CASE("nccl: a corrupted summand is in the sums of one rank") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(3, [&](int rank) {
          NcclFaults faults;
          if (rank == 2) faults.corrupt_at_call = 2;  // behind the joining
          set_nccl_faults(faults);
          const NcclRank r(id, rank, 3);
          const DeviceBuffer from(4);
          const DeviceBuffer to(4);
          *numbers_of(from) = 1;
          r.queue(ncclAllReduce(from.data(), to.data(), 1, ncclInt32, ncclSum, r.comm, r.stream));
          r.wait();
          const std::string sum = std::to_string(*numbers_of(to));
          r.end();
          return sum;
        }) == RankAnswers{{"67", "3", "3"}});  // bit 6 of the one of rank 2, in what rank 0 gets
}

TEST_CASE("nccl: a rank that dies in a reduction is gone for all others") {
  const ncclUniqueId id = new_id();
  CHECK(run_ranks(3, [&](int rank) {
          NcclFaults faults;
          if (rank == 2) faults.die_at_call = 3;
          set_nccl_faults(faults);
          const NcclRank r(id, rank, 3);
          const DeviceBuffer cells(4);
          const auto reduce = [&] {
            return ncclAllReduce(cells.data(), cells.data(), 1, ncclInt32, ncclSum, r.comm, r.stream);
          };
          r.queue(reduce());
          r.wait();  // so all have joined
          std::string text = r.failure_of(reduce());
          text[8] = '2';  // one that gives up because of rank 2 may be missed first
          return text;
        }) == RankAnswers{{"6: rank 2 is gone", "6: rank 2 is gone", "killed by signal 9"}});
}

}  // namespace
}  // namespace simt

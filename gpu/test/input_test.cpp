// Bad input: every message, and what happens to the tokens that are not concerned.
#include <cstdint>
#include <exception>
#include <stdexcept>

#include "gpu/dispatcher.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"
#include "gpu/virtual_transport.h"

namespace goodput::gpu::testing {
namespace {

// "" if `call` throws a std::invalid_argument with this text.
template <class Error, class Call>
std::string throws_not(const std::string& text, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what() == text ? "" : std::string("the error is: ") + error.what();
  }
  return "no error, not: " + text;
}

template <class Call>
std::string refuses_not(const std::string& text, const Call& call) {
  return throws_not<std::invalid_argument>(text, call);
}

HostTables one_each(std::int32_t ranks, std::int32_t experts) {
  return make_placement(
      ranks, experts,
      std::vector<std::int32_t>(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(experts), 1));
}

std::string wrong_shapes() {
  const auto refused = [](const DispatchShape& shape, const std::string& text) {
    return refuses_not("dispatch: " + text,
                       [&] { Dispatcher dispatcher(shape, one_each(shape.ranks, shape.experts), 0); });
  };
  DispatchShape huge{1024, 8, 8, 262'144, 8};
  return first_of({refused({1025, 8, 1, 1, 8}, "ranks must be from 1 to 1024, not 1025"),
                   refused({8, 513, 1, 1, 8}, "experts must be from 1 to 512, not 513"),
                   refused({8, 8, 9, 1, 8}, "top_k must be from 1 to 8, not 9"),
                   refused({8, 8, 0, 1, 8}, "top_k must be from 1 to 8, not 0"),
                   refused({8, 8, 1, -1, 8}, "max_tokens must be from 0 to 2147483647, not -1"),
                   refused({8, 8, 1, 1, 0}, "hidden must be from 1 to 2147483647, not 0"),
                   refused(huge, "ranks * max_tokens * top_k must be from 0 to 2130706432, not 2147483648")});
}

std::string wrong_placements() {
  const DispatchShape shape{4, 8, 1, 16, 8};
  return first_of(
      {refuses_not(
           "dispatch: the placement is for 4 ranks x 7 experts, but the shape has 4 ranks x 8 experts",
           [&] { Dispatcher dispatcher(shape, one_each(4, 7), 0); }),
       refuses_not("dispatch: rank must be from 0 to 3, not 4",
                   [&] { Dispatcher dispatcher(shape, one_each(4, 8), 4); }),
       refuses_not("placement: 3 replica counts for 2 ranks x 2 experts",
                   [] {
                     static_cast<void>(make_placement(2, 2, {1, 1, 1}));
                   }),
       refuses_not("placement: rank 1, expert 0: -1 replicas; it must have 0 or more",
                   [] {
                     static_cast<void>(make_placement(2, 2, {1, 1, -1, 1}));
                   }),
       refuses_not("placement: rank 1, expert 0: more than 1073741823 replicas of the expert on all ranks",
                   [] {
                     static_cast<void>(make_placement(2, 1, {1'073'741'823, 1}));
                   })});
}

std::string wrong_transport() {
  VirtualTransport two(2);
  const Stream stream;
  const std::vector<std::int32_t> both = {1, 1};
  const std::vector<std::int32_t> first = {1, 0};
  const std::vector<std::int32_t> none = {0, 0};
  return first_of(
      {refuses_not("virtual transport: ranks must be from 1 to 1024, not 1025",
                   [] { VirtualTransport transport(1025); }),
       refuses_not("virtual transport: 1 parts for 2 ranks",
                   [&] {
                     two.all_gather({{nullptr, nullptr}}, 1, stream.get());
                   }),
       throws_not<std::logic_error>("virtual transport: rank 0 sends 1 rows to rank 1, which expects 0", [&] {
         two.all_to_all(
             {{nullptr, nullptr, both.data(), first.data()}, {nullptr, nullptr, none.data(), none.data()}}, 0,
             stream.get());
       })});
}

std::string wrong_row_addresses() {
  const CopyDevice device = copy_device();
  const Stream stream;
  DeviceBuffer<unsigned char> bytes(4096);
  const auto map = upload(std::vector<std::int32_t>{0});
  const auto scatter = [&](int offset, std::int64_t row_bytes, CopyPath path, const CopyDevice& with) {
    scatter_rows({bytes.data() + offset, bytes.data() + 2048, row_bytes, 1}, map.data(), 1, path, with,
                 stream.get());
  };
  const TokenRows floats{ElementType::kFp32, 4, 1, 1, map.data()};
  return first_of({refuses_not("row copy: rows and addresses must be multiples of 2 bytes",
                               [&] { scatter(1, 16, CopyPath::kAuto, device); }),
                   refuses_not("row copy: rows and addresses must be multiples of 2 bytes",
                               [&] { scatter(0, 15, CopyPath::kAuto, device); }),
                   refuses_not("row copy: bulk copies need rows and addresses that are multiples of 16 bytes",
                               [&] {
                                 scatter(8, 16, CopyPath::kBulk, {1, true});
                               }),
                   refuses_not("row copy: bulk copies need compute capability 9.0 (and code built for it)",
                               [&] {
                                 scatter(0, 16, CopyPath::kBulk, {1, false});
                               }),
                   refuses_not("row copy: top_k must be from 1 to 8, not 9",
                               [&] {
                                 scatter_rows({bytes.data(), bytes.data() + 2048, 16, 1}, map.data(), 9,
                                              CopyPath::kAuto, device, stream.get());
                               }),
                   refuses_not("combine: top_k must be from 1 to 8, not 0",
                               [&] {
                                 combine_rows({ElementType::kFp32, 4, 1, 0, map.data()}, bytes.data(),
                                              nullptr, bytes.data() + 64, device, stream.get());
                               }),
                   refuses_not("combine: addresses must be multiples of the element size", [&] {
                     combine_rows(floats, bytes.data() + 2, nullptr, bytes.data() + 64, device, stream.get());
                   })});
}

std::string wrong_cuda_call() {
  try {
    GOODPUT_CUDA(cudaSetDevice(9999));
  } catch (const CudaError& error) {
    const std::string text = error.what();
    const bool says_all = text.find("input_test.cpp:") != std::string::npos &&
                          text.find("cudaSetDevice(9999): ") != std::string::npos &&
                          text.find("(cudaErrorInvalidDevice)") != std::string::npos;
    if (!says_all || error.code() != cudaErrorInvalidDevice) return "the error is: " + text;
    return cudaGetLastError() == cudaSuccess ? "" : "the error stays";
  }
  return "no error";
}

// One dispatch of rank 0 with the counts of all ranks given.
struct RankRun {
  HostCounts counts;
  std::vector<std::int32_t> positions;
};

RankRun run_rank(const DispatchShape& shape, const HostTables& placement,
                 const std::vector<std::int32_t>& expert_of, std::vector<moe::Tokens> all_counts) {
  const Stream stream;
  const auto d_expert_of = upload(expert_of);
  Dispatcher dispatcher(shape, placement, 0);
  dispatcher.count(d_expert_of.data(), static_cast<std::int32_t>(expert_of.size()) / shape.top_k,
                   stream.get());
  const auto mine = download(dispatcher.counts(), static_cast<std::size_t>(shape.experts));
  std::copy(mine.begin(), mine.end(), all_counts.begin());
  const auto d_counts = upload(all_counts);
  GOODPUT_CUDA(cudaMemcpyAsync(dispatcher.all_counts(), d_counts.data(),
                               all_counts.size() * sizeof(moe::Tokens), cudaMemcpyDeviceToDevice,
                               stream.get()));
  dispatcher.schedule(stream.get());
  dispatcher.place(stream.get());
  RankRun run{dispatcher.wait_host_counts(), {}};
  run.positions = download(dispatcher.positions(), expert_of.size());
  return run;
}

// 5 names no expert of 4, nor does -2; both are dropped, slot 2 is the first of them.
std::string wrong_bad_expert() {
  const RankRun run = run_rank({1, 4, 2, 3, 8}, one_each(1, 4), {3, 0, 5, -1, 0, -2}, {0, 0, 0, 0});
  if (run.counts.bad_slot != 2) return "no problem in slot 2";
  if (message_of(run.counts) != "slot 2 names an expert that does not exist; use -1 to drop a choice") {
    return "the message is: " + message_of(run.counts);
  }
  // Expert 0 comes first in the send buffer: slots 1 and 4; then expert 3: slot 0.
  return differ("positions", run.positions, {2, 0, -1, -1, 1, -1});
}

// Bad slots of the same thread, of another block.
std::string wrong_first_bad_slot() {
  std::vector<std::int32_t> expert_of(10'000, 1);
  expert_of[9'999] = 77;
  expert_of[4'321] = -9;
  expert_of[4'289] = 4;
  const RankRun run = run_rank({1, 4, 1, 10'000, 8}, one_each(1, 4), expert_of, {0, 0, 0, 0});
  return run.counts.bad_slot == 4'289 ? "" : "the first bad slot is " + std::to_string(run.counts.bad_slot);
}

// An exchange that says 1000 of this rank's 4 slots: memory beyond theirs stays as it is.
std::string wrong_false_counts() {
  const Stream stream;
  const auto d_expert_of = upload(std::vector<std::int32_t>(4, 0));
  const auto d_counts = upload(std::vector<moe::Tokens>{1000, 0});
  Dispatcher dispatcher({2, 1, 1, 4, 8}, make_placement(2, 1, {0, 1}), 0);
  dispatcher.count(d_expert_of.data(), 4, stream.get());
  GOODPUT_CUDA(cudaMemcpyAsync(dispatcher.all_counts(), d_counts.data(), 2 * sizeof(moe::Tokens),
                               cudaMemcpyDeviceToDevice, stream.get()));
  dispatcher.schedule(stream.get());
  dispatcher.place(stream.get());
  if (dispatcher.wait_host_counts().rows_sent != 1000) return "not as many rows as the counts say";
  return differ("positions", download(dispatcher.positions(), 4), {0, 1, 2, 3});
}

// Expert 1 is hosted by nobody: its tokens go nowhere, the others are served.
std::string wrong_lost_expert() {
  const HostTables placement = make_placement(2, 2, {1, 0, 1, 0});
  const RankRun run = run_rank({2, 2, 1, 4, 8}, placement, {1, 0, 1, 0}, {0, 0, 0, 0});
  if (message_of(run.counts) != "expert 1 is lost: tokens are routed to it and no rank hosts it") {
    return "the message is: " + message_of(run.counts);
  }
  if (run.counts.rows_sent != 2)
    return "2 rows of expert 0 are sent, not " + std::to_string(run.counts.rows_sent);
  return run.positions[0] == -1 && run.positions[2] == -1 && run.positions[1] >= 0 && run.positions[3] >= 0
             ? ""
             : "slots of expert 1 and only they have no row";
}

// What is wrong with the whole cluster is not hidden by what is wrong with a slot of this rank.
std::string wrong_two_problems() {
  const RankRun run = run_rank({1, 2, 1, 4, 8}, make_placement(1, 2, {1, 0}), {7, 1, 1, 0}, {0, 0});
  const std::string expected =
      "slot 0 names an expert that does not exist; use -1 to drop a choice; expert 1 is lost: tokens are "
      "routed to it and no rank hosts it";
  return message_of(run.counts) == expected ? "" : "the message is: " + message_of(run.counts);
}

// Nobody has computed anything yet.
std::string wrong_counts_too_early() {
  Dispatcher dispatcher({2, 2, 1, 4, 8}, one_each(2, 2), 0);
  const HostCounts counts = dispatcher.wait_host_counts();
  return counts.ok() && counts.rows_sent == 0 && counts.rows_received == 0 ? "" : "counts of nothing";
}

// Two ranks with 2^31 - 1 tokens each for expert 1.
std::string wrong_crowded_expert() {
  const RankRun run = run_rank({3, 2, 1, 4, 8}, one_each(3, 2), {1, 0, 1, 0},
                               {0, 0, 0, moe::kMostTokens, 0, moe::kMostTokens});
  if (message_of(run.counts) != "expert 1 has more than 2147483647 tokens") {
    return "the message is: " + message_of(run.counts);
  }
  return run.positions[0] == -1 && run.positions[1] >= 0 ? "" : "slots of expert 1 and only they have no row";
}

std::string wrong_no_tokens() {
  const RankRun run = run_rank({2, 2, 8, 4, 8}, one_each(2, 2), {}, {0, 0, 0, 0});
  if (!run.counts.ok() || !message_of(run.counts).empty()) return message_of(run.counts);
  return run.counts.rows_sent == 0 && run.counts.rows_received == 0 ? "" : "there are rows";
}

std::string wrong_token_numbers() {
  const DispatchShape shape{1, 2, 2, 4, 8};
  Dispatcher dispatcher(shape, one_each(1, 2), 0);
  const Stream stream;
  return first_of({refuses_not("dispatch: tokens must be from 0 to 4, not 5",
                               [&] { dispatcher.count(nullptr, 5, stream.get()); }),
                   refuses_not("dispatch: tokens must be from 0 to 4, not -1",
                               [&] { dispatcher.count(nullptr, -1, stream.get()); }),
                   refuses_not("dispatch: 9 received rows are more than any host counts reported",
                               [&] { dispatcher.regroup(nullptr, nullptr, 9, stream.get()); }),
                   refuses_not("dispatch: -1 received rows are more than any host counts reported",
                               [&] { dispatcher.ungroup(nullptr, nullptr, -1, stream.get()); })});
}

}  // namespace

std::vector<Test> input_tests(Size /*size*/) {
  return {{"input: sizes out of range are refused", wrong_shapes},
          {"input: placements that do not fit are refused", wrong_placements},
          {"input: the transport refuses what does not fit", wrong_transport},
          {"input: addresses that no path can use are refused", wrong_row_addresses},
          {"input: a CUDA call that fails is named, with its place", wrong_cuda_call},
          {"input: slots without an existing expert are dropped and reported", wrong_bad_expert},
          {"input: the first of several bad slots is reported", wrong_first_bad_slot},
          {"input: counts that are not those of the slots", wrong_false_counts},
          {"input: a lost expert is a status, the others are served", wrong_lost_expert},
          {"input: a crowded expert is a status, the others are served", wrong_crowded_expert},
          {"input: a bad slot does not hide a lost expert", wrong_two_problems},
          {"input: host counts before any schedule are empty", wrong_counts_too_early},
          {"input: no tokens are no problem", wrong_no_tokens},
          {"input: more tokens than were announced are refused", wrong_token_numbers}};
}

}  // namespace goodput::gpu::testing

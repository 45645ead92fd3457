// Jobs on CUDA devices: from the events of a rank to what it did.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/kineto_events_case.h"
#include "traces/kineto/kineto_activity.h"

namespace goodput {
namespace {

using testing::KinetoEventsCase;
using DeviceCut = TrackCut::Kind;
using DevicePart = CommunicationPart::Kind;

RankActivity activity_on_device(KinetoEventsCase& trace, const KinetoOptions& options = {}) {
  auto activity = rank_activity(trace.take(), options);
  REQUIRE_MESSAGE(activity, (activity ? "" : activity.error().message()));
  CHECK(activity->on_device);
  return *std::move(activity);
}

std::string error_on_device(KinetoEventsCase& trace) {
  const auto activity = rank_activity(trace.take(), {});
  return activity ? "" : activity.error().message();
}

std::vector<DeviceCut> device_cut_kinds(const RankActivity& activity) {
  std::vector<DeviceCut> kinds;
  for (const TrackCut& cut : activity.cuts) kinds.push_back(cut.kind);
  return kinds;
}

std::vector<std::string> device_cut_labels(const RankActivity& activity) {
  std::vector<std::string> labels;
  for (const TrackCut& cut : activity.cuts) labels.push_back(activity.names[cut.label]);
  return labels;
}

// Of nanoseconds that are whole microseconds.
std::int64_t whole_us(std::int64_t ns) {
  CHECK(ns % 1000 == 0);
  return ns / 1000;
}

// --- R1: steps ---

TEST_CASE("device activity: a kernel belongs to the step that launched it, whenever it runs") {
  KinetoEventsCase trace;
  trace.step(4, 0, 100);
  trace.step(5, 100, 200);
  trace.kernel(10, 60, 110);
  trace.nccl(90, 150, 180, trace.args("allreduce"));  // of step 4, and ends in step 5
  trace.kernel(110, 180, 230);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.steps.size() == 2);
  const RankActivity::Step& first = activity.steps[0];
  CHECK(first.number == 4);
  CHECK(whole_us(first.begin_ns) == 60);  // of its own first kernel
  CHECK(whole_us(first.end_ns) == 180);
  CHECK(first.is_first_in_file);
  const RankActivity::Step& second = activity.steps[1];
  CHECK(whole_us(second.begin_ns) == 180);
  CHECK(whole_us(second.end_ns) == 230);
  CHECK_FALSE(second.is_first_in_file);
  REQUIRE(activity.parts.size() == 1);
  CHECK(activity.parts[0].step == 0);
  CHECK(device_cut_kinds(activity) ==
        std::vector{DeviceCut::kLaunch, DeviceCut::kStepEnd, DeviceCut::kStepEnd});
}

TEST_CASE("device activity: the first step begins where the kernels that were launched before it end") {
  KinetoEventsCase trace;
  trace.step(1, 100, 200);
  trace.kernel(50, 120, 140);
  trace.kernel(110, 150, 170);
  trace.nccl(120, 170, 180, trace.args("allreduce"));
  const RankActivity activity = activity_on_device(trace);
  CHECK(whole_us(activity.steps[0].begin_ns) == 140);
  CHECK_FALSE(activity.steps[0].is_first_in_file);
}

TEST_CASE("device activity: kernels launched between two steps belong to the first") {
  KinetoEventsCase trace;
  trace.step(1, 0, 100);
  trace.step(2, 150, 250);
  trace.kernel(10, 20, 30);
  trace.nccl(120, 130, 140, trace.args("allreduce"));
  trace.kernel(160, 170, 190);
  const RankActivity activity = activity_on_device(trace);
  CHECK(activity.parts[0].step == 0);
  CHECK(whole_us(activity.steps[0].end_ns) == 140);
  CHECK(whole_us(activity.steps[1].end_ns) == 190);
}

TEST_CASE("device activity: what is launched before the first step or after the last one is left out") {
  KinetoEventsCase trace;
  trace.step(1, 100, 200);
  trace.nccl(50, 60, 70, trace.args("allreduce"));
  trace.kernel(110, 120, 130);
  trace.nccl(150, 160, 170, trace.args("allreduce"));
  trace.nccl(250, 260, 270, trace.args("allreduce"));
  trace.kernel(260, 270, 280);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 1);
  CHECK(whole_us(activity.parts[0].begin_ns) == 160);
  CHECK(whole_us(activity.steps[0].end_ns) == 170);
  CHECK(whole_us(activity.cuts.back().end_ns) == 130);  // its own work
}

// --- R2: parts ---

TEST_CASE("device activity: the part of a rank is its kernel, with what its args say") {
  KinetoEventsCase trace;
  trace.events.header.groups.push_back({"3", "mesh_tp", {1, 0}});
  trace.step(1, 0, 100);
  trace.kernel(5, 6, 9);
  trace.nccl(20, 30, 40, trace.args("_allgather_base", 512, "3", 17));
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 1);
  const CommunicationPart& part = activity.parts[0];
  CHECK(part.kind == DevicePart::kCollective);
  CHECK(activity.groups[static_cast<std::size_t>(part.group)].description == "mesh_tp");
  CHECK(activity.names[part.name] == "_allgather_base");
  CHECK(activity.names[part.dtype] == "Float");
  CHECK(part.elements == 512);
  CHECK(part.sequence == 17);
  CHECK(part.stream == 1);  // 7 is 0, 20 is 1
  CHECK(whole_us(part.launch_ns) == 20);
  CHECK(whole_us(part.begin_ns) == 30);
  CHECK(whole_us(part.end_ns) == 40);
}

TEST_CASE("device activity: a kernel without args has those of its record, whose time is the launch") {
  KinetoEventsCase trace;
  trace.step(1, 0, 100);
  trace.record(18, 77, trace.args("broadcast", 256, "0", 3));
  trace.nccl(20, 30, 40, -1, 77);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 1);
  CHECK(activity.names[activity.parts[0].name] == "broadcast");
  CHECK(activity.parts[0].sequence == 3);
  CHECK(whole_us(activity.parts[0].launch_ns) == 18);
}

TEST_CASE("device activity: several kernels of one launch are one part, from first begin to last end") {
  KinetoEventsCase trace;
  trace.step(1, 0, 100);
  const std::int32_t args = trace.args("all_to_allv", 256);
  trace.record(10, 5, args);
  trace.nccl(11, 30, 40, args, 5);
  trace.nccl(12, 40, 55, args, 5);
  trace.nccl(13, 25, 35, args, 5);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 1);
  CHECK(whole_us(activity.parts[0].begin_ns) == 25);
  CHECK(whole_us(activity.parts[0].end_ns) == 55);
  CHECK(activity.parts[0].elements == 256);  // said thrice of the same launch
}

TEST_CASE("device activity: coalesced launches are one part of all their sizes, launched by the first") {
  for (const bool is_linked_to_first : {true, false}) {
    CAPTURE(is_linked_to_first);
    KinetoEventsCase trace;
    trace.step(1, 0, 1000);
    for (std::int64_t bucket = 0; bucket < 2; ++bucket) {  // apart by 400, their launches by 10
      const std::int64_t at = 100 + 400 * bucket;
      const auto id = static_cast<std::uint64_t>(10 * bucket + 1);
      const std::int32_t first = trace.args("_reduce_scatter_base", 100);
      const std::int32_t middle = trace.args("_reduce_scatter_base", 20);
      const std::int32_t last = trace.args("_reduce_scatter_base", 3);
      trace.record(at, id, first);
      trace.record(at + 10, id + 1, middle);
      trace.record(at + 20, id + 2, last);
      trace.nccl(at + 25, at + 30, at + 90, is_linked_to_first ? first : last,
                 is_linked_to_first ? id : id + 2);
    }
    const RankActivity activity = activity_on_device(trace);
    REQUIRE(activity.parts.size() == 2);
    CHECK(activity.parts[0].elements == 123);
    CHECK(whole_us(activity.parts[0].launch_ns) == 100);
    CHECK(whole_us(activity.parts[1].launch_ns) == 500);
    CHECK(activity.parts[1].elements == 123);
  }
}

TEST_CASE(
    "device activity: records of waits, of coalescing and of groups of one rank do not count as launches") {
  KinetoEventsCase trace;
  trace.step(1, 0, 200);
  const std::int32_t args = trace.args("allreduce", 64);
  trace.record(10, 1, args);
  trace.nccl(11, 20, 30, args, 1);
  trace.record(40, 2, trace.args("startCoalescing"));
  trace.record(50, 3, trace.args("endCoalescing"));
  const std::int32_t lone = trace.args("allreduce", 1000);
  trace.events.comm_args.back().group_size = 1;
  trace.record(60, 4, lone);
  trace.record(70, 5, trace.args("wait", -1));
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 1);
  CHECK(activity.parts[0].elements == 64);
}

TEST_CASE("device activity: messages have peers, and no number of their group") {
  KinetoEventsCase trace;
  trace.events.header.world_size = 4;
  trace.events.header.groups = {{"0", "mesh_pp", {0, 1, 2, 3}}};
  trace.step(1, 0, 100);
  const std::int32_t send = trace.send_args(3);
  trace.events.comm_args.back().sequence = 5;
  trace.nccl(10, 20, 30, send);
  trace.nccl(40, 50, 60, trace.receive_args(2));
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 2);
  CHECK(activity.parts[0].kind == DevicePart::kSend);
  CHECK(activity.parts[0].peer == 3);
  CHECK(activity.parts[0].sequence == -1);
  CHECK(activity.parts[1].kind == DevicePart::kReceive);
  CHECK(activity.parts[1].peer == 2);
}

TEST_CASE("device activity: batched sends and receives are messages of one kernel and one launch") {
  KinetoEventsCase trace;
  trace.step(1, 0, 100);
  const std::int32_t send = trace.send_args(1);
  const std::int32_t receive = trace.receive_args(1);
  trace.record(10, 1, send);
  trace.record(14, 2, receive);
  trace.nccl(16, 20, 30, receive, 2);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 2);
  CHECK_FALSE(activity.parts[0].is_with_previous);
  CHECK(activity.parts[1].is_with_previous);
  CHECK(activity.parts[0].kind != activity.parts[1].kind);
  for (const CommunicationPart& part : activity.parts) {
    CHECK(part.peer == 1);
    CHECK(whole_us(part.launch_ns) == 10);
    CHECK(whole_us(part.begin_ns) == 20);
  }
  CHECK(device_cut_kinds(activity) == std::vector{DeviceCut::kLaunch, DeviceCut::kStepEnd});
}

TEST_CASE(
    "device activity: a message without a peer goes to the other rank of a group of two, or is refused") {
  const auto with_group = [](std::vector<std::int32_t> ranks) {
    KinetoEventsCase trace;
    trace.events.header.world_size = 4;
    trace.events.header.groups = {{"0", "", std::move(ranks)}};
    trace.step(1, 0, 100);
    trace.nccl(10, 20, 30, trace.send_args(-1));
    return rank_activity(trace.take(), {});
  };
  const auto known = with_group({3, 0});
  REQUIRE(known);
  CHECK(known->parts[0].peer == 3);
  const auto unknown = with_group({0, 1, 2});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message() ==
        "rank0.json: sends and receives have no recorded peer ranks; profile with PyTorch 2.3 or later");
}

TEST_CASE("device activity: a kernel of messages that no record explains is refused, but for an all-to-all") {
  const auto error_with = [](std::string_view collective) {
    KinetoEventsCase trace;
    trace.step(1, 0, 100);
    trace.nccl(10, 20, 30, trace.args(collective)).carries_messages = true;
    return error_on_device(trace);
  };
  CHECK(error_with("coalesced") ==
        "rank0.json: sends and receives have no recorded peer ranks; profile with PyTorch 2.3 or later");
  CHECK(error_with("all_to_allv") == "");
}

// --- groups ---

TEST_CASE("device activity: kernels without process groups are refused, unless all ranks are one group") {
  const auto trace_without_groups = [] {
    KinetoEventsCase trace;
    trace.events.header.world_size = 3;
    trace.events.header.groups.clear();
    trace.step(1, 0, 100);
    trace.nccl(10, 20, 30, trace.args("allreduce", 64, ""));
    return trace.take();
  };
  const auto refused = rank_activity(trace_without_groups(), {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().option == "one-group");
  CHECK(refused.error().message([](std::string_view key) { return "--" + std::string(key); }) ==
        "rank0.json: NCCL kernels have no process groups (recorded before PyTorch 2.3?); if all ranks form "
        "one group, use --one-group");
  const auto activity = rank_activity(trace_without_groups(), {true});
  REQUIRE(activity);
  REQUIRE(activity->groups.size() == 1);
  CHECK(activity->groups[0].ranks == std::vector<std::int32_t>{0, 1, 2});
  CHECK(activity->parts[0].group == 0);
}

TEST_CASE("device activity: kernels without any args are without process groups") {
  KinetoEventsCase trace;
  trace.step(1, 0, 100);
  trace.nccl(10, 20, 30, -1);
  CHECK(error_on_device(trace).starts_with("rank0.json: NCCL kernels have no process groups"));
}

// A job of 64 ranks whose header knows only the group of all.
KinetoEventsCase trace_with_ranks(std::string_view ranks, std::int64_t group_size, std::string_view group) {
  KinetoEventsCase trace;
  trace.events.header.world_size = 64;
  trace.events.header.groups = {{"0", "default_pg", {}}};
  for (std::int32_t rank = 0; rank < 64; ++rank) trace.events.header.groups[0].ranks.push_back(rank);
  trace.step(1, 0, 100);
  const std::int32_t args = trace.args("allreduce", 64, group);
  trace.events.comm_args.back().group_ranks = trace.name(ranks);
  trace.events.comm_args.back().group_size = group_size;
  trace.events.comm_args.back().group_description = trace.name("mesh_dp");
  trace.nccl(10, 20, 30, args);
  return trace;
}

TEST_CASE("device activity: a cut list of ranks is resolved by the name of the group") {
  KinetoEventsCase trace = trace_with_ranks("[0, 1, 2, ..., 63]", 64, "0");
  const RankActivity activity = activity_on_device(trace);
  CHECK(activity.groups.size() == 1);
  CHECK(activity.parts[0].group == 0);
}

TEST_CASE("device activity: a group that the header lacks is what its args say, if that is whole") {
  KinetoEventsCase whole = trace_with_ranks("[0, 8, 16]", 3, "5");
  const RankActivity activity = activity_on_device(whole);
  REQUIRE(activity.groups.size() == 2);
  CHECK(activity.groups[1] == ProcessGroup{"5", "mesh_dp", {0, 8, 16}});
  CHECK(activity.parts[0].group == 1);
  KinetoEventsCase cut = trace_with_ranks("[0, 8, 16, ..., 56]", 8, "5");
  CHECK(error_on_device(cut) ==
        "rank0.json: the ranks of process group \"5\" are not in distributedInfo and are incomplete in "
        "\"Process Group Ranks\"; profile with PyTorch 2.3 or later");
  KinetoEventsCase all = trace_with_ranks("[0, 1, ..., 63]", 64, "5");
  CHECK(activity_on_device(all).parts[0].group == 0);  // as many as there are: all of them
}

// --- R4: cuts and labels ---

TEST_CASE("device activity: cuts are in the order of launches, with when the work before them has ended") {
  KinetoEventsCase trace;
  trace.step(1, 0, 400);
  trace.kernel(10, 100, 160);
  trace.kernel(20, 90, 120, 8);
  trace.nccl(30, 170, 200, trace.args("allreduce"));
  trace.nccl(40, 200, 230, trace.args("allreduce"));  // nothing between these launches
  trace.kernel(50, 165, 190);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(device_cut_kinds(activity) ==
          std::vector{DeviceCut::kLaunch, DeviceCut::kLaunch, DeviceCut::kStepEnd});
  CHECK(whole_us(activity.cuts[0].end_ns) == 160);    // the later end of its two kernels
  CHECK(whole_us(activity.cuts[0].begin_ns) == 100);  // of the first one launched
  CHECK(activity.cuts[0].streams == 0b11);            // 7 and 8 are 0 and 1
  CHECK(activity.cuts[0].part == 0);
  CHECK(whole_us(activity.cuts[1].end_ns) == 160);
  CHECK(activity.cuts[1].begin_ns == 0);
  CHECK(activity.cuts[1].streams == 0);
  CHECK(whole_us(activity.cuts[2].end_ns) == 190);
}

TEST_CASE("device activity: segments are named after what the host did, and passes end where backward does") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  trace.host("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10, 100);
  trace.kernel(90, 100, 110);
  trace.nccl(105, 120, 130, trace.args("allreduce"));  // data-loader
  trace.kernel(200, 210, 240);                         // forward; ends when backward begins
  for (const std::int64_t at : {300, 350, 400})
    trace.host("autograd::engine::evaluate_function: AddmmBackward0", at, at + 45,
               KinetoEventsCase::kAutogradThread);
  trace.kernel(320, 330, 380, KinetoEventsCase::kComputeStream, KinetoEventsCase::kAutogradThread);
  trace.host("Optimizer.step#AdamW.step", 500, 900);
  trace.kernel(600, 610, 650);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(device_cut_kinds(activity) ==
          std::vector{DeviceCut::kLaunch, DeviceCut::kPassEnd, DeviceCut::kPassEnd, DeviceCut::kStepEnd});
  CHECK(device_cut_labels(activity) ==
        std::vector<std::string>{"data-loader", "forward", "backward", "optimizer"});
  CHECK(whole_us(activity.cuts[2].end_ns) == 380);
}

TEST_CASE("device activity: collectives that are launched in a backward pass do not end it") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  trace.kernel(50, 60, 80);
  const std::int32_t args = trace.args("allreduce");
  for (std::int64_t at = 100; at < 400; at += 100) {
    trace.host("autograd::engine::evaluate_function: MmBackward0", at, at + 40,
               KinetoEventsCase::kAutogradThread);
    trace.kernel(at + 10, at + 20, at + 60);
    trace.nccl(at + 60, at + 70, at + 150, args);
  }
  const RankActivity activity = activity_on_device(trace);
  // The end of the forward pass, three launches, and the end of the backward pass before the last of them.
  CHECK(device_cut_kinds(activity) == std::vector{DeviceCut::kPassEnd, DeviceCut::kLaunch, DeviceCut::kLaunch,
                                                  DeviceCut::kPassEnd, DeviceCut::kLaunch,
                                                  DeviceCut::kStepEnd});
}

// --- R5: what is recorded of waiting ---

TEST_CASE("device activity: a record of waiting cuts the track, and names the last part of its group") {
  KinetoEventsCase trace;
  trace.events.header.groups.push_back({"3", "mesh_tp", {0, 1}});
  trace.step(1, 0, 300);
  trace.nccl(10, 20, 30, trace.args("allreduce", 64, "3", 1));
  trace.nccl(40, 50, 60, trace.args("allreduce", 64, "3", 2));
  trace.nccl(70, 80, 90, trace.args("allreduce", 64, "0", 1));
  trace.record(100, 0, trace.args("wait", -1, "3", 1));  // of number 1
  trace.record(110, 0, trace.args("wait", -1, "3"));     // of the last one
  trace.record(120, 0, trace.args("wait", -1, "9"));     // of no group that is known
  trace.kernel(130, 140, 150);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.cuts.size() == 6);
  CHECK(activity.cuts[3].kind == DeviceCut::kWait);
  CHECK(activity.cuts[3].part == 0);
  CHECK(activity.cuts[4].kind == DeviceCut::kWait);
  CHECK(activity.cuts[4].part == 1);
  CHECK(activity.cuts[5].kind == DeviceCut::kStepEnd);
}

// A collective on stream 20; then `stream` waits for an event that was recorded on `wait_on_stream`.
RankActivity with_stream_wait(std::uint32_t stream, std::uint32_t wait_on_stream) {
  KinetoEventsCase trace;
  trace.step(1, 0, 400);
  trace.kernel(5, 10, 60);
  trace.nccl(20, 60, 120, trace.args("allreduce"));
  trace.events.launches.push_back({30'000, 901, KinetoEventsCase::kMainThread});  // cudaEventRecord
  trace.nccl(40, 120, 180, trace.args("allreduce"));
  trace.events.launches.push_back({50'000, 902, KinetoEventsCase::kMainThread});  // cudaStreamWaitEvent
  trace.events.stream_waits.push_back({stream, wait_on_stream, 901, 902, 0});
  trace.kernel(70, 120, 160);
  return activity_on_device(trace);
}

TEST_CASE("device activity: a stream that waits for an event waits for what was launched before its record") {
  const RankActivity activity =
      with_stream_wait(KinetoEventsCase::kComputeStream, KinetoEventsCase::kNcclStream);
  REQUIRE(device_cut_kinds(activity) ==
          std::vector{DeviceCut::kLaunch, DeviceCut::kLaunch, DeviceCut::kWait, DeviceCut::kStepEnd});
  CHECK(activity.cuts[2].part == 0);  // the second collective was launched after the record
}

TEST_CASE(
    "device activity: waits of a stream of collectives, and for a stream without any, are none of the "
    "track") {
  const std::vector<DeviceCut> without = {DeviceCut::kLaunch, DeviceCut::kLaunch, DeviceCut::kStepEnd};
  CHECK(device_cut_kinds(with_stream_wait(KinetoEventsCase::kNcclStream, KinetoEventsCase::kComputeStream)) ==
        without);
  CHECK(device_cut_kinds(with_stream_wait(KinetoEventsCase::kComputeStream, 33)) == without);
}

// --- side streams ---

TEST_CASE("device activity: a copy behind a collective on its stream belongs to it, one before it does not") {
  KinetoEventsCase trace;
  trace.step(1, 0, 4000);
  trace.kernel(5, 10, 1500);
  const std::uint32_t side = KinetoEventsCase::kNcclStream;
  trace.kernel(10, 90, 99, side);  // copy-in
  trace.nccl(20, 100, 200, trace.args("_allgather_base"));
  trace.kernel(30, 202, 215, side);  // copy-out
  trace.kernel(40, 390, 398, side);  // the next copy-in
  trace.nccl(50, 400, 500, trace.args("_allgather_base"));
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.parts.size() == 2);
  CHECK(whole_us(activity.parts[0].begin_ns) == 100);
  CHECK(whole_us(activity.parts[0].end_ns) == 215);
  CHECK(whole_us(activity.parts[1].end_ns) == 500);
  CHECK(activity.cuts.back().streams == 0);  // copies are none of the rank's own work
  CHECK(activity.cuts.front().streams == 1);
}

TEST_CASE("device activity: collectives on a stream that computes leave its work to the rank") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  trace.kernel(5, 10, 100);
  trace.nccl(20, 100, 150, trace.args("allreduce"), 0, KinetoEventsCase::kComputeStream);
  trace.kernel(30, 150, 200);
  const RankActivity activity = activity_on_device(trace);
  CHECK(whole_us(activity.parts[0].end_ns) == 150);
  CHECK(activity.parts[0].stream == 0);
  CHECK(activity.cuts[0].streams == 1);
  CHECK(activity.cuts[1].streams == 1);
  CHECK(whole_us(activity.cuts[1].end_ns) == 200);
}

// --- gaps ---

TEST_CASE("device activity: gaps are between the rank's own kernels, on any stream, if longer than 20 us") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  trace.kernel(5, 10, 100);
  trace.kernel(6, 120, 200);  // 20 us later
  trace.nccl(7, 200, 300, trace.args("allreduce"));
  trace.kernel(8, 150, 230, 9);
  trace.kernel(9, 251, 400);  // 21 us after the last of both streams
  trace.kernel(10, 380, 390, 9);
  trace.nccl(11, 400, 600, trace.args("allreduce"));
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.gaps.size() == 2);
  CHECK(whole_us(activity.gaps[0].begin_ns) == 230);
  CHECK(whole_us(activity.gaps[0].end_ns) == 251);
  CHECK(whole_us(activity.gaps[1].begin_ns) == 400);  // nothing of its own comes any more
  CHECK(activity.gaps[1].end_ns > 600'000);
}

// --- notes ---

TEST_CASE("device activity: a note reports kernels without a launch if they are many") {
  const auto notes_with = [](int lost) {
    KinetoEventsCase trace;
    trace.step(1, 0, 1000);
    for (std::int64_t i = 0; i < 99; ++i) trace.kernel(i + 1, i + 1, i + 2);
    trace.nccl(200, 200, 300, trace.args("allreduce"));
    for (int i = 0; i < lost; ++i) trace.events.kernels.push_back({1000, 2000, 7, 5000, -1});
    return activity_on_device(trace).notes;
  };
  CHECK(notes_with(1).empty());
  CHECK(notes_with(25) ==
        std::vector<std::string>{
            "rank0.json: ignored 25 of 125 kernels, because they were launched before the recording began"});
}

TEST_CASE("device activity: work launched before the first step is not part of its first segment") {
  KinetoEventsCase trace;
  trace.step(1, 100, 200);
  trace.kernel(50, 60, 140);
  trace.nccl(110, 150, 160, trace.args("allreduce"));
  trace.kernel(120, 160, 170);
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.cuts.size() == 2);
  CHECK(whole_us(activity.cuts[0].end_ns) == 140);
  CHECK(activity.cuts[0].begin_ns == 0);
  CHECK(activity.cuts[0].streams == 0);
}

TEST_CASE("device activity: the last kernel of a forward pass belongs to its segment") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  trace.kernel(100, 110, 140);
  trace.kernel(200, 210, 240);  // the last one before backward begins on the host
  trace.host("autograd::engine::evaluate_function: AddmmBackward0", 300, 350,
             KinetoEventsCase::kAutogradThread);
  trace.kernel(320, 330, 380, KinetoEventsCase::kComputeStream, KinetoEventsCase::kAutogradThread);
  trace.nccl(400, 410, 420, trace.args("allreduce"));
  const RankActivity activity = activity_on_device(trace);
  REQUIRE(activity.cuts.size() == 4);
  REQUIRE(activity.cuts[0].kind == DeviceCut::kPassEnd);
  CHECK(whole_us(activity.cuts[0].end_ns) == 240);  // not 140
  CHECK(whole_us(activity.cuts[1].begin_ns) == 330);
}

TEST_CASE("device activity: a wait for a stream without kernels does not become a wait for its neighbor") {
  // Stream 13 is between 7 and 20.
  CHECK(device_cut_kinds(with_stream_wait(KinetoEventsCase::kComputeStream, 13)) ==
        std::vector{DeviceCut::kLaunch, DeviceCut::kLaunch, DeviceCut::kStepEnd});
}

}  // namespace
}  // namespace goodput

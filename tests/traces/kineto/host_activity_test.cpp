// CPU jobs with gloo: from the events of a rank to what it did.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/kineto_events_case.h"
#include "traces/kineto/kineto_activity.h"

namespace goodput {
namespace {

using testing::KinetoEventsCase;
using HostCutKind = TrackCut::Kind;

constexpr std::uint32_t kGlooThread = 5;

RankActivity activity_on_host(KinetoEventsCase& trace) {
  auto activity = rank_activity(trace.take(), {});
  REQUIRE_MESSAGE(activity, (activity ? "" : activity.error().message()));
  CHECK_FALSE(activity->on_device);
  return *std::move(activity);
}

std::vector<HostCutKind> host_cut_kinds(const RankActivity& activity) {
  std::vector<HostCutKind> kinds;
  for (const TrackCut& cut : activity.cuts) kinds.push_back(cut.kind);
  return kinds;
}

std::vector<std::string> host_cut_labels(const RankActivity& activity) {
  std::vector<std::string> labels;
  for (const TrackCut& cut : activity.cuts) labels.push_back(activity.names[cut.label]);
  return labels;
}

// [begin, end) of parts in microseconds, by their order.
using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;
Intervals intervals_of_parts(const RankActivity& activity) {
  Intervals intervals;
  for (const CommunicationPart& part : activity.parts)
    intervals.emplace_back(part.begin_ns / 1000, part.end_ns / 1000);
  return intervals;
}
Intervals intervals_of_gaps(const RankActivity& activity) {
  Intervals intervals;
  for (const IdleGap& gap : activity.gaps) intervals.emplace_back(gap.begin_ns / 1000, gap.end_ns / 1000);
  return intervals;
}

TEST_CASE("host activity: a part begins with its launch, and ends with the next gloo event of its kind") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  trace.host("c10d::allreduce_", 100, 110);
  trace.host("c10d::_allgather_base_", 200, 210);
  trace.host("c10d::allreduce_", 300, 310);
  trace.host("gloo:all_reduce", 90, 95, kGlooThread);    // of something before
  trace.host("gloo:all_reduce", 305, 450, kGlooThread);  // the second; written before the first
  trace.host("gloo:all_reduce", 105, 500, kGlooThread + 1);
  trace.host("gloo:all_gather", 210, 260, kGlooThread);
  const RankActivity activity = activity_on_host(trace);
  CHECK(intervals_of_parts(activity) == Intervals{{100, 500}, {200, 260}, {300, 450}});
  CHECK(activity.names[activity.parts[0].name] == "all_reduce");
  CHECK(activity.names[activity.parts[1].name] == "all_gather");
  for (const CommunicationPart& part : activity.parts) {
    CHECK(part.group == -1);
    CHECK(part.sequence == -1);
    CHECK(part.elements == -1);
  }
}

TEST_CASE("host activity: gloo computes a reduce-scatter as an all-reduce, or as one") {
  for (const std::string_view end : {"gloo:all_reduce", "gloo:reduce_scatter"}) {
    KinetoEventsCase trace;
    trace.step(1, 0, 1000);
    trace.host("c10d::_reduce_scatter_base_", 100, 110);
    trace.host(end, 105, 300, kGlooThread);
    const RankActivity activity = activity_on_host(trace);
    CHECK(intervals_of_parts(activity) == Intervals{{100, 300}});
    CHECK(activity.names[activity.parts[0].name] == "reduce_scatter");
  }
}

TEST_CASE("host activity: launches without an end, on other threads or outside of steps are not parts") {
  KinetoEventsCase trace;
  trace.step(1, 100, 1000);
  trace.host("c10d::allreduce_", 50, 60);
  trace.host("gloo:all_reduce", 55, 70, kGlooThread);
  trace.host("c10d::allreduce_", 200, 210, KinetoEventsCase::kAutogradThread);
  trace.host("c10d::broadcast_", 300, 310);
  trace.host("gloo:broadcast", 305, 400, kGlooThread);
  trace.host("c10d::barrier", 500, 510);  // of a group of one rank: it has no gloo event
  CHECK(intervals_of_parts(activity_on_host(trace)) == Intervals{{300, 400}});
}

TEST_CASE("host activity: messages have peers in a group that is not known, and shapes tell sizes apart") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  KinetoEvents::Span& send = *trace.host("c10d::send", 100, 110);
  send.peer = 1;
  send.shape = 99;
  trace.host("c10d::recv_", 200, 210)->peer = 0;
  trace.host("gloo:send", 105, 150);
  trace.host("gloo:recv", 205, 250);
  const RankActivity activity = activity_on_host(trace);
  REQUIRE(activity.parts.size() == 2);
  CHECK(activity.parts[0].kind == CommunicationPart::Kind::kSend);
  CHECK(activity.parts[0].peer == 1);
  CHECK(activity.parts[0].shape == 99);
  CHECK(activity.parts[1].kind == CommunicationPart::Kind::kReceive);
  CHECK(activity.parts[1].peer == 0);
}

TEST_CASE("host activity: messages without peers are refused") {
  KinetoEventsCase trace;
  trace.step(1, 0, 1000);
  trace.host("c10d::send", 100, 110);
  trace.host("gloo:send", 105, 150);
  const auto activity = rank_activity(trace.take(), {});
  REQUIRE_FALSE(activity);
  CHECK(activity.error().message() ==
        "rank0.json: sends and receives have no recorded peer ranks; record with record_shapes=True");
}

TEST_CASE("host activity: steps follow each other without gaps, and a segment ends where the host launches") {
  KinetoEventsCase trace;
  trace.step(7, 0, 900);
  trace.step(8, 1000, 1900);
  for (const std::int64_t begin : {0, 1000}) {
    trace.host("aten::mm", begin + 10, begin + 90);
    trace.host("c10d::allreduce_", begin + 100, begin + 110);
    trace.host("gloo:all_reduce", begin + 105, begin + 400, kGlooThread);
  }
  const RankActivity activity = activity_on_host(trace);
  REQUIRE(activity.steps.size() == 2);
  CHECK(activity.steps[0].begin_ns == 0);
  CHECK(activity.steps[0].end_ns == 1'000'000);  // until the next one begins
  CHECK(activity.steps[1].begin_ns == 1'000'000);
  CHECK(activity.steps[1].end_ns == 1'900'000);
  CHECK(activity.parts[1].step == 1);
  CHECK(host_cut_kinds(activity) == std::vector{HostCutKind::kLaunch, HostCutKind::kStepEnd,
                                                HostCutKind::kLaunch, HostCutKind::kStepEnd});
  CHECK(activity.cuts[0].end_ns == 100'000);
  CHECK(activity.cuts[1].end_ns == 1'000'000);
  CHECK(activity.cuts[3].end_ns == 1'900'000);
}

TEST_CASE("host activity: passes end where backward functions begin and end, and segments have labels") {
  KinetoEventsCase trace;
  trace.step(1, 0, 2000);
  trace.host("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 290);
  trace.host("c10d::broadcast_", 300, 310);
  trace.host("gloo:broadcast", 305, 320, kGlooThread);
  trace.host("aten::mm", 400, 600);  // forward
  for (const std::int64_t at : {700, 800, 900}) {
    trace.host("autograd::engine::evaluate_function: MmBackward0", at, at + 95);
    trace.host("aten::mm", at + 10, at + 80);
  }
  trace.host("Optimizer.step#SGD.step", 1100, 1900);
  trace.host("aten::add", 1200, 1800);
  const RankActivity activity = activity_on_host(trace);
  REQUIRE(host_cut_kinds(activity) == std::vector{HostCutKind::kLaunch, HostCutKind::kPassEnd,
                                                  HostCutKind::kPassEnd, HostCutKind::kStepEnd});
  CHECK(host_cut_labels(activity) ==
        std::vector<std::string>{"data-loader", "forward", "backward", "optimizer"});
  CHECK(activity.cuts[1].end_ns == 600'000);
  CHECK(activity.cuts[2].end_ns == 995'000);
}

TEST_CASE("host activity: a pass continues through launches of communication but not through other work") {
  KinetoEventsCase trace;
  trace.step(1, 0, 3000);
  trace.host("aten::mm", 10, 90);
  for (const std::int64_t at : {100, 300}) {
    trace.host("autograd::engine::evaluate_function: MmBackward0", at, at + 80);
    trace.host("c10d::allreduce_", at + 85, at + 90);
    trace.host("gloo:all_reduce", at + 86, at + 150, kGlooThread);
  }
  trace.host("aten::mm", 600, 690);  // the forward pass of another micro-batch
  trace.host("autograd::engine::evaluate_function: MmBackward0", 700, 780);
  trace.host("c10d::allreduce_", 800, 810);
  trace.host("gloo:all_reduce", 805, 850, kGlooThread);
  const RankActivity activity = activity_on_host(trace);
  CHECK(host_cut_kinds(activity) == std::vector{HostCutKind::kPassEnd, HostCutKind::kLaunch,
                                                HostCutKind::kPassEnd, HostCutKind::kLaunch,
                                                HostCutKind::kPassEnd, HostCutKind::kPassEnd,
                                                HostCutKind::kLaunch, HostCutKind::kStepEnd});
  CHECK(activity.cuts[4].end_ns == 690'000);
  CHECK(activity.cuts[5].end_ns == 780'000);
}

TEST_CASE("host activity: the host idles while nothing begins or ends on its main thread") {
  KinetoEventsCase trace;
  trace.step(1, 0, 3000);
  trace.host("autograd::engine::evaluate_function: MmBackward0", 100, 2000);  // encloses a wait
  trace.host("aten::mm", 110, 200);
  trace.host("c10d::allreduce_", 210, 220);
  trace.host("gloo:all_reduce", 215, 1500, kGlooThread);
  trace.host("aten::add", 700, 800, KinetoEventsCase::kAutogradThread);  // another thread
  trace.host("aten::mm", 1510, 1640);
  trace.host("aten::mm", 1790, 1800);
  const RankActivity activity = activity_on_host(trace);
  // 150 us from 1640 to 1790 are too short; those from 1800 to 2000 are long enough.
  CHECK(intervals_of_gaps(activity) == Intervals{{220, 1510}, {1800, 2000}});
}

TEST_CASE("host activity: gloo events of the main thread are waiting, not work") {
  KinetoEventsCase trace;
  trace.step(1, 0, 3000);
  trace.host("aten::mm", 10, 90);
  trace.host("c10d::recv_", 100, 110)->peer = 1;
  trace.host("gloo:recv", 105, 900);
  trace.host("aten::mm", 910, 1000);
  CHECK(intervals_of_gaps(activity_on_host(trace)) == Intervals{{110, 910}});
}

}  // namespace
}  // namespace goodput

#include "traces/kineto/kineto_activity.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "traces/io/byte_source.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {
namespace {

using PartKind = CommunicationPart::Kind;
using CutKind = TrackCut::Kind;

constexpr std::int64_t kMicrosecond = 1000;

// A trace, event by event; times in microseconds.
class TraceText {
 public:
  explicit TraceText(std::string distributed_info =
                         R"({"backend":"nccl","rank":0,"world_size":2,"pg_config":[{"pg_name":"0",)"
                         R"("pg_desc":"default_pg","pg_size":2,"ranks":[0,1]}]})")
      : info_(std::move(distributed_info)) {}

  TraceText& step(int number, double begin, double end) {
    return add("user_annotation", fmt::format("ProfilerStep#{}", number), begin, end, 1, "");
  }
  TraceText& op(const std::string& name, double begin, double end, const std::string& args = "",
                int thread = 1) {
    return add("cpu_op", name, begin, end, thread, args);
  }
  TraceText& annotation(const std::string& name, double begin, double end, int thread = 1) {
    return add("user_annotation", name, begin, end, thread, "");
  }
  // A kernel on a stream, launched at `launch`.
  TraceText& kernel(double launch, double begin, double end, int stream = 7, const std::string& name = "gemm",
                    const std::string& args = "") {
    ++correlation_;
    add("cuda_runtime", "cudaLaunchKernel", launch, launch + 1, 1,
        fmt::format(R"("correlation":{})", correlation_));
    return add("kernel", name, begin, end, stream,
               fmt::format(R"("stream":{},"correlation":{}{}{})", stream, correlation_,
                           args.empty() ? "" : ",", args));
  }
  // A collective of group 0: its record and its kernel.
  TraceText& collective(double launch, double begin, double end, int stream = 20, int kernels = 1) {
    ++id_;
    op("record_param_comms", launch, launch + 1, fmt::format(R"("External id":{},{})", id_, kArgs));
    for (int i = 0; i < kernels; ++i) {
      const double part = (end - begin) / kernels;
      kernel(launch, begin + i * part, begin + (i + 1) * part, stream, "ncclDevKernel_AllReduce",
             fmt::format(R"("External id":{})", id_));
    }
    return *this;
  }

  static constexpr const char* kArgs =
      R"("Collective name":"allreduce","In msg nelems":100,"Out msg nelems":100,"dtype":"Float","Group size":2,)"
      R"("Process Group Name":"0","Process Group Description":"default_pg","Process Group Ranks":"[0, 1]")";

  [[nodiscard]] std::string text() const {
    return R"({"schemaVersion":1,"deviceProperties":[],)" +
           (info_.empty() ? "" : R"("distributedInfo":)" + info_ + ",") + R"("traceEvents":[)" + events_ +
           "]}";
  }
  [[nodiscard]] Result<RankActivity> read(const KinetoOptions& options = {},
                                          const std::string& name = "t.json") const {
    const TemporaryFile file(name, text());
    auto source = ByteSource::open(file.path());
    REQUIRE(source);
    auto events = read_kineto_events(*source);
    REQUIRE(events);
    return rank_activity(*std::move(events), options);
  }
  [[nodiscard]] std::string error(const KinetoOptions& options = {}) const {
    const auto activity = read(options);
    return activity ? "" : activity.error().what;
  }

 private:
  TraceText& add(const std::string& category, const std::string& name, double begin, double end, int thread,
                 const std::string& args) {
    if (!events_.empty()) events_ += ",\n";
    events_ += fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
        category, name, thread, begin, end - begin, args);
    return *this;
  }

  std::string info_;
  std::string events_;
  int correlation_ = 0;
  int id_ = 100;
};

std::vector<CutKind> kinds_of_cuts(const RankActivity& activity) {
  std::vector<CutKind> kinds;
  for (const TrackCut& cut : activity.cuts) kinds.push_back(cut.kind);
  return kinds;
}

TEST_CASE("kineto activity: a kernel is of the step of its launch, and a step ends with its last kernel") {
  // The kernels of step 1 run until 250, long after the host has begun step 2 at 100.
  const auto activity = TraceText()
                            .step(1, 0, 100)
                            .step(2, 100, 200)
                            .kernel(10, 20, 120)
                            .collective(20, 120, 250)
                            .kernel(110, 250, 300)
                            .collective(120, 300, 310)
                            .read();
  REQUIRE(activity);
  REQUIRE(activity->steps.size() == 2);
  CHECK(activity->on_device);
  CHECK(activity->steps[0].is_first_in_file);
  CHECK(activity->steps[0].begin_ns == 20 * kMicrosecond);  // its own first kernel
  CHECK(activity->steps[0].end_ns == 250 * kMicrosecond);
  CHECK(activity->steps[1].begin_ns == 250 * kMicrosecond);
  CHECK(activity->steps[1].end_ns == 310 * kMicrosecond);
  REQUIRE(activity->parts.size() == 2);
  CHECK(activity->parts[0].step == 0);
  CHECK(activity->parts[1].step == 1);
  CHECK(activity->parts[1].begin_ns == 300 * kMicrosecond);
  CHECK(activity->parts[0].elements == 100);
  CHECK(kinds_of_cuts(*activity) ==
        std::vector{CutKind::kLaunch, CutKind::kStepEnd, CutKind::kLaunch, CutKind::kStepEnd});
  // The segment before the first launch is the kernel launched before it.
  CHECK(activity->cuts[0].end_ns == 120 * kMicrosecond);
  CHECK(activity->cuts[0].begin_ns == 20 * kMicrosecond);
}

TEST_CASE("kineto activity: several kernels of one launch are one part") {
  const auto activity = TraceText().step(1, 0, 100).kernel(5, 6, 10).collective(20, 30, 60, 20, 3).read();
  REQUIRE(activity);
  REQUIRE(activity->parts.size() == 1);
  CHECK(activity->parts[0].begin_ns == 30 * kMicrosecond);
  CHECK(activity->parts[0].end_ns == 60 * kMicrosecond);
}

TEST_CASE(
    "kineto activity: coalesced launches with one kernel are one part, linked to the last or the first") {
  const std::string args = TraceText::kArgs;
  const auto with_lone = [&](bool is_first, double lone) {
    TraceText trace;
    trace.step(1, 0, 1000).kernel(5, 6, 10);
    for (const double begin : {100.0, 500.0}) {
      if (!is_first)
        trace.op("record_param_comms", begin - lone, begin - lone + 1, R"("External id":9,)" + args);
      trace.collective(begin, begin + 5, begin + 20);
      if (is_first)
        trace.op("record_param_comms", begin + lone, begin + lone + 1, R"("External id":8,)" + args);
    }
    return trace.read();
  };
  for (const bool is_first : {false, true}) {
    const auto activity = with_lone(is_first, 10);
    REQUIRE(activity);
    REQUIRE(activity->parts.size() == 2);
    CHECK(activity->parts[0].elements == 200);
    CHECK(activity->parts[0].launch_ns == (is_first ? 100 : 90) * kMicrosecond);
    CHECK(activity->parts[1].elements == 200);
  }
}

TEST_CASE("kineto activity: a batch of a send and a receive is two parts of one kernel") {
  const std::string group = R"("Group size":2,"Process Group Name":"0","dtype":"Float","In msg nelems":5,)";
  TraceText trace;
  trace.step(1, 0, 1000).kernel(5, 6, 10);
  trace.op("record_param_comms", 50, 51,
           R"("External id":1,"Collective name":"send","Dst Rank":1,"Src Rank":0,)" + group + R"("Seq":4)");
  trace.op("record_param_comms", 60, 61,
           R"("External id":2,"Collective name":"recv","Src Rank":1,"Dst Rank":0,)" + group + R"("Seq":5)");
  trace.kernel(61, 70, 90, 20, "ncclDevKernel_SendRecv", R"("External id":2)");
  const auto activity = trace.read();
  REQUIRE(activity);
  REQUIRE(activity->parts.size() == 2);
  CHECK(activity->parts[0].kind == PartKind::kReceive);
  CHECK(activity->parts[1].kind == PartKind::kSend);
  CHECK(activity->parts[1].is_with_previous);
  CHECK(activity->parts[1].peer == 1);
  CHECK(activity->parts[0].sequence == -1);  // counts by rank
  CHECK(kinds_of_cuts(*activity) == std::vector{CutKind::kLaunch, CutKind::kStepEnd});
}

TEST_CASE("kineto activity: what a stream of collectives computes behind one belongs to it") {
  // Stream 20 has a collective, and a copy right behind it; the copy before the next one is nobody's.
  const auto activity = TraceText()
                            .step(1, 0, 1000)
                            .kernel(5, 10, 500)
                            .collective(20, 30, 60)
                            .kernel(25, 61, 64, 20)
                            .kernel(26, 190, 199, 20)
                            .collective(40, 200, 260)
                            .read();
  REQUIRE(activity);
  REQUIRE(activity->parts.size() == 2);
  CHECK(activity->parts[0].end_ns == 64 * kMicrosecond);
  CHECK(activity->parts[1].begin_ns == 200 * kMicrosecond);
  CHECK(activity->cuts.back().end_ns == 500 * kMicrosecond);
}

TEST_CASE("kineto activity: recorded waits and waits of streams cut the track") {
  const std::string args = TraceText::kArgs;
  std::string wait = args;
  wait.replace(wait.find("allreduce"), 9, "wait");
  const auto recorded = TraceText()
                            .step(1, 0, 1000)
                            .kernel(5, 10, 50)
                            .collective(20, 50, 90)
                            .op("record_param_comms", 30, 31, wait)
                            .kernel(40, 90, 100)
                            .read();
  REQUIRE(recorded);
  CHECK(kinds_of_cuts(*recorded) == std::vector{CutKind::kLaunch, CutKind::kWait, CutKind::kStepEnd});
  CHECK(recorded->cuts[1].part == 0);
}

TEST_CASE("kineto activity: backward functions are passes, annotations name what the rank was doing") {
  const std::string backward = "autograd::engine::evaluate_function: MmBackward0";
  const auto activity = TraceText()
                            .step(1, 0, 1000)
                            .annotation("enumerate(DataLoader)#_next", 1, 90)
                            .kernel(95, 100, 200)
                            .op(backward, 110, 120, "", 2)
                            .kernel(115, 200, 300)
                            .op(backward, 121, 130, "", 2)
                            .kernel(125, 300, 400)
                            .annotation("Optimizer.step#AdamW.step", 140, 990)
                            .kernel(150, 400, 450)
                            .collective(995, 996, 997)
                            .read();
  REQUIRE(activity);
  CHECK(kinds_of_cuts(*activity) ==
        std::vector{CutKind::kPassEnd, CutKind::kPassEnd, CutKind::kLaunch, CutKind::kStepEnd});
  std::vector<std::string> labels;
  for (const TrackCut& cut : activity->cuts) labels.push_back(activity->names[cut.label]);
  CHECK(labels[0] == "data-loader");
  CHECK(labels[1] == "backward");
  CHECK(labels[2] == "optimizer");
}

TEST_CASE(
    "kineto activity: a job on CPUs begins its parts where it launches them, and ends them with gloo's "
    "events") {
  const std::string info =
      R"({"backend":"gloo","rank":0,"world_size":2,"pg_config":[{"pg_name":"0","pg_size":2,"ranks":[0,1]}]})";
  const auto activity = TraceText(info)
                            .step(1, 0, 5000)
                            .op("aten::mm", 10, 900)
                            .op("c10d::allreduce_", 1000, 1100)
                            .op("aten::mm", 1200, 1500)
                            .annotation("gloo:all_reduce", 1010, 3000, 9)
                            .op("aten::add", 3000, 4000)
                            .read();
  REQUIRE(activity);
  CHECK_FALSE(activity->on_device);
  REQUIRE(activity->parts.size() == 1);
  CHECK(activity->parts[0].group == -1);
  CHECK(activity->parts[0].begin_ns == 1000 * kMicrosecond);
  CHECK(activity->parts[0].end_ns == 3000 * kMicrosecond);
  CHECK(activity->steps[0].end_ns == 5000 * kMicrosecond);
  // Between 1500 and 3000 the main thread does nothing.
  REQUIRE_FALSE(activity->gaps.empty());
  const bool has_gap = std::ranges::any_of(activity->gaps, [](const IdleGap& gap) {
    return gap.begin_ns == 1500 * kMicrosecond && gap.end_ns == 3000 * kMicrosecond;
  });
  CHECK(has_gap);
}

TEST_CASE("kineto activity: what no analysis can use is refused with the remedy") {
  const std::string world_of_8 = R"({"backend":"nccl","rank":1,"world_size":8})";
  CHECK(TraceText("").step(1, 0, 10).collective(1, 2, 3).error() ==
        "its rank is unknown, because it has no distributedInfo; name the file rank3.json, for example");
  CHECK(TraceText().collective(1, 2, 3).error() ==
        "no ProfilerStep#: call prof.step() after every step, or use torch.profiler.schedule");
  CHECK(TraceText().step(1, 0, 10).step(1, 10, 20).collective(1, 2, 3).error() ==
        "ProfilerStep#1 occurs twice: save each profiling run to its own file");
  CHECK(TraceText(world_of_8).step(1, 0, 10).kernel(1, 2, 3).error() ==
        "world_size is 8, but there are no nccl kernels or gloo events: profile with ProfilerActivity.CUDA");
  CHECK(TraceText(R"({"rank":9,"world_size":8})").step(1, 0, 10).collective(1, 2, 3).error() ==
        "distributedInfo is damaged: rank 9 in a job of 8 ranks");
  const TraceText without_groups =
      TraceText(world_of_8).step(1, 0, 10).kernel(1, 2, 3, 7, "ncclKernel_AllReduce");
  CHECK(without_groups.read().error().option == "one-group");
  CHECK(without_groups.read({.one_group = true}));
  CHECK(TraceText(R"({"backend":"gloo","rank":0,"world_size":2})")
            .step(1, 0, 100)
            .op("c10d::send", 10, 20)
            .annotation("gloo:send", 11, 30)
            .error() == "sends and receives without peers: record with record_shapes=True");
  CHECK(
      TraceText().step(1, 0, 10).collective(1, 2, 3).kernel(5, 6, 7, 7, "gemm", R"("graph id":3)").error() ==
      "CUDA graphs hide which kernels a step launches: profile without CUDA graphs");
  CHECK(TraceText().step(1, 0, 10).collective(1, 2, 3).kernel(5, 1e12, 1.1e12).error() ==
        "has events that are more than a week away from its steps: is a \"ts\" damaged?");
  CHECK(
      TraceText(world_of_8)
          .step(1, 0, 10)
          .kernel(1, 2, 3, 20, "ncclDevKernel",
                  R"("Collective name":"allreduce","Process Group Name":"4","Group size":4)")
          .error() ==
      "the ranks of process group \"4\" are neither in distributedInfo nor whole in \"Process Group Ranks\": "
      "profile with PyTorch 2.3 or later");
  CHECK(TraceText()
            .step(1, 0, 10)
            .kernel(1, 2, 3, 20, "ncclDevKernel_SendRecv",
                    R"("Collective name":"coalesced","Process Group Name":"0","Group size":2)")
            .error() == "sends and receives without peers: profile with PyTorch 2.3 or later");
}

TEST_CASE("kineto activity: a file without distributedInfo has the rank of its name, and hosts of theirs") {
  const auto named =
      TraceText("").step(1, 0, 10).collective(1, 2, 3).read({.one_group = false}, "x_rank-12.json");
  REQUIRE(named);
  CHECK(named->rank == 12);
  CHECK(named->notes.front().ends_with(
      "x_rank-12.json: no rank in the trace; took rank 12 from the file name"));
  const auto host =
      TraceText().step(1, 0, 10).collective(1, 2, 3).read({}, "node3_123.1700000.pt.trace.json");
  REQUIRE(host);
  CHECK(host->host == "node3");
}

TEST_CASE(
    "kineto activity: many kernels without a launch are noted, a cut file loses the steps it may lack") {
  TraceText trace;
  trace.step(1, 0, 100).step(2, 100, 200).step(3, 200, 300);
  for (const int step : {0, 1, 2})
    trace.kernel(100 * step + 5, 100 * step + 6, 100 * step + 50)
        .collective(100 * step + 20, 100 * step + 60, 100 * step + 70);
  std::string text = trace.text();
  const TemporaryFile file("rank0.json", text.substr(0, text.size() - 60));
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  auto events = read_kineto_events(*source);
  REQUIRE(events);
  REQUIRE(events->is_cut);
  const auto activity = rank_activity(*std::move(events), {});
  REQUIRE(activity);
  // The collective of step 3 is cut: steps 1 and 2 have something behind them only up to step 2's launch.
  REQUIRE(activity->steps.size() == 1);
  CHECK(activity->notes.back().find("the file is truncated: everything after event ") != std::string::npos);
}

}  // namespace
}  // namespace goodput

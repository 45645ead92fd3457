#include "traces/kineto/kineto_activity.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "tests/traces/io/temporary_file.h"
#include "traces/io/byte_source.h"
#include "traces/kineto/kineto_events.h"

namespace goodput {
namespace {

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

TEST_CASE("kineto activity: a rank in the file name that cannot be a rank of the job is refused") {
  const TraceText in_job_of_8 = TraceText(R"({"world_size":8})").step(1, 0, 10).collective(1, 2, 3);
  CHECK(in_job_of_8.read({}, "rank8.json").error().what ==
        "the file name has rank 8, but the job has only 8 ranks; rename the file after its rank, for example "
        "rank3.json");
  CHECK(in_job_of_8.read({}, "rank7.json"));
  const TraceText in_any_job = TraceText("").step(1, 0, 10).collective(1, 2, 3);
  CHECK(in_any_job.read({}, "rank16777215.json"));
  CHECK(in_any_job.read({}, "rank16777216.json").error().what ==
        "the rank is unknown, because the trace has no distributedInfo; put the rank in the file name, for "
        "example rank3.json");
}

TEST_CASE("kineto activity: a trace that no analysis can use is refused with the remedy") {
  const std::string world_of_8 = R"({"backend":"nccl","rank":1,"world_size":8})";
  CHECK(TraceText("").step(1, 0, 10).collective(1, 2, 3).error() ==
        "the rank is unknown, because the trace has no distributedInfo; put the rank in the file name, for "
        "example rank3.json");
  CHECK(TraceText().collective(1, 2, 3).error() ==
        "has no ProfilerStep# events; call prof.step() after every step, or use torch.profiler.schedule");
  CHECK(TraceText().step(1, 0, 10).step(1, 10, 20).collective(1, 2, 3).error() ==
        "ProfilerStep#1 occurs twice; save each profiling run to its own file");
  CHECK(TraceText(world_of_8).step(1, 0, 10).kernel(1, 2, 3).error() ==
        "world_size is 8, but there are no NCCL kernels or gloo events; profile with ProfilerActivity.CUDA");
  CHECK(TraceText(R"({"rank":9,"world_size":8})").step(1, 0, 10).collective(1, 2, 3).error() ==
        "distributedInfo is damaged: it has rank 9 in a job of 8 ranks");
  const TraceText without_groups =
      TraceText(world_of_8).step(1, 0, 10).kernel(1, 2, 3, 7, "ncclKernel_AllReduce");
  CHECK(without_groups.read().error().option == "one-group");
  CHECK(without_groups.read({.one_group = true}));
  CHECK(TraceText(R"({"backend":"gloo","rank":0,"world_size":2})")
            .step(1, 0, 100)
            .op("c10d::send", 10, 20)
            .annotation("gloo:send", 11, 30)
            .error() == "sends and receives have no recorded peer ranks; record with record_shapes=True");
  CHECK(
      TraceText().step(1, 0, 10).collective(1, 2, 3).kernel(5, 6, 7, 7, "gemm", R"("graph id":3)").error() ==
      "CUDA graphs hide which kernels a step launches; profile without CUDA graphs");
  CHECK(TraceText().step(1, 0, 10).collective(1, 2, 3).kernel(5, 1e12, 1.1e12).error() ==
        "has events more than a week before or after all steps of the file; is a \"ts\" damaged?");
  CHECK(TraceText(world_of_8)
            .step(1, 0, 10)
            .kernel(1, 2, 3, 20, "ncclDevKernel",
                    R"("Collective name":"allreduce","Process Group Name":"4","Group size":4)")
            .error() ==
        "the ranks of process group \"4\" are not in distributedInfo and are incomplete in \"Process Group "
        "Ranks\"; profile with PyTorch 2.3 or later");
  CHECK(TraceText()
            .step(1, 0, 10)
            .kernel(1, 2, 3, 20, "ncclDevKernel_SendRecv",
                    R"("Collective name":"coalesced","Process Group Name":"0","Group size":2)")
            .error() == "sends and receives have no recorded peer ranks; profile with PyTorch 2.3 or later");
}

TEST_CASE("kineto activity: a file without distributedInfo has the rank of its name, and hosts of theirs") {
  const auto named =
      TraceText("").step(1, 0, 10).collective(1, 2, 3).read({.one_group = false}, "x_rank-12.json");
  REQUIRE(named);
  CHECK(named->rank == 12);
  CHECK(named->notes.front().ends_with(
      "x_rank-12.json: the trace has no rank; took rank 12 from the file name"));
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
  CHECK(activity->notes.back().find("the file is truncated, and everything after event ") !=
        std::string::npos);
}

}  // namespace
}  // namespace goodput

#include "traces/timeline/step_timeline.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "models/megatron/megatron_rules.h"
#include "sim/base/json.h"
#include "sim/base/random.h"
#include "tests/support/trace_generator.h"
#include "traces/timeline/critical_chain.h"

namespace goodput {
namespace {

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// The bytes that `write` leaves in a file of this name.
template <typename Write>
std::string written(Write write, const std::string& name = "timeline.json") {
  const auto path =
      std::filesystem::temp_directory_path() / ("goodput_test_" + std::to_string(getpid()) + "_" + name);
  const Status status = write(path.string());
  std::string bytes = read_bytes(path.string());
  std::filesystem::remove(path);
  REQUIRE_MESSAGE(status.has_value(), status.error().message());
  return bytes;
}

// Ops that know nothing of each other, in their order.
OpGraph loose_ops(const Recording& recording) {
  OpGraphSpec spec;
  spec.op_count = recording.ops.size();
  auto graph = OpGraph::build(spec, [](std::uint32_t op) { return std::to_string(op); });
  REQUIRE(graph.has_value());
  return *std::move(graph);
}

bool is_message(const Json& slice) {
  const std::string name = slice.at("name").get<std::string>();
  return name.ends_with("-send") || name.ends_with("-recv");
}

struct Arranged {
  OpGraph graph;
  Recording recording;
};

Json recorded_events(const Arranged& arranged) {
  const std::string text = written([&](const std::string& path) {
    return write_recorded_timeline(arranged.recording, arranged.graph, path, path);
  });
  return Json::parse(text).at("traceEvents");
}

Json recorded_events(const Recording& recording) {
  return recorded_events(Arranged{loose_ops(recording), recording});
}

Json ideal_events(const Recording& recording, const std::vector<double>& start_s,
                  const std::vector<double>& end_s) {
  const OpGraph graph = loose_ops(recording);
  const std::string text = written([&](const std::string& path) {
    return write_ideal_timeline(recording, graph, start_s, end_s, path, path);
  });
  return Json::parse(text).at("traceEvents");
}

Json slices_of(const Json& events) {
  Json slices = Json::array();
  for (const Json& event : events) {
    if (event.at("ph") == "X") slices.push_back(event);
  }
  return slices;
}

// (process, thread)
std::pair<int, int> thread_of(const Json& event) {
  return {event.at("pid").get<int>(), event.at("tid").get<int>()};
}

std::map<std::pair<int, int>, std::string> thread_names(const Json& events) {
  std::map<std::pair<int, int>, std::string> names;
  for (const Json& event : events) {
    if (event.at("name") == "thread_name") {
      names[thread_of(event)] = event.at("args").at("name").get<std::string>();
    }
  }
  return names;
}

// Slices that start before the one in front of them on their thread has ended, in float64 microseconds.
int count_overlaps(const Json& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  for (const Json& slice : slices_of(events)) {
    const double start = slice.at("ts").get<double>();
    threads[thread_of(slice)].emplace_back(start, start + slice.at("dur").get<double>());
  }
  int overlaps = 0;
  for (auto& [thread, slices] : threads) {
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i) overlaps += slices[i].first < slices[i - 1].second;
  }
  return overlaps;
}

struct Times {
  double start_s = 0;
  double end_s = 0;
};

// One stage, one dp rank and as many steps as there are rows of times, one entry an op.
Recording one_worker(const std::vector<TraceOp>& ops, const std::vector<std::vector<Times>>& steps) {
  Recording recording;
  recording.ops = ops;
  recording.ranks = {8};
  StepBlock block;
  block.shape = {steps.size(), 1};
  block.start_s.resize(ops.size() * block.shape.stride());
  block.end_s = block.start_s;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    double first = steps[step].front().start_s;
    double last = steps[step].front().end_s;
    for (OpId op = 0; op < ops.size(); ++op) {
      const Times& times = steps[step][op];
      block.start_s[op * block.shape.stride() + step] = times.start_s;
      block.end_s[op * block.shape.stride() + step] = times.end_s;
      first = std::min(first, times.start_s);
      last = std::max(last, times.end_s);
    }
    recording.steps.push_back(static_cast<std::int64_t>(10 + step));
    recording.step_origin_s.push_back(first);
    recording.step_base_s.push_back(last - first);
  }
  recording.blocks.push_back(block);
  return recording;
}

TraceOp op_of(OpType type, std::int32_t seq_id, std::int32_t mb_id = kUnset) {
  return {.type = type, .seq_id = seq_id, .mb_id = mb_id};
}

// REQUIRES: a trace without data-parallel sharding.
Arranged arranged(const OpTrace& trace) {
  auto index = index_trace(trace);
  REQUIRE(index.has_value());
  auto graph = megatron::build_graph(index->lane);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message());
  std::vector<std::uint32_t> all(index->steps.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  Recording recording = arrange(trace, *std::move(index), *graph, all);
  return {*std::move(graph), std::move(recording)};
}

}  // namespace

TEST_CASE("timeline: a slice says what ran where, when and for how long") {
  const Recording recording = one_worker({op_of(OpType::kForwardCompute, 3, 5), op_of(OpType::kGc, 0)},
                                         {{{100.0, 100.0000015}, {100.0000015, 100.000002}}});
  const Json slices = slices_of(recorded_events(recording));
  // From the first start at 100 s: 0 to 1500 ns, then 1500 to 2000 ns.
  REQUIRE(slices.size() == 2);
  CHECK(slices[0] == Json::parse(R"({"name": "forward-compute", "cat": "forward-compute", "ph": "X", "pid": 0,
      "tid": 1, "ts": 0.0, "dur": 1.5,
      "args": {"rank": 8, "step": 10, "stage": 0, "mb_id": 5, "seq_id": 3, "mc": null}})"));
  CHECK(slices[1] == Json::parse(R"({"name": "gc", "cat": "gc", "ph": "X", "pid": 0,
      "tid": 1, "ts": 1.5, "dur": 0.5,
      "args": {"rank": 8, "step": 10, "stage": 0, "mb_id": null, "seq_id": 0, "mc": null}})"));
}

TEST_CASE("timeline: times are fixed decimals of whole nanoseconds") {
  const Recording recording = one_worker({op_of(OpType::kForwardCompute, 0)}, {{{1.0, 3.000000020}}});
  const std::string text = written([&](const std::string& path) {
    return write_recorded_timeline(recording, loose_ops(recording), path, path);
  });
  CHECK(text.find(R"("ts":0.000,"dur":2000000.020,)") != std::string::npos);
}

TEST_CASE("timeline: steps follow each other a tenth of a step apart") {
  // Steps of 2, 3 and 1 s, on clocks of their own: 0, 2 + 0.2, 2.2 + 3 + 0.3 s.
  const Recording recording =
      one_worker({op_of(OpType::kForwardCompute, 0)}, {{{-1.0, 1.0}}, {{50.0, 53.0}}, {{0.0, 1.0}}});
  const Json slices = slices_of(recorded_events(recording));
  REQUIRE(slices.size() == 3);
  CHECK(slices[0].at("ts") == 0.0);
  CHECK(slices[1].at("ts") == 2.2e6);
  CHECK(slices[2].at("ts") == 5.5e6);
  CHECK(slices[2].at("args").at("step") == 12);
}

TEST_CASE("timeline: every stream of a stage has a thread of its own") {
  std::vector<TraceOp> ops;
  std::vector<Times> times;
  for (const OpType type :
       {OpType::kForwardCompute, OpType::kBackwardCompute, OpType::kGc, OpType::kOptimizer,
        OpType::kForwardRecv, OpType::kForwardSend, OpType::kBackwardRecv, OpType::kBackwardSend,
        OpType::kParamsAllGather, OpType::kGradsReduceScatter, OpType::kOptimizerClipMainGrad}) {
    const auto start = static_cast<double>(ops.size());
    times.push_back({start, start + 1});
    ops.push_back(op_of(type, 0));
  }
  const Json events = recorded_events(one_worker(ops, {times}));
  const auto names = thread_names(events);
  std::map<std::string, std::set<std::string>> types_of_thread;
  for (const Json& slice : slices_of(events)) {
    types_of_thread[names.at(thread_of(slice))].insert(slice.at("name").get<std::string>());
  }
  const std::map<std::string, std::set<std::string>> expected = {
      {"stage 0 compute", {"backward-compute", "forward-compute", "gc", "optimizer"}},
      {"stage 0 forward-recv", {"forward-recv"}},
      {"stage 0 forward-send", {"forward-send"}},
      {"stage 0 backward-recv", {"backward-recv"}},
      {"stage 0 backward-send", {"backward-send"}},
      {"stage 0 dp", {"params-all-gather", "grads-reduce-scatter", "optimizer-clip-main-grad"}}};
  CHECK(types_of_thread == expected);
}

TEST_CASE("timeline: ops of a stream that overlap open further threads, as few as possible") {
  // 0-3, 1-4, 2-5 need three threads; 3-6 and 5-6 find one free again.
  std::vector<TraceOp> ops;
  for (int i = 0; i < 5; ++i) ops.push_back(op_of(OpType::kForwardRecv, i));
  const Json events = recorded_events(one_worker(ops, {{{0, 3}, {1, 4}, {2, 5}, {3, 6}, {5, 6}}}));
  const auto names = thread_names(events);
  std::vector<std::string> by_seq_id(5);
  for (const Json& slice : slices_of(events)) {
    by_seq_id.at(slice.at("args").at("seq_id").get<std::size_t>()) = names.at(thread_of(slice));
  }
  CHECK(by_seq_id == std::vector<std::string>{"stage 0 forward-recv", "stage 0 forward-recv (2)",
                                              "stage 0 forward-recv (3)", "stage 0 forward-recv",
                                              "stage 0 forward-recv (2)"});
  CHECK(count_overlaps(events) == 0);
}

TEST_CASE("timeline: slices that touch do not overlap when a reader adds up microseconds in float64") {
  // 0.1 + 0.2 > 0.3 in float64. Lengths of 0.1 to 100 us at offsets of up to an hour.
  RandomStream random(1, "timeline test", 0);
  std::vector<TraceOp> ops;
  std::vector<Times> times = {{0, 3600}};
  ops.push_back(op_of(OpType::kForwardRecv, 0));
  double at = 0;
  for (int i = 0; i < 2000; ++i) {
    if (i % 100 == 0) at += 100;
    const double end = at + 1e-7 + 1e-4 * random.uniform();
    ops.push_back(op_of(OpType::kForwardCompute, i));
    times.push_back({at, end});
    at = end;
  }
  const Json events = recorded_events(one_worker(ops, {times}));
  CHECK(slices_of(events).size() == 2001);
  CHECK(thread_names(events).size() == 2);
  CHECK(count_overlaps(events) == 0);
}

TEST_CASE("timeline: ideal times are the same in every step, negative ones are shifted or have no length") {
  // Starts at -2 ms: everything moves by 2 ms. The second op would end 1 ms before it starts.
  const Recording recording = one_worker({op_of(OpType::kForwardCompute, 0), op_of(OpType::kForwardSend, 0)},
                                         {{{0, 1}, {1, 2}}, {{0, 5}, {5, 6}}});
  const Json slices = slices_of(ideal_events(recording, {-0.002, 0.008}, {0.008, 0.007}));
  REQUIRE(slices.size() == 4);
  CHECK(slices[0].at("ts") == 0.0);
  CHECK(slices[0].at("dur") == 10000.0);
  CHECK(slices[1].at("ts") == 10000.0);
  CHECK(slices[1].at("dur") == 0.0);
  // From -2 to 8 ms, and a tenth of that.
  CHECK(slices[2].at("ts") == 11000.0);
  CHECK(slices[3].at("ts") == 21000.0);
}

TEST_CASE("timeline: processes and threads have names and an order, and ids that viewers keep apart") {
  testing::TraceSpec spec;
  spec.dp = 12;
  spec.pp = 2;
  const Json events = recorded_events(arranged(generate_trace(spec)));
  std::set<int> pids;
  std::set<int> tids;
  std::map<int, std::map<int, std::string>> by_order;
  const auto names = thread_names(events);
  for (const Json& event : events) {
    if (event.at("name") == "process_name") {
      pids.insert(event.at("pid").get<int>());
      CHECK(event.at("args").at("name") == "dp rank " + std::to_string(event.at("pid").get<int>()));
    }
    if (event.at("name") != "thread_sort_index") continue;
    tids.insert(event.at("tid").get<int>());
    by_order[event.at("pid").get<int>()][event.at("args").at("sort_index").get<int>()] =
        names.at(thread_of(event));
  }
  CHECK(pids.size() == 12);
  CHECK(*tids.begin() > *pids.rbegin());
  REQUIRE(by_order.size() == 12);
  CHECK(by_order.at(11).begin()->second == "stage 0 compute");
  CHECK(by_order.at(11).rbegin()->second == "stage 1 dp");
}

TEST_CASE("timeline: of generated traces every op is drawn once, and none overlaps another") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    testing::TraceSpec spec = testing::random_spec(seed);
    INFO(to_string(spec));
    const OpTrace trace = generate_trace(spec);
    const Json events = recorded_events(arranged(trace));
    std::set<std::string> drawn;
    for (const Json& slice : slices_of(events)) {
      const Json& args = slice.at("args");
      drawn.insert(slice.at("name").get<std::string>() + args.at("rank").dump() + "/" +
                   args.at("step").dump() + "/" + args.at("seq_id").dump());
      CHECK(slice.at("ts").get<double>() >= 0);
    }
    CHECK(drawn.size() == trace.size());
    CHECK(count_overlaps(events) == 0);
  }
}

TEST_CASE("timeline: a name in .gz gives the same text gzipped, and the same bytes every time") {
  const Arranged trace = arranged(testing::generate_trace({}));
  const auto write = [&](const std::string& path) {
    return write_recorded_timeline(trace.recording, trace.graph, path, path);
  };
  const std::string plain = written(write);
  const std::string gzipped = written(write, "timeline.json.gz");
  CHECK(plain.starts_with("{\"displayTimeUnit\""));
  CHECK(gzipped.starts_with("\x1f\x8b"));
  CHECK(gzipped.size() < plain.size() / 5);
  CHECK(gzipped == written(write, "timeline.json.gz"));
}

TEST_CASE("timeline: steps that are too long for nanoseconds are refused") {
  const Recording recording = one_worker({op_of(OpType::kForwardCompute, 0)}, {{{0, 9e9}}});
  const Status status = write_recorded_timeline(recording, loose_ops(recording), "unused", "out.json.gz");
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().message() ==
        "out.json.gz: the steps take 9.9e+09 s, but a timeline can show at most 9e+06 s; select fewer steps");
}

TEST_CASE("timeline: a marker across the timeline says where each step begins") {
  const Recording recording =
      one_worker({op_of(OpType::kForwardCompute, 0)}, {{{-1.0, 1.0}}, {{50.0, 53.0}}});
  std::vector<Json> markers;
  for (const Json& event : recorded_events(recording)) {
    if (event.at("ph") == "i") markers.push_back(event);
  }
  REQUIRE(markers.size() == 2);
  CHECK(markers[0] == Json::parse(R"({"name": "step 10", "ph": "i", "s": "g", "pid": 0, "tid": 1, "ts": 0.0,
      "args": {"step": 10}})"));
  CHECK(markers[1].at("name") == "step 11");
  CHECK(markers[1].at("ts") == 2.2e6);
}

TEST_CASE(
    "timeline: ops of types that the trace brings along are named by them, on the thread of their class") {
  OpTypeTable types;
  const OpType reduce = types.add({"all-reduce (tp)", "tp", OpClass::kCollective, IdealStatistic::kMedian});
  const OpType loader = types.add({"data-loader", "data-loader", OpClass::kHost, IdealStatistic::kMean});
  Recording recording = one_worker({op_of(reduce, 0), op_of(loader, 0)}, {{{0, 1}, {1, 2}}});
  recording.types = types;
  const Json events = recorded_events(recording);
  const Json slices = slices_of(events);
  REQUIRE(slices.size() == 2);
  std::map<std::string, std::string> thread_of_name;
  for (const Json& slice : slices) {
    CHECK(slice.at("cat") == slice.at("name"));
    thread_of_name[slice.at("name").get<std::string>()] = thread_names(events).at(thread_of(slice));
  }
  CHECK(thread_of_name.at("all-reduce (tp)") == "stage 0 dp");
  CHECK(thread_of_name.at("data-loader") == "stage 0 compute");
}

TEST_CASE("timeline: a slice carries the model chunk") {
  TraceOp op = op_of(OpType::kForwardCompute, 0);
  op.mc = 3;
  CHECK(slices_of(recorded_events(one_worker({op}, {{{0, 1}}})))[0].at("args").at("mc") == 3);
}

TEST_CASE(
    "critical chain: it goes back over the member that started last and the predecessor that ended last") {
  // Two ops feed a group over two replicas, which an op follows; times in us.
  //   dp 0:  a 0..3   b 0..5   g 5..12   z 12..14
  //   dp 1:  a 0..9   b 0..2   g 9..12   z 12..13      g meets at 9: because of a of dp 1
  OpGraphSpec spec;
  spec.op_count = 4;
  spec.edges = {{0, 2}, {1, 2}, {2, 3}};
  spec.groups = {{{2}, kReplicasTogether}};
  const auto graph = OpGraph::build(spec, [](std::uint32_t op) { return std::to_string(op); });
  REQUIRE(graph.has_value());
  const OpTimes times[2][4] = {{{0, 3000}, {0, 5000}, {5000, 12000}, {12000, 14000}},
                               {{0, 9000}, {0, 2000}, {9000, 12000}, {12000, 13000}}};
  const auto chain =
      critical_chain(*graph, 2, [&](OpId op, std::size_t dp_rank) { return times[dp_rank][op]; });
  std::string text;
  for (const FlowPoint& point : chain) {
    text += std::to_string(point.op) + "@" + std::to_string(point.dp_rank) + " " +
            std::to_string(point.at_ns) + "; ";
  }
  CHECK(text == "0@1 0; 2@1 9000; 2@0 9001; 3@0 12000; ");
}

TEST_CASE("timeline: the critical path of every step is one flow inside slices, to the op that ends last") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    testing::TraceSpec spec = testing::random_spec(seed);
    // Else ops start before ops end that the analysis takes for their predecessors: by clock or rounding, and
    // where it knows of no better one.
    spec.clock_skew_s = 0;
    spec.float32 = false;
    spec.noops_at_tolerance = false;
    spec.overlap_dp = false;
    INFO(to_string(spec));
    const Json events = recorded_events(arranged(generate_trace(spec)));
    std::map<std::pair<int, int>, std::vector<Json>> slices;
    std::map<int, double> last_end;  // by step
    for (const Json& slice : slices_of(events)) {
      slices[thread_of(slice)].push_back(slice);
      double& last = last_end[slice.at("args").at("step").get<int>()];
      last = std::max(last, slice.at("ts").get<double>() + slice.at("dur").get<double>());
    }
    std::map<int, std::vector<Json>> flows;
    for (const Json& event : events) {
      const auto phase = event.at("ph").get<std::string>();
      if (phase == "s" || phase == "t" || phase == "f") flows[event.at("id").get<int>()].push_back(event);
    }
    CHECK(flows.size() == last_end.size());
    for (const auto& [id, flow] : flows) {
      REQUIRE(flow.size() >= 2);
      Json before;
      for (std::size_t i = 0; i < flow.size(); ++i) {
        CHECK(flow[i].at("ph") == (i == 0 ? "s" : i + 1 == flow.size() ? "f" : "t"));
        const auto at = flow[i].at("ts").get<double>();
        const auto& of_thread = slices.at(thread_of(flow[i]));
        const auto around = std::find_if(of_thread.begin(), of_thread.end(), [&](const Json& slice) {
          const double start = slice.at("ts").get<double>();
          return start <= at && at < start + slice.at("dur").get<double>();
        });
        REQUIRE(around != of_thread.end());
        // A hop leads from where a slice ends to where the next starts, or within a group from its last
        // member to another, both under way.
        if (i > 0 && before.at("name") != around->at("name")) {
          const double end = before.at("ts").get<double>() + before.at("dur").get<double>();
          const auto start = around->at("ts").get<double>();
          const bool is_pair = is_message(before) && is_message(*around) && at <= end;
          CHECK_MESSAGE((is_pair || end <= start + 0.002), before.dump()
                                                               << " " << around->dump() << " at " << at);
        }
        before = *around;
      }
      const double end = before.at("ts").get<double>() + before.at("dur").get<double>();
      CHECK(end >= last_end.at(before.at("args").at("step").get<int>()) - 0.002);
    }
  }
}

}  // namespace goodput

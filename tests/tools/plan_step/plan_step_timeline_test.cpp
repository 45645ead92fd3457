// The timeline of a planned step: every op is there once a lane, none overlaps another on its thread, and
// they are where the engine puts them.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/schedule/schedule.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/plan_step/planned_timeline.h"

namespace goodput {
namespace {

TrainingPlan shipped(const std::string& name) {
  return read_training_plan(std::string(GOODPUT_CONFIGS "/plans/") + name + ".json").value();
}

// DeepSeek-V3 cut down to 6 layers and 16 experts, whose loads differ, on 2 stages of 4 expert ranks.
TrainingPlan small_moe(const std::string& schedule) {
  TrainingPlan plan = shipped("deepseek-v3-1024");
  plan.model.layers = 6;
  plan.model.moe->experts = 16;
  plan.parallel.dp = plan.parallel.ep = 4;
  plan.parallel.pp = 2;
  plan.parallel.global_batch = 24;
  plan.parallel.schedule = schedule;
  const bool has_chunks = (*find_schedule(schedule))->positions({2, 1, 4}) == 4;
  plan.parallel.layers_per_stage = has_chunks ? std::vector{2, 1, 1, 2} : std::vector{4, 2};
  plan.expert_load.skew = 0.8;
  return plan;
}

PlannedStep built(const TrainingPlan& plan, Granularity granularity) {
  const Status checked = check_training_plan(plan);
  REQUIRE_MESSAGE(checked, checked.error().message());
  auto step = build_planned_step(plan, **make_cost_model(cost_inputs(plan)), granularity, 3);
  REQUIRE_MESSAGE(step, step.error().message());
  return *std::move(step);
}

Json events_of(const PlannedStep& step) {
  const TemporaryFile file("t.json");
  const Status status = write_step_timeline(step, file.path(), file.path());
  REQUIRE_MESSAGE(status, status.error().message());
  return Json::parse(file.content()).at("traceEvents");
}

struct Thread {
  std::string name;
  std::vector<std::pair<double, double>> slices;  // start and end, microseconds
  std::set<std::string> names;
};

// By process and thread.
std::map<std::pair<int, int>, Thread> threads_of(const Json& events) {
  std::map<std::pair<int, int>, Thread> threads;
  for (const Json& event : events) {
    if (event.at("name") == "thread_name")
      threads[{event.at("pid").get<int>(), event.at("tid").get<int>()}].name =
          event.at("args").at("name").get<std::string>();
    if (event.at("ph") != "X") continue;
    Thread& thread = threads[{event.at("pid").get<int>(), event.at("tid").get<int>()}];
    const double start = event.at("ts").get<double>();
    thread.slices.emplace_back(start, start + event.at("dur").get<double>());
    thread.names.insert(event.at("name").get<std::string>());
  }
  for (auto& [id, thread] : threads) std::sort(thread.slices.begin(), thread.slices.end());
  return threads;
}

// Of every slice once, on threads where nothing overlaps; the last ends with the step.
void check_timeline(const PlannedStep& step) {
  std::size_t slices = 0;
  double end = 0;
  for (const auto& entry : threads_of(events_of(step))) {
    const auto& id = entry.first;
    const auto& thread = entry.second;
    CHECK(thread.name.starts_with("stage "));
    CHECK(id.first >= 0);
    CHECK(static_cast<std::size_t>(id.first) < step.lanes.lanes());
    slices += thread.slices.size();
    CHECK(thread.slices.front().first >= 0);
    int overlaps = 0;
    for (std::size_t i = 1; i < thread.slices.size(); ++i)
      overlaps += thread.slices[i].first < thread.slices[i - 1].second;
    CHECK_MESSAGE(overlaps == 0, thread.name);
    for (const auto& [from, to] : thread.slices) end = std::max(end, to);
  }
  CHECK(slices == step.ops.size() * step.lanes.lanes());
  CHECK(end == doctest::Approx(1e6 * to_seconds(step_time(step))).epsilon(1e-12));
}

}  // namespace

TEST_CASE("plan-step timeline: shipped plans, as ops and as layers" * doctest::test_suite("slow")) {
  for (const char* name : {"megatron_a100", "gpt2-moe-small-8", "mixtral-8x7b-h100", "llama3-8b-h100"}) {
    for (const Granularity granularity : {Granularity::kOps, Granularity::kLayers}) {
      INFO(name);
      check_timeline(built(shipped(name), granularity));
    }
  }
}

TEST_CASE("plan-step timeline: a process an expert rank where loads differ, under every kind of schedule") {
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "dualpipe", "zb-v", "v-half", "dualpipev"}) {
    INFO(schedule);
    const PlannedStep step = built(small_moe(schedule), Granularity::kLayers);
    CHECK(step.lanes.lanes() == 4);
    check_timeline(step);
    CHECK(built(small_moe(schedule), Granularity::kOps).lanes.lanes() == 1);
  }
}

TEST_CASE("plan-step timeline: computation and the communication within passes have threads of their own") {
  const Json events = events_of(built(small_moe("1f1b"), Granularity::kLayers));
  std::map<std::string, std::set<std::string>> names;  // of slices by thread of stage 0, rank 0
  for (const auto& [id, thread] : threads_of(events)) {
    if (id.first == 0 && thread.name.starts_with("stage 0 ")) names[thread.name.substr(8)] = thread.names;
  }
  CHECK(names.at("compute").contains("forward-compute/attention"));
  CHECK(names.at("compute").contains("backward-compute/experts"));
  CHECK(names.at("compute").contains("optimizer"));
  CHECK(names.at("communication") ==
        std::set<std::string>{"backward-compute/combine", "backward-compute/dispatch",
                              "forward-compute/combine", "forward-compute/count-exchange",
                              "forward-compute/dispatch"});
  CHECK(names.at("forward-send") == std::set<std::string>{"forward-send"});
  CHECK(names.at("dp").contains("grads-reduce-scatter"));
}

// What a stage without layers runs is nothing, in no time.
TEST_CASE("plan-step: stages without layers are legal under every schedule" * doctest::test_suite("slow")) {
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "dualpipe", "zb-v", "v-half", "dualpipev"}) {
    for (std::vector<std::int32_t> split : {std::vector{0, 6}, std::vector{6, 0}}) {
      INFO(schedule);
      TrainingPlan plan = small_moe(schedule);
      if ((*find_schedule(schedule))->positions({2, 1, 4}) == 4) split.insert(split.begin() + 1, 2, 0);
      plan.parallel.layers_per_stage = split;
      check_timeline(built(plan, Granularity::kLayers));
      CHECK(built(plan, Granularity::kOps).ops.size() > 0);
    }
  }
}

TEST_CASE("plan-step: plans beyond what can be computed are refused, naming the field") {
  const auto problem = [](TrainingPlan plan) -> std::string {
    if (const Status checked = check_training_plan(plan); !checked) return checked.error().message();
    const auto step = build_planned_step(plan, **make_cost_model(cost_inputs(plan)), Granularity::kOps, 0);
    return step ? "" : step.error().message();
  };
  TrainingPlan plan = shipped("megatron_a100");
  plan.file = "p.json";
  TrainingPlan many = plan;
  many.parallel.global_batch = 1'000'000'000;
  CHECK(problem(many).starts_with(
      "p.json /parallel/global_batch: is 1000000000 (250000000 micro-batches per replica), so a step has "
      "about "));
  TrainingPlan deep = plan;
  deep.parallel.pp = 1'000'000;
  deep.parallel.vpp = 10'000;
  deep.cluster.nodes = 1'000'000;
  CHECK(problem(deep) ==
        "p.json /parallel/pp: is 1000000, which with vpp 10000 exceeds the limit of 10000 pipeline positions "
        "(pp x vpp)");
  TrainingPlan slow = plan;
  slow.cluster.gpu.bf16 = {1};
  slow.parallel.sequence_length = 1'000'000'000;
  CHECK(problem(slow) == "p.json /cluster: is so slow that a step could take 104 days");
  TrainingPlan fast = plan;
  fast.cluster.gpu.bf16 = fast.cluster.gpu.fp32 = {1e27};
  fast.cluster.gpu.memory_bandwidth = fast.cluster.intra_node.bandwidth = {1e24};
  fast.cluster.intra_node.latency = fast.cluster.intra_node.hop_latency = {};
  fast.cluster.intra_node.send.reset();
  fast.roofline.kernel_us = fast.roofline.launch_us = fast.roofline.step_us = 0;
  CHECK(problem(fast) == "p.json /cluster: is so fast that no op takes a nanosecond");
}

}  // namespace goodput

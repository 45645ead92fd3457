#include "tests/reference/reference_whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/base/float32.h"
#include "sim/base/json.h"

// Section numbers in the comments are those of the description of the analysis, in the order it is carried
// out.
namespace goodput::reference {
namespace {

constexpr double kMatchTolerance = 5e-5;  // seconds, section 3

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

std::string op_name(const std::string& type, std::int64_t seq_id, int stage) {
  return fmt::format("{}_{}_{}", type, seq_id, stage);
}

std::string type_name(OpType type) {
  return std::string(to_string(type));
}

// ---- Sections 1 and 2: rows to lanes

bool all_float32(const OpTrace& trace) {
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (round_to_float32(trace.start_s[i]) != trace.start_s[i]) return false;
    if (round_to_float32(trace.duration_s[i]) != trace.duration_s[i]) return false;
  }
  return true;
}

void add_worker(Job& job, const OpRow& row) {
  const std::pair worker(static_cast<int>(row.dp_rank), static_cast<int>(row.stage));
  const auto [known, added] = job.workers.emplace(row.rank, worker);
  if (known->second != worker) fail("rank {} is recorded for two workers", row.rank);
  for (const auto& [rank, other] : job.workers) {
    if (other == worker && rank != row.rank) {
      fail("dp rank {} stage {} is recorded by ranks {} and {}", worker.first, worker.second, rank, row.rank);
    }
  }
}

// Section 7: one pool a type; these have their mean, the others their median.
const std::set<OpType> kByMean{OpType::kForwardCompute, OpType::kBackwardCompute, OpType::kOptimizer,
                               OpType::kGc};

void add_row(Job& job, const OpRow& row) {
  Op op{row.optype,
        static_cast<int>(row.stage),
        row.seq_id,
        row.mc,
        row.mb_id,
        row.gmc,
        row.rank,
        row.start_s,
        0,
        row.duration_s,
        type_name(row.optype),
        kByMean.contains(row.optype),
        row.optype == OpType::kOptimizer};
  op.end = op.start + op.duration;
  if (job.float32) op.end = round_to_float32(op.end);
  const std::string name = op_name(type_name(op.type), op.seq_id, op.stage);
  Lane& lane = job.steps[row.step][static_cast<int>(row.dp_rank)];
  if (!lane.emplace(name, op).second)
    fail("step {} dp rank {}: {} occurs twice", row.step, row.dp_rank, name);
}

const Lane& template_lane(const Job& job) {
  const auto& [number, step] = *job.steps.begin();
  const auto lane = step.find(0);
  if (lane == step.end()) fail("step {} has no dp rank 0", number);
  return lane->second;
}

void read_sizes(Job& job) {
  for (const auto& [number, step] : job.steps) job.dp = std::max(job.dp, step.rbegin()->first + 1);
  for (const auto& [name, op] : template_lane(job)) {
    job.pp = std::max(job.pp, op.stage + 1);
    job.vpp = std::max(job.vpp, static_cast<int>(op.mc) + 1);
  }
}

void check_same_ops(const Lane& expected, const Lane& lane, const std::string& where) {
  for (const auto& [name, op] : expected) {
    if (!lane.contains(name)) fail("{}: {} is missing", where, name);
  }
  for (const auto& [name, op] : lane) {
    if (!expected.contains(name)) fail("{}: {} is not in the first step of dp rank 0", where, name);
  }
}

void check_dense(const Job& job) {
  for (const auto& [number, step] : job.steps) {
    for (int dp = 0; dp < job.dp; ++dp) {
      if (!step.contains(dp)) fail("step {} has no dp rank {}", number, dp);
      check_same_ops(template_lane(job), step.at(dp), fmt::format("step {} dp rank {}", number, dp));
    }
  }
}

Job read_job(const OpTrace& trace) {
  if (trace.size() == 0) fail("the trace is empty");
  Job job;
  job.float32 = all_float32(trace);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    add_row(job, trace.row(i));
    add_worker(job, trace.row(i));
  }
  read_sizes(job);
  check_dense(job);
  return job;
}

// ---- Sections 3 to 5: dependencies, groups

class DependencyBuilder {
 public:
  DependencyBuilder(const Job& job, int dsp_size)
      : lane_(template_lane(job)), pp_(job.pp), vpp_(job.vpp), use_dp_(job.dp * dsp_size > 1) {
    for (const auto& [name, op] : lane_) overlap_ = overlap_ || op.type == OpType::kSeparateGradsAllReduce;
  }

  Dependencies build() {
    for (int stage = 0; stage < pp_; ++stage) {
      add_compute_stream(stage);
      add_p2p_streams(stage);
      for (const std::string direction : {"forward", "backward"}) {
        match_with_compute(stage, direction, "recv");
        match_with_compute(stage, direction, "send");
      }
      add_first_backward_rule(stage);
      if (use_dp_) add_dp_stream(stage);
      add_tail(stage);
    }
    add_p2p_groups();
    add_collective_groups();
    for (const auto& [name, op] : lane_) {
      if (!result_.deps.contains(name)) fail("{} has no place in a training step of this job", name);
    }
    return result_;
  }

 private:
  using Names = std::vector<std::string>;

  // Ops of the stage of any of these types by (start, seq_id, optype).
  Names sorted_ops(int stage, const std::set<std::string>& types) const {
    std::vector<std::tuple<double, std::int64_t, std::string, std::string>> keyed;
    for (const auto& [name, op] : lane_) {
      const std::string type = type_name(op.type);
      if (op.stage == stage && types.contains(type)) keyed.emplace_back(op.start, op.seq_id, type, name);
    }
    std::sort(keyed.begin(), keyed.end());
    Names names;
    for (const auto& key : keyed) names.push_back(std::get<3>(key));
    return names;
  }

  Names computes(int stage) const { return sorted_ops(stage, {"forward-compute", "backward-compute"}); }

  // The op, entered into the result; the trace must have it.
  const std::string& place(const std::string& name) {
    if (!lane_.contains(name)) fail("{} is missing", name);
    return result_.deps.try_emplace(name).first->first;
  }

  void depend(const std::string& op, const std::string& predecessor) {
    place(predecessor);
    result_.deps[place(op)].insert(predecessor);
  }

  void add_chain(const Names& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      place(names[i]);
      if (i > 0) depend(names[i], names[i - 1]);
    }
  }

  void add_compute_stream(int stage) {  // 4a
    for (const std::string& name : computes(stage)) {
      if (lane_.at(name).mc < 0 || lane_.at(name).gmc < 0) fail("{} has no model chunk", name);
    }
    add_chain(computes(stage));
  }

  void add_p2p_streams(int stage) {  // 4b
    for (const std::string type : {"forward-recv", "forward-send", "backward-recv", "backward-send"}) {
      add_chain(sorted_ops(stage, {type}));
    }
  }

  bool never_launched(const std::string& name, const std::string& kind, const Names& same_direction) const {
    double last_start = -std::numeric_limits<double>::infinity();
    double first_end = std::numeric_limits<double>::infinity();
    for (const std::string& compute : same_direction) {
      last_start = std::max(last_start, lane_.at(compute).start);
      first_end = std::min(first_end, lane_.at(compute).end);
    }
    if (kind == "recv") return lane_.at(name).start > last_start + kMatchTolerance;
    return lane_.at(name).end < first_end - kMatchTolerance;
  }

  void match_with_compute(int stage, const std::string& direction, const std::string& kind) {  // 3
    const Names same_direction = sorted_ops(stage, {direction + "-compute"});
    const std::size_t n = same_direction.size();
    Names live;
    for (const std::string& name : sorted_ops(stage, {direction + "-" + kind})) {
      if (n == 0) fail("{} has no {}-compute to go with", name, direction);
      if (never_launched(name, kind, same_direction)) {
        no_ops_.insert(name);
      } else {
        live.push_back(name);
      }
    }
    if (live.size() != n) {
      const bool outermost = stage == 0 || stage == pp_ - 1;
      if (!outermost || (!live.empty() && live.size() + 1 != n)) {
        fail("stage {} has {} {}-{} for {} {}-compute", stage, live.size(), direction, kind, n, direction);
      }
    }
    std::size_t counter = kind == "recv" && live.size() + 1 == n ? 1 : 0;
    for (const std::string& name : live) match(name, stage, direction, kind, counter++);
  }

  void match(const std::string& name, int stage, const std::string& direction, const std::string& kind,
             std::size_t counter) {
    const auto compute_name = [&](std::size_t index) {
      return op_name(direction + "-compute", static_cast<std::int64_t>(index), stage);
    };
    const std::string compute = place(compute_name(counter));
    const std::int64_t peer_chunk = lane_.at(compute).gmc + chunk_step(direction, kind);
    if (peer_chunk < 0 || peer_chunk >= vpp_ * pp_) no_ops_.insert(name);
    if (kind == "send") {
      depend(name, compute);
    } else {
      depend(compute, name);
      if (counter > 0) depend(name, compute_name(counter - 1));
    }
  }

  // Towards which global model chunk the other end lies.
  static int chunk_step(const std::string& direction, const std::string& kind) {
    return (direction == "forward") == (kind == "send") ? +1 : -1;
  }

  void add_first_backward_rule(int stage) {  // 4c
    const Names stream = computes(stage);
    std::size_t first = 0;
    while (first < stream.size() && lane_.at(stream[first]).type != OpType::kBackwardCompute) ++first;
    if (first == stream.size() || first < 2) return;
    for (const std::string type : {"backward-recv", "backward-send"}) {
      const std::string name = op_name(type, 0, stage);
      if (lane_.contains(name)) depend(name, stream[first - 2]);
    }
  }

  void add_dp_stream(int stage) {  // 4d
    add_chain(sorted_ops(stage, {"params-all-gather", "grads-reduce-scatter"}));
    std::map<std::int64_t, std::string> last_gather;  // by model chunk
    for (const std::string& name : by_seq_id(stage, "params-all-gather"))
      last_gather[lane_.at(name).mc] = name;
    for (const auto& [mc, name] : last_gather) depend(first_forward(stage, mc), name);
    if (!overlap_) return;
    std::map<std::int64_t, std::string> first_scatter;
    for (const std::string& name : by_seq_id(stage, "grads-reduce-scatter")) {
      first_scatter.try_emplace(lane_.at(name).mc, name);
    }
    for (const auto& [mc, name] : first_scatter) depend(name, last_backward(stage, mc));
  }

  Names by_seq_id(int stage, const std::string& type) const {
    std::map<std::int64_t, std::string> sorted;
    for (const std::string& name : sorted_ops(stage, {type})) sorted[lane_.at(name).seq_id] = name;
    Names names;
    for (const auto& [seq_id, name] : sorted) names.push_back(name);
    return names;
  }

  std::string first_forward(int stage, std::int64_t mc) const {
    for (const std::string& name : sorted_ops(stage, {"forward-compute"})) {
      if (lane_.at(name).mc == mc) return name;
    }
    fail("stage {}: params are gathered for model chunk {}, which has no forward-compute", stage, mc);
  }

  std::string last_backward(int stage, std::int64_t mc) const {
    Names of_chunk;
    for (const std::string& name : sorted_ops(stage, {"backward-compute"})) {
      if (lane_.at(name).mc == mc) of_chunk.push_back(name);
    }
    if (of_chunk.empty()) {
      fail("stage {}: gradients are reduced for model chunk {}, which has no backward-compute", stage, mc);
    }
    return last_to_end(of_chunk);
  }

  // The first such on a tie.
  std::string last_to_end(const Names& names) const {
    std::string last = names.front();
    for (const std::string& name : names) {
      if (lane_.at(name).end > lane_.at(last).end) last = name;
    }
    return last;
  }

  void add_tail(int stage) {  // 4e
    if (computes(stage).empty()) fail("stage {} computes nothing", stage);
    const std::string gc = op_name("gc", 0, stage);
    depend(gc, last_to_end(computes(stage)));
    Names chain{op_name("layernorm-grads-all-reduce", 0, stage)};
    depend(chain.front(), gc);
    if (stage == 0 || stage == pp_ - 1) chain.push_back(op_name("embedding-grads-all-reduce", 0, stage));
    if (use_dp_) {
      const Names scatters = reduce_scatters(stage);
      if (overlap_) {
        depend(chain.front(), scatters.back());
        chain.push_back(op_name("separate-grads-all-reduce", 0, stage));
      } else {
        chain.insert(chain.end(), scatters.begin(), scatters.end());
      }
    }
    chain.push_back(op_name("optimizer-clip-main-grad", 0, stage));
    chain.push_back(op_name("optimizer", 0, stage));
    add_chain(chain);
  }

  // grads-reduce-scatter_0 .. last; every number must be there.
  Names reduce_scatters(int stage) {
    const Names recorded = by_seq_id(stage, "grads-reduce-scatter");
    if (recorded.empty()) fail("stage {} has no grads-reduce-scatter", stage);
    Names names;
    for (std::int64_t i = 0; i <= lane_.at(recorded.back()).seq_id; ++i) {
      names.push_back(place(op_name("grads-reduce-scatter", i, stage)));
    }
    return names;
  }

  Names with_peer(int stage, const std::string& type) const {
    Names names;
    for (const std::string& name : sorted_ops(stage, {type})) {
      if (!no_ops_.contains(name)) names.push_back(name);
    }
    return names;
  }

  void add_p2p_groups() {  // 3, peering
    for (int stage = 0; stage < pp_; ++stage) {
      pair_up(stage, (stage + 1) % pp_, "forward");
      pair_up(stage, (stage + pp_ - 1) % pp_, "backward");
    }
    for (const std::string& name : no_ops_) result_.groups.push_back({name});
  }

  void pair_up(int from, int to, const std::string& direction) {
    const Names sends = with_peer(from, direction + "-send");
    const Names recvs = with_peer(to, direction + "-recv");
    if (sends.size() != recvs.size()) {
      fail("stage {} has {} {}-send for {} {}-recv of stage {}", from, sends.size(), direction, recvs.size(),
           direction, to);
    }
    for (std::size_t k = 0; k < sends.size(); ++k) result_.groups.push_back({sends[k], recvs[k]});
  }

  void add_collective_groups() {  // 5
    for (const auto& [name, op] : lane_) {
      const bool dp_op = op.type == OpType::kParamsAllGather || op.type == OpType::kGradsReduceScatter ||
                         op.type == OpType::kSeparateGradsAllReduce;
      if (!dp_op || !use_dp_) continue;
      result_.groups.push_back({name});
      result_.dp_synchronised.insert(name);
    }
    std::set<std::string> clips;
    for (int stage = 0; stage < pp_; ++stage) clips.insert(op_name("optimizer-clip-main-grad", 0, stage));
    result_.dp_synchronised.insert(clips.begin(), clips.end());
    result_.groups.push_back(clips);
    result_.groups.push_back(
        {op_name("embedding-grads-all-reduce", 0, 0), op_name("embedding-grads-all-reduce", 0, pp_ - 1)});
  }

  const Lane& lane_;
  int pp_;
  int vpp_;
  bool use_dp_;
  bool overlap_ = false;
  std::set<std::string> no_ops_;  // of either type
  Dependencies result_;
};

Dependencies dependencies_of(const Job& job, const Options& options) {
  Dependencies dependencies = DependencyBuilder(job, options.dsp_size).build();
  check_no_cycle(dependencies);
  return dependencies;
}

// In the first step a clamped embedding transfer means that the clocks cannot be compared.
void check_embedding_transfers(const Analysis& analysis) {
  const Step& step = analysis.job.steps.begin()->second;
  for (const auto& [dp, lane] : step) {
    for (const auto& [name, op] : lane) {
      if (op.type != OpType::kEmbeddingGradsAllReduce) continue;
      const double expected = recorded_transfer(analysis, step, dp, name);
      if (std::abs(op.transfer - expected) > 1e-8 + 1e-5 * std::abs(expected)) {
        fail("dp rank {}: {} ends {} s before its group started", dp, name, -expected);
      }
    }
  }
}

// ---- Preparation as a whole

void select_steps(Job& job, const std::vector<std::int64_t>& selection) {
  if (selection.empty()) return;
  const std::set<std::int64_t> wanted(selection.begin(), selection.end());
  for (const std::int64_t number : wanted) {
    if (!job.steps.contains(number)) fail("step {} is not in the trace", number);
  }
  std::erase_if(job.steps, [&](const auto& step) { return !wanted.contains(step.first); });
}

Analysis analyse(const OpTrace& trace, const Options& options) {
  Job job = read_job(trace);
  Dependencies dependencies = dependencies_of(job, options);
  Analysis analysis = measure(std::move(job), std::move(dependencies));
  check_embedding_transfers(analysis);
  select_steps(analysis.job, options.steps);
  pool_ideal_values(analysis);
  return analysis;
}

// ---- Sections 7 and 8: results

using Label = std::function<std::string(const OpView&)>;

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json to_json(const PerStep& values) {
  Json json = Json::object();
  for (const auto& [number, value] : values) json[std::to_string(number)] = number_or_null(value);
  return json;
}

Json ratios(const PerStep& numerator, const PerStep& denominator) {
  PerStep ratio;
  for (const auto& [number, value] : numerator) ratio[number] = value / denominator.at(number);
  return to_json(ratio);
}

std::string dp_rank_label(const OpView& op) {
  return std::to_string(op.dp_rank);
}
std::string stage_label(const OpView& op) {
  return std::to_string(op.stage);
}

std::string optype_label(const OpView& op) {
  const std::string type = type_name(op.type);
  if (type == "forward-send" || type == "forward-recv") return "forward-pp-comm";
  if (type == "backward-send" || type == "backward-recv") return "backward-pp-comm";
  return type;
}

std::string optype_label_with_first_op(const OpView& op) {
  const std::string first =
      op.stage == 0 ? op_name("forward-compute", 0, 0) : op_name("forward-recv", 0, op.stage);
  return op.name == first ? "first-op" : optype_label(op);
}

std::set<std::string> labels_of(const Analysis& analysis, const Label& label) {
  std::set<std::string> labels;
  for (const auto& [number, step] : analysis.job.steps) {
    for (const auto& [dp, lane] : step) {
      for (const auto& [name, op] : lane)
        labels.insert(label({name, op.type, op.stage, dp, number, op.mb_id}));
    }
  }
  return labels;
}

using ScenarioFor = std::function<Scenario(const Choice&)>;

Scenario only_recorded(const Choice& choice) {
  return {.recorded = choice};
}
Scenario only_delayed(const Choice& choice) {
  return {.recorded = &all, .delayed = choice};
}

std::map<std::string, StepTimes> simulate_labels(const Analysis& analysis, const Label& label,
                                                 const ScenarioFor& scenario) {
  std::map<std::string, StepTimes> times;
  for (const std::string& wanted : labels_of(analysis, label)) {
    times[wanted] = simulate(analysis, scenario([&](const OpView& op) { return label(op) == wanted; }));
  }
  return times;
}

void write_grouping(Json& result, const std::string& key, const std::map<std::string, StepTimes>& times,
                    const StepTimes& baseline) {
  Json overall = Json::object();
  Json per_step = Json::object();
  for (const auto& [label, of_label] : times) {
    overall[label] = number_or_null(mean(of_label.to_finish) / mean(baseline.to_finish));
    for (const auto& [number, value] : of_label.to_finish) {
      per_step[std::to_string(number)][label] = number_or_null(value / baseline.to_finish.at(number));
    }
  }
  result[key] = overall;
  result[key + "_per_step"] = per_step;
}

void write_decomposition(Json& result, const std::string& family, const Analysis& analysis,
                         const Label& by_optype, const ScenarioFor& scenario, const StepTimes& baseline) {
  const std::map<std::string, Label> groupings{
      {"dp_rank", dp_rank_label}, {"stage", stage_label}, {"optype", by_optype}};
  for (const auto& [name, label] : groupings) {
    write_grouping(result, family + "_decompose_by_" + name, simulate_labels(analysis, label, scenario),
                   baseline);
  }
}

void write_no_decomposition(Json& result, const std::string& family) {
  for (const std::string name : {"dp_rank", "stage", "optype"}) {
    result[family + "_decompose_by_" + name] = nullptr;
    result[family + "_decompose_by_" + name + "_per_step"] = nullptr;
  }
}

// How much of the waste goes away with the chosen ops ideal (rem), and comes back with only them recorded
// (add).
Json attribute(const Analysis& analysis, const Choice& chosen, const std::string& measure) {
  const double original = mean(simulate(analysis, {.recorded = &all}).span);
  const double ideal = mean(simulate(analysis, {.recorded = &none}).span);
  const double removed =
      mean(simulate(analysis, {.recorded = [&](const OpView& op) { return !chosen(op); }}).span);
  const double added = mean(simulate(analysis, {.recorded = chosen}).span);
  const double rem = (original - removed) / (original - ideal);
  return {{"trem", number_or_null(removed)},  {"tadd", number_or_null(added)},
          {"tori", number_or_null(original)}, {"tideal", number_or_null(ideal)},
          {"rem", number_or_null(rem)},       {"add", number_or_null((added - ideal) / (original - ideal))},
          {measure, number_or_null(rem)}};
}

// (dp rank, stage) of the slowest 3 % of the workers.
std::set<std::pair<int, int>> slowest_workers(const Analysis& analysis, const Json& result) {
  std::vector<std::pair<double, std::int64_t>> by_slowness;  // (-S_w, rank)
  for (const auto& [rank, worker] : analysis.job.workers) {
    const double of_dp_rank =
        result["blocking_decompose_by_dp_rank"][std::to_string(worker.first)].get<double>();
    const double of_stage =
        result["blocking_decompose_by_stage"][std::to_string(worker.second)].get<double>();
    by_slowness.emplace_back(-std::min(of_dp_rank, of_stage), rank);
  }
  std::sort(by_slowness.begin(), by_slowness.end());
  by_slowness.resize((3 * by_slowness.size() + 99) / 100);
  std::set<std::pair<int, int>> slowest;
  for (const auto& [slowness, rank] : by_slowness) slowest.insert(analysis.job.workers.at(rank));
  return slowest;
}

Json worker_attribution(const Analysis& analysis, const Json& result) {
  if (result["blocking_decompose_by_dp_rank"].is_null()) return nullptr;
  const auto slowest = slowest_workers(analysis, result);
  return attribute(
      analysis,
      [&](const OpView& op) {
        return slowest.contains({op.dp_rank, op.stage});
      },
      "Mw");
}

Json last_stage_attribution(const Analysis& analysis) {
  return attribute(
      analysis, [&](const OpView& op) { return op.stage == analysis.job.pp - 1; }, "Ms");
}

PerStep recorded_step_times(const Analysis& analysis) {
  PerStep times;
  for (const auto& [number, step] : analysis.job.steps) {
    const double time = latest_end(step) - earliest_start(step);
    times[number] = analysis.job.float32 ? round_to_float32(time) : time;
  }
  return times;
}

}  // namespace

Dependencies dependencies(const OpTrace& trace, const Options& options) {
  return dependencies_of(read_job(trace), options);
}

std::map<OpInstance, OpTimes> op_times(const OpTrace& trace, const Options& options) {
  const Analysis analysis = analyse(trace, options);
  std::map<OpInstance, OpTimes> times;
  for (const auto& [number, step] : analysis.job.steps) {
    const Spans nodelay = simulate_step(analysis, number, {.recorded = &all});
    const Spans ideal = simulate_step(analysis, number, {.recorded = &none});
    for (const auto& [key, span] : nodelay) {
      const Op& op = step.at(key.first).at(key.second);
      times[{number, key.first, key.second}] = {op.transfer, op.launch_delay,     span.start,
                                                span.end,    ideal.at(key).start, ideal.at(key).end};
    }
  }
  return times;
}

Json compat_result(const OpTrace& trace, const Options& options) {
  const Analysis analysis = analyse(trace, options);
  const PerStep base = recorded_step_times(analysis);
  const StepTimes nodelay = simulate(analysis, {.recorded = &all});
  const StepTimes ideal = simulate(analysis, {.recorded = &none});
  const double launch_slowdown = mean(base) / mean(nodelay.to_finish);
  const double blocking_slowdown = mean(nodelay.span) / mean(ideal.to_finish);
  Json result{{"step_t_base", to_json(base)},
              {"step_t_nodelay", to_json(nodelay.span)},
              {"step_t_noblk", to_json(ideal.span)},
              {"launch_slowdown", number_or_null(launch_slowdown)},
              {"blocking_slowdown", number_or_null(blocking_slowdown)},
              {"launch_step_slowdown", ratios(base, nodelay.to_finish)},
              {"blocking_step_slowdown", ratios(nodelay.span, ideal.to_finish)}};
  if (launch_slowdown >= options.threshold) {
    write_decomposition(result, "launch", analysis, optype_label_with_first_op, only_delayed, nodelay);
  } else {
    write_no_decomposition(result, "launch");
  }
  if (blocking_slowdown >= options.threshold) {
    write_decomposition(result, "blocking", analysis, optype_label, only_recorded, ideal);
  } else {
    write_no_decomposition(result, "blocking");
  }
  result["mw"] = worker_attribution(analysis, result);
  result["ms"] = last_stage_attribution(analysis);
  return result;
}

std::map<std::pair<int, int>, double> exact_worker_slowdowns(const OpTrace& trace, const Options& options) {
  return exact_worker_slowdowns(analyse(trace, options));
}

double step_time_with(const OpTrace& trace, const Options& options,
                      const std::function<bool(const OpView&)>& recorded) {
  return mean(simulate(analyse(trace, options), {.recorded = recorded}).span);
}

}  // namespace goodput::reference

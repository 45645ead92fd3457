// The dependency rules one by one, on stages small enough to draw.
#include "models/megatron/megatron_rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

namespace goodput::megatron {
namespace {

using Names = std::set<std::string>;

// A template lane, op by op.
class Lane {
 public:
  explicit Lane(int stages, int chunks = 1) {
    lane_.pp_size = stages;
    lane_.vpp_size = chunks;
  }
  Lane& add(OpType type, int seq_id, int stage, double start, double end, int mc = -1) {
    TraceOp op;
    op.type = type;
    op.seq_id = seq_id;
    op.stage = static_cast<std::int16_t>(stage);
    op.mc = static_cast<std::int16_t>(mc);
    if (mc >= 0) op.gmc = mc * lane_.pp_size + stage;
    lane_.ops.push_back(op);
    lane_.start_s.push_back(start);
    lane_.end_s.push_back(end);
    return *this;
  }
  Lane& forward(int seq_id, int stage, double start, int mc = 0) {
    return add(OpType::kForwardCompute, seq_id, stage, start, start + 1, mc);
  }
  Lane& backward(int seq_id, int stage, double start, int mc = 0) {
    return add(OpType::kBackwardCompute, seq_id, stage, start, start + 1, mc);
  }
  // gc, layernorm, clip and optimizer of a stage.
  Lane& tail(int stage, double at) {
    add(OpType::kGc, 0, stage, at, at);
    add(OpType::kLayernormGradsAllReduce, 0, stage, at, at + 1);
    add(OpType::kOptimizerClipMainGrad, 0, stage, at + 5, at + 6);
    return add(OpType::kOptimizer, 0, stage, at + 6, at + 7);
  }
  Lane& without(OpType type, int stage) {
    for (std::size_t i = lane_.ops.size(); i-- > 0;) {
      if (lane_.ops[i].type != type || lane_.ops[i].stage != stage) continue;
      const auto at = static_cast<std::ptrdiff_t>(i);
      lane_.ops.erase(lane_.ops.begin() + at);
      lane_.start_s.erase(lane_.start_s.begin() + at);
      lane_.end_s.erase(lane_.end_s.begin() + at);
    }
    return *this;
  }

  [[nodiscard]] const TemplateLane& get() const { return lane_; }

 private:
  TemplateLane lane_;
};

OpGraph graph_of(const Lane& lane) {
  Result<OpGraph> graph = build_graph(lane.get());
  if (!graph) FAIL(graph.error().message());
  return *std::move(graph);
}

std::string error_of(const Lane& lane) {
  const Result<OpGraph> graph = build_graph(lane.get());
  REQUIRE_FALSE(graph);
  return graph.error().message();
}

OpId find(const Lane& lane, const OpGraph& graph, const std::string& name) {
  for (OpId op = 0; op < graph.size(); ++op) {
    if (lane.get().ops[graph.caller_index()[op]].name() == name) return op;
  }
  FAIL("no op " << name);
  return 0;
}

Names before(const Lane& lane, const OpGraph& graph, const std::string& name) {
  Names names;
  for (const OpId op : graph.predecessors(find(lane, graph, name))) {
    names.insert(lane.get().ops[graph.caller_index()[op]].name());
  }
  return names;
}

Names group(const Lane& lane, const OpGraph& graph, const std::string& name) {
  const OpGraph::Unit& unit = graph.units()[graph.unit_of()[find(lane, graph, name)]];
  Names names;
  for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
    names.insert(lane.get().ops[graph.caller_index()[op]].name());
  }
  return names;
}

PartitionId partition(const Lane& lane, const OpGraph& graph, const std::string& name) {
  return graph.units()[graph.unit_of()[find(lane, graph, name)]].partition;
}

// One stage, one micro-batch.
Lane one_stage() {
  Lane lane(1);
  return lane.forward(0, 0, 0).backward(0, 0, 1).tail(0, 2);
}

// Two stages, one micro-batch: stage 0 sends forward, stage 1 sends backward.
Lane two_stages() {
  Lane lane(2);
  lane.forward(0, 0, 0).add(OpType::kForwardSend, 0, 0, 1, 1.1);
  lane.add(OpType::kForwardRecv, 0, 1, 0, 1.1).forward(0, 1, 1.1).backward(0, 1, 2.1);
  lane.add(OpType::kBackwardSend, 0, 1, 3.1, 3.2).tail(1, 3.2);
  lane.add(OpType::kBackwardRecv, 0, 0, 1, 3.2).backward(0, 0, 3.2).tail(0, 4.2);
  return lane;
}

}  // namespace

TEST_CASE("megatron: without data parallelism the tail is gc, layernorm, embedding, clip, optimizer") {
  Lane lane = one_stage();
  lane.add(OpType::kEmbeddingGradsAllReduce, 0, 0, 3, 4);
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "backward-compute_0_0") == Names{"forward-compute_0_0"});
  CHECK(before(lane, graph, "gc_0_0") == Names{"backward-compute_0_0"});
  CHECK(before(lane, graph, "layernorm-grads-all-reduce_0_0") == Names{"gc_0_0"});
  CHECK(before(lane, graph, "embedding-grads-all-reduce_0_0") == Names{"layernorm-grads-all-reduce_0_0"});
  CHECK(before(lane, graph, "optimizer-clip-main-grad_0_0") == Names{"embedding-grads-all-reduce_0_0"});
  CHECK(before(lane, graph, "optimizer_0_0") == Names{"optimizer-clip-main-grad_0_0"});
  CHECK(partition(lane, graph, "optimizer-clip-main-grad_0_0") == kReplicasTogether);
  CHECK(partition(lane, graph, "embedding-grads-all-reduce_0_0") == kReplicasApart);
  CHECK(graph.is_grouped(find(lane, graph, "embedding-grads-all-reduce_0_0")));
  CHECK_FALSE(graph.is_grouped(find(lane, graph, "layernorm-grads-all-reduce_0_0")));
}

TEST_CASE("megatron: gc follows the pass that ends last, the first of those on a tie") {
  Lane lane(1);
  // two micro-batches; the forward of the second ends together with the last backward
  lane.forward(0, 0, 0)
      .add(OpType::kForwardCompute, 1, 0, 1, 4, 0)
      .backward(0, 0, 2)
      .backward(1, 0, 3)
      .tail(0, 4);
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "gc_0_0") == Names{"forward-compute_1_0"});
}

TEST_CASE("megatron: neighbours meet, sends follow their pass, passes follow their receive") {
  const Lane lane = two_stages();
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "forward-send_0_0") == Names{"forward-compute_0_0"});
  CHECK(before(lane, graph, "forward-recv_0_1").empty());
  CHECK(before(lane, graph, "forward-compute_0_1") == Names{"forward-recv_0_1"});
  CHECK(before(lane, graph, "backward-compute_0_0") == Names{"forward-compute_0_0", "backward-recv_0_0"});
  CHECK(group(lane, graph, "forward-send_0_0") == Names{"forward-send_0_0", "forward-recv_0_1"});
  CHECK(group(lane, graph, "backward-recv_0_0") == Names{"backward-send_0_1", "backward-recv_0_0"});
  CHECK(group(lane, graph, "optimizer-clip-main-grad_0_0") ==
        Names{"optimizer-clip-main-grad_0_0", "optimizer-clip-main-grad_0_1"});
}

TEST_CASE("megatron: a receive is posted only after the pass of its direction before it") {
  Lane lane(2);
  for (const int mb : {0, 1}) {
    lane.forward(mb, 0, mb).add(OpType::kForwardSend, mb, 0, mb + 1, mb + 1.5);
    lane.add(OpType::kForwardRecv, mb, 1, mb + 0.5, mb + 1.5).forward(mb, 1, mb + 1.5);
    lane.backward(mb, 1, mb + 5).add(OpType::kBackwardSend, mb, 1, mb + 6, mb + 6.5);
    lane.add(OpType::kBackwardRecv, mb, 0, mb + 5, mb + 6.5).backward(mb, 0, mb + 6.5);
  }
  lane.tail(0, 9).tail(1, 9);
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "forward-recv_1_1") == Names{"forward-recv_0_1", "forward-compute_0_1"});
  CHECK(before(lane, graph, "backward-recv_1_0") == Names{"backward-recv_0_0", "backward-compute_0_0"});
  // C(0) = F0 F1 B0 B1: two forwards in front, so the first backward's receive waits for the first of them.
  CHECK(before(lane, graph, "backward-recv_0_0") == Names{"forward-compute_0_0"});
  CHECK(before(lane, graph, "backward-send_0_1") == Names{"backward-compute_0_1", "forward-compute_0_1"});
}

TEST_CASE(
    "megatron: a receive launched 50 us after the last pass began still counts, one launched later never "
    "was") {
  for (const bool late : {false, true}) {
    CAPTURE(late);
    Lane lane = two_stages();
    // The last forward of stage 0 starts at 0; a live receive there would need a pass: with none spare it
    // must be type 1.
    lane.add(OpType::kForwardRecv, 0, 0, late ? 5.1e-5 : 5e-5, 4);
    if (late) {
      const OpGraph graph = graph_of(lane);
      CHECK(group(lane, graph, "forward-recv_0_0") == Names{"forward-recv_0_0"});
      CHECK(before(lane, graph, "forward-compute_0_0").empty());
    } else {
      // Live: it delivers to the forward, chunk 0 has nobody in front, so it has no peer (type 2) but keeps
      // its match.
      const OpGraph graph = graph_of(lane);
      CHECK(group(lane, graph, "forward-recv_0_0") == Names{"forward-recv_0_0"});
      CHECK(before(lane, graph, "forward-compute_0_0") == Names{"forward-recv_0_0"});
    }
  }
}

TEST_CASE(
    "megatron: a send that ended 50 us before the first pass did still counts, one that ended earlier never "
    "was") {
  for (const bool early : {false, true}) {
    CAPTURE(early);
    Lane lane = two_stages();
    // The first backward of stage 0 ends at 4.2.
    lane.add(OpType::kBackwardSend, 0, 0, 1, early ? 4.2 - 5.1e-5 : 4.2 - 4.9e-5);
    const OpGraph graph = graph_of(lane);
    CHECK(before(lane, graph, "backward-send_0_0") == (early ? Names{} : Names{"backward-compute_0_0"}));
  }
}

TEST_CASE(
    "megatron: in a virtual pipeline peers wrap around and the first stage may lack its first receive") {
  // 2 stages x 2 chunks, 1 micro-batch: chunk order 0 (s0) 1 (s1) 2 (s0) 3 (s1)
  Lane lane(2, 2);
  lane.forward(0, 0, 0, 0).add(OpType::kForwardSend, 0, 0, 1, 1.2);
  lane.add(OpType::kForwardRecv, 0, 1, 0.1, 1.2)
      .forward(0, 1, 1.2, 0)
      .add(OpType::kForwardSend, 0, 1, 2.2, 2.4);
  lane.add(OpType::kForwardRecv, 0, 0, 1.1, 2.4)
      .forward(1, 0, 2.4, 1)
      .add(OpType::kForwardSend, 1, 0, 3.4, 3.6);
  lane.add(OpType::kForwardRecv, 1, 1, 2.3, 3.6).forward(1, 1, 3.6, 1);
  lane.backward(0, 1, 4.6, 1).add(OpType::kBackwardSend, 0, 1, 5.6, 5.8);
  lane.add(OpType::kBackwardRecv, 0, 0, 3.5, 5.8)
      .backward(0, 0, 5.8, 1)
      .add(OpType::kBackwardSend, 0, 0, 6.8, 7);
  lane.add(OpType::kBackwardRecv, 0, 1, 5.7, 7).backward(1, 1, 7, 0).add(OpType::kBackwardSend, 1, 1, 8, 8.2);
  lane.add(OpType::kBackwardRecv, 1, 0, 6.9, 8.2).backward(1, 0, 8.2, 0).tail(0, 9.2).tail(1, 9.2);
  const OpGraph graph = graph_of(lane);
  // One forward receive for two forwards on stage 0: the counter starts at 1.
  CHECK(before(lane, graph, "forward-compute_1_0") == Names{"forward-compute_0_0", "forward-recv_0_0"});
  CHECK(before(lane, graph, "forward-recv_0_0") == Names{"forward-compute_0_0"});
  CHECK(group(lane, graph, "forward-send_0_1") == Names{"forward-send_0_1", "forward-recv_0_0"});
  CHECK(group(lane, graph, "backward-send_0_0") == Names{"backward-send_0_0", "backward-recv_0_1"});
}

TEST_CASE("megatron: with data parallelism the reductions follow the tail and their own stream") {
  Lane lane = one_stage();
  lane.add(OpType::kParamsAllGather, 0, 0, -1, -0.5, 0);
  lane.add(OpType::kGradsReduceScatter, 0, 0, 4, 5, 0).add(OpType::kGradsReduceScatter, 1, 0, 5, 6, 0);
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "forward-compute_0_0") == Names{"params-all-gather_0_0"});
  CHECK(before(lane, graph, "grads-reduce-scatter_0_0") ==
        Names{"params-all-gather_0_0", "layernorm-grads-all-reduce_0_0"});
  CHECK(before(lane, graph, "grads-reduce-scatter_1_0") == Names{"grads-reduce-scatter_0_0"});
  CHECK(before(lane, graph, "optimizer-clip-main-grad_0_0") == Names{"grads-reduce-scatter_1_0"});
  CHECK(partition(lane, graph, "grads-reduce-scatter_0_0") == kReplicasTogether);
}

TEST_CASE("megatron: of several buckets the last gather gates a chunk's first forward") {
  Lane lane(1, 2);
  lane.add(OpType::kParamsAllGather, 0, 0, -4, -3, 0).add(OpType::kParamsAllGather, 1, 0, -3, -2, 0);
  lane.add(OpType::kParamsAllGather, 2, 0, -2, -1, 1).add(OpType::kParamsAllGather, 3, 0, -1, 0, 1);
  lane.forward(0, 0, 0, 0).forward(1, 0, 1, 1).backward(0, 0, 2, 1).backward(1, 0, 3, 0).tail(0, 4);
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "forward-compute_0_0") == Names{"params-all-gather_1_0"});
  CHECK(before(lane, graph, "forward-compute_1_0") == Names{"forward-compute_0_0", "params-all-gather_3_0"});
  CHECK(before(lane, graph, "params-all-gather_2_0") == Names{"params-all-gather_1_0"});
}

TEST_CASE("megatron: overlapped reductions start at a chunk's last backward and hold the tail") {
  Lane lane = one_stage();
  lane.add(OpType::kGradsReduceScatter, 0, 0, 1.5, 2.5, 0).add(OpType::kGradsReduceScatter, 1, 0, 2.5, 3, 0);
  lane.add(OpType::kSeparateGradsAllReduce, 0, 0, 4, 5);
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "grads-reduce-scatter_0_0") == Names{"backward-compute_0_0"});
  CHECK(before(lane, graph, "grads-reduce-scatter_1_0") == Names{"grads-reduce-scatter_0_0"});
  CHECK(before(lane, graph, "layernorm-grads-all-reduce_0_0") == Names{"gc_0_0", "grads-reduce-scatter_1_0"});
  CHECK(before(lane, graph, "optimizer-clip-main-grad_0_0") == Names{"separate-grads-all-reduce_0_0"});
  CHECK(partition(lane, graph, "separate-grads-all-reduce_0_0") == kReplicasTogether);
}

TEST_CASE("megatron: ops that start together are ordered by seq_id, then by the name of their type") {
  Lane lane(1);
  lane.backward(0, 0, 1).forward(1, 0, 1).forward(0, 0, 1).backward(1, 0, 2).tail(0, 3);
  const OpGraph graph = graph_of(lane);
  CHECK(before(lane, graph, "forward-compute_0_0") == Names{"backward-compute_0_0"});
  CHECK(before(lane, graph, "forward-compute_1_0") == Names{"forward-compute_0_0"});
}

TEST_CASE("megatron: what the rules do not cover is refused by name") {
  CHECK(error_of(one_stage().without(OpType::kOptimizer, 0)) ==
        "stage 0 has no optimizer; every stage must record one in every step");
  CHECK(error_of(one_stage().without(OpType::kForwardCompute, 0)) == "stage 0 has no forward-compute");
  CHECK(error_of(one_stage().forward(2, 0, 5)) ==
        "forward-compute_2_0: stage 0 has no forward-compute with seq_id 1; seq_ids must count up from 0");
  CHECK(error_of(one_stage().add(OpType::kGc, 1, 0, 9, 9)) ==
        "gc_1_0: stage 0 can have only one gc per step, with seq_id 0");
  CHECK(error_of(one_stage().add(OpType::kParamsAllGather, 0, 0, 0, 1, 3)) ==
        "params-all-gather_0_0 has mc 3, but stage 0 has no forward-compute for that model chunk");
  CHECK(error_of(one_stage()
                     .add(OpType::kGradsReduceScatter, 0, 0, 0, 1, 3)
                     .add(OpType::kSeparateGradsAllReduce, 0, 0, 4, 5)) ==
        "grads-reduce-scatter_0_0 has mc 3, but stage 0 has no backward-compute for that model chunk");
  CHECK(error_of(one_stage().add(OpType::kSeparateGradsAllReduce, 0, 0, 4, 5)) ==
        "stage 0 has no grads-reduce-scatter, which other stages record");
  CHECK(error_of(two_stages().without(OpType::kForwardRecv, 1)) ==
        "stage 0 launches 1 forward-send ops, but stage 1 launches 0 forward-recv ops; each send needs one "
        "receive");
  CHECK(error_of(two_stages().forward(1, 0, 4).forward(2, 0, 5)) ==
        "stage 0: 1 forward-send ops were launched for 3 forward-compute ops, but each pass needs one (the "
        "first and last stage may have none, or one fewer)");
}

TEST_CASE("megatron: messages of the last stage that the first has none of show that stages are missing") {
  CHECK(error_of(one_stage().add(OpType::kForwardSend, 0, 0, 1, 2)) ==
        "stage 0 is the last one recorded but launches 1 forward-send ops, which need a next stage; give the "
        "files of the later stages too");
  // Recorded at both ends, they have no peer.
  const Lane both = one_stage().add(OpType::kForwardSend, 0, 0, 1, 2).add(OpType::kForwardRecv, 0, 0, 0, 0);
  CHECK(graph_of(both).size() == 8);
}

TEST_CASE("megatron: embedding gradients in the middle of the pipeline are refused") {
  Lane lane(3);
  for (const int stage : {0, 1, 2}) {
    lane.forward(0, stage, stage * 2.0).backward(0, stage, 10 - stage * 2.0).tail(stage, 12);
    if (stage < 2) lane.add(OpType::kForwardSend, 0, stage, stage * 2.0 + 1, stage * 2.0 + 2);
    if (stage > 0) lane.add(OpType::kForwardRecv, 0, stage, stage * 2.0 - 1, stage * 2.0);
    if (stage > 0) lane.add(OpType::kBackwardSend, 0, stage, 11 - stage * 2.0, 12 - stage * 2.0);
    if (stage < 2) lane.add(OpType::kBackwardRecv, 0, stage, 9 - stage * 2.0, 10 - stage * 2.0);
  }
  (void)graph_of(lane);
  lane.add(OpType::kEmbeddingGradsAllReduce, 0, 1, 13, 14);
  CHECK(error_of(lane) ==
        "embedding-grads-all-reduce_0_1: only the first and the last stage reduce embedding gradients");
}

TEST_CASE("megatron: recorded orders that contradict each other are a cycle, named") {
  // Stage 0 runs its backward first, which waits for stage 1's backward, whose forward waits for stage 0's
  // forward.
  Lane odd(2);
  odd.backward(0, 0, 0).forward(0, 0, 2).add(OpType::kForwardSend, 0, 0, 3, 3.1);
  odd.add(OpType::kBackwardRecv, 0, 0, -1, 0).tail(0, 4.2);
  odd.add(OpType::kForwardRecv, 0, 1, 0, 3.1).forward(0, 1, 3.1).backward(0, 1, 4.1);
  odd.add(OpType::kBackwardSend, 0, 1, 5.1, 5.2).tail(1, 5.2);
  const std::string error = error_of(odd);
  CHECK(error.starts_with("the dependencies form a cycle: "));
  CHECK(error.find("forward-compute_0_1") != std::string::npos);
}

}  // namespace goodput::megatron

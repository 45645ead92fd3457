// What waits for what in a captured dispatch: the graph as tests/simt captured it.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "gpu/dispatcher.h"
#include "tests/simt/runtime.h"

namespace goodput::gpu {
namespace {

constexpr DispatchShape kShape{2, 4, 1, 100, 8, ElementType::kFp32, moe::DispatchPolicy::kProportional};

// A rank whose dispatch can be captured.
struct CapturedRank {
  Stream stream;
  DeviceBuffer<std::int32_t> expert_of = upload(std::vector<std::int32_t>(100, 1));
  DeviceBuffer<float> x{800};
  DeviceBuffer<float> send{800};
  Dispatcher dispatcher{kShape, make_placement(2, 4, {1, 1, 0, 0, 0, 1, 1, 1}), 0, CopyPath::kVector};

  void queue_until_placed() {
    dispatcher.count(expert_of.data(), 100, stream.get());
    dispatcher.schedule(stream.get());
    dispatcher.place(stream.get());
  }
};

// All nodes that must have run before `node`.
std::set<std::size_t> before(const CUgraph_st& graph, std::size_t node) {
  std::set<std::size_t> found;
  for (const std::size_t direct : graph.nodes[node].after) {
    found.insert(direct);
    found.merge(before(graph, direct));
  }
  return found;
}

}  // namespace

TEST_CASE("captured dispatch: scatter does not wait for the copy of the host's counts") {
  CapturedRank rank;
  const cudaStream_t stream = rank.stream.get();
  GOODPUT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  rank.queue_until_placed();
  rank.dispatcher.scatter(rank.x.data(), rank.send.data(), stream);
  rank.dispatcher.join_host_counts(stream);
  cudaGraph_t graph = nullptr;
  GOODPUT_CUDA(cudaStreamEndCapture(stream, &graph));

  // The copy is the one node that another stream captured.
  const std::vector<simt::Node>& nodes = graph->nodes;
  const auto is_copy = [&](const simt::Node& node) { return node.rank != nodes[0].rank; };
  REQUIRE(std::count_if(nodes.begin(), nodes.end(), is_copy) == 1);
  const auto copy =
      static_cast<std::size_t>(std::find_if(nodes.begin(), nodes.end(), is_copy) - nodes.begin());
  const std::size_t scatter = nodes.size() - 1;
  REQUIRE(copy < scatter);
  CHECK(before(*graph, scatter).count(copy) == 0);
  CHECK(before(*graph, scatter).size() == scatter - 1);  // but for all the others
  GOODPUT_CUDA(cudaGraphDestroy(graph));
}

TEST_CASE("captured dispatch: without a join the capture ends with an error, not without the copy") {
  CapturedRank rank;
  GOODPUT_CUDA(cudaStreamBeginCapture(rank.stream.get(), cudaStreamCaptureModeThreadLocal));
  rank.queue_until_placed();
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(rank.stream.get(), &graph) == cudaErrorStreamCaptureUnjoined);
  CHECK(cudaGetLastError() == cudaErrorStreamCaptureUnjoined);
}

}  // namespace goodput::gpu

// Captured and replayed: a dispatch up to the host counts with the exchange of counts in it, and an exchange
// of rows.
#include "gpu/exchange.h"
#include "gpu/graph.h"
#include "gpu/nccl/nccl_transport.h"
#include "gpu/nccl/test/nccl_checks.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"
#include "gpu/virtual_transport.h"

namespace goodput::gpu::testing {
namespace {

constexpr int kReplays = 3;

DispatchShape shape_of(std::int32_t ranks) {
  DispatchShape shape;
  shape.ranks = ranks;
  shape.experts = 6;
  shape.top_k = 2;
  shape.max_tokens = 50;
  shape.hidden = 8;
  return shape;
}

// By rank; tokens x top_k.
std::vector<std::vector<std::int32_t>> random_routing(const DispatchShape& shape, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<std::int32_t>> expert_of(static_cast<std::size_t>(shape.ranks));
  for (auto& of_rank : expert_of) {
    of_rank.resize(static_cast<std::size_t>(shape.max_slots()));
    for (std::int32_t& expert : of_rank) expert = random.below(shape.experts + 1) - 1;
  }
  return expert_of;
}

void replace(const DeviceBuffer<std::int32_t>& device, const std::vector<std::int32_t>& host) {
  GOODPUT_CUDA(cudaMemcpy(const_cast<std::int32_t*>(device.data()), host.data(),
                          host.size() * sizeof(host[0]), cudaMemcpyHostToDevice));
  finish_default_stream();
}

// The dispatchers of a transport's local ranks, and what they route.
class Routed {
 public:
  Routed(const DispatchShape& shape, Transport& transport) : shape_(shape), transport_(transport) {
    const std::vector<std::int32_t> replicas(static_cast<std::size_t>(shape.ranks * shape.experts), 1);
    const HostTables placement = make_placement(shape.ranks, shape.experts, replicas);
    for (const std::int32_t rank : transport.local_ranks()) {
      dispatchers_.emplace_back(shape, placement, rank);
      expert_of_.emplace_back(static_cast<std::size_t>(shape.max_slots()));
    }
  }

  void set_routing(const std::vector<std::vector<std::int32_t>>& expert_of) {
    for (std::size_t i = 0; i < expert_of_.size(); ++i) {
      replace(expert_of_[i], expert_of[static_cast<std::size_t>(transport_.local_ranks()[i])]);
    }
  }

  void queue(cudaStream_t stream) {
    for (std::size_t i = 0; i < dispatchers_.size(); ++i) {
      dispatchers_[i].count(expert_of_[i].data(), shape_.max_tokens, stream);
    }
    gather_counts(dispatchers_, transport_, stream);
    for (Dispatcher& dispatcher : dispatchers_) {
      dispatcher.schedule(stream);
      dispatcher.place(stream);
    }
    for (Dispatcher& dispatcher : dispatchers_) dispatcher.join_host_counts(stream);
  }

  Dispatcher& operator[](std::size_t i) { return dispatchers_[i]; }

 private:
  DispatchShape shape_;
  Transport& transport_;
  std::vector<Dispatcher> dispatchers_;
  std::vector<DeviceBuffer<std::int32_t>> expert_of_;
};

std::string differ(Dispatcher& actual, Dispatcher& expected, const DispatchShape& shape) {
  const auto slots = static_cast<std::size_t>(shape.max_slots());
  const HostCounts actual_counts = actual.host_counts();
  const HostCounts expected_counts = expected.host_counts();
  return first_of(
      {testing::differ("rows to send", actual_counts.send_rows, expected_counts.send_rows),
       testing::differ("rows to receive", actual_counts.receive_rows, expected_counts.receive_rows),
       testing::differ("positions", download(actual.positions(), slots),
                       download(expected.positions(), slots))});
}

std::string wrong_schedule(Communicator& communicator) {
  const DispatchShape shape = shape_of(communicator.ranks());
  NcclTransport transport(communicator);
  VirtualTransport virtual_transport(shape.ranks);
  Routed actual(shape, transport);
  Routed expected(shape, virtual_transport);
  const Stream stream;
  const Graph graph(stream.get(), [&] { actual.queue(stream.get()); });
  for (int replay = 0; replay < kReplays; ++replay) {
    const auto routing = random_routing(shape, static_cast<std::uint64_t>(replay));
    actual.set_routing(routing);
    expected.set_routing(routing);
    graph.launch(stream.get());
    transport.synchronize(stream.get());
    expected.queue(stream.get());
    stream.synchronize();
    const std::string wrong =
        differ(actual[0], expected[static_cast<std::size_t>(communicator.rank())], shape);
    if (!wrong.empty()) return "replay " + std::to_string(replay) + ": " + wrong;
  }
  return "";
}

// Row `row` of those from rank to rank: one number.
std::int32_t number_of(std::int32_t from, std::int32_t to, std::int32_t row, int replay) {
  return ((from * 100 + to) * 100 + row) * 10 + replay;
}

std::int32_t rows_between(std::int32_t from, std::int32_t to) {
  return (3 * from + to) % 5;
}

std::string wrong_rows(Communicator& communicator) {
  const std::int32_t me = communicator.rank();
  std::vector<std::int32_t> send_rows;
  std::vector<std::int32_t> receive_rows;
  for (std::int32_t rank = 0; rank < communicator.ranks(); ++rank) {
    send_rows.push_back(rows_between(me, rank));
    receive_rows.push_back(rows_between(rank, me));
  }
  const auto rows = [&](int replay, bool are_sent) {
    std::vector<std::int32_t> numbers;
    for (std::int32_t rank = 0; rank < communicator.ranks(); ++rank) {
      const std::int32_t from = are_sent ? me : rank;
      const std::int32_t to = are_sent ? rank : me;
      for (std::int32_t row = 0; row < rows_between(from, to); ++row) {
        numbers.push_back(number_of(from, to, row, replay));
      }
    }
    return numbers;
  };
  const DeviceBuffer<std::int32_t> send(rows(0, true).size());
  DeviceBuffer<std::int32_t> received(rows(0, false).size());
  NcclTransport transport(communicator);
  const Stream stream;
  const Graph graph(stream.get(), [&] {
    transport.all_to_all({{send.data(), received.data(), send_rows.data(), receive_rows.data()}},
                         sizeof(std::int32_t), stream.get());
  });
  for (int replay = 0; replay < kReplays; ++replay) {
    replace(send, rows(replay, true));
    graph.launch(stream.get());
    transport.synchronize(stream.get());
    const std::string wrong =
        testing::differ("rows of replay " + std::to_string(replay),
                        download(received.data(), received.size()), rows(replay, false));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

std::vector<NcclCheck> graph_checks() {
  return {{"graph: a replayed dispatch up to the host counts", wrong_schedule},
          {"graph: a replayed exchange of rows", wrong_rows}};
}

}  // namespace goodput::gpu::testing

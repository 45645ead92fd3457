// The same again: a captured graph, replayed, gives the same bytes each time, and those of a direct run.
#include "gpu/dispatcher.h"
#include "gpu/graph.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"

namespace goodput::gpu::testing {
namespace {

// All that a dispatch up to the scatter writes.
struct Output {
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> send_begin;
  std::vector<std::int32_t> group_begin;
  std::vector<float> send;
  std::vector<std::int32_t> send_rows;
  std::vector<std::int32_t> receive_rows;
};

std::string outputs_differ(const Output& actual, const Output& expected) {
  return first_of({differ("positions", actual.positions, expected.positions),
                   differ("send offsets", actual.send_begin, expected.send_begin),
                   differ("group offsets", actual.group_begin, expected.group_begin),
                   differ("send rows", actual.send_rows, expected.send_rows),
                   differ("receive rows", actual.receive_rows, expected.receive_rows),
                   differ("scattered rows", actual.send, expected.send)});
}

DispatchCase replayed_case(CopyPath path) {
  DispatchCase dispatch;
  dispatch.shape = {8, 96, 4, 500, 16, ElementType::kFp32, moe::DispatchPolicy::kProportional};
  dispatch.path = path;
  dispatch.seed = 5;
  return dispatch;
}

std::string wrong_replays(CopyPath path) {
  if (path == CopyPath::kBulk && !copy_device().has_bulk_copy) return kNoBulkCopy;
  constexpr std::int32_t kRank = 3;
  const DispatchCase dispatch = replayed_case(path);
  const DispatchShape& shape = dispatch.shape;
  const Cluster cluster = make_cluster(dispatch);
  const std::vector<std::int32_t>& expert_of = cluster.expert_of[kRank];
  const auto tokens = static_cast<std::int32_t>(expert_of.size()) / shape.top_k;
  Random random(9);
  const std::size_t own = static_cast<std::size_t>(tokens) * static_cast<std::size_t>(shape.hidden);

  const Stream stream;
  const auto d_expert_of = upload(expert_of);
  const auto d_counts = upload(cluster.counts);
  const auto d_x = upload(random_rows<float>(own, random));
  auto d_send = poisoned<float>(own * static_cast<std::size_t>(shape.top_k));
  Dispatcher dispatcher(shape, make_placement(shape.ranks, shape.experts, cluster.placement.replicas), kRank,
                        path);

  const auto run = [&] {
    dispatcher.count(d_expert_of.data(), tokens, stream.get());
    GOODPUT_CUDA(cudaMemcpyAsync(dispatcher.all_counts(), d_counts.data(),
                                 d_counts.size() * sizeof(moe::Tokens), cudaMemcpyDeviceToDevice,
                                 stream.get()));
    dispatcher.schedule(stream.get());
    dispatcher.place(stream.get());
    dispatcher.scatter(d_x.data(), d_send.data(), stream.get());
  };
  const auto output = [&] {
    const HostCounts counts = dispatcher.host_counts();
    const ScheduleView& view = dispatcher.schedule_view();
    const auto entries = static_cast<std::size_t>(dispatcher.placement_view().entry_count);
    const auto groups = static_cast<std::size_t>(shape.ranks * dispatcher.hosted_experts());
    return Output{download(dispatcher.positions(), expert_of.size()),
                  download(view.send_begin, entries + 1),
                  download(view.group_begin, groups + 1),
                  download(d_send.data(), d_send.size()),
                  counts.send_rows,
                  counts.receive_rows};
  };

  run();
  stream.synchronize();
  static_cast<void>(dispatcher.wait_host_counts());
  const Output direct = output();
  const Graph graph(stream.get(), [&] {
    run();
    dispatcher.join_host_counts(stream.get());
  });
  for (int replay = 1; replay <= 3; ++replay) {
    GOODPUT_CUDA(cudaMemset(d_send.data(), kPoison, d_send.size() * sizeof(float)));
    finish_default_stream();
    graph.launch(stream.get());
    stream.synchronize();
    const std::string wrong = outputs_differ(output(), direct);
    if (!wrong.empty()) return "replay " + std::to_string(replay) + ": " + wrong;
  }
  return "";
}

// One dispatcher for batches of other sizes, with more and with fewer rows than before.
std::string wrong_reuse() {
  constexpr std::int32_t kRank = 1;
  DispatchCase dispatch;
  dispatch.shape = {3, 12, 2, 300, 8, ElementType::kFp32, moe::DispatchPolicy::kProportional};
  const Cluster first = make_cluster(dispatch);
  Dispatcher dispatcher(dispatch.shape, make_placement(3, 12, first.placement.replicas), kRank);
  const Stream stream;
  for (const std::int32_t tokens : {7, 300, 0, 299}) {
    Cluster cluster = first;
    // What is added goes to an expert of this rank: it receives more than it sends.
    for (auto& expert_of : cluster.expert_of) expert_of.resize(static_cast<std::size_t>(tokens) * 2, kRank);
    cluster.counts = reference::count_cluster(cluster.expert_of, dispatch.shape.experts);
    const reference::Schedule schedule =
        reference::make_schedule(cluster.placement, cluster.counts, dispatch.shape.policy);
    const reference::RankLayout layout = reference::make_layout(cluster.placement, schedule, kRank);
    Random random(1);
    const auto arrived = random_rows<float>(static_cast<std::size_t>(layout.rows_received()) * 8, random);

    const auto d_expert_of = upload(cluster.expert_of[kRank]);
    const auto d_counts = upload(cluster.counts);
    const auto d_arrived = upload(arrived);
    auto d_grouped = poisoned<float>(arrived.size());
    dispatcher.count(d_expert_of.data(), tokens, stream.get());
    GOODPUT_CUDA(cudaMemcpyAsync(dispatcher.all_counts(), d_counts.data(),
                                 d_counts.size() * sizeof(moe::Tokens), cudaMemcpyDeviceToDevice,
                                 stream.get()));
    dispatcher.schedule(stream.get());
    dispatcher.place(stream.get());
    const HostCounts counts = dispatcher.wait_host_counts();
    dispatcher.regroup(d_arrived.data(), d_grouped.data(), counts.rows_received, stream.get());
    const std::string wrong = first_of(
        {differ("receive rows", counts.receive_rows, layout.receive_per_rank),
         differ("positions", download(dispatcher.positions(), cluster.expert_of[kRank].size()),
                reference::positions(cluster.placement, schedule, layout, kRank, cluster.expert_of[kRank])),
         differ("grouped rows", download(d_grouped.data(), arrived.size()),
                reference::regroup(arrived, reference::regroup_rows(layout), 8))});
    if (!wrong.empty()) return std::to_string(tokens) + " tokens: " + wrong;
  }
  return "";
}

// All tokens of three ranks go to the one that hosts: more rows than its own slots.
std::string wrong_growth() {
  constexpr std::int32_t kTokens = 50;
  const DispatchShape shape{3, 1, 1, kTokens, 4, ElementType::kFp32, moe::DispatchPolicy::kPacked};
  Dispatcher dispatcher(shape, make_placement(3, 1, {0, 1, 0}), 1);
  const Stream stream;
  const auto d_expert_of = upload(std::vector<std::int32_t>(kTokens, 0));
  const auto d_counts = upload(std::vector<moe::Tokens>(3, kTokens));
  Random random(2);
  const auto arrived = random_rows<float>(3 * kTokens * 4, random);
  const auto d_arrived = upload(arrived);
  auto d_grouped = poisoned<float>(arrived.size());
  dispatcher.count(d_expert_of.data(), kTokens, stream.get());
  GOODPUT_CUDA(cudaMemcpyAsync(dispatcher.all_counts(), d_counts.data(), 3 * sizeof(moe::Tokens),
                               cudaMemcpyDeviceToDevice, stream.get()));
  dispatcher.schedule(stream.get());
  dispatcher.place(stream.get());
  const HostCounts counts = dispatcher.wait_host_counts();
  if (counts.rows_received != 3 * kTokens) return std::to_string(counts.rows_received) + " rows received";
  dispatcher.regroup(d_arrived.data(), d_grouped.data(), counts.rows_received, stream.get());
  // One expert: rows stay in the order of their sources.
  return differ("grouped rows", download(d_grouped.data(), arrived.size()), arrived);
}

}  // namespace

std::vector<Test> replay_tests(Size /*size*/) {
  return {{"replay: three replays of a captured dispatch are bitwise equal, vector path",
           [] { return wrong_replays(CopyPath::kVector); }},
          {"replay: three replays of a captured dispatch are bitwise equal, bulk path",
           [] { return wrong_replays(CopyPath::kBulk); }},
          {"reuse: one dispatcher serves batches of other sizes", wrong_reuse},
          {"reuse: a rank may receive more rows than it has slots", wrong_growth}};
}

}  // namespace goodput::gpu::testing

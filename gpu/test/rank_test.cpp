// One rank's dispatcher against the reference, every output of every stage. The counts of the other ranks
// come from the host: what the ranks make of each other is cluster_test's.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "gpu/dispatcher.h"
#include "gpu/test/cases.h"
#include "gpu/test/device_vector.h"
#include "models/dispatch/euclid_chain.h"

namespace goodput::gpu::testing {
namespace {

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

// What the reference says of one rank.
struct Expected {
  reference::Schedule schedule;
  reference::RankLayout layout;
  std::vector<std::int32_t> positions;
};

// Of every expert whose tokens are spread by a multiplier: the levels of Euclid's algorithm.
std::string wrong_chains(const ScheduleView& view, const reference::Schedule& schedule) {
  const auto levels = static_cast<std::size_t>(schedule.experts) * moe::kMostEuclidLevels;
  const std::vector<moe::EuclidLevel> chains = download(view.chains, levels);
  for (std::int32_t expert = 0; expert < schedule.experts; ++expert) {
    const moe::SurplusMap& map = schedule.maps[size(expert)];
    if (map.multiplier == 1 || map.size == 0) continue;
    std::vector<moe::EuclidLevel> expected;
    for (moe::EuclidCursor cursor(map);; cursor.advance()) {
      expected.push_back(cursor.level());
      if (cursor.is_last()) break;
    }
    const auto first = chains.begin() + std::ptrdiff_t{expert} * moe::kMostEuclidLevels;
    const std::vector<moe::EuclidLevel> got(first, first + static_cast<std::ptrdiff_t>(expected.size()));
    const std::string wrong = differ("Euclid levels", got, expected);
    if (!wrong.empty()) return "expert " + std::to_string(expert) + ": " + wrong;
  }
  return "";
}

std::string wrong_schedule(const Dispatcher& dispatcher, const Cluster& cluster, const Expected& expected) {
  const ScheduleView& view = dispatcher.schedule_view();
  const reference::Schedule& schedule = expected.schedule;
  const reference::RankLayout& layout = expected.layout;
  const std::int32_t me = dispatcher.rank();

  std::vector<moe::Tokens> local;
  std::vector<moe::Interval> residuals;
  std::vector<ExpertShare> shares;
  std::vector<std::int32_t> surplus_begin{0};
  for (std::int32_t expert = 0; expert < schedule.experts; ++expert) {
    for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
      if (cluster.placement.replicas[cluster.placement.cell(rank, expert)] == 0) continue;
      local.push_back(schedule.local[schedule.cell(rank, expert)]);
      residuals.push_back(schedule.residual[schedule.cell(rank, expert)]);
    }
    const std::size_t mine = schedule.cell(me, expert);
    const moe::SurplusMap& map = schedule.maps[size(expert)];
    const bool spread = map.size != 0 && map.multiplier != 1;
    shares.push_back({schedule.surplus[mine], schedule.local[mine], -1, map,
                      spread ? moe::reciprocal_of(static_cast<std::uint32_t>(map.size)) : 0});
    surplus_begin.push_back(surplus_begin.back() + schedule.surplus[mine].count);
  }
  for (std::size_t i = 0; i < layout.entries.size(); ++i) {
    if (layout.entries[i].rank == me) shares[size(layout.entries[i].expert)].own_entry = static_cast<int>(i);
  }
  const auto same = [](const char* what, const auto* device, const auto& host) {
    return differ(what, download(device, host.size()), host);
  };
  return first_of({same("expert shares", view.experts, shares), same("local tokens", view.local, local),
                   same("residuals", view.residuals, residuals),
                   same("send counts", view.send_counts, layout.send_counts),
                   same("send offsets", view.send_begin, layout.send_offsets),
                   same("receive counts", view.receive_counts, layout.receive_counts),
                   same("receive offsets", view.receive_begin, layout.receive_offsets),
                   same("group offsets", view.group_begin, layout.group_offsets),
                   same("surplus offsets", view.surplus_begin, surplus_begin), wrong_chains(view, schedule)});
}

std::string wrong_host_counts(const HostCounts& counts, const Expected& expected) {
  const auto lost = std::find(expected.schedule.status.begin(), expected.schedule.status.end(),
                              moe::DispatchStatus::kExpertLost);
  const bool has_lost = lost != expected.schedule.status.end();
  const auto lost_expert = has_lost ? static_cast<int>(lost - expected.schedule.status.begin()) : -1;
  if (counts.lost_expert != lost_expert || counts.bad_slot != -1 || counts.crowded_expert != -1) {
    return "host counts: problem: " + message_of(counts);
  }
  const std::int64_t sent = expected.layout.rows_sent();
  const std::int64_t received = expected.layout.rows_received();
  if (counts.rows_sent != sent || counts.rows_received != received) return "host counts: numbers of rows";

  const auto experts = expected.layout.experts_here.size();
  std::vector<std::int32_t> expert_rows;
  for (std::size_t e = 0; e < experts; ++e) {
    const auto ranks = size(expected.layout.ranks);
    expert_rows.push_back(expected.layout.group_offsets[(e + 1) * ranks] -
                          expected.layout.group_offsets[e * ranks]);
  }
  return first_of({differ("send rows", counts.send_rows, expected.layout.send_per_rank),
                   differ("receive rows", counts.receive_rows, expected.layout.receive_per_rank),
                   differ("expert rows", counts.expert_rows, expert_rows)});
}

// Rows forth and back, of random data.
template <class T>
std::string wrong_rows(Dispatcher& dispatcher, const Expected& expected, std::int64_t tokens, Random& random,
                       cudaStream_t stream) {
  const int hidden = dispatcher.shape().hidden;
  const int top_k = dispatcher.shape().top_k;
  const std::size_t sent = size(expected.layout.rows_sent()) * size(hidden);
  const std::size_t received = size(expected.layout.rows_received()) * size(hidden);
  const std::size_t own = size(tokens) * size(hidden);
  const std::vector<std::int32_t>& positions = expected.positions;

  const std::vector<T> x = random_rows<T>(own, random);
  std::vector<T> send = poisoned_host<T>(sent);
  reference::scatter(x, positions, top_k, hidden, send);
  const DeviceBuffer<T> d_x = upload(x);
  DeviceBuffer<T> d_send = poisoned<T>(sent);
  dispatcher.scatter(d_x.data(), d_send.data(), stream);

  const std::vector<T> arrived = random_rows<T>(received, random);
  const std::vector<std::int32_t> map = reference::regroup_rows(expected.layout);
  const DeviceBuffer<T> d_arrived = upload(arrived);
  DeviceBuffer<T> d_grouped = poisoned<T>(received);
  DeviceBuffer<T> d_ungrouped = poisoned<T>(received);
  dispatcher.regroup(d_arrived.data(), d_grouped.data(), expected.layout.rows_received(), stream);
  dispatcher.ungroup(d_grouped.data(), d_ungrouped.data(), expected.layout.rows_received(), stream);

  const std::vector<T> returned = random_rows<T>(sent, random);
  const std::vector<float> weights = random_rows<float>(positions.size(), random);
  const DeviceBuffer<T> d_returned = upload(returned);
  const DeviceBuffer<float> d_weights = upload(weights);
  DeviceBuffer<T> d_y = poisoned<T>(own);
  DeviceBuffer<T> d_dx = poisoned<T>(own);
  dispatcher.combine(d_returned.data(), d_weights.data(), d_y.data(), stream);
  dispatcher.scatter_backward(d_returned.data(), d_dx.data(), stream);

  DeviceBuffer<T> d_d_rows = poisoned<T>(sent);
  DeviceBuffer<float> d_d_weights = poisoned<float>(positions.size());
  dispatcher.combine_backward(d_x.data(), d_returned.data(), d_weights.data(), d_d_rows.data(),
                              d_d_weights.data(), stream);
  const auto gradient = reference::combine_backward(x, returned, positions, weights, top_k, hidden);

  return first_of(
      {differ("scattered rows", download(d_send.data(), sent), send),
       differ("grouped rows", download(d_grouped.data(), received), reference::regroup(arrived, map, hidden)),
       differ("ungrouped rows", download(d_ungrouped.data(), received), arrived),
       differ("combined rows", download(d_y.data(), own),
              reference::combine(returned, positions, weights, top_k, hidden)),
       differ("gradient of scatter", download(d_dx.data(), own),
              reference::scatter_backward(returned, positions, top_k, hidden)),
       differ("gradient of the combined rows", download(d_d_rows.data(), sent), gradient.d_rows),
       differ("gradient of the weights", download(d_d_weights.data(), positions.size()),
              gradient.d_weights)});
}

std::string wrong_rows(Dispatcher& dispatcher, const Expected& expected, std::int64_t tokens, Random& random,
                       cudaStream_t stream) {
  switch (dispatcher.shape().element) {
    case ElementType::kBf16:
      return wrong_rows<Bf16>(dispatcher, expected, tokens, random, stream);
    case ElementType::kFp16:
      return wrong_rows<Fp16>(dispatcher, expected, tokens, random, stream);
    case ElementType::kFp32:
      return wrong_rows<float>(dispatcher, expected, tokens, random, stream);
  }
  return "unknown element type";
}

// What a schedule leaves on the device: memory that is handed out again may still hold the right numbers.
void poison_schedule(const Dispatcher& dispatcher, cudaStream_t stream) {
  const PlacementView& placement = dispatcher.placement_view();
  const ScheduleView& view = dispatcher.schedule_view();
  const auto poison = [&](auto* memory, std::int64_t count) {
    if (count != 0) GOODPUT_CUDA(cudaMemsetAsync(memory, kPoison, size(count) * sizeof *memory, stream));
  };
  const std::int64_t received = std::int64_t{placement.ranks} * placement.hosted;
  poison(view.experts, placement.experts);
  poison(view.chains, std::int64_t{placement.experts} * moe::kMostEuclidLevels);
  poison(view.local, placement.entry_count);
  poison(view.residuals, placement.entry_count);
  poison(view.send_counts, placement.entry_count);
  poison(view.send_begin, placement.entry_count + 1);
  poison(view.receive_counts, received);
  poison(view.receive_begin, received + 1);
  poison(view.group_begin, received + 1);
  poison(view.surplus_begin, placement.experts + 1);
}

enum class RowTests { kAll, kNone };

std::string wrong_rank(RowTests row_tests, const DispatchCase& dispatch, const Cluster& cluster,
                       const reference::Schedule& schedule, std::int32_t me) {
  const std::vector<std::int32_t>& expert_of = cluster.expert_of[size(me)];
  const auto tokens = static_cast<std::int32_t>(expert_of.size()) / dispatch.shape.top_k;
  Expected expected{schedule, reference::make_layout(cluster.placement, schedule, me), {}};
  expected.positions = reference::positions(cluster.placement, schedule, expected.layout, me, expert_of);

  const Stream stream;
  const DeviceBuffer<std::int32_t> d_expert_of = upload(expert_of);
  const DeviceBuffer<moe::Tokens> d_counts = upload(cluster.counts);
  Dispatcher dispatcher(
      dispatch.shape,
      make_placement(dispatch.shape.ranks, dispatch.shape.experts, cluster.placement.replicas), me,
      dispatch.path);
  dispatcher.count(d_expert_of.data(), tokens, stream.get());
  const std::vector<moe::Tokens> counts = download(dispatcher.counts(), size(dispatch.shape.experts));
  poison_schedule(dispatcher, stream.get());
  GOODPUT_CUDA(cudaMemcpyAsync(dispatcher.all_counts(), d_counts.data(),
                               d_counts.size() * sizeof(moe::Tokens), cudaMemcpyDeviceToDevice,
                               stream.get()));
  dispatcher.schedule(stream.get());
  dispatcher.place(stream.get());
  const HostCounts host_counts = dispatcher.wait_host_counts();

  Random random(dispatch.seed + size(me));
  return first_of(
      {differ("counts", counts, reference::count_slots(expert_of, dispatch.shape.experts)),
       wrong_schedule(dispatcher, cluster, expected), wrong_host_counts(host_counts, expected),
       differ("positions", download(dispatcher.positions(), expert_of.size()), expected.positions),
       row_tests == RowTests::kNone ? std::string()
                                    : wrong_rows(dispatcher, expected, tokens, random, stream.get())});
}

std::string wrong_case(const DispatchCase& dispatch, RowTests row_tests = RowTests::kAll) {
  if (is_bulk(dispatch.path) && !copy_device().has_bulk_copy) return kNoBulkCopy;
  const Cluster cluster = make_cluster(dispatch);
  const reference::Schedule schedule =
      reference::make_schedule(cluster.placement, cluster.counts, dispatch.shape.policy);
  std::vector<std::int32_t> ranks = {0, dispatch.shape.ranks / 2, dispatch.shape.ranks - 1};
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (const std::int32_t me : ranks) {
    const std::string wrong = wrong_rank(row_tests, dispatch, cluster, schedule, me);
    if (!wrong.empty()) return "rank " + std::to_string(me) + ": " + wrong;
  }
  return "";
}

// Close to 2^31 tokens: Euclid's algorithm has more levels than a warp has lanes. Only counted, never placed.
std::string wrong_large_counts() {
  constexpr moe::Tokens kMany = 1'836'311'903;
  const DispatchShape shape{3, 1, 1, 1, 1, ElementType::kBf16, moe::DispatchPolicy::kProportional};
  Cluster cluster;
  cluster.placement = {3, 1, {0, 1, 1}};
  cluster.counts = {kMany, 0, 0};
  const reference::Schedule schedule =
      reference::make_schedule(cluster.placement, cluster.counts, shape.policy);
  for (std::int32_t me = 0; me < 3; ++me) {
    const Expected expected{schedule, reference::make_layout(cluster.placement, schedule, me), {}};
    const Stream stream;
    const DeviceBuffer<moe::Tokens> d_counts = upload(cluster.counts);
    Dispatcher dispatcher(shape, make_placement(3, 1, cluster.placement.replicas), me);
    poison_schedule(dispatcher, stream.get());
    GOODPUT_CUDA(cudaMemcpyAsync(dispatcher.all_counts(), d_counts.data(),
                                 d_counts.size() * sizeof(moe::Tokens), cudaMemcpyDeviceToDevice,
                                 stream.get()));
    dispatcher.schedule(stream.get());
    stream.synchronize();
    const std::string wrong = wrong_schedule(dispatcher, cluster, expected);
    if (!wrong.empty()) return "rank " + std::to_string(me) + ": " + wrong;
  }
  return "";
}

}  // namespace

std::vector<Test> rank_tests(Size size) {
  // More blocks of slots than a tile of the scan over blocks has, more messages than one of the sums over
  // them.
  DispatchCase many_slots;
  many_slots.shape = {2, 9, 1, 530'001, 1, ElementType::kBf16, moe::DispatchPolicy::kPacked};
  DispatchCase many_messages;
  many_messages.shape = {33, 256, 2, 40, 1, ElementType::kBf16, moe::DispatchPolicy::kProportional};
  many_messages.hosting = Hosting::kEverywhere;
  // Of one expert: more hosts than lanes of a warp, and more tokens that leave a rank than a warp walks.
  DispatchCase many_hosts;
  many_hosts.shape = {70, 1, 2, 600, 1, ElementType::kBf16, moe::DispatchPolicy::kProportional};
  many_hosts.routing = Routing::kOneExpert;
  many_hosts.failures = Failures::kSome;
  many_hosts.seed = 2;
  std::vector<Test> tests = {
      {"counts: an expert with 1,836,311,903 tokens", wrong_large_counts},
      {"surplus: " + name_of(many_hosts), [=] { return wrong_case(many_hosts, RowTests::kNone); }},
      {"slots: " + name_of(many_slots), [=] { return wrong_case(many_slots, RowTests::kNone); }},
      {"messages: " + name_of(many_messages), [=] { return wrong_case(many_messages, RowTests::kNone); }}};
  // Rows long enough for the bulk path, chosen and asked for.
  for (const CopyPath path : {CopyPath::kAuto, CopyPath::kBulk, CopyPath::kVector}) {
    DispatchCase long_rows;
    long_rows.shape = {8, 24, 3, 60, 1032, ElementType::kBf16, moe::DispatchPolicy::kProportional};
    long_rows.path = path;
    tests.push_back({"rank: " + name_of(long_rows), [=] { return wrong_case(long_rows); }});
  }
  for (const DispatchCase& dispatch : grid(size)) {
    tests.push_back({"rank: " + name_of(dispatch), [dispatch] { return wrong_case(dispatch); }});
  }
  return tests;
}

}  // namespace goodput::gpu::testing

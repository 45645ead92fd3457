#include "gpu/bench/count_points.h"

#include <cstdint>
#include <string>

#include "gpu/bench/device_compare.h"
#include "gpu/bench/schedule_case.h"
#include "gpu/count_slots.h"
#include "gpu/positions.h"

namespace goodput::gpu::bench {
namespace {

using moe::DispatchPolicy;

RoutedRank routed_rank(const CountPoint& point, const Stream& stream) {
  return {point.cluster, point.layer, point.policy, CopyPath::kVector, stream};
}

PointResult run_schedule(const CountPoint& point, const Measurer& measurer) {
  ScheduleCase schedule(point, measurer.stream());
  const Measurement time =
      measurer.measure({[&](int, cudaStream_t stream) { schedule.run(stream); }, 1, schedule.bytes()});
  return {time, schedule.bytes(), schedule.check(measurer.stream())};
}

// Which of the slots of its expert every slot is.
std::vector<std::int32_t> ranks_of_slots(const std::vector<std::int32_t>& expert_of, std::int32_t experts) {
  std::vector<std::int32_t> seen(static_cast<std::size_t>(experts), 0);
  std::vector<std::int32_t> ranks;
  for (const std::int32_t expert : expert_of) ranks.push_back(seen[static_cast<std::size_t>(expert)]++);
  return ranks;
}

// The same from what the kernels left.
std::vector<std::int32_t> ranks_from(const std::vector<std::uint16_t>& rank_in_block,
                                     const std::vector<std::int32_t>& block_begin,
                                     const std::vector<std::int32_t>& expert_of, std::int32_t experts) {
  std::vector<std::int32_t> ranks;
  for (std::size_t slot = 0; slot < expert_of.size(); ++slot) {
    const std::size_t block = slot / kSlotsPerBlock;
    ranks.push_back(
        block_begin[block * static_cast<std::size_t>(experts) + static_cast<std::size_t>(expert_of[slot])] +
        rank_in_block[slot]);
  }
  return ranks;
}

PointResult run_count(const CountPoint& point, const Measurer& measurer) {
  const Stream& stream = measurer.stream();
  const std::int32_t experts = point.cluster.experts;
  const std::vector<std::int32_t> routing =
      draw_routing(point.layer.tokens, static_cast<std::int32_t>(point.layer.top_k), experts, 1);
  const std::int64_t slots = point.layer.slots();
  const std::int64_t blocks = (slots + kSlotsPerBlock - 1) / kSlotsPerBlock;
  const DeviceBuffer<std::int32_t> expert_of = upload(routing);
  DeviceBuffer<std::uint16_t> rank_in_block(static_cast<std::size_t>(slots));
  DeviceBuffer<std::int32_t> block_begin(static_cast<std::size_t>(blocks * experts));
  DeviceBuffer<moe::Tokens> counts(static_cast<std::size_t>(experts));
  DeviceBuffer<DeviceReport> report = clean_report();
  const auto run = [&](int, cudaStream_t on) {
    count_slots(expert_of.data(), slots, experts, {rank_in_block.data(), block_begin.data(), counts.data()},
                report.data(), on);
  };
  // An expert and a rank a slot; the histograms are written, read and written again.
  const std::int64_t bytes = slots * (4 + 2) + blocks * experts * 3 * 4;
  const Measurement time = measurer.measure({run, 1, bytes});

  poison(rank_in_block.data(), rank_in_block.size(), stream);
  poison(block_begin.data(), block_begin.size(), stream);
  poison(counts.data(), counts.size(), stream);
  run(0, stream.get());
  stream.synchronize();
  Check check;
  compare(report, check);
  compare(counts.data(), reference::count_slots(routing, experts), check);
  const std::vector<std::int32_t> got =
      ranks_from(download(rank_in_block.data(), rank_in_block.size()),
                 download(block_begin.data(), block_begin.size()), routing, experts);
  const std::vector<std::int32_t> expected = ranks_of_slots(routing, experts);
  for (std::size_t slot = 0; slot < got.size(); ++slot) check.nwrong += got[slot] != expected[slot] ? 1 : 0;
  check.compared += got.size();
  check.items = check.of = slots;
  return {time, bytes, check};
}

PointResult run_positions(const CountPoint& point, const Measurer& measurer) {
  const Stream& stream = measurer.stream();
  RoutedRank rank = routed_rank(point, stream);
  Dispatcher& dispatcher = rank.dispatcher();
  const std::int64_t slots = point.layer.slots();
  const std::int64_t blocks = (slots + kSlotsPerBlock - 1) / kSlotsPerBlock;
  DeviceBuffer<std::uint16_t> rank_in_block(static_cast<std::size_t>(slots));
  DeviceBuffer<std::int32_t> block_begin(static_cast<std::size_t>(blocks * point.cluster.experts));
  DeviceBuffer<moe::Tokens> counts(static_cast<std::size_t>(point.cluster.experts));
  DeviceBuffer<std::int32_t> surplus_rows(static_cast<std::size_t>(slots));
  DeviceBuffer<std::int32_t> positions(static_cast<std::size_t>(slots));
  DeviceBuffer<DeviceReport> report = clean_report();
  const SlotCounts slot_counts{rank_in_block.data(), block_begin.data(), counts.data()};
  count_slots(rank.device_routing(), slots, point.cluster.experts, slot_counts, report.data(), stream.get());
  const auto run = [&](int, cudaStream_t on) {
    place_slots(dispatcher.placement_view(), dispatcher.schedule_view(), slot_counts, rank.device_routing(),
                slots, surplus_rows.data(), positions.data(), on);
  };
  // An expert, a rank and a position a slot; what is looked up is in the cache.
  const std::int64_t bytes = slots * (4 + 2 + 4);
  const Measurement time = measurer.measure({run, 1, bytes});

  poison(surplus_rows.data(), surplus_rows.size(), stream);
  poison(positions.data(), positions.size(), stream);
  run(0, stream.get());
  stream.synchronize();
  Check check;
  compare(report, check);
  compare(positions.data(), rank.compute_positions(), check);
  check.items = check.of = slots;
  return {time, bytes, check};
}

std::string cluster_name(const ClusterSize& cluster) {
  return "R=" + std::to_string(cluster.ranks) + " E=" + std::to_string(cluster.experts);
}

std::string slots_name(const LayerShape& layer) {
  return "Tk=" + std::to_string(layer.slots());
}

std::string policy_name(DispatchPolicy policy) {
  return policy == DispatchPolicy::kPacked ? "packed" : "proportional";
}

Point point_of(const char* op, const std::string& shape, const std::string& path,
               std::optional<double> target_us, PointTurn turn, const CountPoint& point,
               PointResult (*run)(const CountPoint&, const Measurer&)) {
  return {{op, shape, path}, turn, {{}, {}, target_us}, [=](const Measurer& measurer) {
            return run(point, measurer);
          }};
}

// The sizes that have a target, on an H200 (docs/gpu.md).
std::optional<double> schedule_target_us(const ClusterSize& cluster) {
  return cluster.ranks == 1024 && cluster.experts == 512 ? std::optional<double>(12) : std::nullopt;
}
std::optional<double> count_target_us(const LayerShape& layer) {
  return layer.slots() == 524'288 ? std::optional<double>(10) : std::nullopt;
}

}  // namespace

std::vector<Point> count_points(Sizes sizes) {
  const bool quick = sizes == Sizes::kQuick;
  const std::vector<ClusterSize> clusters = quick ? std::vector<ClusterSize>{{8, 16, 4}, {4, 8, 4}}
                                                  : std::vector<ClusterSize>{{1024, 512, 4}, {64, 64, 4}};
  const LayerShape layer{quick ? 300 : 65536, 8, 8};
  const LayerShape short_layer{quick ? 2 : 64, 8, 8};  // as in inference
  std::vector<Point> points;
  for (const ClusterSize& cluster : clusters) {
    const PointTurn turn = &cluster == clusters.data() ? PointTurn::kTarget : PointTurn::kRest;
    const std::vector<DispatchPolicy> policies = {DispatchPolicy::kProportional, DispatchPolicy::kPacked};
    for (const DispatchPolicy policy : policies) {
      points.push_back(point_of("schedule", cluster_name(cluster), policy_name(policy),
                                schedule_target_us(cluster), turn, {cluster, layer, policy}, run_schedule));
    }
    const std::optional<double> count_us = count_target_us(layer);
    points.push_back(point_of("count_rank", slots_name(layer) + " E=" + std::to_string(cluster.experts), "-",
                              count_us, count_us ? PointTurn::kTarget : turn,
                              {cluster, layer, DispatchPolicy::kProportional}, run_count));
    for (const DispatchPolicy policy : policies) {
      points.push_back(point_of("positions", slots_name(layer) + " " + cluster_name(cluster),
                                policy_name(policy), {}, turn, {cluster, layer, policy}, run_positions));
    }
  }
  points.push_back(point_of("positions", slots_name(short_layer) + " " + cluster_name(clusters.front()),
                            policy_name(DispatchPolicy::kProportional), {}, PointTurn::kTarget,
                            {clusters.front(), short_layer, DispatchPolicy::kProportional}, run_positions));
  return points;
}

}  // namespace goodput::gpu::bench

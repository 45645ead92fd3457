#include "gpu/bench/schedule_case.h"

#include "gpu/bench/device_compare.h"

namespace goodput::gpu::bench {
namespace {

// The outputs of a schedule that the reference has too.
struct ScheduleOutput {
  std::int32_t* device;
  const std::vector<std::int32_t>& expected;
};

std::vector<ScheduleOutput> outputs_of(const ScheduleView& view, const reference::RankLayout& layout) {
  return {{view.send_counts, layout.send_counts},       {view.send_begin, layout.send_offsets},
          {view.receive_counts, layout.receive_counts}, {view.receive_begin, layout.receive_offsets},
          {view.group_begin, layout.group_offsets},     {view.send_rows, layout.send_per_rank},
          {view.receive_rows, layout.receive_per_rank}};
}

// What kernels of a schedule leave for the ones after them.
void poison_between(const PlacementView& placement, const ScheduleView& view, const Stream& stream) {
  const auto experts = static_cast<std::size_t>(placement.experts);
  const auto hosts = static_cast<std::size_t>(placement.entry_count);
  poison(view.experts, experts, stream);
  poison(view.chains, experts * moe::kMostEuclidLevels, stream);
  poison(view.local, hosts, stream);
  poison(view.residuals, hosts, stream);
  poison(view.surplus_begin, experts + 1, stream);
}

}  // namespace

ScheduleCase::ScheduleCase(const CountPoint& point, const Stream& stream)
    : point_(point),
      rank_(point.cluster, point.layer, point.policy, CopyPath::kVector, stream),
      report_(clean_report()) {}

std::int64_t ScheduleCase::bytes() const {
  return std::int64_t{4} * point_.cluster.ranks * point_.cluster.experts;
}

void ScheduleCase::run(cudaStream_t stream) {
  Dispatcher& dispatcher = rank_.dispatcher();
  make_schedule(dispatcher.placement_view(), dispatcher.all_counts(), point_.policy,
                dispatcher.schedule_view(), report_.data(), stream);
}

Check ScheduleCase::check(const Stream& stream) {
  const Dispatcher& dispatcher = rank_.dispatcher();
  const std::vector<ScheduleOutput> outputs = outputs_of(dispatcher.schedule_view(), rank_.layout());
  for (const ScheduleOutput& output : outputs) poison(output.device, output.expected.size(), stream);
  poison_between(dispatcher.placement_view(), dispatcher.schedule_view(), stream);
  run(stream.get());
  stream.synchronize();
  Check check;
  for (const ScheduleOutput& output : outputs) compare(output.device, output.expected, check);
  compare(report_, check);
  check.items = check.of = point_.cluster.ranks;
  return check;
}

}  // namespace goodput::gpu::bench

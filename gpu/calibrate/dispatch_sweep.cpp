#include "gpu/calibrate/dispatch_sweep.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/bench/row_case.h"
#include "gpu/bench/schedule_case.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr double kUsualBytesPerUs = 3e6;  // of an H200, read and written

bench::Operation operation_of(bench::RowCase& rows) {
  return {[&rows](int set, cudaStream_t stream) { rows.run(set, stream); }, rows.sets(), rows.bytes()};
}

Visit visit_rows(const bench::RowPoint& point, PointMeasurer& measurer, Checking checking) {
  bench::RowCase rows(point, measurer.stream());
  Visit visit = measurer.measure(operation_of(rows));
  if (checking == Checking::kYes) visit.nwrong = rows.check(measurer.stream()).nwrong;
  visit.source = "goodput's dispatcher, bf16";
  return visit;
}

Visit visit_schedule(const bench::CountPoint& point, PointMeasurer& measurer, Checking checking) {
  bench::ScheduleCase schedule(point, measurer.stream());
  Visit visit =
      measurer.measure({[&](int, cudaStream_t stream) { schedule.run(stream); }, 1, schedule.bytes()});
  if (checking == Checking::kYes) visit.nwrong = schedule.check(measurer.stream()).nwrong;
  visit.source = "goodput's dispatcher";
  return visit;
}

struct Stage {
  const char* op;
  bench::RowOp way;
  bool is_backward;
};
constexpr Stage kStages[] = {
    {"permute", bench::RowOp::kPermute, false}, {"permute", bench::RowOp::kScatterBackward, true},
    {"combine", bench::RowOp::kCombine, false}, {"combine", bench::RowOp::kCombineBackward, true},
    {"regroup", bench::RowOp::kRegroup, false}, {"regroup", bench::RowOp::kUngroup, true}};

struct Layers {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> hidden;
  std::vector<std::int64_t> top_k;
  bench::ClusterSize cluster;
};

Layers layers_for(Sizes sizes) {
  if (sizes == Sizes::kQuick) return {{16, 48}, {256, 512}, {1, 2}, {4, 8, 4}};
  return {{256, 1024, 4096, 16384, 65536}, {1024, 2048, 4096, 7168}, {1, 2, 8}, {8, 64, 16}};
}

SweepPoint row_point(const Stage& stage, const bench::RowPoint& point) {
  const bench::LayerShape& layer = point.layer;
  std::vector<Param> params{{"ranks", std::int64_t{point.cluster.ranks}},
                            {"experts", std::int64_t{point.cluster.experts}},
                            {"top_k", layer.top_k},
                            {"hidden", layer.hidden},
                            {"dtype", std::string("bf16")}};
  if (stage.is_backward) params.push_back({"backward", true});
  // A row of every choice, read and written once each, is about right for all stages; the host draws the
  // routing and places it, some 200 ns a choice.
  const auto slots = static_cast<double>(layer.slots());
  const double us = 5 + 2 * slots * static_cast<double>(layer.row_bytes()) / kUsualBytesPerUs;
  return {
      {{stage.op, params}, "tokens", layer.tokens},
      visit_estimate_s(us, 5 + slots * 2e-4),
      [point](PointMeasurer& measurer, Checking checking) { return visit_rows(point, measurer, checking); },
      {}};
}

// The way back of regroup is the same kernel with from and to exchanged: the larger half of the tokens is
// enough.
bool is_left_out(const Stage& stage, std::size_t tokens, const Layers& layers) {
  return stage.way == bench::RowOp::kUngroup && 2 * tokens < layers.tokens.size();
}

void add_rows(const Layers& layers, std::vector<SweepPoint>& points) {
  for (const Stage& stage : kStages) {
    for (std::size_t t = 0; t < layers.tokens.size(); ++t) {
      for (std::size_t h = 0; h < layers.hidden.size(); ++h) {
        if (is_left_out(stage, t, layers)) continue;
        const std::int64_t top_k = layers.top_k[(t + h) % layers.top_k.size()];
        points.push_back(row_point(
            stage,
            {stage.way, {layers.tokens[t], layers.hidden[h], top_k}, CopyPath::kAuto, layers.cluster}));
      }
    }
  }
}

SweepPoint schedule_point(const bench::CountPoint& point) {
  const std::string policy = point.policy == moe::DispatchPolicy::kPacked ? "packed" : "proportional";
  const std::int64_t ranks = point.cluster.ranks;
  const std::int64_t experts = point.cluster.experts;
  const auto cells = static_cast<double>(ranks * experts);
  return {{{"schedule", {{"ranks", ranks}, {"experts", experts}, {"policy", policy}}},
           "tokens",
           point.layer.tokens},
          visit_estimate_s(10, 10 + cells * 2e-4),
          [point](PointMeasurer& measurer, Checking checking) {
            return visit_schedule(point, measurer, checking);
          },
          {}};
}

void add_schedules(Sizes sizes, std::vector<SweepPoint>& points) {
  const bool quick = sizes == Sizes::kQuick;
  const std::vector<std::int32_t> ranks =
      quick ? std::vector<std::int32_t>{4} : std::vector<std::int32_t>{8, 64, 256, 1024};
  const std::vector<std::int32_t> experts =
      quick ? std::vector<std::int32_t>{8, 16} : std::vector<std::int32_t>{8, 64, 256, 512};
  for (const std::int32_t of_ranks : ranks) {
    for (const std::int32_t of_experts : experts) {
      // Two replicas of an expert, and a slot a rank at least.
      const std::int32_t slots = std::max(4, (2 * of_experts + of_ranks - 1) / of_ranks);
      for (const auto policy : {moe::DispatchPolicy::kProportional, moe::DispatchPolicy::kPacked}) {
        points.push_back(schedule_point({{of_ranks, of_experts, slots}, {quick ? 64 : 4096, 8, 2}, policy}));
      }
    }
  }
}

}  // namespace

Sweep dispatch_sweep(Sizes sizes) {
  Sweep sweep{"dispatch", {}, {}};
  add_rows(layers_for(sizes), sweep.points);
  add_schedules(sizes, sweep.points);
  return sweep;
}

}  // namespace goodput::gpu::calibrate

#include "gpu/calibrate/collective_sweep.h"

#include <algorithm>
#include <cstdint>

namespace goodput::gpu::calibrate {
namespace {

constexpr std::int64_t kLeastBytes = 512;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30U;
constexpr std::int64_t kLeastShare = 16;

// Of NVLink 4, for estimates.
constexpr double kUsualBusBytesPerUs = 3e5;
constexpr double kUsualStartUs = 4;
constexpr double kUsualPeerUs = 1.5;

double usual_us(const CollectivePoint& point) {
  return kUsualStartUs + kUsualPeerUs * (point.group.ranks - 1) +
         static_cast<double>(point.bytes) * bus_factor(point.op, point.group.ranks) / kUsualBusBytesPerUs;
}

// Memory, two graphs, a few exchanges among ranks; fill, poison and check.
double setup_ms(const CollectivePoint& point) {
  return 10 + static_cast<double>(point.bytes) / 4e7;
}

// By host in the order of ranks: how many of the first `ranks`.
std::vector<std::int32_t> ranks_by_host(const std::vector<std::string>& hosts, std::int32_t ranks) {
  std::vector<std::string> seen;
  std::vector<std::int32_t> counts;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const std::string& host = hosts[static_cast<std::size_t>(rank)];
    const auto place = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), host) - seen.begin());
    if (place == seen.size()) {
      seen.push_back(host);
      counts.push_back(0);
    }
    ++counts[place];
  }
  return counts;
}

}  // namespace

const char* name_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "all_reduce";
    case CollectiveOp::kAllGather:
      return "all_gather";
    case CollectiveOp::kReduceScatter:
      return "reduce_scatter";
    case CollectiveOp::kAllToAll:
      return "all_to_all";
    case CollectiveOp::kSendRecv:
      break;
  }
  return "send_recv";
}

double bus_factor(CollectiveOp op, std::int32_t ranks) {
  if (op == CollectiveOp::kSendRecv) return 1;
  const double passes = op == CollectiveOp::kAllReduce ? 2 : 1;
  return passes * (ranks - 1) / ranks;
}

PointKey key_of(const CollectivePoint& point) {
  TableKey table{name_of(point.op), {{"ranks", std::int64_t{point.group.ranks}}}};
  if (point.group.per_node) table.params.push_back({"per_node", std::int64_t{*point.group.per_node}});
  table.params.push_back({"dtype", std::string("fp32")});
  return {table, "bytes", point.bytes};
}

CollectiveGroups collective_groups(const std::vector<std::string>& hosts) {
  CollectiveGroups found;
  const auto all = static_cast<std::int32_t>(hosts.size());
  for (std::int32_t ranks = 2; ranks <= all; ranks *= 2) {
    const std::vector<std::int32_t> counts = ranks_by_host(hosts, ranks);
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    if (*least != *most) {
      found.notes.push_back("left out: collectives of " + std::to_string(ranks) +
                            " ranks: " + std::to_string(*least) + " are on one node, " +
                            std::to_string(*most) + " on another");
    } else {
      found.groups.push_back({ranks, counts.size() == 1 ? std::nullopt : std::optional(*least)});
    }
  }
  return found;
}

std::vector<std::int64_t> collective_bytes(Sizes sizes, std::int32_t ranks) {
  const std::int64_t most = sizes == Sizes::kQuick ? 16 * kLeastBytes : kMostBytes;
  std::vector<std::int64_t> all;
  for (std::int64_t bytes = kLeastBytes; bytes < most; bytes *= 4) {
    if (bytes >= kLeastShare * ranks) all.push_back(bytes);
  }
  all.push_back(std::max(most, kLeastShare * ranks));
  return all;
}

Sweep collective_sweep(Sizes sizes, const std::vector<CollectiveGroup>& groups,
                       const CollectiveVisit& visit) {
  Sweep sweep{"collectives", {}, {}};
  for (const CollectiveGroup& group : groups) {
    for (const CollectiveOp op : kCollectiveOps) {
      for (const std::int64_t bytes : collective_bytes(sizes, group.ranks)) {
        const CollectivePoint point{op, group, bytes};
        sweep.points.push_back(
            {key_of(point),
             visit_estimate_s(usual_us(point), setup_ms(point)),
             [point, visit](PointMeasurer&, Checking checking) { return visit(point, checking); },
             {}});
      }
    }
  }
  return sweep;
}

}  // namespace goodput::gpu::calibrate

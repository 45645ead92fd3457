// Which collectives are measured, and how long that takes.
#include "gpu/calibrate/collective_sweep.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

namespace goodput::gpu::calibrate {
namespace {

std::vector<std::int32_t> ranks_of(const CollectiveGroups& found) {
  std::vector<std::int32_t> ranks;
  for (const CollectiveGroup& group : found.groups) ranks.push_back(group.ranks);
  return ranks;
}

TEST_CASE("collectives: groups are powers of two of the first ranks, up to all of them") {
  CHECK(ranks_of(collective_groups({"a"})).empty());
  CHECK(ranks_of(collective_groups({"a", "a"})) == std::vector<std::int32_t>{2});
  const CollectiveGroups of_six = collective_groups({"a", "a", "a", "a", "a", "a"});
  CHECK(ranks_of(of_six) == std::vector<std::int32_t>{2, 4});
  CHECK(of_six.notes.empty());
  for (const CollectiveGroup& group : of_six.groups) CHECK_FALSE(group.per_node.has_value());
}

TEST_CASE("collectives: over several nodes a group says how many ranks are in each") {
  const CollectiveGroups found = collective_groups({"a", "a", "b", "b", "c", "c", "d", "d"});
  CHECK(ranks_of(found) == std::vector<std::int32_t>{2, 4, 8});
  CHECK_FALSE(found.groups[0].per_node.has_value());
  CHECK(found.groups[1].per_node == 2);
  CHECK(found.groups[2].per_node == 2);
  // One rank after another on two nodes: two are in two nodes already.
  CHECK(collective_groups({"a", "b"}).groups[0].per_node == 1);
}

TEST_CASE("collectives: a group that is spread unevenly over nodes is left out with a note") {
  const CollectiveGroups found = collective_groups({"a", "a", "a", "b"});
  CHECK(ranks_of(found) == std::vector<std::int32_t>{2});
  CHECK(found.notes ==
        std::vector<std::string>{"left out: collectives of 4 ranks: 1 are on one node, 3 on another"});
}

TEST_CASE("collectives: bytes are 512 B to 1 GiB, and every rank has 16 of them") {
  const std::vector<std::int64_t> all = collective_bytes(Sizes::kFull, 8);
  CHECK(all.size() == 12);  // 2^9, 2^11 ... 2^29, 2^30
  CHECK(all.front() == 512);
  CHECK(all[1] == 2048);
  CHECK(all.back() == std::int64_t{1} << 30U);
  CHECK(collective_bytes(Sizes::kFull, 64).front() == 2048);  // 512 would be 8 a rank
  for (const std::int32_t ranks : {2, 8, 64, 1024}) {
    for (const Sizes sizes : {Sizes::kFull, Sizes::kQuick}) {
      for (const std::int64_t bytes : collective_bytes(sizes, ranks)) {
        CHECK(bytes >= 16 * ranks);
        CHECK(bytes % (4 * ranks) == 0);
      }
    }
  }
}

TEST_CASE("collectives: a point has the params of the file, per_node only over several nodes") {
  CHECK(text_of(key_of({CollectiveOp::kAllReduce, {8, {}}, 512})) ==
        "all_reduce ranks=8 dtype=fp32 bytes=512");
  CHECK(text_of(key_of({CollectiveOp::kSendRecv, {16, 8}, 2048})) ==
        "send_recv ranks=16 per_node=8 dtype=fp32 bytes=2048");
}

TEST_CASE("collectives: factors of bus bandwidth are those of nccl-tests") {
  CHECK(bus_factor(CollectiveOp::kAllReduce, 8) == 2 * 7 / 8.0);
  CHECK(bus_factor(CollectiveOp::kAllGather, 4) == 3 / 4.0);
  CHECK(bus_factor(CollectiveOp::kReduceScatter, 2) == 1 / 2.0);
  CHECK(bus_factor(CollectiveOp::kAllToAll, 8) == 7 / 8.0);
  CHECK(bus_factor(CollectiveOp::kSendRecv, 8) == 1);
}

TEST_CASE("collectives: eight GPUs are measured twice in less than a minute and a half") {
  const CollectiveGroups groups = collective_groups(std::vector<std::string>(8, "a"));
  const Sweep sweep = collective_sweep(Sizes::kFull, groups.groups, {});
  CHECK(sweep.name == "collectives");
  CHECK(sweep.points.size() == 3 * 5 * 12);
  std::set<std::string> names;
  double seconds = 0;
  for (const SweepPoint& point : sweep.points) {
    names.insert(text_of(point.key));
    seconds += 2 * point.estimate_s;
  }
  CHECK(names.size() == sweep.points.size());
  CHECK(seconds < 90);
  CHECK(seconds > 20);  // 360 visits of 60 ms of samples or more
}

TEST_CASE("collectives: a visit gets its own point") {
  std::vector<std::string> seen;
  const Sweep sweep = collective_sweep(Sizes::kQuick, {{2, {}}}, [&](const CollectivePoint& point, Checking) {
    seen.push_back(text_of(key_of(point)));
    return Visit{};
  });
  PointMeasurer unused({}, {bench::steady_clock(), 0});
  for (const SweepPoint& point : sweep.points) static_cast<void>(point.visit(unused, Checking::kNo));
  REQUIRE(seen.size() == sweep.points.size());
  for (std::size_t p = 0; p < seen.size(); ++p) CHECK(seen[p] == text_of(sweep.points[p].key));
}

}  // namespace
}  // namespace goodput::gpu::calibrate

// Which points the benchmark has, and in which order they are measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "gpu/bench/count_points.h"
#include "gpu/bench/row_points.h"

namespace goodput::gpu::bench {
namespace {

constexpr CopyDevice kHopper{132, true};

std::vector<Point> all_points(Sizes sizes = Sizes::kFull, const CopyDevice& device = kHopper) {
  std::vector<Point> points = count_points(sizes);
  for (Point& point : row_points(sizes, device)) points.push_back(std::move(point));
  sort_by_turn(points);
  return points;
}

const Point& point_named(const std::vector<Point>& points, const std::string& name) {
  const auto found =
      std::find_if(points.begin(), points.end(), [&](const Point& p) { return text_of(p.name) == name; });
  REQUIRE_MESSAGE(found != points.end(), name);
  return *found;
}

TEST_CASE("bench points: no two have the same name") {
  for (const Sizes sizes : {Sizes::kFull, Sizes::kQuick}) {
    std::set<std::string> names;
    for (const Point& point : all_points(sizes)) {
      INFO(text_of(point.name));
      CHECK(names.insert(text_of(point.name)).second);
    }
  }
}

TEST_CASE("bench points: those with a target come first, small clusters and regroup last") {
  const std::vector<Point> points = all_points();
  const auto place = [&](const char* name) { return &point_named(points, name) - points.data(); };
  CHECK(place("schedule R=1024 E=512 packed") < 12);
  CHECK(place("count_rank Tk=524288 E=512 -") < 12);
  CHECK(place("positions Tk=524288 R=1024 E=512 proportional") < 12);
  const char* const in_order[] = {"scatter T=4096 d=7168 k=8 bulk", "combine T=4096 d=7168 k=8 vector",
                                  "scatter T=131072 d=512 k=1 vector", "regroup T=4096 d=7168 k=1 bulk"};
  for (int i = 1; i < 4; ++i) CHECK(place(in_order[i - 1]) < place(in_order[i]));
  CHECK(place("scatter T=131072 d=512 k=8 bulk") < place("schedule R=64 E=64 packed"));
  CHECK(place("combine_backward T=65536 d=7168 k=8 vector") < place("scatter T=131072 d=512 k=1 vector"));
}

TEST_CASE("bench points: targets of time are the design's") {
  const std::vector<Point> points = all_points();
  CHECK(point_named(points, "schedule R=1024 E=512 packed").goal.us == 12.0);
  CHECK(point_named(points, "schedule R=1024 E=512 proportional").goal.us == 12.0);
  CHECK(point_named(points, "count_rank Tk=524288 E=512 -").goal.us == 10.0);
  CHECK_FALSE(point_named(points, "schedule R=64 E=64 packed").goal.us);
}

TEST_CASE("bench points: scatter shall reach 85 % of the ceiling where it moves 256 MB or more") {
  const std::vector<Point> points = all_points();
  CHECK(point_named(points, "scatter T=4096 d=7168 k=8 bulk").goal.share == 0.85);     // 528 MB
  CHECK(point_named(points, "scatter T=16384 d=4096 k=1 vector").goal.share == 0.85);  // 268 MB
  CHECK_FALSE(point_named(points, "scatter T=4096 d=7168 k=1 vector").goal.share);     // 117 MB
  CHECK_FALSE(point_named(points, "combine T=4096 d=7168 k=8 vector").goal.share);
}

TEST_CASE("bench points: every operation is held against a ceiling that reads and writes as it does") {
  const std::vector<Point> points = all_points();
  const auto ceiling = [&](const std::string& op, int k) {
    const std::string path = op == "scatter" ? " bulk" : " vector";
    return point_named(points, op + " T=4096 d=7168 k=" + std::to_string(k) + path).goal.ceiling;
  };
  CHECK(ceiling("scatter", 8) == CopyFlow{1, 8});
  CHECK(ceiling("combine", 8) == CopyFlow{8, 1});
  CHECK(ceiling("scatter_backward", 8) == CopyFlow{8, 1});
  CHECK(ceiling("combine_backward", 8) == CopyFlow{1, 1});
  CHECK(ceiling("regroup", 8) == CopyFlow{1, 1});
  for (const char* op : {"scatter", "combine", "scatter_backward", "combine_backward"}) {
    CHECK(ceiling(op, 1) == CopyFlow{1, 1});
  }
}

TEST_CASE("bench points: rows of 1, 2 and 4 KiB are scattered by every path, 256 MB of them or more") {
  const std::vector<Point> points = all_points();
  std::map<std::int64_t, int> of_row_bytes;
  for (const LayerShape& layer :
       {LayerShape{131072, 512, 1}, LayerShape{65536, 1024, 1}, LayerShape{32768, 2048, 1},
        LayerShape{131072, 512, 8}, LayerShape{65536, 1024, 8}, LayerShape{32768, 2048, 8}}) {
    CHECK(scatter_bytes(layer) >= kColdBytes);
    for (const char* path : {" vector", " bulk", " bulk, evict first"}) {
      CHECK(point_named(points, "scatter " + name_of(layer) + path).turn == PointTurn::kShortRows);
    }
    ++of_row_bytes[layer.row_bytes()];
  }
  CHECK(of_row_bytes == std::map<std::int64_t, int>{{1024, 2}, {2048, 2}, {4096, 2}});
}

TEST_CASE("bench points: without bulk copies there is one path") {
  for (const Point& point : all_points(Sizes::kFull, {108, false})) {
    INFO(text_of(point.name));
    CHECK(point.name.path.rfind("bulk", 0) != 0);
  }
}

}  // namespace
}  // namespace goodput::gpu::bench

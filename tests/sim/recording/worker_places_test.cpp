#include "sim/recording/worker_places.h"

#include <doctest/doctest.h>

#include <vector>

namespace goodput {
namespace {

using Names = std::vector<std::string>;
constexpr std::int32_t kRanks[] = {0, 8, 16};

}  // namespace

TEST_CASE("worker places: metadata goes before files, unknown ranks stand nowhere") {
  JobMetadataFields metadata;
  metadata.hosts = {{0, "a"}, {8, "b"}};
  metadata.racks = {{"a", "r1"}, {"c", "r2"}};
  const auto places = worker_places(metadata, {{0, "x"}, {8, "y"}, {16, "z"}}, kRanks);
  REQUIRE(places.size() == 2);
  CHECK(places[0].name == "host");
  CHECK(places[0].of_worker == Names{"a", "b", ""});
  CHECK(places[1].name == "rack");
  CHECK(places[1].of_worker == Names{"r1", "", ""});
}

TEST_CASE("worker places: hosts that files name count, one for all does not") {
  const auto places = worker_places({}, {{0, "10.0.0.1"}, {8, "10.0.0.1"}, {16, "10.0.0.2"}}, kRanks);
  REQUIRE(places.size() == 1);
  CHECK(places[0].of_worker == Names{"10.0.0.1", "10.0.0.1", "10.0.0.2"});
  CHECK(worker_places({}, {{0, "127.0.0.1"}, {8, "127.0.0.1"}, {16, "127.0.0.1"}}, kRanks).empty());
  CHECK(worker_places({}, {}, kRanks).empty());
}

}  // namespace goodput

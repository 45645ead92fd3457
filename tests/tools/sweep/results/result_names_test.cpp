#include "tools/sweep/results/result_names.h"

#include <doctest/doctest.h>

#include "tools/sweep/store/number_list.h"

namespace goodput {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("result names: what clashes with nothing stays as it is") {
  const ResultNames names = result_names({"/a/b", "spares"}, {"steps"}, {"steps"});
  CHECK(names.parameters == Names{"/a/b", "spares"});
  CHECK(names.columns == Names{"steps"});
  CHECK(names.metrics[0] == std::array<std::string, 3>{"steps", "steps_low", "steps_high"});
}

TEST_CASE("result names: no two are the same, whatever the case of letters") {
  const ResultNames names = result_names({"Seed", "STEPS", "steps_high", "vary:seed", "spares", "Spares"},
                                         {"steps", "Trial", "STEPS"}, {"steps", "trials", "steps_low"});
  CHECK(names.columns == Names{"steps", "metric:Trial", "metric:STEPS"});
  CHECK(names.metrics[0] == std::array<std::string, 3>{"steps", "steps_low", "steps_high"});
  CHECK(names.metrics[1] == std::array<std::string, 3>{"metric:trials", "trials_low", "trials_high"});
  CHECK(names.metrics[2] ==
        std::array<std::string, 3>{"metric:steps_low", "steps_low_low", "steps_low_high"});
  CHECK(names.parameters ==
        Names{"vary:Seed", "vary:STEPS", "vary:steps_high", "vary:vary:seed", "spares", "vary:Spares"});
}

TEST_CASE("number list: as a sentence has it") {
  using Numbers = std::vector<std::uint64_t>;
  CHECK(numbered("shard", Numbers{2}) == "shard 2");
  CHECK(numbered("shard", Numbers{2, 3}) == "shards 2 and 3");
  CHECK(numbered("shard", Numbers{0, 1, 2, 3, 5, 9}) == "shards 0-3, 5 and 9");
  CHECK(numbered("point", Numbers{0, 1, 2}) == "points 0-2");
  Numbers odd;
  for (std::uint64_t i = 0; i < 40; ++i) odd.push_back(2 * i + 1);
  CHECK(numbered("point", odd) == "points 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 30 more");
}

}  // namespace
}  // namespace goodput

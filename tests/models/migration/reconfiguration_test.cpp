// Times to detect a loss and to regroup: how they are written, and what is drawn.
#include "models/migration/reconfiguration.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/base/json.h"

namespace goodput {
namespace {

using namespace std::chrono_literals;

std::string refusal_of(const Json& object) {
  ReconfigurationTiming timing;
  const auto read = config::read_object(object, config::access(timing), {}, {});
  return read ? "" : read.error().message();
}

const ReconfigurationTiming kPublished{.detect = {10s, 20s}, .regroup = {5s, 15s}};

}  // namespace

TEST_CASE(
    "reconfiguration times: a number is fixed, a range is uniform, and both are written as they were read") {
  ReconfigurationTiming timing;
  CHECK(timing.detect == TimeRange{15s, 15s});
  CHECK(timing.regroup == TimeRange{10s, 10s});
  const Json object = {{"detect_s", {{"uniform", {10, 20}}}}, {"regroup_s", 7}, {"overlap", true}};
  REQUIRE(config::read_object(object, config::access(timing), {}, {}));
  CHECK(timing.detect == TimeRange{10s, 20s});
  CHECK(timing.regroup == TimeRange{7s, 7s});
  CHECK(timing.overlap);
  const OrderedJson written = config::write(config_fields(timing));
  CHECK(written["detect_s"] == OrderedJson::parse(R"({"uniform": [10.0, 20.0]})"));
  CHECK(written["regroup_s"] == 7.0);
}

TEST_CASE("reconfiguration times: what is neither a number nor a range is refused") {
  const std::string wanted =
      R"(must be a number from 0 to 3600, or {"uniform": [MIN, MAX]} with two such numbers, not )";
  CHECK(refusal_of({{"detect_s", "soon"}}).ends_with("/detect_s: " + wanted + "\"soon\""));
  for (const char* range : {R"({"normal": [1, 2]})", R"({"uniform": [1, 2, 3]})", R"({"uniform": 4})",
                            R"({"uniform": [1, 2], "mean": 1})", "{}"}) {
    CHECK(refusal_of({{"detect_s", Json::parse(range)}})
              .ends_with(R"(/detect_s: must have one key, "uniform", with an array of two numbers, for )"
                         R"(example {"uniform": [10, 20]})"));
  }
  CHECK(refusal_of({{"regroup_s", 3601}}).ends_with("/regroup_s: must be a number from 0 to 3600, not 3601"));
  CHECK(refusal_of({{"regroup_s", {{"uniform", {1, 3601}}}}})
            .ends_with("/regroup_s/uniform/1: must be a number from 0 to 3600, not 3601"));
  CHECK(refusal_of({{"regroup_s", {{"uniform", {15, 5}}}}})
            .ends_with("/regroup_s/uniform: must be in ascending order, not [15, 5]; swap the two numbers"));
}

TEST_CASE("reconfiguration times: draws lie in their range and have its mean") {
  ReconfigurationDraws draws(1, 2);
  double detect = 0;
  double regroup = 0;
  for (int n = 0; n < 10'000; ++n) {
    const ReconfigurationTimes times = draws.next(kPublished, true);
    REQUIRE((times.detect >= 10s && times.detect < 20s && times.regroup >= 5s && times.regroup < 15s));
    detect += to_seconds(times.detect) / 10'000;
    regroup += to_seconds(times.regroup) / 10'000;
  }
  // Four standard errors of a mean: 4 x 10 / sqrt(12 x 10,000) = 0.115.
  CHECK(detect == doctest::Approx(15).epsilon(0.115 / 15));
  CHECK(regroup == doctest::Approx(10).epsilon(0.115 / 10));
}

TEST_CASE(
    "reconfiguration times: one range does not change what is drawn from the other, and trials differ") {
  ReconfigurationTiming only_regroup = kPublished;
  only_regroup.detect = {15s, 15s};
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    ReconfigurationDraws both(7, trial);
    ReconfigurationDraws one(7, trial);
    ReconfigurationDraws other(7, trial + 1);
    for (int n = 0; n < 10; ++n) {
      const ReconfigurationTimes times = both.next(kPublished, n % 2 == 0);
      const ReconfigurationTimes alone = one.next(only_regroup, true);
      const ReconfigurationTimes others = other.next(kPublished, true);
      CHECK(times.regroup == alone.regroup);
      CHECK(alone.detect == 15s);
      CHECK(times.regroup != others.regroup);
      CHECK(times.detect != others.detect);
    }
  }
}

TEST_CASE("reconfiguration times: with overlap the longer of detection and regrouping counts") {
  ReconfigurationTiming overlap = kPublished;
  overlap.overlap = true;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    INFO("seed " << seed);
    const ReconfigurationTimes sum = ReconfigurationDraws(seed, 0).next(kPublished, true);
    const ReconfigurationTimes longer = ReconfigurationDraws(seed, 0).next(overlap, true);
    CHECK(longer.detect == sum.detect);
    CHECK(longer.detect + longer.regroup == std::max(sum.detect, sum.regroup));
    // Without a loss there is nothing to detect.
    CHECK(ReconfigurationDraws(seed, 0).next(overlap, false).regroup == sum.regroup);
  }
}

}  // namespace goodput

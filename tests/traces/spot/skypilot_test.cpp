#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/traces/spot/spot_reading.h"

namespace goodput::testing {
namespace {

using Counts = std::vector<SpotCount>;

std::string file_of(const std::string& data, const std::string& metadata = "") {
  return R"({"metadata": {"gap_seconds": 300)" + metadata + R"(}, "data": )" + data + "}";
}

const SpotOptions kAvailable = {.polarity = SpotPolarity::kAvailable, .meaning = SpotMeaning::kHeld};
const SpotOptions kPreempted = {.polarity = SpotPolarity::kPreempted, .meaning = SpotMeaning::kHeld};

}  // namespace

TEST_CASE("skypilot: a count a tick, the recording ends a tick after the last") {
  const SpotTrace trace = read_spot(file_of("[4, 4, 3, 3.0, 0]"), held());
  CHECK(trace.format == "skypilot");
  CHECK(trace.polarity == SpotPolarity::kAvailable);
  CHECK(trace.counts == Counts{{at_s(0), 4}, {at_s(600), 3}, {at_s(1200), 0}});
  CHECK(trace.end == at_s(1500));
  CHECK(trace.prices.empty());
}

TEST_CASE("skypilot: keys stand in any order, others are let be") {
  const SpotTrace trace = read_spot(
      R"({"prices": [1.5, 1.5, 2], "x": {"data": [9]}, "data": [4, 3, 3], "metadata": {"z": [1], "gap_seconds": 0.5}})",
      held());
  CHECK(trace.counts == Counts{{at_s(0), 4}, {SimTime{std::chrono::milliseconds{500}}, 3}});
  CHECK(trace.prices == std::vector<SpotPrice>{{at_s(0), 1.5}, {at_s(1), 2}});
}

TEST_CASE("skypilot: a null is a hole") {
  const SpotTrace trace = read_spot(file_of("[4, null, null, 4, null]"), held());
  CHECK(trace.counts == Counts{{at_s(0), 4}});
  CHECK(trace.holes == std::vector<SpotHole>{{at_s(300), at_s(900)}, {at_s(1200), at_s(1500)}});
  CHECK(spot_error(file_of("[null, 4]"), held()) ==
        " /data/0: is null; begin the recording at the first known count");
}

TEST_CASE("skypilot: zeros and ones do not tell their polarity, it is asked") {
  const std::string question =
      " /data: has no count above 1, so the meaning of a count is unclear: 1 means 1 available node in "
      "published files, but 1 preempted node in SkyPilot's simulator; give polarity available|preempted";
  CHECK(spot_error(file_of("[0, 1, 1]"), held()) == question);
  CHECK(spot_error(file_of("[0, 0]"), held()) == question);
  CHECK(read_spot(file_of("[0, 1, 1]"), kAvailable).counts == Counts{{at_s(0), 0}, {at_s(300), 1}});
  const SpotTrace preempted = read_spot(file_of("[0, 1, 1]"), kPreempted);
  CHECK(preempted.counts == Counts{{at_s(0), 1}, {at_s(300), 0}});
  CHECK(preempted.polarity == SpotPolarity::kPreempted);
}

TEST_CASE("skypilot: counts of preempted nodes need to know of how many") {
  CHECK(spot_error(file_of("[0, 3]"), kPreempted) ==
        " /data/1: is 3 preempted nodes, but the total is unknown; add \"nodes\" to \"metadata\", or remove "
        "polarity preempted");
  const std::string nodes = R"(, "nodes": 4)";
  CHECK(read_spot(file_of("[0, 3]", nodes), kPreempted).counts == Counts{{at_s(0), 4}, {at_s(300), 1}});
  CHECK(spot_error(file_of("[0, 5]", nodes), kPreempted) ==
        " /data/1: is 5, but must be at most /metadata/nodes (4)");
}

TEST_CASE("skypilot: metadata may settle polarity and meaning, and no option contradicts it") {
  const std::string stated = R"(, "polarity": "preempted", "meaning": "probe")";
  const SpotTrace trace = read_spot(file_of("[0, 1]", stated));
  CHECK(trace.counts == Counts{{at_s(0), 1}, {at_s(300), 0}});
  CHECK(trace.meaning == SpotMeaning::kProbe);
  CHECK(spot_error(file_of("[0, 1]", stated), kAvailable) ==
        " /metadata/polarity: is \"preempted\", but polarity is available; remove the option or correct the "
        "file");
  CHECK(spot_error(file_of("[0, 1]", stated), held()) ==
        ": meaning held contradicts the file, which has \"probe\"; remove the option or correct the file");
  CHECK(spot_error(file_of("[1]", R"(, "polarity": 1)")) ==
        " /metadata/polarity: must be \"available\" or \"preempted\"");
  CHECK(spot_error(file_of("[4]")).ends_with("give meaning held|probe"));
}

TEST_CASE("skypilot: bad counts are named by their place") {
  const std::string wish = " /data/1: the count must be a number of nodes from 0 to 1000000";
  CHECK(spot_error(file_of("[4, -1]"), held()) == wish + ", not -1");
  CHECK(spot_error(file_of("[4, 1000001]"), held()) == wish + ", not 1000001");
  CHECK(spot_error(file_of("[4, 1.5]"), held()) == wish + ", or null, not \"1.5\"");
  CHECK(spot_error(file_of("[4, \"3\"]"), held()) == wish + ", or null, not \"\"3\"\"");
  CHECK(spot_error(file_of("[4, [3]]"), held()) == wish + ", or null, not \"[\"");
  CHECK(spot_error(file_of("[4, NaN]"), held()) == wish + ", or null, not \"NaN\"");
  CHECK(spot_error(file_of("[]"), held()) == " /data: is empty; add the number of nodes at each tick");
  CHECK(spot_error(file_of("4"), held()) == " /data: must be an array with one number per tick");
}

TEST_CASE("skypilot: bad prices are named by their place") {
  const std::string wish = " /prices/1: the price must be USD per node-hour from 0 to 1000000, not ";
  const auto error_of = [](const std::string& prices) {
    return spot_error(R"({"metadata": {"gap_seconds": 300}, "data": [4, 3], "prices": )" + prices + "}",
                      held());
  };
  CHECK(error_of("[1]") ==
        " /prices: has 1 prices, but /data has 2 counts; each tick needs one price and one count");
  CHECK(error_of("[1, 1, 1]") ==
        " /prices: has 3 prices, but /data has 2 counts; each tick needs one price and one count");
  CHECK(error_of("[1, -0.5]") == wish + "-0.5");
  CHECK(error_of("[1, NaN]") == wish + "\"NaN\"");
  CHECK(error_of("[1, null]") == wish + "\"null\"");
}

TEST_CASE("skypilot: the gap between ticks must be one") {
  const auto error_of = [](const std::string& metadata) {
    return spot_error(R"({"metadata": )" + metadata + R"(, "data": [4, 3]})", held());
  };
  const std::string wish =
      " /metadata/gap_seconds: it must be a number of seconds above 0 and up to 1e9, not ";
  CHECK(error_of(R"({"gap_seconds": 0})") == wish + "\"0\"");
  CHECK(error_of(R"({"gap_seconds": -300})") == wish + "\"-300\"");
  CHECK(error_of(R"({"gap_seconds": 1e-10})") == wish + "\"1e-10\"");
  CHECK(error_of(R"({"gap_seconds": "300"})") == wish + "\"\"300\"\"");
  CHECK(error_of("{}") == " /metadata/gap_seconds: is missing; add the seconds from one tick to the next");
  CHECK(error_of("300") == " /metadata: must be an object such as {\"gap_seconds\": 300}");
  // 1e9 s times 10 ticks is 317 years.
  CHECK(spot_error(R"({"metadata": {"gap_seconds": 1e9}, "data": [4, 4, 4, 4, 4, 4, 4, 4, 4, 4]})", held()) ==
        " /metadata/gap_seconds: makes the recording longer than 292 years");
}

TEST_CASE("skypilot: what is truncated or no JSON") {
  const std::string whole = R"({"metadata": {"gap_seconds": 300}, "data": [4, 4, 3], "prices": [1, 1, 1]})";
  for (std::size_t size = 12; size < whole.size(); ++size) {
    INFO(whole.substr(0, size));
    const TemporaryFile file("cut.json", whole.substr(0, size));
    CHECK_FALSE(read_spot_trace(file.path(), held()));
  }
  CHECK(spot_error(whole.substr(0, 50), held())
            .starts_with(": is truncated or not JSON of the form {\"metadata\": {...}, \"data\": [...]}: "));
  CHECK(spot_error(whole + "}", held()) == ": has text after the closing '}'; remove it");
  CHECK(spot_error(R"({"data": [4], "data": [4]})", held()) == " /data: occurs twice; remove one");
  CHECK(spot_error(R"({"metadata": {"gap_seconds": 300}})", held()) ==
        " /data: is missing; add one count per tick");
}

}  // namespace goodput::testing

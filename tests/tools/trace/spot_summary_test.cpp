#include "tools/trace/spot_summary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tests/traces/spot/spot_reading.h"
#include "traces/spot/count_changes.h"

namespace goodput::testing {
namespace {

namespace fs = std::filesystem;
using Sizes = std::map<std::int32_t, std::int64_t>;
using std::chrono::hours;
using std::chrono::seconds;

SpotSummary summary_of(const std::string& text) {
  return summarize(read_spot(text));
}

// A trace of the shared data; nothing, with a message, where there is none.
std::optional<SpotTrace> shared_trace(const std::string& name, const SpotOptions& options = {}) {
  const fs::path path = fs::path(GOODPUT_SHARED_DATA) / "spot" / name;
  if (!fs::exists(path)) {
    MESSAGE("skipped: no shared data");
    return std::nullopt;
  }
  auto trace = read_spot_trace(path.string(), options);
  INFO((trace ? std::string() : trace.error().message()));
  REQUIRE(trace);
  return *std::move(trace);
}

const std::string kSkypilotFile = "originals/skypilot/preemption-4node-aws-08-03-2023-us-east-2a_v100_1.json";

}  // namespace

TEST_CASE("spot summary: events, with the node-hours under their step function") {
  // 2 nodes for 1 h, 4 for 2 h, 1 for 1 h: 11 node-hours in 4 h.
  const SpotSummary summary = summary_of(
      "t_s,event,node\n0,add,a\n0,add,b\n3600,add,c\n3600,add,d\n10800,remove,a\n10800,remove,c\n"
      "10800,remove,d\n14400,remove,b\n");
  CHECK(summary.adds == 4);
  CHECK(summary.removes == 4);
  CHECK(summary.initial_nodes == 2);
  CHECK(summary.final_nodes == 0);
  CHECK(summary.peak_nodes == 4);
  CHECK(summary.duration == hours{4});
  CHECK(summary.known == hours{4});
  CHECK(summary.node_hours == doctest::Approx(11));
  CHECK(summary.mean_nodes == doctest::Approx(11.0 / 4));
  CHECK(summary.removal_batches.count == 2);
  CHECK(summary.removal_batches.of_several == 1);
  CHECK(summary.removal_batches.largest == 3);
  CHECK(summary.drops == 2);
  CHECK(summary.drop_sizes == Sizes{{1, 1}, {3, 1}});
  CHECK(summary.longest_outage == seconds{0});
  CHECK_FALSE(summary.price);
}

TEST_CASE("spot summary: nodes that are replaced at once make a batch, but no drop") {
  const SpotSummary summary =
      summary_of("t_s,event,node\n0,add,a\n0,add,b\n60,remove,a\n60,remove,b\n60,add,c\n60,add,d\n");
  CHECK(summary.removal_batches.count == 1);
  CHECK(summary.removal_batches.largest == 2);
  CHECK(summary.drops == 0);
  CHECK(summary.peak_nodes == 2);
}

TEST_CASE("spot summary: who comes and goes in one moment is an add and a remove, no batch") {
  const SpotSummary summary = summary_of("t_s,event,node\n0,add,a\n60,add,b\n60,remove,b\n90,remove,a\n");
  CHECK(summary.adds == 2);
  CHECK(summary.removes == 2);
  CHECK(summary.removal_batches.count == 1);
  CHECK(summary.peak_nodes == 1);
}

TEST_CASE("spot summary: of counts rises and falls are added up, from none at first") {
  const SpotSummary summary = summary_of("t_s,held\n0,4\n60,2\n120,16\n180,0\n240,1\n300,0\n900,5\n1000,5\n");
  CHECK(summary.adds == 4 + 14 + 1 + 5);
  CHECK(summary.removes == 2 + 16 + 1);
  CHECK(summary.drop_sizes == Sizes{{1, 1}, {2, 1}, {16, 1}});
  CHECK(summary.removal_batches.count == 3);
  CHECK(summary.removal_batches.of_several == 2);
  CHECK(summary.removal_batches.largest == 16);
  CHECK(summary.longest_outage == seconds{600});
  CHECK(summary.longest_outage_begin == at_s(300));
}

TEST_CASE("spot summary: a trace that starts with nobody, and an outage that lasts to the end") {
  const SpotSummary summary = summary_of("t_s,held\n0,0\n100,3\n200,0\n500,0\n");
  CHECK(summary.initial_nodes == 0);
  CHECK(summary.adds == 3);
  CHECK(summary.longest_outage == seconds{300});
  CHECK(summary.longest_outage_begin == at_s(200));
}

TEST_CASE("spot summary: holes count for nothing, and cut outages") {
  // 4 nodes for 100 s, unknown for 900 s, none for 1000 s of which 400 s are unknown.
  const SpotSummary summary = summary_of("t_s,held\n0,4\n100,\n1000,0\n1500,\n1900,0\n2000,0\n");
  CHECK(summary.duration == seconds{2000});
  CHECK(summary.known == seconds{700});
  CHECK(summary.node_hours == doctest::Approx(400.0 / 3600));
  CHECK(summary.mean_nodes == doctest::Approx(400.0 / 700));
  CHECK(summary.longest_outage == seconds{500});
  CHECK(summary.drops == 1);
}

TEST_CASE("spot summary: prices by time, and a recording without length") {
  // 2 USD for 60 s, 4 USD for 30 s.
  const auto price = summary_of("t_s,held,usd_per_node_hour\n0,1,2\n60,1,4\n90,1,4\n").price;
  REQUIRE(price);
  CHECK(price->min == 2);
  CHECK(price->max == 4);
  CHECK(price->mean == doctest::Approx((2 * 60 + 4 * 30) / 90.0));
  const SpotSummary moment = summary_of("t_s,held,usd_per_node_hour\n0,1,2\n");
  CHECK_FALSE(moment.mean_nodes);
  CHECK(moment.price->mean == 2);
}

TEST_CASE("spot summary: what is held, when and until when moves the hash") {
  const auto hash_of = [](const std::string& text) { return hash_trace(read_spot(text)); };
  const std::string text = "t_s,held\n0,4\n60,2\n";
  CHECK(hash_of(text) == hash_of("held,t_s\n4,0\n2,60\n"));
  CHECK(hash_of(text) != hash_of(text + "90,2\n"));
  CHECK(hash_of(text) != hash_of("t_s,probe\n0,4\n60,2\n"));
  CHECK(hash_of(text) != hash_of("t_s,held\n0,4\n30,\n60,2\n"));
}

TEST_CASE("spot summary: Bamboo's p3 fleet has the published numbers") {
  const auto trace = shared_trace("originals/bamboo/p3-trace.csv");
  if (!trace) return;
  const SpotSummary summary = summarize(*trace);
  CHECK(trace->format == "bamboo_csv");
  CHECK(summary.adds == 177);
  CHECK(summary.removes == 167);
  CHECK(summary.duration == seconds{40'920});
  CHECK(summary.initial_nodes == 18);
  CHECK(summary.final_nodes == 10);
  CHECK(summary.peak_nodes == 32);
  CHECK(*summary.mean_nodes == doctest::Approx(24.03).epsilon(0.0003));  // printed with two decimals
  CHECK(summary.node_hours == doctest::Approx(273.1).epsilon(0.0003));
  CHECK(summary.removal_batches.largest == 6);
  CHECK(std::lround(100.0 * static_cast<double>(summary.removal_batches.of_several) /
                    static_cast<double>(summary.removal_batches.count)) == 51);
}

TEST_CASE("spot summary: the neutral files say what the originals say") {
  const auto original = shared_trace("originals/bamboo/p3-trace.csv");
  const auto neutral = shared_trace("neutral/bamboo_p3_events.csv");
  const auto counts = shared_trace("neutral/bamboo_p3_count.csv", held());
  const auto google = shared_trace("originals/bamboo/gcloud/a100x1-east1b.txt");
  const auto google_counts = shared_trace("neutral/bamboo_gcp_a100_count.csv", held());
  const auto skypilot = shared_trace(kSkypilotFile, held());
  const auto skypilot_counts = shared_trace("neutral/skypilot_4node_us-east-2a_count.csv", held());
  if (!original || !neutral || !counts || !google || !google_counts || !skypilot || !skypilot_counts) return;
  CHECK(neutral->events == original->events);
  CHECK(neutral->node_names == original->node_names);
  CHECK(spot_counts(*original) == counts->counts);
  CHECK(google->counts == google_counts->counts);
  CHECK(skypilot->counts == skypilot_counts->counts);
}

TEST_CASE("spot summary: SkyPilot's four nodes fall 60 times in 17.8 days, and are gone for days once") {
  SpotOptions options = held();
  options.polarity = SpotPolarity::kAvailable;
  const auto trace = shared_trace(kSkypilotFile, options);
  if (!trace) return;
  const SpotSummary summary = summarize(*trace);
  CHECK(summary.drops == 60);
  CHECK(summary.drop_sizes == Sizes{{1, 47}, {2, 11}, {3, 2}});
  CHECK(summary.duration == seconds{5131 * 300});
  CHECK(summary.longest_outage == seconds{310'500});  // 3.6 days
}

TEST_CASE("spot summary: Oobleck's generated fleets lose one of thirty nodes at a time, fifteen in all") {
  for (const char* name : {"10m", "1h", "6h"}) {
    const auto trace = shared_trace(std::string("originals/oobleck/") + name + ".csv");
    if (!trace) return;
    const SpotSummary summary = summarize(*trace);
    CHECK(summary.initial_nodes == 30);
    CHECK(summary.removes == 15);
    CHECK(summary.drop_sizes == Sizes{{1, 15}});
  }
  // A node of the rescaled trace comes and goes at 39960 s.
  const auto scaled = shared_trace("originals/oobleck/scaled/scale_p3-trace.csv");
  if (!scaled) return;
  CHECK(scaled->momentary == 1);
  CHECK(summarize(*scaled).adds == 157);
}

}  // namespace goodput::testing

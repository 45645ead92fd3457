// Neutral counts and Google's text.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/traces/spot/spot_reading.h"

namespace goodput::testing {
namespace {

using Counts = std::vector<SpotCount>;
using Holes = std::vector<SpotHole>;
using Prices = std::vector<SpotPrice>;

std::string counts_error(const std::string& rows) {
  return spot_error("t_s,count\n" + rows, held());
}

}  // namespace

TEST_CASE("spot counts: a row holds until the next one, the last one ends the recording") {
  const SpotTrace trace = read_spot("t_s,count\n0,0\n60,16\n120,16\n300,0\n900,0\n", held());
  CHECK(trace.format == "counts_csv");
  CHECK(trace.counts == Counts{{at_s(0), 0}, {at_s(60), 16}, {at_s(300), 0}});
  CHECK(trace.end == at_s(900));
  CHECK(trace.events.empty());
  CHECK_FALSE(trace.has_names());
}

TEST_CASE("spot counts: whether nodes were held is asked, unless the column says it") {
  const std::string question =
      ": does not show what its counts mean: nodes that were held (a drop is a preemption), or nodes that "
      "could have been launched (a drop may not be a preemption); give meaning held|probe";
  CHECK(spot_error("t_s,count\n0,4\n") == question);
  CHECK(read_spot("t_s,count\n0,4\n", {.meaning = SpotMeaning::kProbe}).meaning == SpotMeaning::kProbe);
  CHECK(read_spot("t_s,held\n0,4\n").meaning == SpotMeaning::kHeld);
  CHECK(read_spot("t_s,probe\n0,4\n").meaning == SpotMeaning::kProbe);
  CHECK(spot_error("t_s,probe\n0,4\n", held()) ==
        ": meaning held contradicts the file, which has \"probe\"; remove the option or correct the file");
}

TEST_CASE("spot counts: prices change where they are written") {
  const SpotTrace trace =
      read_spot("t_s,held,usd_per_node_hour\n0,4,1.5\n60,5,\n120,5,2\n180,5,2\n240,5,0\n");
  CHECK(trace.prices == Prices{{at_s(0), 1.5}, {at_s(120), 2}, {at_s(240), 0}});
  CHECK(trace.counts == Counts{{at_s(0), 4}, {at_s(60), 5}});
}

TEST_CASE("spot counts: an empty count is a hole until the next row") {
  const SpotTrace trace = read_spot("t_s,held\n0,4\n60,\n90,\n100,4\n200,\n");
  CHECK(trace.counts == Counts{{at_s(0), 4}});
  CHECK(trace.holes == Holes{{at_s(60), at_s(100)}});
  CHECK(trace.end == at_s(200));
}

TEST_CASE("spot counts: a missed observation of a constant pace is a hole, told from its first missed tick") {
  // Every 600 s (one 10 s late), but nothing from 2400 to 6000 s.
  const SpotTrace trace =
      read_spot("t_s,held\n0,4\n600,4\n1210,3\n1800,3\n6000,3\n6600,2\n7200,2\n7800,2\n8400,2\n");
  CHECK(trace.holes == Holes{{at_s(2400), at_s(6000)}});
}

TEST_CASE("spot counts: a list of changes has no pace and so no holes") {
  // As regular, but no row repeats the one before: between them nothing changed.
  CHECK(read_spot("t_s,held\n0,4\n600,5\n1200,3\n1800,4\n6000,3\n6600,2\n7200,3\n7800,2\n8400,2\n")
            .holes.empty());
  // Observations without a constant pace.
  CHECK(read_spot("t_s,held\n0,4\n100,4\n300,4\n310,3\n900,3\n7000,3\n").holes.empty());
}

TEST_CASE("spot counts: bad rows are named by line") {
  CHECK(counts_error("0,4\n60,-1\n") == ":3: count must be a number of nodes from 0 to 1000000, not -1");
  CHECK(counts_error("0,1000001\n") == ":2: count must be a number of nodes from 0 to 1000000, not 1000001");
  CHECK(counts_error("0,99999999999999999999\n") ==
        ":2: count must be a number of nodes from 0 to 1000000, not \"99999999999999999999\"");
  CHECK(counts_error("0,four\n") == ":2: count must be a number of nodes from 0 to 1000000, not \"four\"");
  CHECK(counts_error("0,4\n0,5\n") ==
        ":3: 0 s comes after 0 s; sort the rows by time, with one row per time");
  CHECK(counts_error("0,4\n9,5\n8,5\n") ==
        ":4: 8 s comes after 9 s; sort the rows by time, with one row per time");
  CHECK(counts_error("5,4\n") ==
        ":2: the first row must be at 0 s, not 5 s, because t_s counts from the start of the recording");
  CHECK(counts_error("0,\n") ==
        ":2: the first row has no count; begin the recording at the first known count");
  CHECK(counts_error("0\n") == ":2: has 1 field, but must have 2");
  CHECK(counts_error("") == ": has no rows; was the recording cut off?");
}

TEST_CASE("spot counts: bad prices and headers") {
  const std::string header = "t_s,held,usd_per_node_hour\n";
  const std::string wish = ":2: usd_per_node_hour must be USD per node-hour from 0 to 1000000, not ";
  CHECK(spot_error(header + "0,4,-0.5\n") == wish + "-0.5");
  CHECK(spot_error(header + "0,4,nan\n") == wish + "nan");
  CHECK(spot_error(header + "0,4,inf\n") == wish + "inf");
  CHECK(spot_error(header + "0,4,free\n") == wish + "\"free\"");
  CHECK(spot_error("t_s,held,count\n0,4,4\n") ==
        ":1: expected the columns t_s, one of count, held and probe, and optionally usd_per_node_hour");
  CHECK(spot_error("t_s,cuont\n0,4\n") ==
        ":1: unknown column \"cuont\"; did you mean \"count\"?; known: t_s, held, probe, count, "
        "usd_per_node_hour");
}

TEST_CASE("spot counts: written and read again a trace with prices and holes is the same") {
  const SpotTrace trace =
      read_spot("t_s,held,usd_per_node_hour\n0,4,1.5\n0.25,,2\n60,4,\n120,0,0.1\n600,0,\n700,0,\n");
  const TemporaryFile file("x.csv.gz");
  for (const SpotFormat& format : spot_formats()) {
    if (format.name == "counts_csv") REQUIRE(format.write(trace, file.path(), file.path()));
  }
  const auto again = read_spot_trace(file.path(), {});
  REQUIRE(again);
  CHECK(again->counts == trace.counts);
  CHECK(again->prices == trace.prices);
  CHECK(again->holes == trace.holes);
  CHECK(again->end == trace.end);
  CHECK(again->meaning == trace.meaning);
}

TEST_CASE("google text: a count begins at the first row that shows it") {
  // Two loggers: the second one repeats 55 a minute after the first one, and then goes back.
  const SpotTrace trace = read_spot(
      "2021-12-11, 23:58:00, 55\n2021-12-11, 23:59:00, 55\n2021-12-11, 23:58:40, 54\n"
      "2021-12-11, 23:59:40, 54\n2021-12-12, 00:00:00, 50\n2021-12-11, 23:59:50, 50\n");
  CHECK(trace.format == "google_text");
  CHECK(trace.meaning == SpotMeaning::kHeld);
  CHECK(trace.counts == Counts{{at_s(0), 55}, {at_s(40), 54}, {at_s(120), 50}});
  CHECK(trace.end == at_s(120));
}

TEST_CASE("google text: bad rows are named by line") {
  const std::string first = "2021-12-11, 11:11:30, 55\n";
  CHECK(spot_error(first + "2021-12-11, 11:11:20, 54\n") ==
        ":2: a new count comes before the time of the last change; sort the blocks of rows by time");
  CHECK(spot_error(first + "2021-02-30, 11:11:20, 54\n") == ":2: the date \"2021-02-30\" does not exist");
  CHECK(spot_error(first + "11.12.2021, 11:11:20, 54\n") ==
        ":2: the date must be YYYY-MM-DD, not \"11.12.2021\"");
  CHECK(spot_error(first + "2021-12-11, 24:00:00, 54\n") ==
        ":2: the time must be HH:MM:SS from 00:00:00 to 23:59:59, not \"24:00:00\"");
  CHECK(spot_error(first + "2021-12-11, 11:12:00, -1\n") ==
        ":2: the count must be a number of nodes from 0 to 1000000, not -1");
  CHECK(spot_error(first + "2021-12-11, 11:12:00\n") == ":2: has 2 fields, but must have 3");
  CHECK(spot_error(first + "9021-12-11, 11:12:00, 1\n") ==
        ":2: \"9021-12-11\" is more than 100 years from the first row; is the year right?");
}

}  // namespace goodput::testing

// Both CSV formats of routing traces.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/registry.h"
#include "tests/traces/io/temporary_file.h"
#include "traces/routing/routing_format.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

using Loads = std::vector<std::int64_t>;

const std::string kWide = "iter,layer,e0,e1,e2\n";
const std::string kLong = "iteration,layer,expert,tokens\n";

RoutingReading csv_routing(const std::string& text) {
  const TemporaryFile file("r.csv", text);
  auto reading = read_routing_files({file.path()});
  INFO((reading ? std::string() : reading.error().message()));
  REQUIRE(reading);
  return *std::move(reading);
}

// The error without the path: `:LINE: what`.
std::string csv_error(const std::string& text) {
  const TemporaryFile file("r.csv", text);
  const auto trace = read_routing_trace(file.path());
  REQUIRE_FALSE(trace);
  return without_path(trace.error().message(), file);
}

Loads loads_of(const RoutingTrace& trace, std::size_t iteration, std::size_t layer) {
  const auto loads = trace.loads(iteration, layer);
  return {loads.begin(), loads.end()};
}

RoutingTrace written_and_read(const RoutingTrace& trace, std::string_view format, const std::string& name) {
  const TemporaryFile file(name);
  const auto found = find_named(routing_formats(), "routing trace format", format);
  REQUIRE(found);
  REQUIRE(found->write(trace, file.path(), file.path()));
  auto read = read_routing_files({file.path()});
  REQUIRE(read);
  CHECK(read->format == format);
  return std::move(read->trace);
}

TEST_CASE("wide routing csv: a row is a layer at an iteration, in any order") {
  const RoutingReading reading = csv_routing(kWide + "11,5,1,2,3\n1,5,4,5,6\n11,2,7,8,9\n1,2,10,11,12\n");
  CHECK(reading.format == "wide_csv");
  CHECK(reading.ranks == 1);
  CHECK(reading.micro_batches == 1);
  const RoutingTrace& trace = reading.trace;
  CHECK(trace.iterations() == Loads{1, 11});
  CHECK(trace.layers() == Loads{2, 5});
  CHECK(trace.experts() == 3);
  CHECK(loads_of(trace, 0, 0) == Loads{10, 11, 12});
  CHECK(loads_of(trace, 0, 1) == Loads{4, 5, 6});
  CHECK(loads_of(trace, 1, 0) == Loads{7, 8, 9});
  CHECK(loads_of(trace, 1, 1) == Loads{1, 2, 3});
}

TEST_CASE("wide routing csv: columns in any order, quotes, CRLF, a byte order mark and blank lines") {
  const RoutingTrace expected = csv_routing(kWide + "1,0,7,8,9\n").trace;
  CHECK(csv_routing("\xef\xbb\xbf" + kWide + "1,0,7,8,9").trace == expected);
  CHECK(csv_routing("iter,layer,e0,e1,e2\r\n1,0,7,8,9\r\n\r\n").trace == expected);
  CHECK(csv_routing("e2,\"e0\",layer,e1,iteration\n9,\"7\",0,8,1\n").trace == expected);
}

TEST_CASE("wide routing csv: whole numbers that a data frame made floats of are counts") {
  CHECK(loads_of(csv_routing(kWide + "1.0,0.0,12.0,0.0,9007199254740992.0\n").trace, 0, 0) ==
        Loads{12, 0, 9007199254740992});
}

TEST_CASE("wide routing csv: ranks and micro-batches are summed out") {
  const RoutingReading reading =
      csv_routing("iter,layer,rank,micro_batch,e0,e1\n1,0,0,0,1,2\n1,0,0,1,3,4\n1,0,3,0,5,6\n1,0,3,1,7,8\n");
  CHECK(loads_of(reading.trace, 0, 0) == Loads{16, 20});
  CHECK(reading.ranks == 2);
  CHECK(reading.micro_batches == 2);
}

TEST_CASE("wide routing csv: more experts than a field of the op traces has room for") {
  std::string header = "iter,layer";
  std::string line = "1,0";
  for (int e = 0; e < 65536; ++e) {
    header += ",e" + std::to_string(e);
    line += "," + std::to_string(e);
  }
  const RoutingTrace trace = csv_routing(header + "\n" + line + "\n").trace;
  CHECK(trace.experts() == 65536);
  CHECK(trace.total(0, 0) == std::int64_t{65536} * 65535 / 2);
  CHECK(csv_error(header + ",e65536\n" + line + ",1\n") ==
        ":1: has 65537 experts, but at most 65536 are supported");
}

TEST_CASE("wide routing csv: what is wrong with the header is named") {
  CHECK(csv_error("iter,layer,e0,e2\n") ==
        ":1: no column \"e1\"; with 2 expert columns, they must be e0 to e1");
  CHECK(csv_error("iter,layer,e0,e0\n") == ":1: column \"e0\" occurs twice");
  CHECK(csv_error("iter,iteration,layer,e0\n") == ":1: column \"iteration\" occurs twice");
  CHECK(csv_error("iter,e0\n") == ":1: no column \"layer\"");
  CHECK(csv_error("layer,e0\n") == ":1: no column \"iteration\"");
  CHECK(csv_error("iter,layer,lager,e0\n") ==
        ":1: unknown column \"lager\"; did you mean \"layer\"?; known: iteration, layer, rank, micro_batch, "
        "e0, e1, ...");
  CHECK(csv_error("iter,layer,expert,e0\n") ==
        ":1: unknown column \"expert\"; known: iteration, layer, rank, micro_batch, e0, e1, ...");
  CHECK(csv_error(kWide) == ": has no rows");
}

TEST_CASE("wide routing csv: what is no count is named with its column") {
  CHECK(csv_error(kWide + "1,0,5,-3,1\n") == ":2: e1 is \"-3\", but must be 0 or more");
  CHECK(csv_error(kWide + "1,0,5,0.5,1\n") == ":2: e1 is \"0.5\", but must be a whole number");
  CHECK(csv_error(kWide + "1,0,5,,1\n") == ":2: e1 is \"\", but must be a whole number");
  CHECK(csv_error(kWide + "1,0,5,1,many\n") == ":2: e2 is \"many\", but must be a whole number");
  CHECK(csv_error(kWide + "1,0,5,1,nan\n") == ":2: e2 is \"nan\", but must be a whole number");
  CHECK(csv_error(kWide + "1,0,5,1,9223372036854775808\n") ==
        ":2: e2 is \"9223372036854775808\", which does not fit into 64 bits");
  CHECK(csv_error(kWide + "1,0,5,1,1e300\n") ==
        ":2: e2 is \"1e300\", but must be at most 2^53 unless written as a plain integer");
  CHECK(csv_error(kWide + "1,65536,5,1,2\n") == ":2: layer is \"65536\", but must be at most 65535");
  CHECK(csv_error(kWide + "-1,0,5,1,2\n") == ":2: iteration is \"-1\", but must be 0 or more");
  CHECK(csv_error(kWide + "1,0,5,1,\"2\n") == ":2: a field has an opening quote without a closing quote");
}

TEST_CASE("wide routing csv: lines with too many or too few fields") {
  CHECK(csv_error(kWide + "1,0,5,1\n") == ":2: has 4 fields, but the header has 5 columns");
  CHECK(csv_error(kWide + "1,0,5,1,2,3\n") == ":2: has 6 fields, but the header has 5 columns");
  CHECK(csv_error(kWide + "1,0,5,1,2\n1\n") == ":3: has 1 fields, but the header has 5 columns");
}

TEST_CASE("wide routing csv: a sum that no 64-bit integer holds") {
  CHECK(csv_error(kWide + "1,0,9223372036854775807,1,0\n") ==
        ":2: the counts of iteration 1, layer 0 add up to 2^63 or more");
}

TEST_CASE("long routing csv: a row is an expert; experts without a row got nothing") {
  const RoutingReading reading = csv_routing(kLong + "1,0,2,7\n1,1,0,3\n1,0,0,5\n1,1,3,1\n");
  CHECK(reading.format == "long_csv");
  CHECK(loads_of(reading.trace, 0, 0) == Loads{5, 0, 7, 0});
  CHECK(loads_of(reading.trace, 0, 1) == Loads{3, 0, 0, 1});
}

TEST_CASE("long routing csv: ranks and micro-batches are summed out, columns in any order, decimals") {
  const RoutingReading reading =
      csv_routing("tokens,rank,expert,layer,iteration\n7,0,1,0,1\n1.0,5,1,0,1\n\"2\",5,0,0,1\n");
  CHECK(loads_of(reading.trace, 0, 0) == Loads{2, 8});
  CHECK(reading.ranks == 2);
}

TEST_CASE("long routing csv: what is wrong is named with line and column") {
  CHECK(csv_error("iteration,layer,expert,tokens,speed\n") ==
        ":1: unknown column \"speed\"; known: iteration, layer, rank, micro_batch, expert, tokens");
  CHECK(csv_error("iteration,expert,tokens\n") == ":1: no column \"layer\"");
  CHECK(csv_error(kLong + "1,0,65536,1\n") == ":2: expert is \"65536\", but must be at most 65535");
  CHECK(csv_error(kLong + "1,0,0,1.5\n") == ":2: tokens is \"1.5\", but must be a whole number");
  CHECK(csv_error(kLong + "1,0,0\n") == ":2: has 3 fields, but the header has 4 columns");
  CHECK(csv_error(kLong + "1,0,0,1,2\n") == ":2: has 5 fields, but the header has 4 columns");
  CHECK(csv_error(kLong + "1,0,0,1\n1,0,1,1\n1,0,0,1\n") ==
        ":4: iteration 1, layer 0, expert 0 occurs twice; remove one of the two rows");
  CHECK(csv_error("iteration,layer,rank,expert,tokens\n1,0,2,0,1\n1,0,2,0,1\n") ==
        ":3: iteration 1, layer 0, rank 2 micro-batch 0, expert 0 occurs twice; remove one of the two rows");
  CHECK(csv_error(kLong) == ": has no rows");
}

TEST_CASE("routing csv: written and read again it is the same trace, gzipped or not") {
  const RoutingTrace trace({1, 11}, {0, 4}, 3, {1, 2, 3, 4, 5, 6, 0, 0, 0, 10, 11, 9223372036854775807 - 21});
  CHECK(written_and_read(trace, "wide_csv", "r.csv") == trace);
  CHECK(written_and_read(trace, "wide_csv", "r.csv.gz") == trace);
  CHECK(written_and_read(trace, "long_csv", "r.csv") == trace);
  CHECK(written_and_read(trace, "long_csv", "r.csv.gz") == trace);
}

}  // namespace
}  // namespace goodput

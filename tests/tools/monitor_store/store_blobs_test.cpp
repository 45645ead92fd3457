// The parts of a step as bytes: what is read is what was written, and damage is noticed.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/tools/monitor_store/random_steps.h"
#include "tools/monitor_store/blob_archive.h"
#include "tools/monitor_store/rows_blob.h"
#include "tools/monitor_store/step_blobs.h"
#include "tools/monitor_store/worker_map_blob.h"

namespace goodput {
namespace {

using testing::is_same;
using testing::random_result;
using testing::random_rows;

TEST_CASE("store blobs: maps are right to half of 1e-4, whatever their shape") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "map");
    WorkerMapValues map{
        static_cast<std::int32_t>(random.below(9)), static_cast<std::int32_t>(random.below(9)), {}};
    map.slowdown.resize(random.below(80));
    for (double& slowdown : map.slowdown) slowdown = std::exp(random.normal(0.01, 0.5));
    const auto read = read_map_blob(map_blob(map));
    REQUIRE(read);
    CHECK(read->dp_size == map.dp_size);
    CHECK(read->pp_size == map.pp_size);
    REQUIRE(read->slowdown.size() == map.slowdown.size());
    for (std::size_t i = 0; i < map.slowdown.size(); ++i)
      CHECK(std::abs(std::log(read->slowdown[i] / map.slowdown[i])) <= 0.500001e-4);
  }
}

TEST_CASE("store blobs: a map tells what is no number, and the nearer end of what lies outside") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto read = read_map_blob(map_blob({1, 7, {NAN, kInfinity, 0, -1, 1, 1e300, 1e-300}}));
  REQUIRE(read);
  CHECK(std::isnan(read->slowdown[0]));
  CHECK(read->slowdown[1] == doctest::Approx(std::exp(3.2767)));
  CHECK(read->slowdown[2] == doctest::Approx(std::exp(-3.2767)));
  CHECK(std::isnan(read->slowdown[3]));  // the logarithm of a negative number
  CHECK(read->slowdown[4] == 1);
  CHECK(read->slowdown[5] == doctest::Approx(std::exp(3.2767)));
  CHECK(read->slowdown[6] == doctest::Approx(std::exp(-3.2767)));
}

TEST_CASE("store blobs: rows come back to the bit, and the same ops have the same hash") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "rows");
    OpTrace rows = random_rows(random, random.below(300), 7, seed % 2 == 0);
    if (rows.size() > 2) rows.start_s[1] = -0.0;
    const auto read = read_rows(op_columns_blob(rows), times_blob(rows));
    REQUIRE(read);
    CHECK(is_same(*read, rows));
    const std::string hash = op_columns_hash(rows);
    CHECK(hash.size() == 16);
    OpTrace other = rows;
    for (double& start : other.start_s) start += 1;
    for (std::int64_t& step : other.step) step += 1;
    CHECK(op_columns_hash(other) == hash);
    if (rows.size() == 0) continue;
    const std::size_t place = random.below(rows.size());
    other.seq_id[place] += 1;
    CHECK(op_columns_hash(other) != hash);
    other = rows;
    other.stage[place] = static_cast<std::int16_t>(other.stage[place] + 1);
    CHECK(op_columns_hash(other) != hash);
  }
}

TEST_CASE(
    "store blobs: times that are float32 values take half of what others take, and one other is enough") {
  RandomStream random(1, "narrow");
  OpTrace rows = random_rows(random, 4000, 7, true);
  const std::size_t narrow = times_blob(rows).size();
  CHECK(narrow < std::size_t{4000} * 8);
  CHECK(times_blob(random_rows(random, 4000, 7, false)).size() > narrow * 3 / 2);
  rows.duration_s[5] = 0.1;
  CHECK(times_blob(rows).size() > narrow);
  const auto read = read_rows(op_columns_blob(rows), times_blob(rows));
  REQUIRE(read);
  CHECK(is_same(*read, rows));
}

TEST_CASE("store blobs: integers of every size, and nothing else, come back") {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{64},
                                   std::int64_t{-65}, std::int64_t{1} << 40, kLeast, kMost}) {
    BlobWriter writer;
    writer(value);
    std::int64_t read = 1;
    BlobReader reader(writer.bytes());
    reader(read);
    CHECK(read == value);
    CHECK(reader.is_good());
    const std::string longer = writer.bytes() + '\0';
    BlobReader more(longer);
    more(read);
    CHECK(!more.is_good());
    BlobReader less(std::string_view(writer.bytes()).substr(1));
    less(read);
    CHECK((!less.is_good() || writer.bytes().size() > 1));
  }
}

// Every byte changed and every length: an error or another value, never more than the memory it says.
template <typename Read>
void damage(const std::string& blob, Read read) {
  for (std::size_t i = 0; i < blob.size(); i += 1 + blob.size() / 200) {
    static_cast<void>(read(blob.substr(0, i)));
    std::string changed = blob;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    static_cast<void>(read(changed));
  }
}

TEST_CASE("store blobs: damaged ones are errors or other values, and nothing else happens") {
  RandomStream random(3, "damage");
  StepResult result = random_result(random, {0, 1});
  while (result.causes.empty()) result = random_result(random, {0, 1});
  damage(layout_blob(layout_bytes(result.layout)),
         [](std::string_view blob) { return read_layout_blob(blob); });
  damage(details_blob(result), [](std::string_view blob) {
    StepResult read;
    return read_details_blob(blob, read);
  });
  damage(workers_blob(result), [](std::string_view blob) {
    StepResult read;
    return read_workers_blob(blob, read);
  });
  damage(map_blob({2, 2, {1, 2, 3, 4}}), [](std::string_view blob) { return read_map_blob(blob); });
  const OpTrace rows = random_rows(random, 50, 7, true);
  const std::string columns = op_columns_blob(rows);
  const std::string times = times_blob(rows);
  damage(columns, [&](std::string_view blob) { return read_rows(blob, times); });
  damage(times, [&](std::string_view blob) { return read_rows(columns, blob); });
  CHECK(read_map_blob("nothing of the kind").error().message() == "contains a damaged worker map");
  CHECK(read_layout_blob("x").error().message() == "contains damaged compressed data");
}

}  // namespace
}  // namespace goodput

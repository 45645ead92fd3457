#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/sweep/store/random_sweep.h"
#include "tests/traces/table/parquet_as_csv.h"
#include "tests/traces/table/sqlite_query.h"
#include "tools/sweep/results/merge_sweep.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {
namespace {

using testing::bytes_of_file;
using testing::message_of;
using testing::random_sweep;
using testing::RandomSweep;
using testing::sqlite_content;
using testing::sqlite_query;
using testing::sweep_shard;
using testing::SweepFolder;
using testing::write_bytes;
using Rows = std::vector<std::string>;

void sweep_in_shards(const RandomSweep& sweep, const std::string& dir, std::uint64_t shards) {
  for (std::uint64_t shard = shards; shard-- > 0;)
    REQUIRE(message_of(sweep_shard(sweep, dir, {shard, shards})) == "");
}

std::string merge_message(const std::string& dir) {
  const auto merged = merge_sweep(dir);
  return merged ? "" : merged.error().message();
}

// Two policies, of which one has a metric of its own and cannot run at one point; a point that cannot be.
RandomSweep two_policies() {
  const auto trial = [](bool finished, std::vector<std::optional<double>> values) {
    return TrialRow{finished, finished ? "" : "no nodes, for good", std::move(values)};
  };
  const PolicyRows ds{
      .name = "ds",
      .tier = "assumed",
      .warnings = {"saves often", "swaps"},
      .columns = {"steps", "jct_s"},
      .trials = {trial(true, {100.0, 1.5}), trial(false, {50.0, std::nullopt})},
      .estimates = {{"steps", {75, std::array{50.0, 100.0}, true}}, {"jct_s", {1.5, {}, false}}}};
  const PolicyRows own{.name = "own, really",
                       .tier = "model",
                       .columns = {"steps", "depth"},
                       .trials = {trial(true, {0.1, 3.0})},
                       .estimates = {{"steps", {0.1, {}, false}}}};
  const PolicyRows refused{.name = "own, really", .refused = "wants 8 nodes"};
  return {
      .manifest = {.grid_hash = "abc",
                   .version = "0.1.0 (test)",
                   .seed = 7,
                   .scenario = "s.json",
                   .parameters = {"/nodes", "steps", "rate"},
                   .values = {{"4", "\"few\"", "1"}, {"2", "[1, 2]", "0.5"}, {"0", "", "2"}},
                   .request = "{}"},
      .points = {{0, "00aa", "", {ds, own}}, {1, "00bb", "", {ds, refused}}, {2, "", "0 is below 1", {}}}};
}

TEST_CASE("merge: results.csv has a row a point, policy and trial, and one of what cannot be") {
  const SweepFolder folder;
  sweep_in_shards(two_policies(), folder.path(), 2);
  const auto merged = merge_sweep(folder.path());
  REQUIRE(merged);
  CHECK(merged->points == 3);
  CHECK(merged->ran == 2);
  CHECK(merged->errors == 1);
  CHECK(merged->rows == 7);
  CHECK(bytes_of_file(folder.path() + "/results.csv") ==
        "point,/"
        "nodes,vary:steps,rate,policy,trial,seed,status,reason,config_hash,version,tier,finished,stopped,"
        "steps,jct_s,depth\n"
        "0,4,few,1,ds,0,7,ok,,00aa,0.1.0 (test),assumed,1,,100,1.5,\n"
        "0,4,few,1,ds,1,7,ok,,00aa,0.1.0 (test),assumed,0,\"no nodes, for good\",50,,\n"
        "0,4,few,1,\"own, really\",0,7,ok,,00aa,0.1.0 (test),model,1,,0.1,,3\n"
        "1,2,\"[1,2]\",0.5,ds,0,7,ok,,00bb,0.1.0 (test),assumed,1,,100,1.5,\n"
        "1,2,\"[1,2]\",0.5,ds,1,7,ok,,00bb,0.1.0 (test),assumed,0,\"no nodes, for good\",50,,\n"
        "1,2,\"[1,2]\",0.5,\"own, really\",,7,refused,wants 8 nodes,00bb,0.1.0 (test),,,,,,\n"
        "2,0,,2,,,7,error,0 is below 1,,0.1.0 (test),,,,,,\n");
}

TEST_CASE("merge: summary.csv has the estimates that the points came with") {
  const SweepFolder folder;
  sweep_in_shards(two_policies(), folder.path(), 2);
  REQUIRE(merge_sweep(folder.path()));
  CHECK(bytes_of_file(folder.path() + "/summary.csv") ==
        "point,/nodes,vary:steps,rate,policy,status,reason,config_hash,version,tier,trials,finished,"
        "steps,steps_low,steps_high,jct_s,jct_s_low,jct_s_high,doubtful,warnings\n"
        "0,4,few,1,ds,ok,,00aa,0.1.0 (test),assumed,2,1,75,50,100,1.5,,,steps,saves often; swaps\n"
        "0,4,few,1,\"own, really\",ok,,00aa,0.1.0 (test),model,1,1,0.1,,,,,,,\n"
        "1,2,\"[1,2]\",0.5,ds,ok,,00bb,0.1.0 (test),assumed,2,1,75,50,100,1.5,,,steps,saves often; swaps\n"
        "1,2,\"[1,2]\",0.5,\"own, really\",refused,wants 8 nodes,00bb,0.1.0 (test),,,,,,,,,,,\n"
        "2,0,,2,,error,0 is below 1,,0.1.0 (test),,,,,,,,,,,\n");
}

TEST_CASE("merge: SQLite has the sweep, its points, trials and summary, typed") {
  const SweepFolder folder;
  sweep_in_shards(two_policies(), folder.path(), 1);
  REQUIRE(merge_sweep(folder.path()));
  const std::string file = folder.path() + "/results.sqlite";
  CHECK(sqlite_query(file, "SELECT * FROM sweep") ==
        Rows{"key|value", "schema|goodput.sweep-results/1", "version|0.1.0 (test)", "grid_hash|abc", "seed|7",
             "scenario|s.json", "points|3", "parameters|[\"/nodes\",\"steps\",\"rate\"]", "request|{}"});
  CHECK(sqlite_query(file, "SELECT * FROM points") ==
        Rows{"point|/nodes|vary:steps|rate|status|reason|config_hash", "0|4|few|1.0|ok|null|00aa",
             "1|2|[1,2]|0.5|ok|null|00bb", "2|0|null|2.0|error|0 is below 1|null"});
  CHECK(sqlite_query(
            file, "SELECT point, policy, trial, seed, status, reason, finished, steps, depth FROM trials") ==
        Rows{"point|policy|trial|seed|status|reason|finished|steps|depth", "0|ds|0|7|ok|null|1|100.0|null",
             "0|ds|1|7|ok|null|0|50.0|null", "0|own, really|0|7|ok|null|1|0.1|3.0",
             "1|ds|0|7|ok|null|1|100.0|null", "1|ds|1|7|ok|null|0|50.0|null",
             "1|own, really|null|7|refused|wants 8 nodes|null|null|null",
             "2|null|null|7|error|0 is below 1|null|null|null"});
  CHECK(sqlite_query(file,
                     "SELECT typeof(\"/nodes\"), typeof(rate), typeof(\"vary:steps\") FROM points LIMIT 1") ==
        Rows{"typeof(\"/nodes\")|typeof(rate)|typeof(\"vary:steps\")", "integer|real|text"});
  CHECK(sqlite_query(file, "SELECT count(*), sum(finished), sum(steps_high) FROM summary") ==
        Rows{"count(*)|sum(finished)|sum(steps_high)", "5|3|200.0"});
  CHECK(sqlite_query(file, "PRAGMA integrity_check") == Rows{"integrity_check", "ok"});
}

// Of a CSV file without quotes, or where they do not matter.
std::string header_of(const std::string& csv) {
  return csv.substr(0, csv.find('\n'));
}

TEST_CASE("merge: the view `results` of SQLite is results.csv") {
  const SweepFolder folder;
  sweep_in_shards(two_policies(), folder.path(), 3);
  REQUIRE(merge_sweep(folder.path()));
  const Rows rows = sqlite_query(folder.path() + "/results.sqlite", "SELECT * FROM results");
  std::string header = header_of(bytes_of_file(folder.path() + "/results.csv"));
  std::replace(header.begin(), header.end(), ',', '|');
  REQUIRE(rows.size() == 8);
  CHECK(rows[0] == header);
  CHECK(rows[2] ==
        "0|4|few|1.0|ds|1|7|ok|null|00aa|0.1.0 (test)|assumed|0|no nodes, for good|50.0|null|null");
  CHECK(rows[7] ==
        "2|0|null|2.0|null|null|7|error|0 is below 1|null|0.1.0 (test)|null|null|null|null|null|null");
}

TEST_CASE("merge: one shard, four and seven give the same files") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    INFO("seed " << seed);
    const RandomSweep sweep = random_sweep(seed, 25);
    const SweepFolder one;
    sweep_in_shards(sweep, one.path(), 1);
    const auto merged = merge_sweep(one.path());
    REQUIRE(merged);
    for (const std::uint64_t shards : {4U, 7U}) {
      const SweepFolder many;
      sweep_in_shards(sweep, many.path(), shards);
      const auto again = merge_sweep(many.path());
      REQUIRE(again);
      REQUIRE(again->files.size() == merged->files.size());
      for (std::size_t i = 0; i < merged->files.size(); ++i) {
        INFO(merged->files[i]);
        const std::string bytes = bytes_of_file(merged->files[i]);
        CHECK(!bytes.empty());
        CHECK((bytes == bytes_of_file(again->files[i])));
      }
      CHECK((sqlite_content(one.path() + "/results.sqlite") ==
             sqlite_content(many.path() + "/results.sqlite")));
    }
  }
}

#ifdef GOODPUT_HAVE_PARQUET
TEST_CASE("merge: results.parquet is results.csv with types") {
  const SweepFolder folder;
  sweep_in_shards(two_policies(), folder.path(), 2);
  REQUIRE(merge_sweep(folder.path()));
  CHECK(testing::parquet_schema(folder.path() + "/results.parquet") ==
        "point: int64\n/nodes: int64\nvary:steps: string\nrate: double\npolicy: string\ntrial: int64\n"
        "seed: int64\nstatus: string\nreason: string\nconfig_hash: string\nversion: string\ntier: string\n"
        "finished: bool\nstopped: string\nsteps: double\njct_s: double\ndepth: double");
  const SweepFolder random;
  sweep_in_shards(random_sweep(11, 25), random.path(), 2);
  REQUIRE(merge_sweep(random.path()));
  CHECK((testing::parquet_as_csv(random.path() + "/results.parquet") ==
         bytes_of_file(random.path() + "/results.csv")));
}
#endif

TEST_CASE("merge: columns stand in the order in which points bring them, whatever finished first") {
  RandomSweep sweep{.manifest = {.grid_hash = "a", .version = "v", .parameters = {"p"}}};
  const std::vector<std::vector<std::string>> columns = {{"b"}, {"a", "b"}, {"c", "a"}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    sweep.manifest.values.push_back({std::to_string(i)});
    PolicyRows policy{.name = "x", .columns = columns[i]};
    policy.trials.push_back(
        {.finished = true, .values = std::vector<std::optional<double>>(columns[i].size(), 1.0)});
    for (const std::string& column : columns[i]) policy.estimates.push_back({column, {}});
    sweep.points.push_back({.point = i, .policies = {policy}});
  }
  const SweepFolder folder;
  sweep_in_shards(sweep, folder.path(), 1);  // the last point first
  REQUIRE(merge_sweep(folder.path()));
  CHECK(header_of(bytes_of_file(folder.path() + "/results.csv")).ends_with(",stopped,b,a,c"));
  CHECK(header_of(bytes_of_file(folder.path() + "/summary.csv"))
            .ends_with(",finished,b,b_low,b_high,a,a_low,a_high,c,c_low,c_high,doubtful,warnings"));
}

TEST_CASE("merge: a seed that SQL has no integer for is text") {
  RandomSweep sweep = two_policies();
  sweep.manifest.seed = 18446744073709551615U;
  const SweepFolder folder;
  sweep_in_shards(sweep, folder.path(), 1);
  REQUIRE(merge_sweep(folder.path()));
  CHECK(sqlite_query(folder.path() + "/results.sqlite", "SELECT DISTINCT seed FROM trials") ==
        Rows{"seed", "18446744073709551615"});
}

TEST_CASE("merge: shards that are missing or not finished are named") {
  const RandomSweep sweep = random_sweep(8, 20);
  const SweepFolder folder;
  for (const std::uint64_t shard : {0U, 1U, 3U, 4U, 6U, 7U})
    REQUIRE(message_of(sweep_shard(sweep, folder.path(), {shard, 8})) == "");
  CHECK(merge_message(folder.path()) == folder.path() +
                                            ": shards 2 and 5 of 8 are missing; run the sweep with --resume "
                                            "--shard 2/8, and the other shards in the same way");
  REQUIRE(ShardJournal::open(folder.path(), sweep.manifest, {5, 8}, Existing::kRefuse));
  CHECK(merge_message(folder.path()) ==
        folder.path() +
            ": shard 2 of 8 is missing and shard 5 of 8 is not finished; run the sweep with --resume --shard "
            "2/8, and the other shards in the same way");
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), {2, 8})) == "");
  CHECK(merge_message(folder.path()) ==
        folder.path() + ": shard 5 of 8 is not finished; run the sweep with --resume --shard 5/8");
  const auto progress = sweep_progress(folder.path());
  REQUIRE(progress);
  CHECK(progress->shards == 8);
  CHECK(progress->unfinished == std::vector<std::uint64_t>{5});
  CHECK(progress->missing.empty());
  CHECK(!progress->complete());
  CHECK(!std::filesystem::exists(folder.path() + "/results.csv"));
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), {5, 8}, Existing::kResume)) == "");
  CHECK(merge_message(folder.path()) == "");
}

TEST_CASE("merge: a sweep in one piece that is not finished says how to go on") {
  const RandomSweep sweep = random_sweep(8, 5);
  const SweepFolder folder;
  REQUIRE(ShardJournal::open(folder.path(), sweep.manifest, {}, Existing::kRefuse));
  CHECK(merge_message(folder.path()) ==
        folder.path() + ": contains a sweep that has not finished; continue it with --resume");
  std::filesystem::remove(folder.path() + "/shards/0-of-1.jsonl.part");
  CHECK(merge_message(folder.path()) ==
        folder.path() + ": contains a sweep that has not started; run it with --resume");
}

TEST_CASE("merge: journals of two divisions are refused") {
  const RandomSweep sweep = random_sweep(8, 5);
  const SweepFolder folder;
  sweep_in_shards(sweep, folder.path(), 2);
  write_bytes(folder.path() + "/shards/0-of-3.jsonl", "");
  CHECK(merge_message(folder.path()) == folder.path() +
                                            "/shards: contains the files of two sweeps, one in 2 shards and "
                                            "one in 3 shards; remove the files of one sweep");
}

TEST_CASE("merge: a point in two journals is refused") {
  const RandomSweep sweep = random_sweep(8, 6);
  const SweepFolder folder;
  sweep_in_shards(sweep, folder.path(), 2);
  auto journal = ShardJournal::open(folder.path(), sweep.manifest, {1, 2}, Existing::kResume);
  REQUIRE(journal);
  REQUIRE(message_of(journal->append(sweep.points[4])) == "");  // shard_of(4, 2) is 0
  REQUIRE(message_of(journal->finish()) == "");
  CHECK(merge_message(folder.path()) ==
        folder.path() + "/shards/1-of-2.jsonl:5: contains point 4, which is also in " + folder.path() +
            "/shards/0-of-2.jsonl; remove one of the two lines");
}

TEST_CASE("merge: the journal of another sweep is refused") {
  const SweepFolder folder;
  sweep_in_shards(random_sweep(8, 6), folder.path(), 2);
  const SweepFolder other;
  sweep_in_shards(random_sweep(9, 6), other.path(), 2);
  const std::string taken = folder.path() + "/shards/1-of-2.jsonl";
  write_bytes(taken, bytes_of_file(other.path() + "/shards/1-of-2.jsonl"));
  CHECK(merge_message(folder.path()) == taken +
                                            ": is the journal of another sweep or shard; remove this file "
                                            "and run the shard again with --resume");
}

TEST_CASE("merge: of damage nothing is made of it and earlier results stay") {
  const RandomSweep sweep = random_sweep(8, 6);
  const SweepFolder folder;
  sweep_in_shards(sweep, folder.path(), 2);
  REQUIRE(merge_message(folder.path()) == "");
  const std::string results = bytes_of_file(folder.path() + "/results.csv");
  const std::string journal = folder.path() + "/shards/1-of-2.jsonl";
  std::string bytes = bytes_of_file(journal);
  bytes[bytes.size() / 2] ^= 4;
  write_bytes(journal, bytes);
  CHECK(merge_message(folder.path()).find("is damaged; remove the") != std::string::npos);
  CHECK(bytes_of_file(folder.path() + "/results.csv") == results);
}

TEST_CASE("merge: what killed merges left is removed") {
  const SweepFolder folder;
  sweep_in_shards(random_sweep(8, 6), folder.path(), 1);
  const std::string left = folder.path() + "/results.sqlite.tmp123.0";
  const std::string manifest = folder.path() + "/sweep.json.tmp123.0";
  const std::string mine = folder.path() + "/my notes.tmp";
  write_bytes(left, "x");
  write_bytes(manifest, "x");
  write_bytes(mine, "x");
  REQUIRE(merge_message(folder.path()) == "");
  CHECK(!std::filesystem::exists(left));
  CHECK(!std::filesystem::exists(manifest));
  CHECK(std::filesystem::exists(mine));
}

TEST_CASE("merge: no sweep, and results that cannot be written") {
  const SweepFolder folder;
  CHECK(merge_message(folder.path()) == folder.path() + ": does not contain a sweep (no sweep.json)");
  sweep_in_shards(random_sweep(8, 6), folder.path(), 1);
  std::filesystem::create_directory(folder.path() + "/summary.csv");
  CHECK(merge_message(folder.path()) == folder.path() + "/summary.csv: is a directory; name a file");
  CHECK(!std::filesystem::exists(folder.path() + "/results.csv"));
}

TEST_CASE("merge: without Parquet there is a note, and no older file of it") {
  const SweepFolder folder;
  sweep_in_shards(random_sweep(8, 6), folder.path(), 1);
  write_bytes(folder.path() + "/results.parquet", "old");
  const auto merged = merge_sweep(folder.path());
  REQUIRE(merged);
#ifdef GOODPUT_HAVE_PARQUET
  CHECK(merged->notes.empty());
  CHECK(merged->files.size() == 4);
  CHECK(bytes_of_file(folder.path() + "/results.parquet").starts_with("PAR1"));
#else
  CHECK(merged->notes == Rows{"no results.parquet: goodput was built without Parquet; run "
                              "./goodput-setup, rebuild and merge again"});
  CHECK(merged->files.size() == 3);
  CHECK(!std::filesystem::exists(folder.path() + "/results.parquet"));
#endif
}

}  // namespace
}  // namespace goodput

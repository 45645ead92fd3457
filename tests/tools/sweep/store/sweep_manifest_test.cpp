#include <doctest/doctest.h>

#include <barrier>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/sweep/store/random_sweep.h"
#include "tools/sweep/results/merge_sweep.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {
namespace {

using testing::bytes_of_file;
using testing::message_of;
using testing::random_sweep;
using testing::RandomSweep;
using testing::sweep_shard;
using testing::SweepFolder;
using testing::write_bytes;

Status join_sweep(const std::string& dir, const SweepManifest& manifest, Shard shard = {},
                  Existing existing = Existing::kResume) {
  GOODPUT_TRY(const ShardJournal journal, ShardJournal::open(dir, manifest, shard, existing));
  return Ok{};
}

TEST_CASE("sweep manifest: what is read is what was written, values in one form") {
  SweepManifest manifest = random_sweep(4, 3).manifest;
  manifest.values[1] = {"1e3", "-0.5", "null", "{\"b\": 1, \"a\": [true]}"};
  const SweepFolder folder;
  REQUIRE(message_of(join_sweep(folder.path(), manifest)) == "");
  const auto read = read_sweep_manifest(folder.path());
  REQUIRE(read);
  manifest.values[1] = {"1000.0", "-0.5", "", R"({"b":1,"a":[true]})"};
  manifest.request =
      "{\"until\":\"cost\xc2\xb1"
      "0.2%\"}";
  CHECK(*read == manifest);
}

TEST_CASE("sweep manifest: a second sweep on the folder is refused") {
  const RandomSweep sweep = random_sweep(4, 6);
  const SweepFolder folder;
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), {})) == "");
  const std::string refusal =
      folder.path() +
      ": already contains a sweep; continue it with --resume, or choose another folder with --out";
  CHECK(message_of(sweep_shard(sweep, folder.path(), {})) == refusal);
  const SweepFolder begun;
  REQUIRE(message_of(join_sweep(begun.path(), sweep.manifest)) == "");
  CHECK(message_of(sweep_shard(sweep, begun.path(), {})) ==
        begun.path() +
            ": already contains a sweep; continue it with --resume, or choose another folder with --out");
  const SweepFolder shards;
  REQUIRE(message_of(sweep_shard(sweep, shards.path(), {0, 2})) == "");
  REQUIRE(message_of(sweep_shard(sweep, shards.path(), {1, 2})) == "");
  CHECK(message_of(sweep_shard(sweep, shards.path(), {1, 2})) ==
        shards.path() +
            ": already contains a sweep; continue it with --resume, or choose another folder with --out");
}

TEST_CASE("sweep manifest: another sweep is refused, and what differs is said") {
  const RandomSweep sweep = random_sweep(4, 6);
  const SweepFolder folder;
  REQUIRE(message_of(join_sweep(folder.path(), sweep.manifest)) == "");
  const auto refusal = [&](auto change) {
    SweepManifest other = sweep.manifest;
    other.grid_hash = "0";
    change(other);
    const Status joined = join_sweep(folder.path(), other);
    REQUIRE(!joined);
    CHECK(joined.error().where.file == folder.path());
    return joined.error().what;
  };
  const auto grid = [](const std::string& why) {
    return "contains a different sweep (" + why + "); choose another folder with --out";
  };
  CHECK(refusal([](SweepManifest& other) { other.scenario = "b.json"; }) ==
        grid("its scenario is a scenario.json, but the scenario of this run is b.json"));
  CHECK(refusal([](SweepManifest& other) { other.seed = 7; }) ==
        grid("its seed is 4, but the seed of this run is 7"));
  CHECK(refusal([](SweepManifest& other) {
          other.parameters = {"a", "b"};
        }) == grid("it varies /policies/own/interval_steps, spares, Steps, what, but this run varies a, b"));
  CHECK(refusal([](SweepManifest& other) { other.values.pop_back(); }) ==
        grid("it has 6 points, but this run has 5"));
  CHECK(refusal([](SweepManifest&) {}) == grid("its values, trials or scenario files differ"));
  CHECK(refusal([&](SweepManifest& other) {
          other.grid_hash = sweep.manifest.grid_hash;
          other.version = "0.2.0";
        }) ==
        "contains a sweep by goodput 0.1.0 (test), but this is goodput 0.2.0; continue it with that version, "
        "or choose another folder with --out");
}

TEST_CASE("sweep manifest: shards of another number are refused") {
  const RandomSweep sweep = random_sweep(4, 6);
  const SweepFolder whole;
  REQUIRE(message_of(join_sweep(whole.path(), sweep.manifest)) == "");
  CHECK(message_of(join_sweep(whole.path(), sweep.manifest, {1, 4})) ==
        whole.path() +
            ": contains a sweep without shards, but this run is one of 4 shards; remove --shard, or choose "
            "another folder with --out");
  const SweepFolder shards;
  REQUIRE(message_of(join_sweep(shards.path(), sweep.manifest, {1, 4})) == "");
  CHECK(message_of(join_sweep(shards.path(), sweep.manifest)) ==
        shards.path() +
            ": contains a sweep in 4 shards, but this run is one of 1 shards; use --shard I/4, or choose "
            "another "
            "folder with --out");
}

TEST_CASE("sweep manifest: a folder with something else, a file and what cannot be made are refused") {
  const SweepManifest manifest = random_sweep(4, 2).manifest;
  const SweepFolder folder;
  std::filesystem::create_directory(folder.path());
  REQUIRE(message_of(join_sweep(folder.path() + "/empty/below", manifest)) == "");  // made with all above it
  CHECK(message_of(join_sweep(folder.path(), manifest)) ==
        folder.path() + ": contains other files but no sweep; choose a new folder with --out");
  const std::string file = folder.path() + "/file";
  write_bytes(file, "x");
  CHECK(message_of(join_sweep(file, manifest)) == file + ": is a file; choose a folder with --out");
  CHECK(message_of(join_sweep(file + "/below", manifest)) ==
        file + "/below: cannot create this folder: Not a directory");
  CHECK(bytes_of_file(file) == "x");
}

TEST_CASE("sweep manifest: what another shard made since nobody saw a manifest is no other file") {
  const SweepFolder folder;
  std::filesystem::create_directories(folder.path() + "/shards");
  write_bytes(folder.path() + "/sweep.json.tmp1.0", "{");
  write_bytes(folder.path() + "/merge.lock", "");
  CHECK(message_of(join_sweep(folder.path(), random_sweep(4, 2).manifest)) == "");
}

TEST_CASE("sweep manifest: no sweep, and a damaged manifest") {
  const SweepFolder folder;
  std::filesystem::create_directory(folder.path());
  const auto message = [&] {
    const auto read = read_sweep_manifest(folder.path());
    return read ? "" : read.error().message();
  };
  CHECK(message() == folder.path() + ": does not contain a sweep (no sweep.json)");
  for (const char* text : {"{", "[]", R"({"schema": "goodput.sweep-manifest/1"})", R"({"schema": 3})"}) {
    write_bytes(folder.path() + "/sweep.json", text);
    CHECK(message() ==
          folder.path() + "/sweep.json: is damaged or not a sweep manifest; use a new folder for the sweep");
  }
}

TEST_CASE("sweep manifest: of many that start at once one makes it and the others join") {
  const RandomSweep sweep = random_sweep(4, 40);
  for (int round = 0; round < 5; ++round) {
    const SweepFolder folder;
    constexpr std::uint64_t kShards = 8;
    std::vector<std::string> messages(kShards);
    std::vector<std::thread> shards;
    for (std::uint64_t shard = 0; shard < kShards; ++shard) {
      shards.emplace_back([&, shard] {
        messages[shard] = message_of(sweep_shard(sweep, folder.path(), {shard, kShards}));
      });
    }
    for (std::thread& shard : shards) shard.join();
    for (const std::string& message : messages) CHECK(message == "");
    CHECK(merge_sweep(folder.path()));
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      CHECK(entry.path().string().find(".tmp") == std::string::npos);
  }
}

// One that found no manifest may find the files of one that has made it since.
TEST_CASE("sweep manifest: files of a sweep that has just begun are no other files") {
  const RandomSweep sweep = random_sweep(4, 2);
  constexpr std::uint64_t kRacers = 8;
  constexpr int kRaces = 100;
  for (int race = 0; race < kRaces; ++race) {
    const SweepFolder folder;
    std::vector<std::string> messages(kRacers);
    std::barrier start(kRacers);
    std::vector<std::thread> racers;
    for (std::uint64_t racer = 0; racer < kRacers; ++racer) {
      racers.emplace_back([&, racer] {
        start.arrive_and_wait();
        messages[racer] = message_of(join_sweep(folder.path(), sweep.manifest, {racer, kRacers}));
      });
    }
    for (std::thread& racer : racers) racer.join();
    for (const std::string& message : messages) REQUIRE(message == "");
  }
}

}  // namespace
}  // namespace goodput

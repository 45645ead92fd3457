#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.h"
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

constexpr Shard kWhole{};

std::string part_of(const SweepFolder& folder) {
  return folder.path() + "/shards/0-of-1.jsonl.part";
}
std::string finished_of(const SweepFolder& folder) {
  return folder.path() + "/shards/0-of-1.jsonl";
}

Status open_and_leave(const SweepFolder& folder, const RandomSweep& sweep, Shard shard, Existing existing) {
  GOODPUT_TRY(const ShardJournal journal, ShardJournal::open(folder.path(), sweep.manifest, shard, existing));
  return Ok{};
}

// The journal of a sweep whose points were appended in order, not finished.
std::string begin_sweep(const SweepFolder& folder, const RandomSweep& sweep) {
  auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kRefuse);
  REQUIRE(journal);
  for (const PointRows& rows : sweep.points) REQUIRE(message_of(journal->append(rows)) == "");
  return bytes_of_file(part_of(folder));
}

std::vector<std::size_t> ends_of_lines(const std::string& text) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ends.push_back(i + 1);
  }
  return ends;
}

std::string results_without_trouble(const RandomSweep& sweep) {
  const SweepFolder folder;
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), kWhole)) == "");
  REQUIRE(merge_sweep(folder.path()));
  return bytes_of_file(folder.path() + "/results.csv");
}

TEST_CASE("shard journal: a journal cut anywhere goes on with the points whose lines are whole") {
  RandomSweep sweep = random_sweep(2, 3);
  sweep.points[0].policies = {{.name = "a", .columns = {"x"}, .trials = {{true, "", {0.25}}}}};
  sweep.points[1] = {.point = 1, .error = "cannot be"};
  sweep.points[2].policies = {{.name = "a", .refused = "does not fit"}};
  const SweepFolder folder;
  const std::string whole = begin_sweep(folder, sweep);
  const std::vector<std::size_t> ends = ends_of_lines(whole);
  REQUIRE(ends.size() == 4);
  const std::string wanted = results_without_trouble(sweep);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    INFO("cut at byte " << cut);
    write_bytes(part_of(folder), whole.substr(0, cut));
    {
      const auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kResume);
      REQUIRE(journal);
      for (std::size_t point = 0; point < 3; ++point)
        CHECK(journal->done()[point] == (ends[point + 1] <= cut));
    }
    if (cut % 53 != 0) continue;
    REQUIRE(message_of(sweep_shard(sweep, folder.path(), kWhole, Existing::kResume)) == "");
    REQUIRE(merge_sweep(folder.path()));
    CHECK(bytes_of_file(folder.path() + "/results.csv") == wanted);
    std::filesystem::remove(finished_of(folder));
  }
}

TEST_CASE("shard journal: a changed byte is refused, or its point and those behind it run again") {
  const RandomSweep sweep = random_sweep(5, 5);
  const SweepFolder folder;
  const std::string whole = begin_sweep(folder, sweep);
  const std::string wanted = results_without_trouble(sweep);
  RandomStream random(6, "journal damage");
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    const std::size_t place = random.below(whole.size());
    const auto change = static_cast<char>(1 + random.below(255));
    INFO("round " << round << ", byte " << place);
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ change);
    write_bytes(part_of(folder), damaged);
    const Status swept = sweep_shard(sweep, folder.path(), kWhole, Existing::kResume);
    if (!swept) {
      ++refused;
      CHECK(message_of(swept).find("is damaged; remove the") != std::string::npos);
      std::filesystem::remove(part_of(folder));
      continue;
    }
    REQUIRE(merge_sweep(folder.path()));
    CHECK(bytes_of_file(folder.path() + "/results.csv") == wanted);
    std::filesystem::remove(finished_of(folder));
  }
  CHECK(refused > 0);
  CHECK(refused < 60);
}

TEST_CASE("shard journal: damage in the middle is refused, and is gone with the line") {
  const RandomSweep sweep = random_sweep(5, 5);
  const SweepFolder folder;
  const std::string whole = begin_sweep(folder, sweep);
  const std::vector<std::size_t> ends = ends_of_lines(whole);
  std::string damaged = whole;
  damaged[ends[1] + 30] = '~';
  write_bytes(part_of(folder), damaged);
  CHECK(message_of(open_and_leave(folder, sweep, kWhole, Existing::kResume)) ==
        part_of(folder) +
            ":3: is damaged; remove the line and run the shard of this file again with --resume");
  CHECK(bytes_of_file(part_of(folder)) == damaged);
  write_bytes(part_of(folder), whole.substr(0, ends[1]) + whole.substr(ends[2]));
  const auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kResume);
  REQUIRE(journal);
  CHECK(journal->done() == std::vector<bool>{true, false, true, true, true});
}

TEST_CASE("shard journal: of a finished one with a line removed the point runs again") {
  const RandomSweep sweep = random_sweep(5, 5);
  const SweepFolder folder;
  begin_sweep(folder, sweep);
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), kWhole, Existing::kResume)) == "");
  const std::string whole = bytes_of_file(finished_of(folder));
  const std::vector<std::size_t> ends = ends_of_lines(whole);
  write_bytes(finished_of(folder), whole.substr(0, ends[1]) + whole.substr(ends[2]));
  const auto merged = merge_sweep(folder.path());
  REQUIRE(!merged);
  CHECK(merged.error().message() ==
        folder.path() + ": point 1 is missing from the journals; run every shard again with --resume");
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), kWhole, Existing::kResume)) == "");
  CHECK(!std::filesystem::exists(part_of(folder)));
  REQUIRE(merge_sweep(folder.path()));
  CHECK(bytes_of_file(folder.path() + "/results.csv") == results_without_trouble(sweep));
}

TEST_CASE("shard journal: damage at the end of a finished one is cut off, and it is unfinished again") {
  const RandomSweep sweep = random_sweep(5, 5);
  const SweepFolder folder;
  const std::string whole = begin_sweep(folder, sweep);
  REQUIRE(message_of(sweep_shard(sweep, folder.path(), kWhole, Existing::kResume)) == "");
  write_bytes(finished_of(folder), whole.substr(0, whole.size() - 1));
  const auto merged = merge_sweep(folder.path());
  REQUIRE(!merged);
  CHECK(merged.error().message() ==
        finished_of(folder) +
            ":6: is damaged; remove the line and run the shard of this file again with --resume");
  {
    const auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kResume);
    REQUIRE(journal);
    CHECK(journal->done() == std::vector<bool>{true, true, true, true, false});
  }
  CHECK(!std::filesystem::exists(finished_of(folder)));
}

TEST_CASE("shard journal: the journal of another sweep is refused") {
  const RandomSweep sweep = random_sweep(5, 3);
  const SweepFolder folder;
  begin_sweep(folder, sweep);
  const SweepFolder other;
  const std::string others = begin_sweep(other, random_sweep(6, 3));
  write_bytes(part_of(folder), others);
  CHECK(message_of(open_and_leave(folder, sweep, kWhole, Existing::kResume)) ==
        part_of(folder) +
            ": is the journal of another sweep or shard; remove this file and run the shard again with "
            "--resume");
}

TEST_CASE("shard journal: another writer of the shard is refused, other shards are not") {
  const RandomSweep sweep = random_sweep(5, 6);
  const SweepFolder folder;
  const auto first = ShardJournal::open(folder.path(), sweep.manifest, {2, 3}, Existing::kRefuse);
  REQUIRE(first);
  for (const Existing existing : {Existing::kRefuse, Existing::kResume}) {
    CHECK(message_of(open_and_leave(folder, sweep, {2, 3}, existing)) ==
          folder.path() + ": shard 2 of 3 is being run by another process; wait for it, or stop it");
    CHECK(message_of(open_and_leave(folder, sweep, {existing == Existing::kRefuse ? 0U : 1U, 3}, existing)) ==
          "");
  }
}

TEST_CASE("shard journal: a process that is killed leaves its points and gives the shard back") {
  const RandomSweep sweep = random_sweep(5, 4);
  const SweepFolder folder;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kRefuse);
    const bool appended = journal && journal->append(sweep.points[0]) && journal->append(sweep.points[2]);
    static_cast<void>(write(ready[1], appended ? "y" : "n", 1) == 1);
    for (;;) pause();
  }
  char answer = 'n';
  REQUIRE(read(ready[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  CHECK(message_of(open_and_leave(folder, sweep, kWhole, Existing::kResume)) ==
        folder.path() + ": is being run by another process; wait for it, or stop it");
  REQUIRE(kill(child, SIGKILL) == 0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  close(ready[0]);
  close(ready[1]);
  const auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kResume);
  REQUIRE(journal);
  CHECK(journal->done() == std::vector<bool>{true, false, true, false});
}

// A pipe that takes eight messages before the writer has to wait for the reader.
struct NarrowPipe {
  struct Message {
    std::uint64_t point = 0;
    char rest[504] = {};
  };
  int ends[2] = {-1, -1};

  NarrowPipe() { REQUIRE((pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096)); }
  ~NarrowPipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  void close_writer() { close(std::exchange(ends[1], -1)); }
  [[nodiscard]] std::optional<std::uint64_t> read_point() const {
    Message message;
    if (read(ends[0], &message, sizeof(message)) != sizeof(message)) return std::nullopt;
    return message.point;
  }
};

// Sweeps what is left and says of every point when it is appended.
[[noreturn]] void sweep_aloud(const RandomSweep& sweep, const std::string& dir, int say) {
  auto journal = ShardJournal::open(dir, sweep.manifest, kWhole, Existing::kResume);
  if (!journal) _exit(1);
  for (const PointRows& rows : sweep.points) {
    if (journal->done()[rows.point]) continue;
    if (!journal->append(rows)) _exit(1);
    const NarrowPipe::Message message{.point = rows.point};
    if (write(say, &message, sizeof(message)) != sizeof(message)) _exit(1);
  }
  _exit(journal->finish() ? 0 : 1);
}

TEST_CASE("shard journal: however often it is killed, no point that was appended is lost" *
          doctest::test_suite("slow")) {
  const RandomSweep sweep = random_sweep(13, 200);
  const SweepFolder folder;
  RandomStream random(14, "kills");
  std::vector<bool> said(200);
  int kills = 0;
  for (bool is_finished = false; !is_finished;) {
    NarrowPipe pipe;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) sweep_aloud(sweep, folder.path(), pipe.ends[1]);
    pipe.close_writer();
    const auto listen = [&] {
      const std::optional<std::uint64_t> point = pipe.read_point();
      if (point) said[*point] = true;
      return point.has_value();
    };
    for (std::uint64_t left = random.below(10); left > 0 && listen();) --left;
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    while (listen()) continue;  // what it said before its end
    is_finished = WIFEXITED(status);
    if (is_finished) {
      REQUIRE(WEXITSTATUS(status) == 0);
      break;
    }
    ++kills;
    const auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kResume);
    REQUIRE(journal);
    for (std::size_t i = 0; i < said.size(); ++i) CHECK((!said[i] || journal->done()[i]));
  }
  CHECK(kills >= 200 / 18);  // of at most 9 points that were heard, 8 in the pipe and 1 on its way
  REQUIRE(merge_sweep(folder.path()));
  CHECK(bytes_of_file(folder.path() + "/results.csv") == results_without_trouble(sweep));
}

TEST_CASE("shard journal: a point that finds no room is not there, and the rest is as it was") {
  const RandomSweep sweep = random_sweep(5, 4);
  const SweepFolder folder;
  const pid_t child = fork();  // the limit must not outlive the test
  REQUIRE(child >= 0);
  if (child == 0) {
    auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kRefuse);
    if (!journal || !journal->append(sweep.points[0])) _exit(1);
    const std::string before = bytes_of_file(part_of(folder));
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 100, before.size() + 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status appended = journal->append(sweep.points[1]);
    if (message_of(appended) != part_of(folder) + ": cannot write: File too large") _exit(2);
    _exit(bytes_of_file(part_of(folder)) == before && !journal->done()[1] ? 0 : 3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(message_of(sweep_shard(sweep, folder.path(), kWhole, Existing::kResume)) == "");
}

TEST_CASE("shard journal: a point is appended once") {
  const RandomSweep sweep = random_sweep(5, 2);
  const SweepFolder folder;
  auto journal = ShardJournal::open(folder.path(), sweep.manifest, kWhole, Existing::kRefuse);
  REQUIRE(journal);
  REQUIRE(message_of(journal->append(sweep.points[1])) == "");
  CHECK_THROWS_AS(static_cast<void>(journal->append(sweep.points[1])), InternalError);
}

TEST_CASE("shard journal: with and without .part is one too many") {
  const RandomSweep sweep = random_sweep(5, 2);
  const SweepFolder folder;
  const std::string whole = begin_sweep(folder, sweep);
  write_bytes(finished_of(folder), whole);
  CHECK(message_of(open_and_leave(folder, sweep, kWhole, Existing::kResume)) ==
        finished_of(folder) + ": exists both with and without .part; remove one of the two files");
}

}  // namespace
}  // namespace goodput

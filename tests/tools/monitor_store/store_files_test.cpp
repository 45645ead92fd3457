// Which files are taken, who may write them, and what happens when the disk does not want to.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/tools/monitor_store/random_steps.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/store_place.h"

namespace goodput {
namespace {

using testing::commit_of;
using testing::is_same;
using testing::message_in;
using testing::plain_step;
using testing::step_with_rows;
using testing::StoreFolder;

void run_sql(const std::string& file, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

void write_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

void fill(const std::string& file, std::int64_t steps) {
  auto store = MonitorStore::open(file, {});
  REQUIRE_MESSAGE(store, message_in(store));
  for (std::int64_t i = 0; i < steps; ++i)
    REQUIRE(store->commit(commit_of("job", {step_with_rows({0, i}, 100)})));
}

TEST_CASE("monitor store: a newer schema is refused for writing and for reading, and nothing is changed") {
  const StoreFolder folder;
  fill(folder.file(), 1);
  run_sql(folder.file(), "PRAGMA user_version = 4");
  const std::string said = folder.file() +
                           ": has schema version 4, but this goodput supports only versions 2 and 3; use the "
                           "goodput that wrote this file, or a newer one";
  CHECK(message_in(MonitorStore::open(folder.file(), {})) == said);
  CHECK(message_in(MonitorStore::open_for_reading(folder.file())) == said);
  run_sql(folder.file(), "PRAGMA user_version = 3");
  CHECK(MonitorStore::open(folder.file(), {}));
}

TEST_CASE("monitor store: what is no database of a monitor is refused and left alone") {
  const StoreFolder folder;
  const std::string& file = folder.file();
  SUBCASE("a database of something else") {
    run_sql(file, "CREATE TABLE t (x)");
    const std::string said = file + ": is a database of another program; use another file";
    CHECK(message_in(MonitorStore::open(file, {})) == said);
    CHECK(message_in(MonitorStore::open_for_reading(file)) == said);
  }
  const std::string damaged = file +
                              ": is damaged, or is not a database of goodput monitor; move it away, or "
                              "replace it with an intact copy";
  SUBCASE("a file that is no database") {
    write_bytes(file, "forward-compute,0,1,2\n" + std::string(5000, 'x'));
    CHECK(message_in(MonitorStore::open(file, {})) == damaged);
    CHECK(message_in(MonitorStore::open_for_reading(file)) == damaged);
    CHECK(std::filesystem::file_size(file) == 5022);
  }
  SUBCASE("a file that was cut off") {
    fill(file, 3);
    std::filesystem::resize_file(file, 3 * 4096);
    CHECK(message_in(MonitorStore::open(file, {})) == damaged);
    CHECK(message_in(MonitorStore::open_for_reading(file)) == damaged);
  }
  SUBCASE("an empty file is a new one to the writer only") {
    write_bytes(file, "");
    CHECK(message_in(MonitorStore::open_for_reading(file)) ==
          file + ": is empty; no monitor has written to it yet");
    CHECK(MonitorStore::open(file, {}));
  }
  SUBCASE("a folder, and a folder that is not there") {
    CHECK(message_in(MonitorStore::open(folder.path(), {})) ==
          folder.path() + ": cannot be used: unable to open database file (Is a directory)");
    CHECK(message_in(MonitorStore::open(folder.path() + "/no/x.db", {})) ==
          folder.path() + "/no/x.db: cannot use: No such file or directory");
    CHECK(message_in(MonitorStore::open_for_reading(folder.path() + "/x.db")) ==
          folder.path() + "/x.db: cannot read: No such file or directory");
  }
}

TEST_CASE("monitor store: names of files are taken as they are") {
  const StoreFolder folder;
  const std::string file = folder.path() + "/a?mode=memory#b %41.db";
  fill(file, 1);
  CHECK(std::filesystem::exists(file));
  CHECK(MonitorStore::open_for_reading(file));
  CHECK(database_uri("//x/y z", "") == "file:////x/y%20z");
  CHECK(database_uri("a%b", "immutable=1") == "file:a%25b?immutable=1");
}

TEST_CASE("monitor store: there is one writer at a time, here and in other processes, and it is named") {
  const StoreFolder folder;
  const std::string said =
      folder.file() + ": another process is writing to this file; stop that process, or use another file";
  {
    const auto first = MonitorStore::open(folder.file(), {});
    REQUIRE(first);
    CHECK(message_in(MonitorStore::open(folder.file(), {})) == said);
    CHECK(MonitorStore::open_for_reading(folder.file()));
  }
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = MonitorStore::open(folder.file(), {});
    const char sign = store ? 'y' : 'n';
    if (write(ready[1], &sign, 1) == 1) pause();
    _exit(1);
  }
  char sign = 0;
  REQUIRE(read(ready[0], &sign, 1) == 1);
  CHECK(sign == 'y');
  CHECK(message_in(MonitorStore::open(folder.file(), {})) == said);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  CHECK(MonitorStore::open(folder.file(), {}));  // the lock went with its process
}

TEST_CASE("monitor store: network file systems are known by their numbers") {
  CHECK(network_file_system(0x6969) == "nfs");
  CHECK(network_file_system(0xff534d42) == "cifs");
  CHECK(network_file_system(0xef53).empty());      // ext4
  CHECK(network_file_system(0x01021994).empty());  // tmpfs
  const StoreFolder folder;
  CHECK(refuse_network_folder(folder.file()));
}

// As somebody who may read but not write, where the test runs as root.
class AsNobody {
 public:
  AsNobody() : before_(setfsuid(65534)) {}
  ~AsNobody() { setfsuid(static_cast<uid_t>(before_)); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  int before_;
};

TEST_CASE("monitor store: in a folder that must not be written a closed database can be read") {
  const StoreFolder folder;
  fill(folder.file(), 3);
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0555});
  {
    const AsNobody nobody;
    CHECK(message_in(MonitorStore::open(folder.file(), {})) ==
          folder.file() + "-lock: cannot write: Permission denied");
    auto store = MonitorStore::open_for_reading(folder.file());
    REQUIRE_MESSAGE(store, message_in(store));
    const auto steps = store->steps("job", {});
    REQUIRE_MESSAGE(steps, message_in(steps));
    CHECK(steps->size() == 3);
  }
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
}

// No file may grow beyond this, as on a full disk.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_DFL);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("monitor store: a commit that finds no room changes nothing, and can be tried again") {
  const StoreFolder folder;
  auto opened = MonitorStore::open(folder.file(), {});
  REQUIRE(opened);
  MonitorStore& store = *opened;
  StepCommit first = commit_of("job", {step_with_rows({0, 1}, 100)});
  first.intake_state = "first";
  REQUIRE(store.commit(first));
  StepCommit second = commit_of("job", {step_with_rows({0, 2}, 110, 100'000)});
  second.intake_state = "second";
  second.positions = {{.path = "/logs/a"}};
  RandomStream random(1, "full disk");
  second.incidents = {testing::random_incident(random, {0, 2})};
  second.notices = {{second.incidents.front().key, IncidentEvent::kOpens}};
  second.sinks = {"hook"};
  {
    const FileLimit limit(200'000);
    for (int i = 0; i < 3; ++i) {
      const auto done = store.commit(second);
      CHECK(message_in(done) == folder.file() + ": cannot be used: disk I/O error");
      CHECK(*store.intake_state("job") == "first");
      CHECK(store.positions("job")->empty());
      CHECK(!*store.has_step("job", {0, 2}));
      CHECK(store.incidents("", false, 10)->empty());
      CHECK(store.deliveries()->empty());
      CHECK((*store.job("job"))->analysed == 1);
    }
    REQUIRE(store.commit(commit_of("job", {plain_step({0, 3}, 120)})));  // small ones still fit
  }
  const auto done = store.commit(second);
  REQUIRE_MESSAGE(done, message_in(done));
  CHECK(*store.intake_state("job") == "second");
  CHECK(is_same(**store.rows("job", {0, 2}), *second.steps.front().rows));
  CHECK(store.incidents("", false, 10)->size() == 1);
}

// ---- Killed while it commits.

// What a child stores as step `number`: all of it follows from the number.
StepCommit commit_of_number(std::int64_t number) {
  StepCommit commit = commit_of("job", {step_with_rows({0, number}, 100 + static_cast<double>(number), 200)});
  commit.positions = {{.path = "/logs/a", .offset = static_cast<std::uint64_t>(number)}};
  commit.intake_state = std::to_string(number);
  return commit;
}

[[noreturn]] void commit_until_killed(const std::string& file, int acknowledged) {
  auto store = MonitorStore::open(file, {.rows_of_last = 5});
  if (!store) _exit(1);
  const auto job = store->job("job");
  for (std::int64_t i = job && *job ? (*job)->analysed : 0;; ++i) {
    if (!store->commit(commit_of_number(i))) _exit(1);
    if (write(acknowledged, &i, sizeof(i)) != sizeof(i)) _exit(1);
    if (!store->thin_out(100 + static_cast<double>(i))) _exit(1);
  }
}

// Kills a child that commits after some of its acknowledgements and a little longer; the last one.
std::int64_t kill_at_random(const std::string& file, RandomStream& random) {
  int acknowledged[2];
  REQUIRE(pipe(acknowledged) == 0);
  const pid_t child = fork();
  if (child == 0) commit_until_killed(file, acknowledged[1]);
  close(acknowledged[1]);
  std::int64_t last = -1;
  std::int64_t number = -1;
  for (std::uint64_t i = random.below(8); i > 0; --i) {
    if (read(acknowledged[0], &number, sizeof(number)) != sizeof(number)) break;
    last = number;
  }
  usleep(static_cast<useconds_t>(random.below(3000)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (read(acknowledged[0], &number, sizeof(number)) == sizeof(number)) last = number;
  close(acknowledged[0]);
  return last;
}

TEST_CASE("monitor store: killed at random moments, it has every step it acknowledged, whole" *
          doctest::test_suite("slow")) {
  const StoreFolder folder;
  RandomStream random(7, "kills");
  std::int64_t last = -1;
  for (int kills = 0; kills < 50; ++kills) {
    INFO("kill " << kills);
    last = std::max(last, kill_at_random(folder.file(), random));
    auto opened = MonitorStore::open(folder.file(), {.rows_of_last = 5});
    REQUIRE_MESSAGE(opened, message_in(opened));
    const auto job = opened->job("job");
    REQUIRE_MESSAGE(job, message_in(job));
    const std::int64_t steps = *job ? (*job)->analysed : 0;
    CHECK(steps >= last + 1);
    if (steps == 0) continue;
    // And what it did not acknowledge any more is there as a whole or not at all.
    CHECK(*opened->intake_state("job") == std::to_string(steps - 1));
    CHECK(opened->positions("job")->front().offset == static_cast<std::uint64_t>(steps - 1));
    CHECK(static_cast<std::int64_t>(opened->steps("job", {})->size()) == steps);
    const StepCommit latest = commit_of_number(steps - 1);
    CHECK(is_same(**opened->step("job", {0, steps - 1}), latest.steps.front().result));
    CHECK(is_same(**opened->rows("job", {0, steps - 1}), *latest.steps.front().rows));
    CHECK(opened->steps_with_rows("job")->size() ==
          static_cast<std::size_t>(std::min<std::int64_t>(steps, 5)));
  }
  CHECK(last > 50);
}

}  // namespace
}  // namespace goodput

#include "tools/monitor/push_spool.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/traces/io/temporary_file.h"

namespace goodput::testing {
namespace {

namespace fs = std::filesystem;

// A spool beside a store, as of a monitor, both gone with this.
class SpoolFolder {
 public:
  SpoolFolder() : anchor_("anchor") {}

  [[nodiscard]] std::string path() const { return (root() / "spool").string(); }
  [[nodiscard]] PushSpool open() const {
    Result<PushSpool> spool = PushSpool::open(path());
    REQUIRE(spool);
    return *std::move(spool);
  }
  [[nodiscard]] MonitorStore store() const {
    Result<MonitorStore> store = MonitorStore::open((root() / "monitor.sqlite").string(), {});
    REQUIRE(store);
    return *std::move(store);
  }
  // "job/NAME" of what is there, sorted.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path())) {
      const fs::path file = entry.path().lexically_relative(path());
      if (entry.is_regular_file() && file != ".keys") files.push_back(file.string());
    }
    std::ranges::sort(files);
    return files;
  }
  [[nodiscard]] std::string journal() const {
    std::ifstream file(path() + "/.keys", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  [[nodiscard]] fs::path root() const { return fs::path(anchor_.path()).parent_path(); }

  TemporaryFile anchor_;
};

CheckedPush push_with(const std::string& key, const std::string& text = "a\n") {
  return {.job = "job", .key = push_key(key), .lines = PushedLines(text, {})};
}

void spool_push(PushSpool& spool, const std::string& key) {
  PushQueue queue(1000, {});
  REQUIRE(queue.put(push_with(key)) == PushQueue::Outcome::kTaken);
  REQUIRE(spool.take(queue));
}

bool knows(const PushSpool& spool, const std::string& key) {
  const Result<PushKeys> keys = spool.keys();
  REQUIRE(keys);
  return keys->contains({"job", push_key(key)});
}

// What the store says once all of these files is in results.
void use_up(MonitorStore& store, const std::string& folder, const std::vector<std::string>& files) {
  StepCommit commit;
  commit.job = "job";
  for (const std::string& file : files)
    commit.positions.push_back({.path = fs::canonical(folder).string() + "/" + file, .offset = 2});
  REQUIRE(store.commit(commit));
}

}  // namespace

TEST_CASE("push keys: a key is kept as a digest, and none as nothing") {
  // The first 16 bytes of the SHA-256 of "abc" (FIPS 180-2, B.1).
  CHECK(push_key("abc") == "ba7816bf8f01cfea414140de5dae2223");
  CHECK(push_key("").empty());
  CHECK(is_push_key(push_key("abc")));
  CHECK_FALSE(is_push_key("BA7816BF8F01CFEA414140DE5DAE2223"));
  CHECK_FALSE(is_push_key("ba7816"));
  PushKeys keys;
  keys.add({"job", ""});
  keys.add({"job", "k"});
  keys.add({"job", "k"});
  CHECK(keys.all() == std::vector<PushedKey>{{"job", "k"}});
  keys.remove({"job", "k"});
  CHECK_FALSE(keys.contains({"job", "k"}));
}

TEST_CASE("push spool: a key is kept with its rows, and after them") {
  const SpoolFolder folder;
  const std::string first = "job/000000000001-" + push_key("one") + ".log";
  const std::string second = "job/000000000002.log";
  {
    PushSpool spool = folder.open();
    spool_push(spool, "one");
    spool_push(spool, "");
  }
  CHECK(folder.files() == std::vector{first, second});
  CHECK(folder.journal().empty());
  PushSpool spool = folder.open();
  CHECK(knows(spool, "one"));
  CHECK_FALSE(knows(spool, "two"));
  MonitorStore store = folder.store();
  use_up(store, folder.path(), {first, second});
  REQUIRE(spool.remove_used(store));
  CHECK(folder.files().empty());
  CHECK(store.positions("job")->empty());
  CHECK(folder.journal() == push_key("one") + " job\n");
  CHECK(knows(spool, "one"));
  CHECK(knows(folder.open(), "one"));
  spool_push(spool, "three");  // a number is used once
  CHECK(folder.files() == std::vector<std::string>{"job/000000000003-" + push_key("three") + ".log"});
}

TEST_CASE("push spool: rows that are not in results yet stay") {
  const SpoolFolder folder;
  PushSpool spool = folder.open();
  spool_push(spool, "one");
  MonitorStore store = folder.store();
  REQUIRE(spool.remove_used(store));
  CHECK(folder.files().size() == 1);
  CHECK(folder.journal().empty());
}

TEST_CASE("push spool: a kill between any two steps of removing loses no key and reads no row twice") {
  const SpoolFolder folder;
  PushSpool spool = folder.open();
  spool_push(spool, "one");
  const std::vector<std::string> files = folder.files();
  MonitorStore store = folder.store();
  use_up(store, folder.path(), files);
  // Killed once the key was written: the file is there as well.
  std::ofstream(folder.path() + "/.keys") << push_key("one") << " job\n";
  PushSpool second = folder.open();
  CHECK(knows(second, "one"));
  CHECK(second.keys()->all().size() == 1);
  // Killed once the file was removed: what the store knows of it goes when the monitor starts again.
  fs::remove(folder.path() + "/" + files.front());
  PushSpool third = folder.open();
  CHECK(knows(third, "one"));
  CHECK(store.positions("job")->size() == 1);
  REQUIRE(third.forget_removed(store));
  CHECK(store.positions("job")->empty());
}

TEST_CASE("push spool: what a killed process has half-written is removed, and its key not known") {
  const SpoolFolder folder;
  { PushSpool spool = folder.open(); }
  fs::create_directory(folder.path() + "/job");
  std::ofstream(fmt::format("{}/job/.000000000001-{}.log.tmp17.0", folder.path(), push_key("one"))) << "half";
  const PushSpool spool = folder.open();
  CHECK(folder.files().empty());
  CHECK_FALSE(knows(spool, "one"));
}

TEST_CASE("push spool: a folder that cannot be used is refused before anything is made") {
  const TemporaryFile file("spool", "text");
  CHECK(PushSpool::check(file.path()).error().message() ==
        file.path() + ": cannot be used to store pushed rows: Not a directory");
  const SpoolFolder folder;
  CHECK(PushSpool::check(folder.path()));
  CHECK_FALSE(fs::exists(folder.path()));
  { PushSpool spool = folder.open(); }
  CHECK(PushSpool::check(folder.path()));
}

TEST_CASE("key journal: half a line at the end is cut off, and damaged lines are left out") {
  const std::string whole = push_key("one") + " job\n" + push_key("two") + " other\n";
  const std::string damaged = std::string(20, '\0') + "\nno key\n" + push_key("x") + " .hidden\n\n";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    CAPTURE(cut);
    const TemporaryFile file(".keys", damaged + whole.substr(0, cut));
    Result<KeyJournal> journal = KeyJournal::open(file.path());
    REQUIRE(journal);
    REQUIRE(journal->add({{"job", push_key("three")}}));
    const std::size_t kept = whole.substr(0, cut).rfind('\n') + 1;
    CHECK(file.content() == damaged + whole.substr(0, kept) + push_key("three") + " job\n");
    const auto lines = static_cast<std::size_t>(std::ranges::count(whole.substr(0, kept), '\n'));
    CHECK(journal->read()->all().size() == lines + 1);
  }
}

TEST_CASE("key journal: the file is written anew once it has far more than is kept") {
  const TemporaryFile file(".keys");
  Result<KeyJournal> journal = KeyJournal::open(file.path());
  REQUIRE(journal);
  constexpr std::size_t kAdded = 4 * KeyJournal::kSlackLines;
  std::vector<PushedKey> keys;
  for (std::size_t i = 0; i < kAdded; ++i) keys.push_back({"job", push_key(fmt::format("{}", i))});
  for (std::size_t i = 0; i < kAdded; i += 64) {
    const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(i);
    REQUIRE(journal->add({begin, begin + 64}));
    const std::string text = file.content();
    CHECK(std::ranges::count(text, '\n') <=
          static_cast<std::ptrdiff_t>(2 * PushKeys::kKeptKeys + KeyJournal::kSlackLines));
  }
  const std::vector<PushedKey> last(keys.end() - static_cast<std::ptrdiff_t>(PushKeys::kKeptKeys),
                                    keys.end());
  CHECK(journal->read()->all() == last);
  CHECK(KeyJournal::open(file.path())->read()->all() == last);
}

}  // namespace goodput::testing

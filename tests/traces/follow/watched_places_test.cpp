// What else stands in watched folders: links, pipes, files of other kinds, folders that come and go.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/traces/follow/watched_folder.h"
#include "traces/follow/followed_files.h"

namespace goodput {
namespace {

// With the folder's path as FOLDER.
News warnings_of(FollowedFiles& files, const WatchedFolder& folder) {
  News warnings = files.take_warnings();
  for (std::string& warning : warnings) {
    for (std::size_t at = 0; (at = warning.find(folder.path())) != std::string::npos;)
      warning.replace(at, folder.path().size(), "FOLDER");
  }
  return warnings;
}

TEST_CASE("watched folders: files in folders that come later are found, those of folders that go are left") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files).empty());
    CHECK(files.uses_inotify() == (watch == FollowOptions::Watch::kAuto));
    std::filesystem::create_directories(folder.at("run/node1"));
    folder.append("run/node1/a.log", "1\n");
    CHECK(read_news(files) == News{"a.log: 1\n"});
    folder.append("run/node1/a.log", "2\n");
    CHECK(read_news(files) == News{"a.log: 2\n"});
    folder.rename("run", "old");
    folder.append("old/node1/a.log", "3\n");
    CHECK(read_news(files) == News{"a.log: 3\n"});
    folder.append("old/node1/a.log", "4\n");
    CHECK(read_news(files) == News{"a.log: 4\n"});
    folder.remove("old");
    CHECK(read_news(files).empty());
    folder.append("b.log", "5\n");
    CHECK(read_news(files) == News{"b.log: 5\n"});
  }
}

TEST_CASE("watched folders: links are not followed; of those that lead out one warning says so") {
  const WatchedFolder outside;
  outside.append("secret.log", "secret\n");
  const WatchedFolder folder;
  folder.append("a.log", "1\n");
  std::filesystem::create_symlink(outside.at("secret.log"), folder.at("out.log"));
  std::filesystem::create_directory_symlink(outside.path(), folder.at("out"));
  std::filesystem::create_symlink(folder.at("a.log"), folder.at("in.log"));
  std::filesystem::create_directory_symlink(folder.path(), folder.at("loop"));
  std::filesystem::create_symlink(folder.at("nothing"), folder.at("broken.log"));
  FollowedFiles files = follow(follow_options(folder));
  CHECK(read_news(files) == News{"a.log: 1\n"});
  News warnings = warnings_of(files, folder);
  std::ranges::sort(warnings);
  const std::string why =
      ": is a link that points outside the folder FOLDER and is not followed; give the folder that it "
      "points to";
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] == "FOLDER/out.log" + why);
  CHECK(warnings[1] == "FOLDER/out" + why);
  folder.append("a.log", "2\n");
  std::filesystem::create_symlink(outside.at("secret.log"), folder.at("b.log"));
  folder.remove("b.log");
  CHECK(read_news(files) == News{"a.log: 2\n"});
  CHECK(warnings_of(files, folder).empty());
}

TEST_CASE("watched folders: a file that becomes a link out of the folder is not read there") {
  const WatchedFolder outside;
  outside.append("secret.log", "1\nsecret\n");
  const WatchedFolder folder;
  folder.append("a.log", "1\n");
  FollowOptions options = follow_options(folder);
  FollowedFiles files = follow(options);
  CHECK(read_news(files) == News{"a.log: 1\n"});
  folder.remove("a.log");
  std::filesystem::create_symlink(outside.at("secret.log"), folder.at("a.log"));
  CHECK(files.read(0)->text.empty());
  CHECK(read_news(files).empty());
}

TEST_CASE("watched folders: pipes are not opened, and what is no trace is left alone without a word") {
  const WatchedFolder folder;
  REQUIRE(mkfifo(folder.at("pipe.log").c_str(), 0600) == 0);
  folder.append("meta.yaml", "dp_size: 4\n");
  folder.append("README", "what this is\n");
  folder.append("settings.json", R"({"rules": []})");
  folder.append("a.log.tmp", "1\n");
  folder.append(".a.log.swp", "1\n");
  folder.append("state.db", std::string("SQLite format 3\0", 16) + std::string(100, '\1'));
  folder.append("own.log", "ours\n");
  std::filesystem::create_directory(folder.at(".hidden"));
  folder.append(".hidden/a.log", "1\n");
  FollowOptions options = follow_options(folder);
  options.ignored = {std::filesystem::canonical(folder.path()).string() + "/own.log"};
  FollowedFiles files = follow(options);
  CHECK(read_news(files).empty());
  CHECK(files.take_warnings().empty());
  CHECK(files.files().empty());
}

TEST_CASE("watched folders: names may be any bytes") {
  const WatchedFolder folder;
  const std::string names[] = {"<b>&.log", "new\nline.log", "\xff\xfe.log", "sp ace;'\".log"};
  for (const std::string& name : names) folder.append(name, name.substr(0, 3) + " 1\n");
  FollowedFiles files = follow(follow_options(folder));
  CHECK(read_news(files).size() == 4);
}

TEST_CASE("watched folders: one that is not there is refused, and one that goes is waited for") {
  const WatchedFolder folder;
  FollowOptions options = follow_options(folder);
  options.folders = {folder.at("none")};
  const auto none = FollowedFiles::open(options, {});
  REQUIRE_FALSE(none);
  CHECK(none.error().message() == folder.at("none") + ": cannot read the folder: No such file or directory");
  std::filesystem::create_directory(folder.at("logs"));
  options.folders = {folder.at("logs"), folder.at("logs")};  // twice is once
  FollowedFiles files = follow(options);
  folder.append("logs/a.log", "1\n");
  CHECK(read_news(files) == News{"a.log: 1\n"});
  folder.remove("logs");
  CHECK(read_news(files).empty());
  CHECK(warnings_of(files, folder) ==
        News{"FOLDER/logs: the watched folder is gone; reading resumes when it is back"});
  std::filesystem::create_directory(folder.at("logs"));
  folder.append("logs/b.log", "2\n");
  CHECK(read_news(files) == News{"b.log: 2\n"});
}

TEST_CASE("watched folders: waiting ends with a write, with a call, and with time") {
  const WatchedFolder folder;
  folder.append("a.log", "1\n");
  FollowedFiles files = follow(follow_options(folder));
  CHECK(read_news(files) == News{"a.log: 1\n"});
  files.wait(std::chrono::milliseconds{1});
  const auto begin = std::chrono::steady_clock::now();
  std::thread other([&files] { files.wake(); });
  files.wait(std::chrono::seconds{30});
  other.join();
  folder.append("a.log", "2\n");
  files.wait(std::chrono::seconds{30});
  CHECK(read_news(files) == News{"a.log: 2\n"});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{20});
}

}  // namespace
}  // namespace goodput

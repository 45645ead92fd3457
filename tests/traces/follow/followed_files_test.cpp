#include "traces/follow/followed_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/traces/follow/watched_folder.h"

namespace goodput {
namespace {

TEST_CASE("followed files: whole lines come as they are written, half of one waits for the other half") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files).empty());
    folder.append("rank3.log", "one\ntw");
    CHECK(read_news(files) == News{"rank3.log: one\n"});
    CHECK(read_news(files).empty());
    folder.append("rank3.log", "o");
    CHECK(read_news(files).empty());
    folder.append("rank3.log", "\nthree\n");
    CHECK(read_news(files) == News{"rank3.log: two\nthree\n"});
  }
}

TEST_CASE("followed files: the rest of a file is its last line without an end") {
  const WatchedFolder folder;
  folder.append("a.log", "one\ntw");
  FollowedFiles files = follow(follow_options(folder));
  CHECK(read_news(files) == News{"a.log: one\n"});
  const auto rest = files.read_rest(0);
  REQUIRE(rest);
  CHECK(rest->text == "tw");
  CHECK(rest->offset == 4);
  CHECK(rest->end == 6);
  CHECK(rest->first_line == 2);
}

TEST_CASE("followed files: a file that is renamed goes on under its new name, and the new one is another") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.log", "1\n");
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files) == News{"a.log: 1\n"});
    folder.append("a.log", "2\n3");
    folder.rename("a.log", "a.log.1");
    folder.append("a.log", "4\n");
    folder.append("a.log.1", "\n");  // by a writer that still has it open
    CHECK(read_news(files) == News{"a.log.1: 2\n3\n", "a.log: 4\n"});
    folder.rename("a.log.1", "a.log.2");
    folder.rename("a.log", "a.log.1");
    folder.append("a.log", "5\n");
    CHECK(read_news(files) == News{"a.log: 5\n"});
  }
}

TEST_CASE("followed files: a log that begins as a former one did, which is gone, is another one") {
  // Records of a rank begin with the same durations for longer than a head is: 3 parts of a log, the first
  // deleted by the second renaming.
  const std::string head(5000, 'x');
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.log", head + "1\n");
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files) == News{"a.log: " + head + "1\n"});
    folder.append("a.log", head + "2\n");
    CHECK(read_news(files) == News{"a.log: " + head + "2\n"});
    folder.rename("a.log", "a.log.1");
    folder.append("a.log", head + "3\n");
    CHECK(read_news(files) == News{"a.log: " + head + "3\n"});
    folder.rename("a.log", "a.log.1");
    folder.append("a.log", head + "4\n");
    CHECK(read_news(files) == News{"a.log: " + head + "4\n"});
  }
}

TEST_CASE("followed files: a name is of the content that has it now") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.log", "1\n");
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files) == News{"a.log: 1\n"});
    folder.rename("a.log", "a.log.1");
    folder.append("a.log", "2\n");
    CHECK(read_news(files) == News{"a.log: 2\n"});
    REQUIRE(files.files() == std::vector<FileNumber>{0, 1});
    CHECK(files.position(0).path == folder.path() + "/a.log.1");
    folder.rename("a.log", "a.log.1");  // in place of the first
    CHECK(read_news(files).empty());
    CHECK(files.position(0).path.empty());
    CHECK(files.position(0).seen == 2);
    CHECK(files.position(1).path == folder.path() + "/a.log.1");
  }
}

TEST_CASE("followed files: of files that go the latest are remembered, as many as there are others or 64") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    FollowedFiles files = follow(follow_options(folder, watch));
    constexpr FileNumber kMost = 64;
    constexpr FileNumber kParts = kMost + 10;
    for (FileNumber part = 0; part < kParts; ++part) {
      const std::string text = std::to_string(part) + "\n";
      folder.append("a.log", text);
      CHECK(read_news(files) == News{"a.log: " + text});
      folder.remove("a.log");
      CHECK(read_news(files).empty());
    }
    CHECK(files.files().size() == kMost);
    CHECK_FALSE(files.is_known(kParts - kMost - 1));
    CHECK(files.position(kParts - kMost - 1).path.empty());
    CHECK(files.is_known(kParts - kMost));
  }
}

TEST_CASE("followed files: of two owners each file is one of its own, however alike they are") {
  const WatchedFolder one;
  const WatchedFolder other;
  one.append("a.log", "1\n");
  other.append("a.log", "1\n");
  FollowOptions options = follow_options(one, FollowOptions::Watch::kPoll);
  options.folders.push_back(other.path());
  FollowedFiles files = follow(options);
  CHECK(read_news(files) == News{"a.log: 1\n", "a.log: 1\n"});
}

TEST_CASE("followed files: a copied and emptied log is the copy from where reading stood") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.log", "1\n");
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files) == News{"a.log: 1\n"});
    folder.append("a.log", "2\n");
    folder.copy_truncate("a.log", "a.log.1");
    folder.append("a.log", "new 1\nnew 2\n");
    CHECK(read_news(files) == News{"a.log.1: 2\n", "a.log: new 1\nnew 2\n"});
  }
}

TEST_CASE("followed files: a log that is emptied during a look is read to its end before it begins anew") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.log", "1\n2\n");
    FollowOptions options = follow_options(folder, watch);
    bool is_due = false;
    // Asked after the folders were looked at, before files are compared.
    options.owner_of = [&](const std::string& path) {
      if (is_due && path.ends_with("b.log")) {
        folder.copy_truncate("a.log", "a.log.1");
        folder.append("a.log", "4\n");
        is_due = false;
      }
      return std::string("job");
    };
    FollowedFiles files = follow(options);
    CHECK(read_news(files) == News{"a.log: 1\n2\n"});
    is_due = true;
    folder.append("a.log", "3\n");
    folder.append("b.log", "1\n");  // begins alike, so that a.log is looked at again
    CHECK(read_news(files) == News{"a.log.1: 3\n", "a.log: 4\n"});
    CHECK_FALSE(is_due);
  }
}

TEST_CASE("followed files: a log that is compressed while it is read goes on in the compressed file") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.log", "1\n");
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files) == News{"a.log: 1\n"});
    folder.append("a.log", "2\n");
    folder.compress("a.log");
    const News news = read_news(files);
    REQUIRE(news.size() == 1);
    CHECK(news[0].ends_with(": 2\n"));
    CHECK(read_news(files).empty());
  }
}

TEST_CASE("followed files: reading goes on where a former process stopped, what it has seen is a replay") {
  const WatchedFolder folder;
  folder.append("a.log", "1\n2\n3\n4");
  std::vector<FollowedPosition> positions;
  {
    FollowedFiles files = follow(follow_options(folder));
    CHECK(read_news(files) == News{"a.log: 1\n2\n3\n"});
    positions.push_back(files.position(0));
    CHECK(positions[0].offset == 6);
    CHECK(positions[0].seen == 6);
    CHECK(positions[0].head_bytes == 6);
  }
  positions[0].offset = 2;
  folder.rename("a.log", "a.log.1");
  folder.append("a.log.1", "\n");
  folder.append("a.log", "5\n");
  FollowedFiles files = follow(follow_options(folder), positions);
  CHECK(read_news(files) == News{"a.log.1: (2\n3\n)", "a.log.1: 4\n", "a.log: 5\n"});
}

TEST_CASE("followed files: one that is cut is gone as far as it was not read, and begins as another") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.log", "1\n2\n");
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files) == News{"a.log: 1\n2\n"});
    folder.append("a.log", "half");
    CHECK(read_news(files).empty());
    folder.write("a.log", "");
    CHECK(read_news(files) == News{"a.log is gone"});
    folder.append("a.log", "new\n");
    CHECK(read_news(files) == News{"a.log: new\n"});
    folder.write("a.log", "newer and longer than before\n");
    CHECK(read_news(files) == News{"a.log: newer and longer than before\n"});
  }
}

TEST_CASE("followed files: a deleted file is read to its end while it is open") {
  const WatchedFolder folder;
  folder.append("a.log", "1\n");
  FollowedFiles files = follow(follow_options(folder));
  CHECK(read_news(files) == News{"a.log: 1\n"});
  folder.append("a.log", "2\nrest");
  folder.remove("a.log");
  CHECK(read_news(files) == News{"a.log: 2\n", "a.log: rest"});
  CHECK(read_news(files).empty());
}

TEST_CASE("followed files: of a deleted file that is open no more the loss is told") {
  const WatchedFolder folder;
  FollowOptions options = follow_options(folder);
  options.open_files = 4;
  for (const char* name : {"a.log", "b.log", "c.log", "d.log", "e.log", "f.log"})
    folder.append(name, std::string(name) + '\n');
  FollowedFiles files = follow(options);
  files.refresh();
  for (const char* name : {"a.log", "b.log", "c.log", "d.log", "e.log", "f.log"}) folder.remove(name);
  const News news = read_news(files);
  CHECK(std::ranges::count_if(news, [](const std::string& one) { return one.ends_with("is gone"); }) == 2);
  CHECK(news.size() == 6);
}

TEST_CASE("followed files: a copy beside the original is not read, until it has something of its own") {
  for (const auto watch : kBothWays) {
    const WatchedFolder folder;
    folder.append("a.csv", "step,optype\n");
    folder.append("b.csv", "step,optype\n");
    FollowedFiles files = follow(follow_options(folder, watch));
    CHECK(read_news(files).size() == 1);
    folder.append("a.csv", "1,a\n");
    folder.append("b.csv", "1,b\n");
    const News news = read_news(files);
    REQUIRE(news.size() == 2);
    CHECK(std::ranges::find_if(news, [](const auto& one) {
            return one.ends_with("step,optype\n1,b\n") || one.ends_with("step,optype\n1,a\n");
          }) != news.end());
    CHECK(files.head(0).starts_with("step,optype\n1,"));
  }
}

TEST_CASE("followed files: parts of a log come oldest first") {
  const WatchedFolder folder;
  for (const char* name : {"a.log", "a.log.1", "a.log.10", "b.log", "a.log-20240501", "a.log.2"})
    folder.append(name, std::string(name) + '\n');
  folder.write("a.log.3.gz", WatchedFolder::gzipped_text("a.log.3\n"));
  FollowedFiles files = follow(follow_options(folder));
  files.refresh();
  News names;
  for (const FileNumber number : files.readable()) {
    names.push_back(std::filesystem::path(files.position(number).path).filename().string());
    CHECK(files.log_of(number) == folder.at(names.back().starts_with('a') ? "a.log" : "b.log"));
  }
  CHECK(names == News{"a.log-20240501", "a.log.10", "a.log.3.gz", "a.log.2", "a.log.1", "a.log", "b.log"});
  CHECK(files.unread_bytes().size() == 1);
  CHECK(files.unread_bytes().begin()->second > 50);
}

TEST_CASE("followed files: a line that is too long is left out with a warning, what follows is read") {
  const WatchedFolder folder;
  const std::string text = "one\n" + std::string((std::size_t{1} << 20) + 1, 'x') + "\nthree\n";
  folder.append("a.log", text);
  folder.write("b.log.gz", WatchedFolder::gzipped_text("b " + text));
  FollowOptions options = follow_options(folder);
  options.longest_line = std::size_t{1} << 20;
  options.piece_bytes = 1000;
  FollowedFiles files = follow(options);
  CHECK(read_news(files) == News{"a.log: one\n", "a.log: three\n", "b.log.gz: b one\n", "b.log.gz: three\n"});
  CHECK(files.take_warnings() ==
        News{folder.at("a.log") + ":2: the line is longer than 1 MiB and was skipped",
             folder.at("b.log.gz") + ":2: the line is longer than 1 MiB and was skipped"});
}

TEST_CASE("followed files: a compressed file that is damaged is read up to there, a cut one as it grows") {
  const WatchedFolder folder;
  const std::string stored = WatchedFolder::gzipped_text("one\ntwo\n");
  std::string damaged = stored;
  damaged[damaged.size() - 8] ^= 1;  // the checksum
  folder.write("a.log.gz", damaged);
  FollowedFiles files = follow(follow_options(folder));
  CHECK(read_news(files) == News{"a.log.gz: one\ntwo\n"});
  CHECK(files.take_warnings() ==
        News{folder.at("a.log.gz") +
             ": gzip data is damaged: incorrect data check; the data before that point was read"});
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "line " + std::to_string(i * 7919) + '\n';
  const std::string whole = WatchedFolder::gzipped_text(text);
  folder.append("b.log.gz", whole.substr(0, whole.size() / 2));
  std::string read;
  for (const std::string& one : read_news(files)) read += one.substr(one.find(' ') + 1);
  CHECK(read.size() > text.size() / 4);
  CHECK(files.take_warnings() ==
        News{folder.at("b.log.gz") + ": gzip data ends early; the rest is read when it arrives"});
  folder.append("b.log.gz", whole.substr(whole.size() / 2));
  for (const std::string& one : read_news(files)) read += one.substr(one.find(' ') + 1);
  CHECK(read == text);
}

TEST_CASE("followed files: a whole file is read once, by a path that cannot lead elsewhere") {
  const WatchedFolder folder;
  const std::string events = R"([{"name": "x", "ph": "X"}])";
  folder.append("trace.json", events);
  FollowedFiles files = follow(follow_options(folder));
  files.refresh();
  REQUIRE(files.readable() == std::vector<FileNumber>{0});
  const auto piece = files.read(0);
  REQUIRE(piece);
  CHECK(piece->kind == FollowedPiece::Kind::kWhole);
  CHECK(piece->end == events.size());
  std::ifstream file(piece->open_path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == events);
  CHECK_FALSE(files.position(0).is_done);
  files.set_used(0, piece->end);
  CHECK(files.position(0).is_done);
  folder.append("copy.json", events);
  folder.append("trace.json", " ");
  CHECK(read_news(files).empty());
  CHECK(files.take_warnings() == News{folder.at("trace.json") +
                                      ": has grown since it was read; files of this format are read once, so "
                                      "the new data is ignored; write raw logs, or one file per session"});
  const std::vector<FollowedPosition> positions = {files.position(0)};
  folder.write("trace.json", events);
  FollowedFiles again = follow(follow_options(folder), positions);
  CHECK(read_news(again).empty());
}

}  // namespace
}  // namespace goodput

// A writer of logs that rotates, copies, empties and compresses them at random, and a follower that is
// started again and again, against a plain model: every line is new exactly once.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "tests/traces/follow/watched_folder.h"

namespace goodput {
namespace {

// Lines carry numbers, which makes each of them one of its kind, as the times in real logs do.
class DisturbedWriter {
 public:
  DisturbedWriter(const WatchedFolder& folder, RandomStream& random) : folder_(folder), random_(random) {}

  void act() {
    const std::string log = kLogs[random_.below(std::size(kLogs))];
    switch (random_.below(8)) {
      case 0:
        return rotate(log);
      case 1:
        return copy_and_empty(log);
      case 2:
        return compress(log);
      case 3:
        return half_a_line(log);
      default:
        return whole_lines(log, 1 + random_.below(40));
    }
  }
  void finish() {
    for (const char* log : kLogs) end_line(log);
  }
  [[nodiscard]] const std::set<std::string>& lines() const { return lines_; }

 private:
  static constexpr const char* kLogs[] = {"a.log", "b.log", "deep/c.log"};

  [[nodiscard]] std::string next_line(const std::string& log) {
    const std::string line =
        log + " line " + std::to_string(lines_.size()) + std::string(random_.below(300), '.');
    lines_.insert(line);
    return line;
  }
  void end_line(const std::string& log) {
    if (halves_[log].empty()) return;
    folder_.append(log, halves_[log] + '\n');
    halves_[log].clear();
  }
  void whole_lines(const std::string& log, std::size_t count) {
    end_line(log);
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += next_line(log) + '\n';
    folder_.append(log, text);
  }
  void half_a_line(const std::string& log) {
    end_line(log);
    const std::string line = next_line(log);
    const std::size_t half = random_.below(line.size());
    folder_.append(log, line.substr(0, half));
    halves_[log] = line.substr(half);
  }
  // Renames NAME.1 to NAME.2 and so on, and NAME to NAME.1; compressed parts likewise.
  void make_room(const std::string& log) {
    end_line(log);
    for (std::size_t age = 30; age > 0; --age) {
      for (const std::string suffix : {"", ".gz"}) {
        const std::string from = log + '.' + std::to_string(age) + suffix;
        if (std::filesystem::exists(folder_.at(from)))
          folder_.rename(from, log + '.' + std::to_string(age + 1) + suffix);
      }
    }
  }
  void rotate(const std::string& log) {
    if (!std::filesystem::exists(folder_.at(log))) return;
    make_room(log);
    folder_.rename(log, log + ".1");
  }
  void copy_and_empty(const std::string& log) {
    if (!std::filesystem::exists(folder_.at(log))) return;
    make_room(log);
    folder_.copy_truncate(log, log + ".1");
  }
  void compress(const std::string& log) {
    const std::string part = log + '.' + std::to_string(1 + random_.below(3));
    if (std::filesystem::exists(folder_.at(part))) folder_.compress(part);
  }

  const WatchedFolder& folder_;
  RandomStream& random_;
  std::set<std::string> lines_;
  std::map<std::string, std::string> halves_;  // what is still to be written of a line
};

// What a process does with the lines: it uses them up some time later, and stores how far it is.
class LineKeeper {
 public:
  explicit LineKeeper(FollowOptions options) : options_(std::move(options)), files_(follow(options_)) {}

  void read_some(RandomStream& random) {
    files_.refresh();
    for (const FileNumber number : files_.readable()) {
      if (random.below(4) == 0) continue;
      for (std::size_t i = 0; i < 3; ++i) read_piece(number);
    }
  }
  void read_all() {
    for (std::size_t idle = 0; idle < 4; ++idle) {
      files_.refresh();
      for (const FileNumber number : files_.readable()) {
        while (read_piece(number)) idle = 0;
      }
    }
  }
  // Some of what was read is not used up yet.
  void restart(RandomStream& random) {
    std::vector<FollowedPosition> positions;
    for (const FileNumber number : files_.files()) {
      if (!ends_[number].empty() && random.below(2) == 0)
        files_.set_used(number, ends_[number][random.below(ends_[number].size())]);
      positions.push_back(files_.position(number));
    }
    ends_.clear();
    files_ = follow(options_, positions);
  }

  [[nodiscard]] const std::multiset<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::vector<std::string> take_warnings() { return files_.take_warnings(); }
  std::size_t unknown_replays = 0;  // lines that are said to have come before, and have not

 private:
  bool read_piece(FileNumber number) {
    auto piece = files_.read(number);
    REQUIRE(piece);
    CHECK(piece->kind == FollowedPiece::Kind::kLines);
    std::string_view text = piece->text;
    if (!text.empty()) ends_[number].push_back(piece->end);
    const bool is_empty = text.empty();
    while (!text.empty()) {
      const std::size_t newline = std::min(text.find('\n'), text.size());
      const std::string line(text.substr(0, newline));
      text.remove_prefix(std::min(newline + 1, text.size()));
      if (!piece->is_replay) lines_.insert(line);
      if (piece->is_replay && !lines_.contains(line)) ++unknown_replays;
    }
    return !is_empty;
  }

  FollowOptions options_;
  FollowedFiles files_;
  std::multiset<std::string> lines_;
  std::map<FileNumber, std::vector<std::uint64_t>> ends_;  // of pieces that are not used up
};

void check_disturbed_writer(std::uint64_t seed, FollowOptions::Watch watch) {
  CAPTURE(seed);
  CAPTURE(watch);
  RandomStream random(seed, "disturbed writer");
  const WatchedFolder folder;
  std::filesystem::create_directory(folder.at("deep"));
  FollowOptions options = follow_options(folder, watch);
  options.piece_bytes = 1 + random.below(5000);
  options.open_files = 4 + random.below(30);
  DisturbedWriter writer(folder, random);
  LineKeeper keeper(options);
  for (std::size_t i = 0; i < 60; ++i) {
    writer.act();
    if (random.below(3) == 0) keeper.read_some(random);
    if (random.below(12) == 0) keeper.restart(random);
  }
  writer.finish();
  keeper.read_all();
  CHECK(keeper.unknown_replays == 0);
  CHECK(keeper.take_warnings().empty());
  for (const std::string& line : writer.lines()) {
    if (const std::size_t times = keeper.lines().count(line); times != 1)
      FAIL_CHECK("came ", times, " times: ", line.substr(0, line.find('.', 6)));
  }
  CHECK(keeper.lines().size() == writer.lines().size());
}

TEST_CASE("followed files: whatever a writer does to its logs, every line is new exactly once") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    check_disturbed_writer(seed, seed % 2 == 0 ? FollowOptions::Watch::kAuto : FollowOptions::Watch::kPoll);
  }
}

}  // namespace
}  // namespace goodput

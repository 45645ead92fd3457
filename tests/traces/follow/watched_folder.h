// A folder that tests write logs into, and a follower of it.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/traces/io/temporary_file.h"
#include "traces/follow/followed_files.h"

namespace goodput {

using News = std::vector<std::string>;

inline constexpr FollowOptions::Watch kBothWays[] = {FollowOptions::Watch::kAuto,
                                                     FollowOptions::Watch::kPoll};

class WatchedFolder {
 public:
  [[nodiscard]] std::string path() const {
    return std::filesystem::path(file_.path()).parent_path().string();
  }
  [[nodiscard]] std::string at(std::string_view name) const { return path() + '/' + std::string(name); }

  void append(std::string_view name, std::string_view text) const {
    std::ofstream(at(name), std::ios::binary | std::ios::app) << text;
  }
  void write(std::string_view name, std::string_view text) const {
    std::ofstream(at(name), std::ios::binary | std::ios::trunc) << text;
  }
  void rename(std::string_view from, std::string_view to) const { std::filesystem::rename(at(from), at(to)); }
  void remove(std::string_view name) const { std::filesystem::remove_all(at(name)); }
  // As logrotate's copytruncate does.
  void copy_truncate(std::string_view from, std::string_view to) const {
    std::filesystem::copy_file(at(from), at(to));
    std::filesystem::resize_file(at(from), 0);
  }
  // As gzip does.
  void compress(std::string_view name) const {
    write(std::string(name) + ".gz", gzipped_text(content(name)));
    remove(name);
  }
  [[nodiscard]] std::string content(std::string_view name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] static std::string gzipped_text(const std::string& text) {
    const TemporaryFile file("t.gz");
    gzFile out = gzopen(file.path().c_str(), "wb");
    if (!text.empty()) gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose_w(out);
    return file.content();
  }

 private:
  TemporaryFile file_ = TemporaryFile("none");
};

// Nothing settles: what is there is taken as it is. Polls at every look.
[[nodiscard]] inline FollowOptions follow_options(const WatchedFolder& folder,
                                                  FollowOptions::Watch watch = FollowOptions::Watch::kAuto) {
  FollowOptions options;
  options.folders = {folder.path()};
  options.watch = watch;
  options.poll_every = options.settle = std::chrono::milliseconds{0};
  return options;
}

[[nodiscard]] inline FollowedFiles follow(const FollowOptions& options,
                                          const std::vector<FollowedPosition>& known = {}) {
  auto files = FollowedFiles::open(options, known);
  REQUIRE(files);
  return *std::move(files);
}

// All that is new, as "NAME: TEXT" pieces in the order in which they came; replays in brackets.
[[nodiscard]] inline News read_news(FollowedFiles& files) {
  News news;
  for (std::size_t round = 0; round < 3; ++round) {  // what moves is found in the next look
    files.refresh();
    for (const FileNumber number : files.readable()) {
      while (true) {
        const auto piece = files.read(number);
        REQUIRE(piece);
        const std::string name = std::filesystem::path(piece->path).filename().string();
        if (piece->kind == FollowedPiece::Kind::kWhole) news.push_back(name + " is whole");
        if (piece->kind == FollowedPiece::Kind::kGone) news.push_back(name + " is gone");
        files.set_used(number, piece->end);
        if (piece->text.empty()) break;
        const std::string text(piece->text);
        news.push_back(name + ": " + (piece->is_replay ? '(' + text + ')' : text));
      }
    }
  }
  return news;
}

}  // namespace goodput

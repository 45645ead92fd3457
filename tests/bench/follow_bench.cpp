// What following files costs: reading lines from the page cache, and looking when nothing happened, and
// finding out who is who after a rotation.
//   follow_bench FOLDER    writes some 2 GB below FOLDER, which it makes
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "traces/follow/followed_files.h"

namespace {

using goodput::FollowedFiles;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void write_logs(const std::string& folder, std::size_t files, std::size_t bytes, std::size_t line_bytes) {
  const std::string line = std::string(line_bytes - 9, 'x');
  for (std::size_t file = 0; file < files; ++file) {
    const std::string path = fmt::format("{}/job{}/rank{}.log", folder, file / 64, file % 64);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream out(path, std::ios::binary);
    for (std::size_t i = 0; i < bytes / line_bytes; ++i)
      out << fmt::format("{:08}", (file << 20) + i) << line << '\n';
  }
}

struct Reading {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
};

Reading read_all(FollowedFiles& files) {
  Reading reading;
  for (const goodput::FileNumber number : files.readable()) {
    while (true) {
      const auto piece = files.read(number);
      if (!piece || piece->text.empty()) break;
      reading.bytes += piece->text.size();
      const char* at = piece->text.data();
      const char* end = at + piece->text.size();
      while (const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
        ++reading.lines;
        at = static_cast<const char*>(newline) + 1;
      }
    }
  }
  return reading;
}

void measure(const std::string& folder, std::size_t line_bytes) {
  std::filesystem::remove_all(folder);
  constexpr std::size_t kFiles = 1280;
  write_logs(folder, kFiles, std::size_t{1'600'000}, line_bytes);
  goodput::FollowOptions options;
  options.folders = {folder};
  auto files = FollowedFiles::open(options, {});
  if (!files) return fmt::print("{}\n", files.error().message());
  auto begin = Clock::now();
  files->refresh();
  fmt::print("lines of {} bytes: first look at {} files {:.1f} ms", line_bytes, kFiles,
             seconds_since(begin) * 1e3);
  begin = Clock::now();
  const Reading reading = read_all(*files);
  const double took = seconds_since(begin);
  fmt::print(", read {:.0f} MB, {} lines, {:.2f} GB/s", static_cast<double>(reading.bytes) / 1e6,
             reading.lines, static_cast<double>(reading.bytes) / 1e9 / took);
  constexpr int kLooks = 10'000;
  begin = Clock::now();
  for (int i = 0; i < kLooks; ++i) files->refresh();
  fmt::print(", look without news {:.2f} us", seconds_since(begin) / kLooks * 1e6);
  begin = Clock::now();
  std::size_t readable = 0;
  for (int i = 0; i < 100; ++i) readable += files->readable().size();
  fmt::print(", readable() {:.1f} us ({})\n", seconds_since(begin) / 100 * 1e6, readable);
  std::filesystem::remove_all(folder);
}

// All logs become .1, the .1 before .2 and so on; then a process that begins anew finds its way.
void measure_rotation(const std::string& folder) {
  std::filesystem::remove_all(folder);
  constexpr std::size_t kFiles = 1280;
  constexpr std::size_t kParts = 5;
  goodput::FollowOptions options;
  options.folders = {folder};
  std::filesystem::create_directories(folder);
  auto files = FollowedFiles::open(options, {});
  if (!files) return fmt::print("{}\n", files.error().message());
  const auto path = [&](std::size_t file, std::size_t part) {
    return fmt::format("{}/job{}/rank{}.log", folder, file / 64, file % 64) +
           (part == 0 ? std::string() : fmt::format(".{}", part));
  };
  fmt::print("{} logs rotate, parts of each / ms to see who is who:", kFiles);
  for (std::size_t rotation = 0; rotation < kParts; ++rotation) {
    for (std::size_t file = 0; file < kFiles; ++file) {
      for (std::size_t part = rotation; part > 0; --part)
        std::filesystem::rename(path(file, part - 1), path(file, part));
      std::filesystem::create_directories(std::filesystem::path(path(file, 0)).parent_path());
      std::ofstream out(path(file, 0), std::ios::binary);
      for (std::size_t line = 0; line < 20; ++line)
        out << fmt::format("[rank={} rotation={} line={}] {}\n", file, rotation, line, std::string(300, 'x'));
    }
    const auto begin = Clock::now();
    files->refresh();
    fmt::print(" {} / {:.0f}", rotation + 1, seconds_since(begin) * 1e3);
    (void)read_all(*files);
    for (const goodput::FileNumber number : files->files())
      files->set_used(number, files->position(number).seen);
  }
  std::vector<goodput::FollowedPosition> known;
  for (const goodput::FileNumber number : files->files()) known.push_back(files->position(number));
  const auto begin = Clock::now();
  auto again = FollowedFiles::open(options, known);
  if (!again) return fmt::print("{}\n", again.error().message());
  again->refresh();
  fmt::print("; a process that begins anew {:.0f} ms, {} files to read\n", seconds_since(begin) * 1e3,
             again->readable().size());
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  measure(std::string(argv[1]) + "/follow_bench", 4000);
  measure(std::string(argv[1]) + "/follow_bench", 60);
  measure_rotation(std::string(argv[1]) + "/follow_bench");
  return 0;
}

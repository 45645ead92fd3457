#include "tools/monitor/push_spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "sim/base/text.h"
#include "tools/cli/output_file.h"
#include "traces/io/byte_sink.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

Error cannot_use(const fs::path& path, const std::error_code& why) {
  return {fmt::format("cannot be used for what is pushed: {}", why.message()), {.file = path.string()}};
}

// The number in a file's name, or 0.
std::uint64_t number_of(const fs::path& file) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, parse_integer(file.stem().string()).value_or(0)));
}

Result<std::vector<fs::path>> files_below(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->is_regular_file(failed)) files.push_back(at->path());
  }
  if (failed) return cannot_use(folder, failed);
  return files;
}

}  // namespace

Result<PushSpool> PushSpool::open(std::string folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return cannot_use(folder, failed);
  fs::permissions(folder, fs::perms::owner_all, failed);
  if (failed) return cannot_use(folder, failed);
  folder = fs::canonical(folder, failed).string();
  if (failed) return cannot_use(folder, failed);
  GOODPUT_TRY(const std::vector<fs::path> files, files_below(folder));
  std::uint64_t next = 1;
  for (const fs::path& file : files) next = std::max(next, number_of(file) + 1);
  return PushSpool(std::move(folder), next);
}

Status PushSpool::take(PushQueue& queue) {
  while (std::optional<CheckedPush> push = queue.take()) {
    Status written = write(*push);
    if (!written) {
      queue.give_up(*push);
      return written;
    }
    queue.finish(*push);
  }
  return Ok{};
}

// As one file, which is there whole or not at all.
Status PushSpool::write(CheckedPush& push) {
  const fs::path job = fs::path(folder_) / push.job;
  std::error_code failed;
  fs::create_directories(job, failed);
  if (failed) return cannot_use(job, failed);
  const std::string path = job / fmt::format("{:012}.{}", next_, push.is_csv ? "csv" : "log");
  GOODPUT_TRY_STATUS(write_file_atomically(path, [&](const std::string& temporary) -> Status {
    GOODPUT_TRY(ByteSink sink, ByteSink::open(temporary, path));
    while (true) {
      GOODPUT_TRY(const std::optional<std::string> piece, push.lines.next());
      if (!piece) return sink.close();
      GOODPUT_TRY_STATUS(sink.write(*piece));
    }
  }));
  ++next_;
  return Ok{};
}

Status PushSpool::remove_used(MonitorStore& store) const {
  GOODPUT_TRY(const std::vector<fs::path> files, files_below(folder_));
  std::string job;
  std::vector<FilePosition> positions;
  for (const fs::path& file : files) {
    if (file.parent_path().filename() != job) {
      job = file.parent_path().filename().string();
      GOODPUT_TRY(positions, store.positions(job));
    }
    const auto known = std::ranges::find(positions, file.string(), &FilePosition::path);
    std::error_code failed;
    if (known == positions.end() || known->offset < fs::file_size(file, failed) || failed) continue;
    GOODPUT_TRY_STATUS(store.forget_position(job, file.string()));
    fs::remove(file, failed);
  }
  return Ok{};
}

}  // namespace goodput

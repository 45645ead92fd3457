#include "tools/monitor/push_spool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "sim/base/text.h"
#include "tools/cli/output_file.h"
#include "traces/io/byte_sink.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournalName = ".keys";

Error cannot_use(const fs::path& path, const std::error_code& why) {
  return {fmt::format("cannot be used to store pushed rows: {}", why.message()), {.file = path.string()}};
}

struct SpooledFile {
  fs::path path;
  std::uint64_t number = 0;  // 0: this is not a push
  PushedKey pushed;
};

SpooledFile spooled_file(fs::path path) {
  const std::string stem = path.stem().string();
  const std::size_t dash = std::min(stem.find('-'), stem.size());
  const std::string key = stem.substr(std::min(dash + 1, stem.size()));
  const std::int64_t number = parse_integer(std::string_view(stem).substr(0, dash)).value_or(0);
  SpooledFile file{std::move(path), static_cast<std::uint64_t>(std::max<std::int64_t>(0, number)), {}};
  file.pushed = {file.path.parent_path().filename().string(), is_push_key(key) ? key : std::string()};
  return file;
}

// Those of all jobs, in the order in which they came.
Result<std::vector<SpooledFile>> files_below(const fs::path& folder) {
  std::vector<SpooledFile> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->is_regular_file(failed) && at->path().parent_path() != folder)
      files.push_back(spooled_file(at->path()));
  }
  if (failed) return cannot_use(folder, failed);
  std::ranges::sort(files, {}, [](const SpooledFile& file) { return std::pair(file.number, file.path); });
  return files;
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace

Status PushSpool::check(const std::string& folder) {
  std::error_code failed;
  const fs::file_status status = fs::status(folder, failed);
  if (status.type() == fs::file_type::not_found) return Ok{};
  if (failed) return cannot_use(folder, failed);
  if (!fs::is_directory(status)) return cannot_use(folder, std::make_error_code(std::errc::not_a_directory));
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
    return cannot_use(folder, std::error_code(errno, std::generic_category()));
  return Ok{};
}

Result<PushSpool> PushSpool::open(std::string folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return cannot_use(folder, failed);
  fs::permissions(folder, fs::perms::owner_all, failed);
  if (failed) return cannot_use(folder, failed);
  folder = fs::canonical(folder, failed).string();
  if (failed) return cannot_use(folder, failed);
  GOODPUT_TRY(KeyJournal journal, KeyJournal::open(folder + "/" + std::string(kJournalName)));
  GOODPUT_TRY(const std::vector<SpooledFile> files, files_below(folder));
  std::uint64_t next = 1;
  for (const SpooledFile& file : files) {
    next = std::max(next, file.number + 1);
    if (file.path.filename().string().starts_with('.')) fs::remove(file.path, failed);
  }
  // Folders of jobs, too, that a former process made.
  GOODPUT_TRY_STATUS(sync_folder(folder));
  GOODPUT_TRY_STATUS(sync_folder(folder_of(folder)));
  return PushSpool(std::move(folder), next, std::move(journal));
}

Result<PushKeys> PushSpool::keys() const {
  GOODPUT_TRY(PushKeys keys, journal_.read());
  GOODPUT_TRY(const std::vector<SpooledFile> files, files_below(folder_));
  for (const SpooledFile& file : files) keys.add(file.pushed);
  return keys;
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
  const bool is_new_job = fs::create_directories(job, failed);
  if (failed) return cannot_use(job, failed);
  if (is_new_job) {
    if (Status synced = sync_folder(folder_); !synced) {
      fs::remove(job, failed);
      return synced;
    }
  }
  const std::string key = push.key.empty() ? "" : "-" + push.key;
  const std::string path = job / fmt::format("{:012}{}.{}", next_, key, push.is_csv ? "csv" : "log");
  Status written = write_file_atomically(path, [&](const std::string& temporary) -> Status {
    GOODPUT_TRY(ByteSink sink, ByteSink::open(temporary, path));
    while (true) {
      GOODPUT_TRY(const std::optional<std::string> piece, push.lines.next());
      if (!piece) return sink.close();
      GOODPUT_TRY_STATUS(sink.write(*piece));
    }
  });
  if (!written) {
    fs::remove(path, failed);  // it may have its name, and not be sure to keep it
    return written;
  }
  ++next_;
  return Ok{};
}

Status PushSpool::remove_used(MonitorStore& store) {
  GOODPUT_TRY(const std::vector<SpooledFile> files, files_below(folder_));
  std::map<std::string, std::vector<FilePosition>> positions;
  std::vector<const SpooledFile*> used;
  std::vector<PushedKey> keys;
  std::set<std::string> folders;
  for (const SpooledFile& file : files) {
    const auto [of_job, is_new] = positions.try_emplace(file.pushed.job);
    if (is_new) {
      GOODPUT_TRY(of_job->second, store.positions(file.pushed.job));
    }
    const auto known = std::ranges::find(of_job->second, file.path.string(), &FilePosition::path);
    std::error_code failed;
    if (known == of_job->second.end() || known->offset < fs::file_size(file.path, failed) || failed) continue;
    used.push_back(&file);
    folders.insert(file.path.parent_path());
    if (!file.pushed.key.empty()) keys.push_back(file.pushed);
  }
  GOODPUT_TRY_STATUS(journal_.add(keys));
  // A file that came back without its position would be read again.
  for (const SpooledFile* file : used) {
    std::error_code failed;
    fs::remove(file->path, failed);
    if (failed) return cannot_use(file->path, failed);
  }
  for (const std::string& folder : folders) GOODPUT_TRY_STATUS(sync_folder(folder));
  for (const SpooledFile* file : used)
    GOODPUT_TRY_STATUS(store.forget_position(file->pushed.job, file->path.string()));
  return Ok{};
}

Status PushSpool::forget_removed(MonitorStore& store) const {
  GOODPUT_TRY(const std::vector<JobInfo> jobs, store.jobs());
  for (const JobInfo& job : jobs) {
    GOODPUT_TRY(const std::vector<FilePosition> positions, store.positions(job.name));
    for (const FilePosition& position : positions) {
      std::error_code failed;
      const bool is_spooled = position.path.starts_with(folder_ + "/");
      if (is_spooled && !fs::exists(position.path, failed) && !failed)
        GOODPUT_TRY_STATUS(store.forget_position(job.name, position.path));
    }
  }
  return Ok{};
}

}  // namespace goodput

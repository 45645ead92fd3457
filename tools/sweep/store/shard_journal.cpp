#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/sweep/store/journal_file.h"
#include "tools/sweep/store/journal_line.h"
#include "tools/sweep/store/sweep_folder.h"
#include "tools/sweep/store/sweep_manifest.h"
#include "tools/sweep/store/sweep_paths.h"
#include "traces/io/file_descriptor.h"

namespace goodput {
namespace {

// A power cut may take what was not synced. What it takes is run again, so a write a point need not wait for
// the disk.
constexpr std::chrono::seconds kSyncEvery{5};

constexpr std::string_view kHoldsSweep =
    "already contains a sweep; continue it with --resume, or choose another folder with --out";

JournalHeader header_of(const SweepManifest& manifest, Shard shard) {
  return {manifest.grid_hash, manifest.version, shard.index, shard.count};
}

Status sync(const FileDescriptor& file, const std::string& path) {
  if (fdatasync(file.number()) != 0 && errno != EINVAL) return cannot("write", path);  // EINVAL: no disk
  return Ok{};
}

Status rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return cannot("write", to);
  return Ok{};
}

// The folder is one of a sweep in another number of shards.
Error other_shards(const std::string& dir, std::uint64_t there, std::uint64_t here) {
  if (there == 1) {
    return Error{
        fmt::format("contains a sweep without shards, but this run is one of {} shards; remove --shard, or "
                    "choose another folder with --out",
                    here),
        {.file = dir}};
  }
  return Error{fmt::format("contains a sweep in {} shards, but this run is one of {} shards; use --shard "
                           "I/{}, or choose another folder with --out",
                           there, here, there),
               {.file = dir}};
}

// Whether this shard has begun; an error where others are of another number of shards.
Result<bool> has_begun(const std::string& dir, Shard shard) {
  GOODPUT_TRY(const std::vector<FoundJournal> journals, find_journals(dir));
  std::size_t own = 0;
  for (const FoundJournal& journal : journals) {
    if (journal.shard.count != shard.count) return other_shards(dir, journal.shard.count, shard.count);
    if (journal.shard == shard) ++own;
  }
  if (own > 1)
    return Error{"exists both with and without .part; remove one of the two files",
                 {.file = finished_path(dir, shard)}};
  return own == 1;
}

// Fails where another process has it.
Result<FileDescriptor> lock_shard(const std::string& dir, Shard shard) {
  GOODPUT_TRY(std::optional<FileDescriptor> lock, lock_file(lock_path(dir, shard), Lock::kTry));
  if (lock) return *std::move(lock);
  const std::string which = shard.count == 1 ? "" : fmt::format("shard {} of {} ", shard.index, shard.count);
  return Error{which + "is being run by another process; wait for it, or stop it", {.file = dir}};
}

// How much of a journal can be kept.
struct JournalContent {
  std::uint64_t bytes = 0;
  std::vector<bool> done;
};

// Up to the first line that is not whole; an error where whole ones follow.
Result<JournalContent> read_journal(const std::string& path, const JournalHeader& want, std::size_t points) {
  GOODPUT_TRY(JournalFile file, JournalFile::open(path));
  JournalContent content{.bytes = 0, .done = std::vector<bool>(points)};
  JournalLineReader reader;
  std::optional<Error> damage;
  for (;;) {
    GOODPUT_TRY(const std::optional<JournalLine> line, file.next());
    if (!line) return content;
    if (!line->is_intact) {
      if (!damage) damage = damaged_line(path, line->number);
      continue;
    }
    if (damage) return *damage;
    if (line->number == 1) {
      if (reader.header(line->text) != want) return foreign_journal(path);
    } else {
      const auto rows = reader.point(line->text, JournalLineReader::Part::kAllButTrials);
      if (!rows || rows->point >= points || content.done[rows->point])
        return damaged_line(path, line->number);
      content.done[rows->point] = true;
    }
    content.bytes = line->offset + line->text.size() + 1;
  }
}

}  // namespace

Result<ShardJournal> ShardJournal::open(const std::string& dir, const SweepManifest& manifest, Shard shard,
                                        Existing existing) {
  GOODPUT_CHECK(shard.index < shard.count, "the shard number is beyond the last shard");
  GOODPUT_TRY(const bool is_new, claim_folder(dir, manifest));
  std::error_code failed;
  std::filesystem::create_directories(shards_path(dir), failed);
  if (failed)
    return Error{fmt::format("cannot create this folder: {}", failed.message()), {.file = shards_path(dir)}};
  GOODPUT_TRY(FileDescriptor lock, lock_shard(dir, shard));
  GOODPUT_TRY(const bool begun, has_begun(dir, shard));
  // Only shards of one sweep may come to a folder one after the other.
  if (existing == Existing::kRefuse && (begun || (!is_new && shard.count == 1)))
    return Error{std::string(kHoldsSweep), {.file = dir}};
  ShardJournal journal(part_path(dir, shard), finished_path(dir, shard), std::move(lock));
  if (begun) GOODPUT_TRY_STATUS(journal.resume(manifest, shard));
  if (journal.bytes_ == 0) GOODPUT_TRY_STATUS(journal.begin(manifest, shard));
  journal.synced_ = std::chrono::steady_clock::now();
  return journal;
}

Status ShardJournal::resume(const SweepManifest& manifest, Shard shard) {
  std::error_code failed;
  is_finished_ = std::filesystem::exists(finished_, failed);
  const std::string& path = is_finished_ ? finished_ : part_;
  GOODPUT_TRY(JournalContent content, read_journal(path, header_of(manifest, shard), manifest.values.size()));
  bytes_ = content.bytes;
  done_ = std::move(content.done);
  GOODPUT_TRY(file_, open_file(path, O_WRONLY | O_APPEND));
  const bool is_whole = std::filesystem::file_size(path, failed) == bytes_;
  if (!is_whole && ftruncate(file_.number(), static_cast<off_t>(bytes_)) != 0) return cannot("write", path);
  return is_whole ? Status(Ok{}) : reopen();
}

Status ShardJournal::begin(const SweepManifest& manifest, Shard shard) {
  GOODPUT_TRY(file_, open_file(part_, O_WRONLY | O_CREAT | O_APPEND));
  done_.assign(manifest.values.size(), false);
  return write_line(journal_line(header_of(manifest, shard)));
}

Status ShardJournal::reopen() {
  if (!is_finished_) return Ok{};
  GOODPUT_TRY_STATUS(rename_file(finished_, part_));
  is_finished_ = false;
  return Ok{};
}

Status ShardJournal::write_line(std::string_view line) {
  if (Status written = write_all(file_, part_, line); !written) {
    // What there is of it would be cut off at the next start anyway.
    static_cast<void>(ftruncate(file_.number(), static_cast<off_t>(bytes_)));
    return written;
  }
  bytes_ += line.size();
  return Ok{};
}

Status ShardJournal::append(const PointRows& rows) {
  GOODPUT_CHECK(rows.point < done_.size() && !done_[rows.point],
                "the point is already done, or is not part of the sweep");
  GOODPUT_TRY_STATUS(reopen());
  GOODPUT_TRY_STATUS(write_line(journal_line(rows)));
  done_[rows.point] = true;
  const auto now = std::chrono::steady_clock::now();
  if (now - synced_ < kSyncEvery) return Ok{};
  synced_ = now;
  return sync(file_, part_);
}

Status ShardJournal::finish() {
  if (is_finished_) return Ok{};
  GOODPUT_TRY_STATUS(sync(file_, part_));
  GOODPUT_TRY_STATUS(rename_file(part_, finished_));
  is_finished_ = true;
  return Ok{};
}

}  // namespace goodput

// What the folder of a sweep holds while it runs: a manifest and a journal a shard.
// docs/formats/sweep-results.md describes the files.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "tools/sweep/store/point_rows.h"
#include "traces/io/file_descriptor.h"

namespace goodput {

// What a folder is a sweep of.
struct SweepManifest {
  std::string grid_hash{};  // of design, scenario and its files, seed, trials, until
  std::string version{};    // of goodput, with the revision
  std::uint64_t seed = 0;
  std::string scenario{};                          // as named, for people
  std::vector<std::string> parameters{};           // what varies
  std::vector<std::vector<std::string>> values{};  // by point: JSON by parameter; empty: not set
  std::string request{"null"};                     // anything else, JSON: kept, and given back

  friend bool operator==(const SweepManifest&, const SweepManifest&) = default;
};

// The folder's. Fails where it holds no sweep.
Result<SweepManifest> read_sweep_manifest(const std::string& dir);

// Part `index` of `count` of the points. REQUIRES, wherever there is one: index < count.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

enum class Existing { kRefuse, kResume };

// The journal of one shard while it runs: a line a finished point, in the order in which they finish. One
// process has it at a time, and a process that dies, however it does, gives it back.
class ShardJournal {
 public:
  // Makes the folder, if need be, and its manifest. A folder that holds the same sweep already is joined by
  // shards that have not begun; with kResume also by those that have: a last line without its end is cut
  // off. Fails where the folder holds something else, another process has the shard, or a line is damaged
  // that others follow.
  static Result<ShardJournal> open(const std::string& dir, const SweepManifest& manifest, Shard shard,
                                   Existing existing);

  // By point: in this journal already.
  [[nodiscard]] const std::vector<bool>& done() const { return done_; }

  // Once it returns, the point outlives this process; the machine, once a later call or finish() has waited
  // for the disk, which one does every 5 s. Where it fails for want of room the journal is as it was. From
  // one thread at a time. REQUIRES: a point of the sweep that is not done.
  Status append(const PointRows& rows);

  // Says that all points of the shard are there. May be called again.
  Status finish();

 private:
  ShardJournal(std::string part, std::string finished, FileDescriptor lock)
      : part_(std::move(part)), finished_(std::move(finished)), lock_(std::move(lock)) {}
  Status begin(const SweepManifest& manifest, Shard shard);
  Status resume(const SweepManifest& manifest, Shard shard);
  Status reopen();
  Status write_line(std::string_view line);

  std::string part_;      // the file while it grows
  std::string finished_;  // and when all is there
  FileDescriptor lock_;
  FileDescriptor file_;
  bool is_finished_ = false;
  std::uint64_t bytes_ = 0;
  std::vector<bool> done_;
  std::chrono::steady_clock::time_point synced_;
};

// Which shards of a folder are not finished.
struct SweepProgress {
  std::uint64_t shards = 0;                 // 0: none has begun
  std::vector<std::uint64_t> unfinished{};  // have begun
  std::vector<std::uint64_t> missing{};     // have not

  [[nodiscard]] bool complete() const { return shards > 0 && unfinished.empty() && missing.empty(); }
};
Result<SweepProgress> sweep_progress(const std::string& dir);

}  // namespace goodput

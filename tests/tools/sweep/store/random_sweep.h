// Sweeps whose points are random rows, for tests of how they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput::testing {

struct RandomSweep {
  SweepManifest manifest{};
  std::vector<PointRows> points{};
};

// Points with errors, refused policies, policies with other columns, nulls, text that wants quotes, and
// numbers of every size among them.
[[nodiscard]] RandomSweep random_sweep(std::uint64_t seed, std::size_t points);

// To the bit.
[[nodiscard]] bool is_same(const PointRows& a, const PointRows& b);

// Which shard has a point.
[[nodiscard]] inline std::uint64_t shard_of(std::uint64_t point, std::uint64_t shards) {
  return point * 7 % shards;
}

// Sweeps the points of one shard, the later ones first, and finishes.
Status sweep_shard(const RandomSweep& sweep, const std::string& dir, Shard shard,
                   Existing existing = Existing::kRefuse);

// A folder that goes with this; it does not exist yet.
class SweepFolder {
 public:
  SweepFolder();
  ~SweepFolder();
  SweepFolder(const SweepFolder&) = delete;
  SweepFolder& operator=(const SweepFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string above_;
  std::string path_;
};

[[nodiscard]] std::string message_of(const Status& status);  // empty: it went well
[[nodiscard]] std::string bytes_of_file(const std::string& path);
void write_bytes(const std::string& path, const std::string& bytes);

}  // namespace goodput::testing

// Where things lie in the folder of a sweep.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/sweep/store/sweep_folder.h"

namespace goodput {

[[nodiscard]] inline std::string manifest_path(const std::string& dir) {
  return dir + "/sweep.json";
}
[[nodiscard]] inline std::string shards_path(const std::string& dir) {
  return dir + "/shards";
}
[[nodiscard]] inline std::string finished_path(const std::string& dir, Shard shard) {
  return fmt::format("{}/{}-of-{}.jsonl", shards_path(dir), shard.index, shard.count);
}
[[nodiscard]] inline std::string part_path(const std::string& dir, Shard shard) {
  return finished_path(dir, shard) + ".part";
}
[[nodiscard]] inline std::string lock_path(const std::string& dir, Shard shard) {
  return fmt::format("{}/{}-of-{}.lock", shards_path(dir), shard.index, shard.count);
}

// A journal that is there.
struct FoundJournal {
  Shard shard{};
  bool is_finished = false;
};

// What is in a folder, in no order; nothing where there is no folder.
Result<std::vector<std::string>> names_in(const std::string& folder);

// By shard; other files are passed over.
Result<std::vector<FoundJournal>> find_journals(const std::string& dir);

}  // namespace goodput

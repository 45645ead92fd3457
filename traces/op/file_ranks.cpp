#include "traces/op/file_ranks.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace goodput {
namespace {

// Without the extensions of a format and of a compression.
std::string stem_of(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  const bool is_compressed = name.extension() == ".gz" || name.extension() == ".zst";
  if (is_compressed) name = name.stem();
  return name.stem().string();
}

std::vector<std::string> distinct_names(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  std::set<std::string> distinct;
  for (const std::string& path : paths) distinct.insert(stems.emplace_back(stem_of(path)));
  if (distinct.size() == stems.size()) return stems;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string folder = std::filesystem::path(paths[i]).parent_path().filename().string();
    if (!folder.empty()) stems[i] = folder + "/" + stems[i];
  }
  return stems;
}

}  // namespace

void FileRanks::end_file(const OpTrace& trace) {
  std::set<std::int32_t>& ranks = ranks_.emplace_back();
  if (paths_.size() == 1) return;  // nothing to tell apart
  for (std::size_t i = rows_; i < trace.size(); ++i) {
    if (i == rows_ || trace.rank[i] != trace.rank[i - 1]) ranks.insert(trace.rank[i]);
  }
  rows_ = trace.size();
}

std::map<std::int64_t, std::string> FileRanks::hosts() const {
  std::map<std::int64_t, std::string> hosts;
  if (paths_.size() == 1) return hosts;
  const std::vector<std::string> names = distinct_names(paths_);
  for (std::size_t file = 0; file < ranks_.size(); ++file) {
    for (const std::int32_t rank : ranks_[file]) {
      if (!hosts.emplace(rank, names[file]).second) return {};
    }
  }
  return hosts;
}

}  // namespace goodput

#include "tools/sweep/store/sweep_progress.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/sweep/store/number_list.h"
#include "tools/sweep/store/sweep_paths.h"

namespace goodput {
namespace {

// "shards 2 and 5 of 8 are missing", for a sentence that says what to do.
std::string shards_are(const std::vector<std::uint64_t>& shards, std::uint64_t count, std::string_view what) {
  return fmt::format("{} of {} {} {}", numbered("shard", shards), count, shards.size() == 1 ? "is" : "are",
                     what);
}

}  // namespace

Error not_complete(const std::string& dir, const SweepProgress& progress) {
  if (progress.shards == 0)
    return Error{"contains a sweep that has not started; run it with --resume", {.file = dir}};
  if (progress.shards == 1)
    return Error{"contains a sweep that has not finished; continue it with --resume", {.file = dir}};
  std::string what;
  if (!progress.missing.empty()) what = shards_are(progress.missing, progress.shards, "missing");
  if (!progress.unfinished.empty()) {
    if (!what.empty()) what += " and ";
    what += shards_are(progress.unfinished, progress.shards, "not finished");
  }
  const std::uint64_t first =
      progress.missing.empty() ? progress.unfinished.front() : progress.missing.front();
  return Error{fmt::format("{}; run the sweep with --resume --shard {}/{}{}", what, first, progress.shards,
                           progress.missing.size() + progress.unfinished.size() > 1
                               ? ", and the other shards in the same way"
                               : ""),
               {.file = dir}};
}

Result<SweepProgress> sweep_progress(const std::string& dir) {
  GOODPUT_TRY(const std::vector<FoundJournal> journals, find_journals(dir));
  SweepProgress progress;
  if (journals.empty()) return progress;
  progress.shards = journals.front().shard.count;
  if (journals.back().shard.count != progress.shards) {
    return Error{fmt::format("contains the files of two sweeps, one in {} shards and one in {} shards; "
                             "remove the files of one sweep",
                             progress.shards, journals.back().shard.count),
                 {.file = shards_path(dir)}};
  }
  std::uint64_t next = 0;
  for (const FoundJournal& journal : journals) {
    while (next < journal.shard.index) progress.missing.push_back(next++);
    if (!journal.is_finished) progress.unfinished.push_back(journal.shard.index);
    next = journal.shard.index + 1;
  }
  while (next < progress.shards) progress.missing.push_back(next++);
  return progress;
}

}  // namespace goodput

#include "tools/sweep/store/sweep_paths.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>

namespace goodput {
namespace {

constexpr std::uint64_t kMostShards = 1000000;

// The number that `text` begins with; it is gone from there.
std::optional<std::uint64_t> take_count(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// "2-of-8.jsonl", perhaps with ".part".
std::optional<FoundJournal> journal_named(std::string_view name) {
  FoundJournal found;
  const auto index = take_count(name);
  if (!index || !take_word(name, "-of-")) return std::nullopt;
  const auto count = take_count(name);
  if (!count || *count > kMostShards || !take_word(name, ".jsonl") || *index >= *count) return std::nullopt;
  found.shard = {*index, *count};
  found.is_finished = name.empty();
  if (!name.empty() && name != ".part") return std::nullopt;
  return found;
}

}  // namespace

Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entries(folder, failed);
  for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed))
    names.push_back(entries->path().filename().string());
  if (failed && failed != std::errc::no_such_file_or_directory)
    return Error{fmt::format("cannot be read: {}", failed.message()), {.file = folder}};
  return names;
}

Result<std::vector<FoundJournal>> find_journals(const std::string& dir) {
  GOODPUT_TRY(const std::vector<std::string> names, names_in(shards_path(dir)));
  std::vector<FoundJournal> journals;
  for (const std::string& name : names) {
    if (const auto found = journal_named(name)) journals.push_back(*found);
  }
  const auto key = [](const FoundJournal& one) {
    return std::tuple(one.shard.count, one.shard.index, one.is_finished);
  };
  std::sort(journals.begin(), journals.end(),
            [&](const FoundJournal& a, const FoundJournal& b) { return key(a) < key(b); });
  return journals;
}

}  // namespace goodput

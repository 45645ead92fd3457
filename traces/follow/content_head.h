// How a file in a watched folder begins: what it is, and who.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/process/file_handle.h"

namespace goodput {

inline constexpr std::size_t kHeadBytes = 4096;

enum class ContentKind : std::uint8_t {
  kUnknown,  // no trace, or not to be seen yet
  kLines,    // raw log or CSV
  kWhole,    // Parquet or Chrome JSON
};

struct ContentHead {
  ContentKind kind = ContentKind::kUnknown;
  bool is_compressed = false;
  bool is_all = false;  // `text` is all there is (of compressed data: its end was met)
  std::string text;  // the first kHeadBytes of the content: decompressed, but that of a kWhole file as stored

  // hash_of_head() of the first `bytes` of `text`. The last is remembered: a file is compared with thousands
  // of contents, of which nearly all are known by as many bytes.
  [[nodiscard]] std::uint64_t hash_of_first(std::size_t bytes) const;
  mutable std::size_t hashed_bytes = 0;
  mutable std::uint64_t hash = 0;
};

// Of an open file. `is_named_as_text`: lines, unless the content says otherwise.
Result<ContentHead> read_content_head(const FileHandle& file, const std::string& path, bool is_named_as_text);

[[nodiscard]] std::uint64_t hash_of_head(std::string_view text);

// As many bytes as there are, at most `into`.size(), from `offset` on.
Result<std::size_t> read_at(const FileHandle& file, const std::string& path, std::span<char> into,
                            std::uint64_t offset);

}  // namespace goodput

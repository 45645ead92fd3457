// A line of the journal of a shard: a JSON object that begins with a checksum of all that follows it.
//
//   {"crc32":"1a2b3c4d","journal":SCHEMA,...}    the first line: of which sweep and shard it is
//   {"crc32":"1a2b3c4d","point":17,...}          what became of a point
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tools/sweep/store/point_rows.h"

namespace goodput {

inline constexpr std::string_view kJournalSchema = "goodput.sweep-journal/1";

// Whose journal it is.
struct JournalHeader {
  std::string grid_hash{};
  std::string version{};
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;

  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

// With the line's end. Numbers are in the fewest digits that say which double; text that is no UTF-8 is
// mended.
[[nodiscard]] std::string journal_line(const JournalHeader& header);
[[nodiscard]] std::string journal_line(const PointRows& rows);

// Whether `line`, without its end, is as it was written.
[[nodiscard]] bool is_intact(std::string_view line);

// Reads lines that are intact; nothing of one that says something else. Keeps its memory from line to line.
class JournalLineReader {
 public:
  // What of a point.
  enum class Part { kAllButTrials, kAll };

  JournalLineReader();
  JournalLineReader(JournalLineReader&&) noexcept;
  ~JournalLineReader();

  std::optional<JournalHeader> header(std::string_view line);
  std::optional<PointRows> point(std::string_view line, Part part);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace goodput

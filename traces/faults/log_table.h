// A log as a table of texts: CSV with any separator, columns of fixed width as Slurm prints them, or JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"

namespace goodput {

struct LogTable {
  struct Row {
    std::size_t line = 0;  // in a file of lines; 0: `pointer` says where
    std::string pointer{};
    std::vector<std::string> fields{};  // by column, trimmed
  };
  std::string file{};
  std::vector<std::string> columns{};  // as the file calls them
  std::vector<Row> rows{};
  bool is_fixed_width = false;  // long fields are cut and end with "+"

  // `what` about that row, or about the file.
  [[nodiscard]] Error error(const Row& row, std::string what) const;
  [[nodiscard]] Error error(std::string what) const;
};

// The whole of a file, which may be compressed.
Result<LogTable> read_log_table(ByteSource& source);
Result<LogTable> read_log_table(const std::string& path);

// The same of text that is in memory; `file`: what messages call it.
Result<LogTable> parse_log_table(std::string_view text, const std::string& file);

// The names in the first lines of a table; none: `head` is not the beginning of one.
[[nodiscard]] std::vector<std::string> column_names(std::string_view head);

}  // namespace goodput

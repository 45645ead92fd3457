// What the names of files in watched folders say: which log a file is a part of, and how old a part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace goodput {

struct LogName {
  std::string log;        // the path without what rotation and compression put behind it
  std::uint64_t age = 0;  // 0: the one being written; of others the larger the older: N of .N
  std::string date;       // of parts named by date (log-20240501, log.2024-05-01): ascending; empty: none
  bool is_text = false;   // named as a log or as CSV

  // Of parts of one log: whether this one was written earlier.
  [[nodiscard]] bool is_older_than(const LogName& other) const;
};

[[nodiscard]] LogName parse_log_name(std::string_view path);

// The order in which files are read: by log, the oldest part of each first.
[[nodiscard]] bool comes_before(const LogName& a, const LogName& b);

// Hidden and temporary files, by the name alone (without folders).
[[nodiscard]] bool is_left_alone(std::string_view name);

}  // namespace goodput

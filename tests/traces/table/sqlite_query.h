// What a query finds in a SQLite database, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput::testing {

// A row a line, columns between bars, null as "null"; the names of the columns first. Throws on an error.
[[nodiscard]] std::vector<std::string> sqlite_query(const std::string& file, std::string_view sql);

// Everything in the database: the statements that made it, and the rows of every table and view, sorted.
[[nodiscard]] std::vector<std::string> sqlite_content(const std::string& file);

}  // namespace goodput::testing

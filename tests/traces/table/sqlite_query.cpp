#include "tests/traces/table/sqlite_query.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace goodput::testing {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct EndStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::string text_of_column(sqlite3_stmt* statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement, column);
  return text == nullptr ? "null" : reinterpret_cast<const char*>(text);
}

}  // namespace

std::vector<std::string> sqlite_query(const std::string& file, std::string_view sql) {
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const std::unique_ptr<sqlite3, CloseDatabase> database(opened);
  sqlite3_stmt* prepared = nullptr;
  if (result != SQLITE_OK ||
      sqlite3_prepare_v2(opened, sql.data(), static_cast<int>(sql.size()), &prepared, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(opened));
  const std::unique_ptr<sqlite3_stmt, EndStatement> statement(prepared);
  std::vector<std::string> rows(1);
  const int columns = sqlite3_column_count(prepared);
  for (int i = 0; i < columns; ++i)
    rows[0] += (i == 0 ? "" : "|") + std::string(sqlite3_column_name(prepared, i));
  int stepped = sqlite3_step(prepared);
  for (; stepped == SQLITE_ROW; stepped = sqlite3_step(prepared)) {
    std::string& row = rows.emplace_back();
    for (int i = 0; i < columns; ++i) row += (i == 0 ? "" : "|") + text_of_column(prepared, i);
  }
  if (stepped != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(opened));
  return rows;
}

std::vector<std::string> sqlite_content(const std::string& file) {
  std::vector<std::string> content =
      sqlite_query(file, "SELECT name, type, sql FROM sqlite_master ORDER BY name");
  const std::vector<std::string> made = content;
  for (std::size_t i = 1; i < made.size(); ++i) {
    if (made[i].find("|index|") != std::string::npos) continue;
    std::vector<std::string> rows =
        sqlite_query(file, "SELECT * FROM \"" + made[i].substr(0, made[i].find('|')) + '"');
    std::sort(rows.begin(), rows.end());
    content.insert(content.end(), rows.begin(), rows.end());
  }
  return content;
}

}  // namespace goodput::testing

#include "tools/plan_step/csv_rows.h"

#include <cstddef>
#include <utility>

namespace goodput {
namespace {

constexpr std::size_t kLongestRow = std::size_t{1} << 16;

// Reads cells one character at a time: a quote opens a cell at its first character only, and two within
// quotes are one (RFC 4180).
class CellReader {
 public:
  void see(char c) {
    if (is_quoted_ && c == '"') {
      is_quoted_ = false;
      was_quoted_ = true;
    } else if (is_quoted_) {
      cells_.back() += c;
    } else if (c == '"' && was_quoted_) {
      cells_.back() += c;
      is_quoted_ = true;
    } else if (c == '"' && cells_.back().empty()) {
      is_quoted_ = true;
    } else if (c == ',') {
      cells_.emplace_back();
      was_quoted_ = false;
    } else {
      cells_.back() += c;
      was_quoted_ = false;
    }
  }
  // True inside quotes, where a comma or line end belongs to the cell.
  [[nodiscard]] bool is_quoted() const { return is_quoted_; }
  [[nodiscard]] std::vector<std::string> take() && { return std::move(cells_); }

 private:
  std::vector<std::string> cells_ = std::vector<std::string>(1);
  bool is_quoted_ = false;
  bool was_quoted_ = false;  // the character before closed a quote
};

}  // namespace

std::string_view take_row(std::string_view& rest) {
  CellReader reader;
  std::size_t end = std::string_view::npos;
  const std::string_view longest = rest.substr(0, kLongestRow);
  for (std::size_t i = 0; i < longest.size() && end == std::string_view::npos; ++i) {
    if (rest[i] == '\n' && !reader.is_quoted()) end = i;
    reader.see(rest[i]);
  }
  if (end == std::string_view::npos) end = rest.find('\n');
  std::string_view row = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

std::vector<std::string> cells_of(std::string_view row) {
  CellReader reader;
  for (const char c : row) reader.see(c);
  return std::move(reader).take();
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace goodput

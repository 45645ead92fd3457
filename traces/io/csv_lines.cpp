#include "traces/io/csv_lines.h"

#include <fmt/format.h>

namespace goodput {

Result<std::string_view> LineBlocks::next(std::size_t line) {
  filled_ -= used_;
  std::memmove(buffer_.data(), buffer_.data() + used_, filled_);
  GOODPUT_TRY(const std::size_t count, source_.read({buffer_.data() + filled_, block_bytes_ - filled_}));
  const bool at_end = count < block_bytes_ - filled_;
  filled_ += count;
  ends_open_ = at_end && filled_ > 0 && buffer_[filled_ - 1] != '\n';
  if (ends_open_) buffer_[filled_++] = '\n';
  const std::string_view text(buffer_.data(), filled_);
  used_ = text.rfind('\n') + 1;  // 0 when there is none
  if (used_ == 0 && !text.empty()) {
    return Error{fmt::format("the line is longer than {} bytes; is it the right file?", block_bytes_),
                 {.file = source_.path(), .position = Position::line(line)}};
  }
  return text.substr(0, used_);
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

std::string_view take_line(std::string_view& block) {
  const std::size_t length = block.find('\n') + 1;
  const std::string_view line = without_line_end(block.substr(0, length));
  block.remove_prefix(length);
  return line;
}

Error at_line(Error error, const std::string& path, std::size_t line) {
  if (error.where.empty()) error.where = {.file = path, .position = Position::line(line)};
  return error;
}

// Doubled quotes inside stay doubled: no name of ours has any.
std::optional<std::string_view> CsvFields::take_quoted() {
  const char* at = at_ + 1;
  while (at != end_ && (*at != '"' || (at + 1 != end_ && at[1] == '"'))) at += *at == '"' ? 2 : 1;
  if (at == end_ || !is_field_end(at + 1)) return std::nullopt;
  std::string_view field = take_until(at + 1);
  field.remove_prefix(1);
  field.remove_suffix(1);
  return field;
}

std::optional<std::vector<std::string_view>> split_csv(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (CsvFields left(line, separator); !left.exhausted();) {
    const auto field = left.take();
    if (!field) return std::nullopt;
    fields.push_back(*field);
  }
  return fields;
}

}  // namespace goodput

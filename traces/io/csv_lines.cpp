#include "traces/io/csv_lines.h"

#include <fmt/format.h>

namespace goodput {
namespace {

template <char kSeparator>
std::optional<std::vector<std::string_view>> all_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (SeparatedFields<kSeparator> left(line); !left.exhausted();) {
    const auto field = left.take();
    if (!field) return std::nullopt;
    fields.push_back(*field);
  }
  return fields;
}

}  // namespace

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

std::optional<std::vector<std::string_view>> split_csv(std::string_view line, char separator) {
  if (separator == ';') return all_fields<';'>(line);
  if (separator == '\t') return all_fields<'\t'>(line);
  return all_fields<','>(line);
}

}  // namespace goodput

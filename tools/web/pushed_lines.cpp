#include "tools/web/pushed_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace goodput {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;

std::span<const unsigned char> as_bytes(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

}  // namespace

PushedLines::PushedLines(std::string body, const PushLimits& limits)
    : body_(std::move(body)), limits_(limits) {
  rewind();
}

void PushedLines::rewind() {
  decompressor_ = decompressor_for(as_bytes(body_));
  in_part_ = decompressor_ != nullptr;
  read_ = 0;
  text_bytes_ = 0;
  begun_.clear();
}

Result<std::optional<std::string>> PushedLines::next() {
  std::string piece = std::exchange(begun_, {});
  std::size_t last_feed = std::string::npos;
  bool is_end = false;
  while (!is_end && (last_feed == std::string::npos || piece.size() < limits_.piece_bytes)) {
    const std::size_t before = piece.size();
    piece.resize(before + kReadBytes);
    GOODPUT_TRY(const std::size_t count, read(std::span(piece).subspan(before)));
    piece.resize(before + count);
    is_end = count == 0;
    const std::size_t feed = std::string_view(piece).substr(before).rfind('\n');
    if (feed != std::string_view::npos) last_feed = before + feed;
    const std::size_t line = piece.size() - (last_feed == std::string::npos ? 0 : last_feed + 1);
    if (line > limits_.line_bytes) {
      return Error{fmt::format("a line is longer than {} bytes", limits_.line_bytes)};
    }
  }
  if (piece.empty()) return std::optional<std::string>();
  if (is_end) {
    if (!piece.ends_with('\n')) piece += '\n';
  } else {
    begun_ = piece.substr(last_feed + 1);
    piece.resize(last_feed + 1);
  }
  return std::optional(std::move(piece));
}

Result<std::size_t> PushedLines::read(std::span<char> into) {
  std::size_t count = 0;
  if (decompressor_ != nullptr) {
    GOODPUT_TRY(count, decompress(into));
  } else {
    count = std::min(into.size(), body_.size() - read_);
    std::memcpy(into.data(), body_.data() + read_, count);
    read_ += count;
  }
  text_bytes_ += count;
  if (text_bytes_ > limits_.text_bytes) {
    return Error{fmt::format("the rows are more than {} bytes when decompressed; push them in parts",
                             limits_.text_bytes)};
  }
  if (decompressor_ != nullptr && text_bytes_ > limits_.ratio_free_bytes &&
      text_bytes_ / limits_.ratio > body_.size()) {
    return Error{fmt::format("the body decompresses to more than {} times its size, which is the limit",
                             limits_.ratio)};
  }
  return count;
}

Result<std::size_t> PushedLines::decompress(std::span<char> into) {
  while (in_part_ || read_ < body_.size()) {
    if (!in_part_) GOODPUT_TRY_STATUS(begin_part());
    GOODPUT_TRY(const auto progress, decompressor_->run(as_bytes(body_).subspan(read_), into));
    const bool is_stuck = progress.read == 0 && progress.written == 0 && !progress.part_ended;
    read_ += progress.read;
    in_part_ = !progress.part_ended;
    if (progress.written != 0) return progress.written;
    if (is_stuck)
      return Error{fmt::format("{} data ends early: the body is truncated", decompressor_->name())};
  }
  return 0;
}

Status PushedLines::begin_part() {
  if (!decompressor_->begins_part(static_cast<unsigned char>(body_[read_]))) {
    return Error{fmt::format("the {0} data is damaged: something other than {0} follows its first part",
                             decompressor_->name())};
  }
  decompressor_->restart();
  in_part_ = true;
  return Ok{};
}

}  // namespace goodput

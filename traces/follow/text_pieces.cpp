#include "traces/follow/text_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kLookBytes = std::size_t{64} << 10;
constexpr std::size_t kMostBytesToGo = std::size_t{16} << 20;  // decompressed at once to get to a place
constexpr std::size_t kKeptBuffer = std::size_t{4} << 20;

// Behind the last end of a line; 0: there is none.
std::size_t end_of_lines(std::string_view text) {
  const void* found = memrchr(text.data(), '\n', text.size());
  return found == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
}

}  // namespace

Result<TextPiece> TextPieces::next(FollowedContent& content, const FileHandle& file, bool is_rest) {
  return content.is_compressed ? next_compressed(content, file, is_rest) : next_plain(content, file, is_rest);
}

// What was read last is read again and compared: a file that was emptied and has grown beyond is another one.
Result<TextPiece> TextPieces::next_plain(FollowedContent& content, const FileHandle& file, bool is_rest) {
  if (content.blank > content.read && !is_rest) {
    GOODPUT_TRY(const bool has_end, has_line_end(content, file));
    if (!has_end) return TextPiece{};
  }
  const std::size_t before = content.tail.size();
  while (true) {
    const std::span<char> into =
        room(before + static_cast<std::size_t>(content.blank - content.read) + piece_bytes_);
    GOODPUT_TRY(const std::size_t count, read_at(file, content.path, into, content.read - before));
    if (count < before || std::memcmp(into.data(), content.tail.data(), before) != 0)
      return TextPiece{.is_other = true};
    const bool is_end = count < into.size();
    const std::string_view text(into.data() + before, count - before);
    if (content.read == 0 && !text.starts_with(std::string_view(content.head).substr(0, text.size())))
      return TextPiece{.is_other = true};
    TextPiece piece = cut(content, text, is_rest && is_end);
    if (is_end || !piece.text.empty() || !piece.warning.empty() || content.skips_line) return piece;
  }
}

Result<bool> TextPieces::has_line_end(FollowedContent& content, const FileHandle& file) {
  while (content.blank - content.read <= longest_line_) {
    const std::span<char> into = room(kLookBytes);
    GOODPUT_TRY(const std::size_t count, read_at(file, content.path, into, content.blank));
    if (std::memchr(into.data(), '\n', count) != nullptr) return true;
    content.blank += count;
    if (count < into.size()) return false;
  }
  return true;
}

Result<TextPiece> TextPieces::next_compressed(FollowedContent& content, const FileHandle& file,
                                              bool is_rest) {
  TextPiece piece;
  GOODPUT_TRY(const bool is_there, go_to_read(content, file, piece));
  if (!is_there) return piece;
  bool is_end = false;
  while (piece.text.empty() && piece.warning.empty() && !is_end) {
    const std::size_t carried = content.carried.size();
    const std::span<char> into = room(carried + piece_bytes_);
    std::memcpy(into.data(), content.carried.data(), carried);
    auto count = content.stream->read(file, content.path, into.subspan(carried));
    if (!count) {
      content.is_damaged = true;
      content.carried.clear();
      return TextPiece{.warning = fmt::format("{}; what comes before was read", count.error().message())};
    }
    content.streamed += *count;
    is_end = *count == 0;
    const std::string_view text(into.data(), carried + *count);
    const std::uint64_t begin = content.read;
    piece = cut(content, text, is_end && (is_rest || content.stream->is_whole()));
    content.carried = text.substr(static_cast<std::size_t>(content.read - begin));
  }
  if (is_end) content.ended_at = content.stored_size;
  content.is_complete = is_end && content.carried.empty() && content.stream->is_whole();
  return piece;
}

Result<bool> TextPieces::go_to_read(FollowedContent& content, const FileHandle& file, TextPiece& piece) {
  if (content.stream == nullptr) {
    content.stream = std::make_unique<CompressedText>();
    content.streamed = 0;
    content.carried.clear();
  }
  const std::uint64_t read = content.read;
  for (std::size_t done = 0; content.streamed < read && done < kMostBytesToGo;) {
    const std::span<char> into =
        room(static_cast<std::size_t>(std::min<std::uint64_t>(read - content.streamed, piece_bytes_)));
    auto count = content.stream->read(file, content.path, into);
    if (!count) content.is_damaged = true;
    if (!count) piece.warning = count.error().message();
    if (!count || *count == 0) {
      piece.is_other = count && content.stream->is_whole();
      content.ended_at = content.stored_size;
      return false;
    }
    const std::string_view text(into.data(), *count);
    const std::uint64_t tail_begin = std::max(read - content.tail.size(), content.streamed);
    content.streamed += *count;
    done += *count;
    if (content.streamed <= tail_begin) continue;  // always, of what a former process has read
    const std::string_view part =
        text.substr(text.size() - static_cast<std::size_t>(content.streamed - tail_begin));
    const auto at = static_cast<std::size_t>(tail_begin - (read - content.tail.size()));
    if (content.tail.compare(at, part.size(), part) == 0) continue;
    piece.is_other = true;
    return false;
  }
  return content.streamed >= read;
}

TextPiece TextPieces::cut(FollowedContent& content, std::string_view text, bool is_rest) const {
  if (content.skips_line) return skip_line(content, text);
  const bool is_replay = content.read < content.seen;
  const std::uint64_t end = content.read + text.size();
  std::size_t lines = 0;
  if (is_replay && end > content.seen)
    lines = end_of_lines(text.substr(0, static_cast<std::size_t>(content.seen - content.read)));
  if (lines == 0) lines = end_of_lines(text);
  if (text.size() > longest_line_ && text.find('\n') > longest_line_) {
    content.skips_line = true;
    return skip_line(content, text);
  }
  const bool is_unfinished = lines == 0;
  if (is_unfinished && is_rest) lines = text.size();
  content.advance(text.substr(0, lines));
  content.blank = memchr(text.data() + lines, '\n', text.size() - lines) == nullptr ? end : content.read;
  return {.text = text.substr(0, lines), .is_replay = is_replay};
}

// Goes on behind the end of a line that is too long, if that is in `text`.
TextPiece TextPieces::skip_line(FollowedContent& content, std::string_view text) const {
  const std::size_t newline = text.find('\n');
  const std::uint64_t line = content.line;
  content.advance(text.substr(0, newline == std::string_view::npos ? newline : newline + 1));
  if (newline == std::string_view::npos) return {};
  content.skips_line = false;
  const std::string what = fmt::format("the line is longer than {} MiB: left out", longest_line_ >> 20);
  const Position position = line == 0 ? Position::byte(content.read) : Position::line(line);
  return {.warning = Error{what, {.file = on_one_line(content.path), .position = position}}.message()};
}

std::span<char> TextPieces::room(std::size_t bytes) {
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  if (buffer_.size() > kKeptBuffer && bytes <= kKeptBuffer) {
    buffer_.resize(kKeptBuffer);
    buffer_.shrink_to_fit();
  }
  return std::span(buffer_).first(bytes);
}

}  // namespace goodput

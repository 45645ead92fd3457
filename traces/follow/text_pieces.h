// Takes whole lines from a content that grows, piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/follow/followed_content.h"

namespace goodput {

struct TextPiece {
  std::string_view text{};  // whole lines; empty: none at the moment. Valid until the next call
  bool is_replay = false;   // before FollowedContent::seen
  bool is_other = false;    // what stands before it is not what was read there: another content
  std::string warning{};    // what was left out; empty: nothing
};

class TextPieces {
 public:
  TextPieces(std::size_t piece_bytes, std::size_t longest_line)
      : piece_bytes_(std::min(piece_bytes, longest_line)), longest_line_(longest_line) {}

  // The next lines of `content`, which goes on behind them. `is_rest`: also what has no end of a line.
  // REQUIRES: `file` is the source of `content`.
  Result<TextPiece> next(FollowedContent& content, const FileHandle& file, bool is_rest);

 private:
  Result<TextPiece> next_plain(FollowedContent& content, const FileHandle& file, bool is_rest);
  Result<TextPiece> next_compressed(FollowedContent& content, const FileHandle& file, bool is_rest);
  // Whether a line that was not at its end may be now.
  Result<bool> has_line_end(FollowedContent& content, const FileHandle& file);
  // Decompresses up to where reading goes on, a piece at a time. True: there.
  Result<bool> go_to_read(FollowedContent& content, const FileHandle& file, TextPiece& piece);
  [[nodiscard]] TextPiece cut(FollowedContent& content, std::string_view text, bool is_rest) const;
  [[nodiscard]] TextPiece skip_line(FollowedContent& content, std::string_view text) const;
  std::span<char> room(std::size_t bytes);

  std::size_t piece_bytes_;
  std::size_t longest_line_;
  std::vector<char> buffer_;
};

}  // namespace goodput

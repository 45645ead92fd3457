// The content of a watched file: where it lies at the moment, and how far it was read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/process/file_handle.h"
#include "traces/follow/content_head.h"
#include "traces/follow/stored_files.h"
#include "traces/io/decompressor.h"

namespace goodput {

// The text of a compressed file, as far as it has been written. Holds the state of the decompressor, not the
// file: that may be closed and opened again in between.
class CompressedText {
 public:
  // Of text, from the front: as much as there is and fits. 0: no more at the moment. Fails on damaged data,
  // once all before the damage was returned, and from then on.
  Result<std::size_t> read(const FileHandle& file, const std::string& path, std::span<char> into);

  // The stored data up to here end where they may end.
  [[nodiscard]] bool is_whole() const { return decompressor_ != nullptr && !in_part_; }
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_; }  // used up so far
  [[nodiscard]] std::string_view form() const {
    return decompressor_ != nullptr ? decompressor_->name() : "";
  }

 private:
  // Some of that; 0: no more at the moment.
  Result<std::size_t> fill(const FileHandle& file, const std::string& path, std::span<char> into);
  Status begin_part(std::span<const unsigned char>& stored);

  std::optional<Error> failure_;
  std::unique_ptr<Decompressor> decompressor_;  // null: nothing was read yet
  std::uint64_t stored_ = 0;
  bool in_part_ = false;
  bool is_padding_ = false;  // zeros follow the last part, as on tapes
};

// How much of what was read last is kept to know it again. A line of a raw log ends in some 300 characters
// that are much alike in all lines of a rank.
inline constexpr std::size_t kTailBytes = 512;

// Positions are those of a text, decompressed; of kWhole 0 and the size of the file.
struct FollowedContent {
  ContentKind kind = ContentKind::kUnknown;
  std::string path;                // its last name
  std::string owner;               // FollowOptions::owner_of() its name
  InodeKey key;                    // its last inode
  std::optional<InodeKey> source;  // where it is read from; none: it is gone, or not there yet
  std::uint64_t stored_size = 0;   // of the source, as last seen
  bool is_compressed = false;      // at its source
  bool is_final = false;           // its source has no name any more and nobody writes to it

  // Who it is: how it begins (up to kHeadBytes, as far as it is known), and what stands before `read`.
  std::string head;
  std::string tail;
  // Marks in between, of a file that is compared when it has less than was read: where, and the hash of what
  // stands before (kTailBytes). Each is at twice the position of the one before, or further on.
  struct Mark {
    std::uint64_t offset = 0;
    std::uint64_t hash = 0;
  };
  std::vector<Mark> marks;
  // Of the first `hashed_bytes` of `head`, as FollowedFiles::position() gave it last; 0 bytes: none.
  std::uint64_t head_hash = 0;
  std::uint64_t hashed_bytes = 0;
  // Of a former process, which left only this of the head; 0 bytes: `head` is there.
  std::uint64_t known_head_hash = 0;
  std::uint64_t known_head_bytes = 0;

  std::uint64_t read = 0;    // up to here it was handed out, in whole lines
  std::uint64_t used = 0;    // up to here it is used up, see FollowedPosition::offset
  std::uint64_t seen = 0;    // up to here it was handed out, by this process or a former one
  std::uint64_t blank = 0;   // from `read` to here there is no end of a line
  std::uint64_t line = 1;    // number of the line at `read`; 0: not known
  bool skips_line = false;   // the line before `read` is too long, and goes on
  bool is_complete = false;  // all of it was handed out, and it does not grow
  bool is_damaged = false;   // what follows cannot be read

  // Of a compressed source that is being read.
  std::unique_ptr<CompressedText> stream;
  std::uint64_t streamed = 0;  // position up to which it was decompressed
  std::uint64_t ended_at = 0;  // stored bytes behind which there was nothing more
  std::string carried;         // text behind `read`: the beginning of a line

  std::uint64_t lost = 0;  // stored bytes that were there and not read when its source went
  FollowTime lost_at;
  bool is_loss_due = false;  // to be told
  FollowTime retry_at;       // after a failure to read

  // Goes on behind `text`, which stands at `read`.
  void advance(std::string_view text);
  // Notes how it begins, from text that stands at `offset`.
  void note_head(std::uint64_t offset, std::string_view text);
  [[nodiscard]] std::uint64_t unread_stored_bytes() const;
  // Whether its compressed source ends in the middle of something.
  [[nodiscard]] bool is_cut() const;
  // Whether there may be something to hand out.
  [[nodiscard]] bool has_news() const;
};

[[nodiscard]] std::uint64_t hash_of_tail(std::string_view tail);

}  // namespace goodput

// Files of watched folders as they grow, rotate and come: what is new in them, piece by piece.
//
// A file is who its content says it is, not its name: log -> log.1 -> log.1.gz is one file that moves on, and
// copytruncate makes a copy that is the old file and an emptied one that is new.
//
// Two files are one content when they agree in their first 4096 bytes (as far as both have them) and in the
// last 512 bytes before the place up to which it was read (plain text: looked up; compressed: met while
// reading up to there) or, of a copy beside the original, before its end. A compressed copy beside a plain
// original is judged by its head alone. Of a former process only the hash of the head is known.
// - A copy beside the original is not read, as long as all of it is in the original too: a CSV file that has
//   only the header of another one waits until it has more, or something else.
// - Exact: renaming, copying and emptying, compression, in any order and while nobody looks; every line is
//   handed out once, and again only as a replay. Lines that a writer puts into a log between copying and
//   emptying it are lost, as they are to everybody.
// - Not exact: a file that is emptied and written anew with the same text up to where reading stood; a
//   deleted file that was not open (see FollowOptions::open_files). Files written by mmap are seen in 30 s.
// - A whole file is handed out once. One that grows afterwards is left out, with a warning.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// Where reading stands. The same numbers as the store's FilePosition.
struct FollowedPosition {
  std::string path;  // empty: another content has the name that it had, or it is forgotten
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t head_hash = 0;
  std::uint64_t head_bytes = 0;
  std::uint64_t offset = 0;  // of decompressed content: before it all is used up
  std::uint64_t seen = 0;
  bool is_done = false;
};

using FileNumber = std::size_t;  // of a file within a FollowedFiles, stable; a file that moves keeps its own

// What is new.
struct FollowedPiece {
  enum class Kind : std::uint8_t {
    kLines,  // whole lines of a text that may grow (raw log, CSV): `text`
    kWhole,  // a file that is read as a whole (Parquet, Chrome JSON): `open_path` is to be read now
    kGone,   // the file is gone, truncated or was replaced: what of it was not read is lost
  };
  Kind kind = Kind::kLines;
  FileNumber file = 0;
  std::string path;              // its name now, for messages
  std::uint64_t offset = 0;      // of the first byte of `text`, in decompressed content
  std::uint64_t end = 0;         // behind it, for set_used(); of kWhole the size of the file
  std::uint64_t first_line = 1;  // the number of its first line; 0: not known, a former process began to read
  bool is_replay = false;        // before FollowedPosition::seen: read once before, by a former process
  std::string_view text;         // valid until the next call
  std::string open_path;         // of kWhole: opens it until the next call, whatever its name leads to
};

struct FollowOptions {
  std::vector<std::string> folders;
  bool recursive = true;
  enum class Watch : std::uint8_t { kAuto, kPoll } watch = Watch::kAuto;  // kAuto: inotify where it works
  std::chrono::milliseconds poll_every{500};  // of folders, and of files where inotify does not tell (NFS)
  std::chrono::milliseconds settle{1000};     // a whole file is read when it has not changed for so long
  std::size_t piece_bytes = std::size_t{1} << 20;
  std::size_t longest_line = std::size_t{16} << 20;
  std::size_t open_files = 512;      // at most; others are opened again when they are read
  std::vector<std::string> ignored;  // canonical paths: our own database and outputs
  // Whose a file is, by its path: files of several owners are never taken for each other, however alike they
  // are. None: each folder is an owner.
  std::function<std::string(const std::string& path)> owner_of = {};
};

class FollowedFiles {
 public:
  // `known`: where a former process stopped. Fails when a folder cannot be read.
  static Result<FollowedFiles> open(const FollowOptions& options, const std::vector<FollowedPosition>& known);

  FollowedFiles(FollowedFiles&&) noexcept;
  FollowedFiles& operator=(FollowedFiles&&) noexcept;
  ~FollowedFiles();

  // Looks for new files and new content. Cheap when nothing happened.
  void refresh();
  // Files that have something to read now, rotated ones of a log oldest first; none of which an older part is
  // there that has yet to settle (FollowOptions::settle).
  [[nodiscard]] std::vector<FileNumber> readable() const;
  // The next piece of this file; kLines with an empty text: nothing whole is there at the moment.
  Result<FollowedPiece> read(FileNumber file);
  // The same with an unfinished last line as it is: for the end of reading.
  Result<FollowedPiece> read_rest(FileNumber file);
  // Everything before `offset` is used up: what position() says from now on.
  void set_used(FileNumber file, std::uint64_t offset);
  [[nodiscard]] FollowedPosition position(FileNumber file) const;
  [[nodiscard]] std::vector<FileNumber> files() const;
  // False: forgotten. Of files that are gone an hour's are remembered, and as many as there are others.
  [[nodiscard]] bool is_known(FileNumber file) const;
  // The log that it is a part of: its path without what rotation and compression put behind it.
  [[nodiscard]] std::string log_of(FileNumber file) const;
  // How its content begins, up to 4096 bytes: where a header line stands that a former process has read.
  [[nodiscard]] std::string_view head(FileNumber file) const;
  // Of all files, as stored, by their owner (FollowOptions::owner_of).
  [[nodiscard]] std::map<std::string, std::uint64_t> unread_bytes() const;
  // Blocks until something may be new, `wake` was called, or the time is over.
  void wait(std::chrono::milliseconds at_most);
  void wake();  // from any thread
  [[nodiscard]] bool uses_inotify() const;
  // What was met and left alone since the last call (links that lead out of the folders, files that cannot be
  // read, ...), each once.
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  class Impl;
  explicit FollowedFiles(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace goodput

// The files of watched folders as the file system has them: one an inode, whatever its names have been.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/errors.h"
#include "sim/process/file_handle.h"
#include "traces/follow/watched_folders.h"

namespace goodput {

struct InodeKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend auto operator<=>(const InodeKey&, const InodeKey&) = default;
};

struct StoredFile {
  enum class Role : std::uint8_t {
    kNew,        // what it is has to be found out
    kLeftAlone,  // no trace
    kSource,     // `content` is read from it
    kCopy,       // nothing is in it that is not in `content` too
  };

  InodeKey key;
  WatchedPath path;
  FileStatus status;
  Role role = Role::kNew;
  std::size_t content = 0;  // number of a FollowedContent; of kSource and kCopy
  FollowTime changed_at;    // when a change was last seen
  FollowTime due;           // when to find out what it is, if that has to be
  bool is_closed = false;   // by its writer, since its last change
  bool is_missing = false;  // no name in the folders any more; it is there as long as `handle` is open
  FollowTime missing_since;
  std::uint64_t judged_bytes = 0;    // its size when it was found to be no trace
  std::vector<std::size_t> refused;  // contents that it turned out not to be

  FileHandle handle;
  std::uint64_t used_at = 0;  // when the handle was used; counts uses
  std::uint64_t round = 0;    // of looking at folders in which it was found last
};

class StoredFiles {
 public:
  explicit StoredFiles(std::size_t most_open) : most_open_(most_open) {}

  struct Changes {
    std::vector<InodeKey> changed;  // new, or another size or time
    std::vector<InodeKey> closed;   // by their writer
    std::vector<InodeKey> missing;  // not found where they were looked for
  };
  // Takes over what was found in folders and what the kernel tells.
  Changes take_over(const FolderNews& news, FollowTime now);

  [[nodiscard]] StoredFile* find(const InodeKey& key);
  void forget(const InodeKey& key);
  [[nodiscard]] const std::map<InodeKey, StoredFile>& all() const { return files_; }

  // The open file, also when it is missing and was open. An empty handle: it is not there any more.
  Result<const FileHandle*> open(StoredFile& file, const WatchedFolders& folders);
  void close(StoredFile& file);
  // Its size and time as they are now; true: they have changed.
  static bool update(StoredFile& file, const FileStatus& status, FollowTime now);

 private:
  void take_over_found(const FoundFile& found, FollowTime now, Changes& changes);
  void make_room();

  std::size_t most_open_;
  std::map<InodeKey, StoredFile> files_;
  std::unordered_map<std::string, InodeKey> by_path_;
  std::map<std::uint64_t, InodeKey> by_use_;  // those that are open
  std::uint64_t uses_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace goodput

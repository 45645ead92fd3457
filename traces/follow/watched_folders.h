// The regular files below watched folders, and which of them may have changed.
//
// Nothing is opened by a path: every step from a watched folder down is opened from the one above, and no
// link is followed, so that whoever swaps a folder or file for a link at any moment leads nowhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/process/file_handle.h"
#include "traces/follow/folder_events.h"

namespace goodput {

using FollowTime = std::chrono::steady_clock::time_point;

// A path below a watched folder.
struct WatchedPath {
  std::string text;       // for messages
  std::size_t root = 0;   // which of the watched folders
  std::size_t below = 0;  // where in `text` the part below it begins
};

struct FileStatus {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  // time of the last change of content, by the file system
  bool has_names = true;        // false: it was deleted, and is there only for those who have it open
};

struct FoundFile {
  WatchedPath path;
  FileStatus status;
};

struct FolderNews {
  std::vector<FoundFile> found;                  // all files of the folders that were looked at
  std::set<std::string, std::less<>> looked_at;  // these folders, with '/' at the end; those gone too
  std::vector<std::string> written;              // paths of files
  std::vector<std::string> closed;               // of files that their writer has closed, or moved into place
};

struct WatchedFoldersOptions {
  std::vector<std::string> folders;
  std::vector<std::string> ignored;  // canonical paths of files
  bool recursive = true;
  bool uses_inotify = true;  // where it works
  std::chrono::milliseconds poll_every{500};
};

class WatchedFolders {
 public:
  static Result<WatchedFolders> open(WatchedFoldersOptions options);

  FolderNews take_news(FollowTime now);
  // The next take_news() looks at everything.
  void look_at_all() { is_all_due_ = true; }

  // Opens a regular file for reading. An empty handle: it is not there any more, or is something else now.
  Result<FileHandle> open_file(const WatchedPath& path) const;

  // Until there may be news, at most until `until`.
  void wait(FollowTime now, FollowTime until);
  void wake() const { events_.wake(); }
  // Whether the kernel tells of all folders.
  [[nodiscard]] bool uses_inotify() const { return options_.uses_inotify && polled_.empty(); }
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  struct Root {
    std::string path;
    std::string canonical;
    FileHandle folder;
  };
  struct Folder {
    WatchedPath path;  // without '/' at its end
    std::size_t depth = 0;
    int watch = -1;  // of FolderEvents; -1: polled
  };

  WatchedFolders(WatchedFoldersOptions options, FolderEvents events)
      : options_(std::move(options)), events_(std::move(events)) {}
  void reopen_root(std::size_t root);
  [[nodiscard]] std::set<std::string> due_folders(const FolderEvents::News& events, FolderNews& news);
  void look_at(const std::string& key, FolderNews& news);
  void look_at_entry(const Folder& folder, const FileHandle& handle, const std::string& name,
                     FolderNews& news, std::vector<std::string>& sub_folders);
  void add_folder(const Folder& above, const std::string& name);
  void forget_folder(const std::string& key, FolderNews& news);
  void watch(const std::string& key, Folder& folder, const FileHandle& handle);
  void look_at_link(const Folder& folder, const std::string& name);
  [[nodiscard]] bool is_ignored(const WatchedPath& path) const;
  void warn_once(std::string warning);

  WatchedFoldersOptions options_;
  FolderEvents events_;
  std::vector<Root> roots_;
  std::map<std::string, Folder> folders_;  // by path with '/' at its end
  std::map<int, std::string> by_watch_;
  std::set<std::string> polled_;
  bool is_all_due_ = true;
  FollowTime polled_at_;
  FollowTime all_looked_at_;
  std::set<std::string> warned_;
  std::vector<std::string> warnings_;
};

[[nodiscard]] FileStatus status_of(const FileHandle& file);

}  // namespace goodput

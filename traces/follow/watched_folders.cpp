#include "traces/follow/watched_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "sim/base/text.h"
#include "traces/follow/log_name.h"

namespace goodput {
namespace {

constexpr std::size_t kDeepest = 32;            // folders below each other
constexpr std::chrono::seconds kLookAtAll{30};  // what the kernel does not tell of: mmap, lost events
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Magic numbers of the file systems (statfs(2)) on which only this machine writes: inotify tells all.
constexpr std::array<std::uint32_t, 9> kLocalFileSystems = {
    0xef53,      // ext2 to ext4
    0x58465342,  // xfs
    0x9123683e,  // btrfs
    0x01021994,  // tmpfs
    0x858458f6,  // ramfs
    0x794c7630,  // overlayfs
    0x2fc12fc1,  // zfs
    0xf2f52010,  // f2fs
    0xca451a4e,  // bcachefs
};

bool is_local(const FileHandle& folder) {
  struct statfs system {};
  if (fstatfs(folder.get(), &system) != 0) return false;
  return std::ranges::find(kLocalFileSystems, static_cast<std::uint32_t>(system.f_type)) !=
         kLocalFileSystems.end();
}

FileStatus to_status(const struct stat& status) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0)),
          .changed_ns = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec,
          .has_names = status.st_nlink > 0};
}

// The folder or file `below` an open folder, without following links. An empty handle: errno says why not.
FileHandle open_below(const FileHandle& root, std::string_view below, int flags) {
  FileHandle folder;
  int from = root.get();
  for (std::size_t slash = below.find('/'); slash != std::string_view::npos; slash = below.find('/')) {
    const std::string name(below.substr(0, slash));
    folder = FileHandle(openat(from, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder.get() < 0) return {};
    from = folder.get();
    below.remove_prefix(slash + 1);
  }
  const std::string name(below.empty() ? "." : below);
  return FileHandle(openat(from, name.c_str(), flags));
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Names in an open folder, in no order. Nothing: errno says why they cannot be had.
std::optional<std::vector<std::string>> names_in(const FileHandle& folder) {
  const int copy = openat(folder.get(), ".", kFolderFlags);
  if (copy < 0) return std::nullopt;
  const std::unique_ptr<DIR, CloseFolder> entries(fdopendir(copy));
  if (entries == nullptr) {
    close(copy);
    return std::nullopt;
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(entries.get())) {
    if (!is_left_alone(entry->d_name)) names.emplace_back(entry->d_name);
  }
  return errno == 0 ? std::optional(std::move(names)) : std::nullopt;
}

}  // namespace

FileStatus status_of(const FileHandle& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 ? to_status(status) : FileStatus{.has_names = false};
}

Result<WatchedFolders> WatchedFolders::open(WatchedFoldersOptions options) {
  GOODPUT_TRY(FolderEvents events, FolderEvents::open(options.uses_inotify));
  WatchedFolders folders(std::move(options), std::move(events));
  for (const std::string& path : folders.options_.folders) {
    if (path.empty()) return Error{"a folder name is empty"};
    const auto& roots = folders.roots_;
    std::error_code error;
    const std::string canonical = std::filesystem::canonical(path, error).string();
    if (std::ranges::any_of(roots, [&](const Root& root) { return root.canonical == canonical; })) continue;
    FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) {
      return Error{fmt::format("cannot read the folder: {}", std::strerror(errno)), {.file = path}};
    }
    const std::string key = path.ends_with('/') ? path : path + '/';
    const WatchedPath root{key.substr(0, key.size() - 1), roots.size(), key.size()};
    folders.roots_.push_back({path, canonical, std::move(folder)});
    folders.folders_[key] = {.path = root};
  }
  return folders;
}

// The folder itself may be deleted and made again.
void WatchedFolders::reopen_root(std::size_t root) {
  FileHandle folder(::open(roots_[root].path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return;
  const FileStatus now = status_of(folder);
  const FileStatus before = status_of(roots_[root].folder);
  if (now.inode != before.inode || now.device != before.device) roots_[root].folder = std::move(folder);
}

FolderNews WatchedFolders::take_news(FollowTime now) {
  FolderNews news;
  const FolderEvents::News events = events_.take();
  is_all_due_ = is_all_due_ || events.has_gaps || now - all_looked_at_ >= kLookAtAll;
  const bool is_poll_due = !polled_.empty() && now - polled_at_ >= options_.poll_every;
  if (events.events.empty() && !is_all_due_ && !is_poll_due) return news;
  std::set<std::string> due = due_folders(events, news);
  if (is_poll_due) due.insert(polled_.begin(), polled_.end());
  if (is_all_due_) {
    for (std::size_t root = 0; root < roots_.size(); ++root) reopen_root(root);
    for (const auto& [key, folder] : folders_) due.insert(key);
    all_looked_at_ = now;
  }
  if (is_poll_due || is_all_due_) polled_at_ = now;
  is_all_due_ = false;
  for (const std::string& key : due) {
    if (!news.looked_at.contains(key)) look_at(key, news);
  }
  return news;
}

std::set<std::string> WatchedFolders::due_folders(const FolderEvents::News& events, FolderNews& news) {
  std::set<std::string> due;
  for (const FolderEvent& event : events.events) {
    const auto folder = by_watch_.find(event.folder);
    if (folder == by_watch_.end()) continue;
    std::string path = folder->second + event.name;
    switch (event.kind) {
      case FolderEvent::Kind::kEntries:
        if (!is_left_alone(event.name)) due.insert(folder->second);
        break;
      case FolderEvent::Kind::kWritten:
        if (news.written.empty() || news.written.back() != path) news.written.push_back(std::move(path));
        break;
      case FolderEvent::Kind::kClosed:
        news.closed.push_back(std::move(path));
        break;
    }
  }
  return due;
}

// Watched before it is looked at, so that nothing comes in between.
void WatchedFolders::look_at(const std::string& key, FolderNews& news) {
  const auto found = folders_.find(key);
  if (found == folders_.end()) return;
  Folder& folder = found->second;
  if (folder.depth == 0 && !status_of(roots_[folder.path.root].folder).has_names)
    reopen_root(folder.path.root);
  const std::string_view below = std::string_view(key).substr(std::min(folder.path.below, key.size()));
  const FileHandle handle = open_below(roots_[folder.path.root].folder,
                                       below.substr(0, below.empty() ? 0 : below.size() - 1), kFolderFlags);
  const bool is_gone = handle.get() < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
  if (is_gone || (folder.depth == 0 && !status_of(handle).has_names)) return forget_folder(key, news);
  if (handle.get() >= 0) watch(key, folder, handle);
  const auto names = handle.get() < 0 ? std::nullopt : names_in(handle);
  if (!names) {
    polled_.insert(key);
    return warn_once(Error{fmt::format("cannot read the folder: {}", std::strerror(errno)),
                           {.file = on_one_line(folder.path.text)}}
                         .message());
  }
  news.looked_at.insert(key);
  std::vector<std::string> sub_folders;
  for (const std::string& name : *names) look_at_entry(folder, handle, name, news, sub_folders);
  std::vector<std::string> gone;
  for (auto one = folders_.upper_bound(key); one != folders_.end() && one->first.starts_with(key); ++one) {
    const std::string_view rest = std::string_view(one->first).substr(key.size());
    const bool is_next = rest.find('/') == rest.size() - 1;
    if (is_next && std::ranges::find(sub_folders, rest.substr(0, rest.size() - 1)) == sub_folders.end())
      gone.push_back(one->first);
  }
  for (const std::string& one : gone) forget_folder(one, news);
  for (const std::string& name : sub_folders) {
    const std::string sub_key = key + name + '/';
    if (folders_.contains(sub_key)) continue;
    add_folder(folders_.at(key), name);
    look_at(sub_key, news);
  }
}

void WatchedFolders::look_at_entry(const Folder& folder, const FileHandle& handle, const std::string& name,
                                   FolderNews& news, std::vector<std::string>& sub_folders) {
  struct stat status {};
  if (fstatat(handle.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISLNK(status.st_mode)) return look_at_link(folder, name);
  if (S_ISDIR(status.st_mode) && options_.recursive) {
    if (folder.depth < kDeepest) return sub_folders.push_back(name);
    return warn_once(Error{
        fmt::format("has folders nested more than {} levels deep; goodput does not read them", kDeepest),
        {.file = on_one_line(folder.path.text)}}
                         .message());
  }
  if (!S_ISREG(status.st_mode)) return;
  WatchedPath path = folder.path;
  path.text += '/' + name;
  if (!is_ignored(path)) news.found.push_back({std::move(path), to_status(status)});
}

void WatchedFolders::add_folder(const Folder& above, const std::string& name) {
  Folder folder{.path = above.path, .depth = above.depth + 1};
  folder.path.text += '/' + name;
  folders_[folder.path.text + '/'] = std::move(folder);
}

void WatchedFolders::forget_folder(const std::string& key, FolderNews& news) {
  news.looked_at.insert(key);
  if (folders_.at(key).depth == 0) {  // a watched one may come back
    polled_.insert(key);
    return warn_once(Error{"the watched folder is gone; reading resumes when it is back",
                           {.file = on_one_line(folders_.at(key).path.text)}}
                         .message());
  }
  for (auto one = folders_.lower_bound(key); one != folders_.end() && one->first.starts_with(key);) {
    news.looked_at.insert(one->first);
    polled_.erase(one->first);
    const auto watched = by_watch_.find(one->second.watch);
    if (watched != by_watch_.end() && watched->second == one->first) {
      events_.unwatch(watched->first);
      by_watch_.erase(watched);
    }
    one = folders_.erase(one);
  }
}

void WatchedFolders::watch(const std::string& key, Folder& folder, const FileHandle& handle) {
  const std::optional<int> number = is_local(handle) ? events_.watch(handle) : std::nullopt;
  if (number) {
    by_watch_[*number] = key;
    polled_.erase(key);
  } else {
    polled_.insert(key);
  }
  folder.watch = number.value_or(-1);
}

// What a link within the folders leads to is found where it is. Where it leads is asked for this message
// alone.
void WatchedFolders::look_at_link(const Folder& folder, const std::string& name) {
  const Root& root = roots_[folder.path.root];
  const std::string path = folder.path.text + '/' + name;
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error == std::errc::no_such_file_or_directory) return;
  const bool is_inside = !error && std::ranges::any_of(roots_, [&](const Root& one) {
    return (target / "").string().starts_with(one.canonical + '/');
  });
  if (is_inside) return;
  warn_once(Error{fmt::format("is a link that points outside the folder {} and is not followed; give the "
                              "folder that it points to",
                              on_one_line(root.path)),
                  {.file = on_one_line(path)}}
                .message());
}

bool WatchedFolders::is_ignored(const WatchedPath& path) const {
  if (options_.ignored.empty()) return false;
  const std::string canonical = roots_[path.root].canonical + '/' + path.text.substr(path.below);
  return std::ranges::find(options_.ignored, canonical) != options_.ignored.end();
}

Result<FileHandle> WatchedFolders::open_file(const WatchedPath& path) const {
  FileHandle file = open_below(roots_[path.root].folder, std::string_view(path.text).substr(path.below),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat status {};
  if (file.get() >= 0 && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) return file;
  if (file.get() >= 0 || errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO)
    return FileHandle();
  return Error{fmt::format("cannot read: {}", std::strerror(errno)), {.file = on_one_line(path.text)}};
}

void WatchedFolders::wait(FollowTime now, FollowTime until) {
  if (!polled_.empty()) until = std::min(until, polled_at_ + options_.poll_every);
  events_.wait(std::chrono::ceil<std::chrono::milliseconds>(std::max(until - now, FollowTime::duration{})));
}

std::vector<std::string> WatchedFolders::take_warnings() {
  return std::exchange(warnings_, {});
}

void WatchedFolders::warn_once(std::string warning) {
  constexpr std::size_t kMostRemembered = 10'000;
  if (warned_.size() >= kMostRemembered) return;
  if (warned_.insert(warning).second) warnings_.push_back(std::move(warning));
}

}  // namespace goodput

#include "traces/follow/stored_files.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace goodput {
namespace {

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);
}

InodeKey key_of(const FileStatus& status) {
  return {status.device, status.inode};
}

}  // namespace

StoredFile* StoredFiles::find(const InodeKey& key) {
  const auto found = files_.find(key);
  return found == files_.end() ? nullptr : &found->second;
}

bool StoredFiles::update(StoredFile& file, const FileStatus& status, FollowTime now) {
  const bool has_changed = status.size != file.status.size || status.changed_ns != file.status.changed_ns;
  file.status = status;
  if (!has_changed) return false;
  file.changed_at = now;
  file.is_closed = false;
  return true;
}

StoredFiles::Changes StoredFiles::take_over(const FolderNews& news, FollowTime now) {
  Changes changes;
  ++round_;
  for (const FoundFile& found : news.found) take_over_found(found, now, changes);
  for (const std::string& path : news.written) {
    const auto found = by_path_.find(path);
    if (found != by_path_.end()) changes.changed.push_back(found->second);
  }
  for (const std::string& path : news.closed) {
    const auto found = by_path_.find(path);
    if (found == by_path_.end()) continue;
    changes.changed.push_back(found->second);
    changes.closed.push_back(found->second);
  }
  if (news.looked_at.empty()) return changes;
  for (auto& [key, file] : files_) {
    if (file.round == round_ || file.is_missing || !news.looked_at.contains(folder_of(file.path.text)))
      continue;
    file.is_missing = true;
    file.missing_since = now;
    const auto named = by_path_.find(file.path.text);
    if (named != by_path_.end() && named->second == key) by_path_.erase(named);
    changes.missing.push_back(key);
  }
  return changes;
}

// Of several names of one inode the first one counts.
void StoredFiles::take_over_found(const FoundFile& found, FollowTime now, Changes& changes) {
  const InodeKey key = key_of(found.status);
  const auto [place, is_new] = files_.try_emplace(key);
  StoredFile& file = place->second;
  const bool is_first = file.round != round_;
  file.round = round_;
  if (is_new) {
    file.key = key;
    file.path = found.path;
    file.changed_at = now;
    file.due = now;
    file.status = found.status;
    changes.changed.push_back(key);
  } else if (update(file, found.status, now)) {
    changes.changed.push_back(key);
  }
  if (is_first && file.path.text != found.path.text) {
    const auto named = by_path_.find(file.path.text);
    if (named != by_path_.end() && named->second == key) by_path_.erase(named);
    file.path = found.path;
    changes.changed.push_back(key);
  }
  file.is_missing = false;
  by_path_[file.path.text] = key;
}

void StoredFiles::forget(const InodeKey& key) {
  StoredFile* file = find(key);
  if (file == nullptr) return;
  close(*file);
  const auto named = by_path_.find(file->path.text);
  if (named != by_path_.end() && named->second == key) by_path_.erase(named);
  files_.erase(key);
}

Result<const FileHandle*> StoredFiles::open(StoredFile& file, const WatchedFolders& folders) {
  if (file.handle.get() >= 0) {
    by_use_.erase(file.used_at);
  } else if (!file.is_missing) {
    make_room();
    GOODPUT_TRY(FileHandle opened, folders.open_file(file.path));
    if (opened.get() >= 0 && key_of(status_of(opened)) == file.key) file.handle = std::move(opened);
  }
  if (file.handle.get() >= 0) {
    file.used_at = ++uses_;
    by_use_[file.used_at] = file.key;
  }
  return &file.handle;
}

void StoredFiles::close(StoredFile& file) {
  if (file.handle.get() >= 0) by_use_.erase(file.used_at);
  file.handle.reset();
}

// Files that have no name any more are closed last: nothing opens them again.
void StoredFiles::make_room() {
  if (by_use_.size() < most_open_) return;
  const auto has_name = [&](const auto& use) { return !files_.at(use.second).is_missing; };
  auto oldest = std::ranges::find_if(by_use_, has_name);
  if (oldest == by_use_.end()) oldest = by_use_.begin();
  close(files_.at(oldest->second));
}

}  // namespace goodput

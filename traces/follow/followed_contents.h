// Which content lies in which file of the watched folders, as files come, grow, move on and go.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "traces/follow/content_match.h"
#include "traces/follow/followed_content.h"
#include "traces/follow/followed_files.h"
#include "traces/follow/head_index.h"
#include "traces/follow/log_name.h"
#include "traces/follow/stored_files.h"
#include "traces/follow/watched_folders.h"

namespace goodput {

class FollowedContents {
 public:
  static Result<FollowedContents> open(const FollowOptions& options,
                                       const std::vector<FollowedPosition>& known);

  void refresh();
  // When refresh() has something to do even if nothing happens.
  [[nodiscard]] FollowTime next_due() const;

  using Contents = std::map<FileNumber, std::unique_ptr<FollowedContent>>;
  [[nodiscard]] const Contents& all() const { return contents_; }
  // Null: forgotten, after its file went.
  [[nodiscard]] FollowedContent* find(FileNumber number) {
    const auto found = contents_.find(number);
    return found == contents_.end() ? nullptr : found->second.get();
  }
  // Whether its file is there under a name.
  [[nodiscard]] bool has_name(const FollowedContent& content) const;
  // Of each log the oldest part of which it will soon be known what it is; by LogName::log.
  [[nodiscard]] std::map<std::string, LogName> oldest_awaited() const;
  // Its open source. An empty handle: it is not there any more.
  Result<const FileHandle*> open_source(FollowedContent& content);
  // Its source turned out to hold another content.
  void refuse_source(FileNumber number);

  [[nodiscard]] WatchedFolders& folders() { return folders_; }
  [[nodiscard]] const WatchedFolders& folders() const { return folders_; }
  void warn(std::string warning) { warnings_.push_back(std::move(warning)); }
  // About the file at `path`, unless there was one before.
  void warn_once(const std::string& path, std::string what);
  [[nodiscard]] std::vector<std::string> take_warnings();
  // Whether names or the number of contents have changed since the last call.
  [[nodiscard]] bool take_renamed() { return std::exchange(has_renamed_, false); }

 private:
  FollowedContents(WatchedFolders folders, std::size_t most_open, std::chrono::milliseconds settle)
      : folders_(std::move(folders)), stored_(most_open), settle_(settle) {}

  void look_once();
  void take_changed(StoredFile& file);
  void take_source_changed(StoredFile& file);
  void take_whole_changed(StoredFile& file, FollowedContent& content);
  void take_missing(const InodeKey& key);
  void drop_missing_source(StoredFile& file);
  void judge_copies_again(FileNumber number);
  void lose_source(FileNumber number);
  void displace(StoredFile& file);
  void forget(const InodeKey& key);
  FileNumber add_content(std::unique_ptr<FollowedContent> content);
  void erase_content(FileNumber number);

  void judge_due();
  void judge(StoredFile& file);
  void place(const OpenedFile& opened, StoredFile& file);
  void take_name_of_copy(const StoredFile& copy, FollowedContent& content);
  [[nodiscard]] ContentMatch match(const OpenedFile& opened, FileNumber number);
  void attach(const OpenedFile& opened, StoredFile& file, FileNumber number);
  void tell_losses();
  void forget_gone();
  void postpone(StoredFile& file, FollowTime due);

  std::function<std::string(const std::string&)> owner_of_;
  WatchedFolders folders_;
  StoredFiles stored_;
  std::chrono::milliseconds settle_;
  Contents contents_;
  HeadIndex heads_;  // of contents_
  FileNumber next_number_ = 0;
  std::set<InodeKey> to_judge_;
  std::set<InodeKey> missing_;  // sources without a name that are still open
  std::set<FileNumber> without_source_;
  std::set<std::string> warned_of_;  // paths
  std::vector<std::string> warnings_;
  FollowTime now_;
  bool has_renamed_ = true;
  bool has_moved_ = false;  // in this look a content came to a file, or lost one
};

}  // namespace goodput

#include "traces/follow/followed_contents.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::chrono::hours kRememberedGone{1};  // contents without a file,
constexpr std::size_t kFewestRemembered = 64;     // and as many of them as there are others, but so many
constexpr std::size_t kMostLooks = 16;            // of one refresh, while files move
constexpr std::uint64_t kSniffedBytesAtMost = std::uint64_t{64} << 10;

std::unique_ptr<FollowedContent> content_of_former_process(const FollowedPosition& position,
                                                           std::string owner) {
  auto content = std::make_unique<FollowedContent>();
  content->path = position.path;
  content->owner = std::move(owner);
  content->key = {position.device, position.inode};
  content->known_head_hash = position.head_hash;
  content->known_head_bytes = std::min<std::uint64_t>(position.head_bytes, kHeadBytes);
  content->read = content->used = content->blank = position.offset;
  content->seen = content->stored_size = std::max(position.seen, position.offset);
  content->line = position.offset == 0 ? 1 : 0;
  content->is_complete = position.is_done;
  return content;
}

// The watched folder that a file is in.
std::function<std::string(const std::string&)> owner_by_folder(const std::vector<std::string>& folders) {
  return [folders](const std::string& path) {
    for (const std::string& folder : folders) {
      if (path.starts_with(folder)) return folder;
    }
    return std::string();
  };
}

}  // namespace

Result<FollowedContents> FollowedContents::open(const FollowOptions& options,
                                                const std::vector<FollowedPosition>& known) {
  GOODPUT_TRY(WatchedFolders folders,
              WatchedFolders::open({.folders = options.folders,
                                    .ignored = options.ignored,
                                    .recursive = options.recursive,
                                    .uses_inotify = options.watch == FollowOptions::Watch::kAuto,
                                    .poll_every = options.poll_every}));
  constexpr std::size_t kFewestOpen = 4;  // that are compared with each other
  FollowedContents contents(std::move(folders), std::max(options.open_files, kFewestOpen), options.settle);
  contents.owner_of_ = options.owner_of ? options.owner_of : owner_by_folder(options.folders);
  for (const FollowedPosition& position : known) {
    if (position.head_bytes == 0) continue;  // nothing of it was read: it cannot be told from others
    auto content = content_of_former_process(position, contents.owner_of_(position.path));
    content->lost_at = std::chrono::steady_clock::now();
    contents.without_source_.insert(contents.add_content(std::move(content)));
  }
  return contents;
}

// What a file holds counts only when the folders were looked at after it was found to hold it: what was in it
// before, or older parts of its log, may have come to other names between the last look and that moment.
void FollowedContents::refresh() {
  for (std::size_t look = 0; look < kMostLooks; ++look) {
    has_moved_ = false;
    look_once();
    if (!has_moved_) break;
    if (!folders_.uses_inotify()) folders_.look_at_all();
  }
  tell_losses();
}

void FollowedContents::look_once() {
  now_ = std::chrono::steady_clock::now();
  const FolderNews news = folders_.take_news(now_);
  const StoredFiles::Changes changes = stored_.take_over(news, now_);
  for (const InodeKey& key : changes.changed) {
    if (StoredFile* file = stored_.find(key)) take_changed(*file);
  }
  for (const InodeKey& key : changes.closed) {
    StoredFile* file = stored_.find(key);
    if (file == nullptr) continue;
    file->is_closed = true;
    if (to_judge_.contains(key)) file->due = now_;
  }
  for (const InodeKey& key : changes.missing) take_missing(key);
  for (const InodeKey& key : std::set<InodeKey>(missing_)) drop_missing_source(*stored_.find(key));
  judge_due();
}

void FollowedContents::take_changed(StoredFile& file) {
  const auto handle = stored_.open(file, folders_);
  if (handle && (*handle)->get() >= 0) StoredFiles::update(file, status_of(**handle), now_);
  switch (file.role) {
    case StoredFile::Role::kSource: {
      FollowedContent& content = *contents_.at(file.content);
      has_renamed_ = has_renamed_ || content.path != file.path.text;
      content.path = file.path.text;
      return take_source_changed(file);
    }
    case StoredFile::Role::kLeftAlone:
      if (file.judged_bytes >= kSniffedBytesAtMost && file.status.size >= file.judged_bytes) return;
      file.role = StoredFile::Role::kNew;
      return postpone(file, now_);
    case StoredFile::Role::kNew:
    case StoredFile::Role::kCopy:
      return postpone(file, now_);
  }
}

void FollowedContents::take_source_changed(StoredFile& file) {
  FollowedContent& content = *contents_.at(file.content);
  if (content.kind == ContentKind::kWhole) return take_whole_changed(file, content);
  const std::uint64_t size = file.status.size;
  if (content.is_compressed) {
    if (size < content.stored_size) return displace(file);
    if (size > content.stored_size) content.is_complete = false;
  } else {
    if (size < content.read || !is_still(content, file.handle)) return displace(file);
    if (size < content.blank) content.blank = content.read;
  }
  content.stored_size = size;
}

// One that was read already is not read again when it grows: its steps would come twice.
void FollowedContents::take_whole_changed(StoredFile& file, FollowedContent& content) {
  const std::uint64_t size = file.status.size;
  if (content.read == 0) {  // to be read later, when it has settled again
    const FileNumber number = file.content;
    file.role = StoredFile::Role::kNew;
    erase_content(number);
    missing_.erase(file.key);
    has_renamed_ = true;
    return postpone(file, now_);
  }
  const bool is_same_head = size >= content.stored_size && is_still(content, file.handle);
  if (!is_same_head) return displace(file);
  if (size > content.stored_size) {
    warn_once(file.path.text,
              "has grown since it was read; files of this format are read once, so the new data is ignored; "
              "write raw logs, or one file per session");
  }
}

void FollowedContents::take_missing(const InodeKey& key) {
  StoredFile* file = stored_.find(key);
  if (file == nullptr) return;
  if (file->role != StoredFile::Role::kSource) return forget(key);
  missing_.insert(key);
  judge_copies_again(file->content);
  if (file->handle.get() >= 0 && status_of(file->handle).has_names) folders_.look_at_all();
}

// A source without a name is read to its end, and until nobody writes to it, as far as can be told.
void FollowedContents::drop_missing_source(StoredFile& file) {
  FollowedContent& content = *contents_.at(file.content);
  const InodeKey key = file.key;
  if (!file.is_missing) {
    content.is_final = false;
    missing_.erase(key);
    return;
  }
  if (file.handle.get() >= 0) {
    StoredFiles::update(file, status_of(file.handle), now_);
    if (content.kind == ContentKind::kLines) content.stored_size = file.status.size;
    if (now_ - file.missing_since < 2 * settle_) return;
    content.is_final = true;
    if (content.has_news()) return;
    content.is_complete = !file.status.has_names;
  }
  const FileNumber number = file.content;
  forget(key);
  lose_source(number);
}

void FollowedContents::forget(const InodeKey& key) {
  missing_.erase(key);
  to_judge_.erase(key);
  stored_.forget(key);
}

FileNumber FollowedContents::add_content(std::unique_ptr<FollowedContent> content) {
  const FileNumber number = next_number_++;
  heads_.add(number, *content);
  contents_[number] = std::move(content);
  return number;
}

void FollowedContents::erase_content(FileNumber number) {
  heads_.remove(number, *contents_.at(number));
  contents_.erase(number);
}

void FollowedContents::lose_source(FileNumber number) {
  FollowedContent& content = *contents_.at(number);
  has_moved_ = true;
  content.lost = content.unread_stored_bytes();
  content.lost_at = now_;
  content.source.reset();
  content.stream.reset();
  content.streamed = content.ended_at = 0;
  content.carried.clear();
  content.is_final = false;
  without_source_.insert(number);
  judge_copies_again(number);
}

void FollowedContents::judge_copies_again(FileNumber number) {
  for (const auto& [key, file] : stored_.all()) {
    if (file.role == StoredFile::Role::kCopy && file.content == number) postpone(*stored_.find(key), now_);
  }
}

// Its file holds something else now.
void FollowedContents::displace(StoredFile& file) {
  lose_source(file.content);
  file.role = StoredFile::Role::kNew;
  missing_.erase(file.key);
  postpone(file, now_);
}

void FollowedContents::refuse_source(FileNumber number) {
  FollowedContent& content = *contents_.at(number);
  StoredFile* file = content.source ? stored_.find(*content.source) : nullptr;
  if (file == nullptr) return;
  if (content.is_compressed) file->refused.push_back(number);
  displace(*file);
}

Result<const FileHandle*> FollowedContents::open_source(FollowedContent& content) {
  StoredFile* file = content.source ? stored_.find(*content.source) : nullptr;
  static const FileHandle none;
  if (file == nullptr) return &none;
  return stored_.open(*file, folders_);
}

void FollowedContents::tell_losses() {
  for (const FileNumber number : without_source_) {
    FollowedContent& content = *contents_.at(number);
    content.is_loss_due = content.lost > 0 && now_ - content.lost_at >= 2 * settle_;
  }
  forget_gone();
}

// What went may come back, compressed or from elsewhere; what a former process has told of may come any time,
// so that is forgotten only when there is too much of it, for an hour.
void FollowedContents::forget_gone() {
  std::vector<std::pair<FollowTime, FileNumber>> gone;
  for (const FileNumber number : without_source_) {
    const FollowedContent& content = *contents_.at(number);
    if (content.lost == 0) gone.emplace_back(content.lost_at, number);
  }
  const std::size_t most = std::max(kFewestRemembered, contents_.size() - without_source_.size());
  std::ranges::sort(gone);
  for (std::size_t i = 0; i < gone.size(); ++i) {
    const auto& [lost_at, number] = gone[i];
    const bool is_too_many = gone.size() - i > most;
    const bool is_old = now_ - lost_at >= kRememberedGone;
    const bool is_known = contents_.at(number)->known_head_bytes > 0;
    if (is_known ? !(is_too_many && is_old) : !(is_too_many || is_old)) continue;
    without_source_.erase(number);
    erase_content(number);
    has_renamed_ = true;
  }
}

bool FollowedContents::has_name(const FollowedContent& content) const {
  if (!content.source) return false;
  const auto file = stored_.all().find(*content.source);
  return file != stored_.all().end() && !file->second.is_missing;
}

FollowTime FollowedContents::next_due() const {
  FollowTime due = FollowTime::max();
  for (const InodeKey& key : to_judge_) due = std::min(due, stored_.all().at(key).due);
  for (const InodeKey& key : missing_) due = std::min(due, stored_.all().at(key).missing_since + 2 * settle_);
  for (const FileNumber number : without_source_) {
    const FollowedContent& content = *contents_.at(number);
    if (content.lost > 0 && !content.is_loss_due) due = std::min(due, content.lost_at + 2 * settle_);
  }
  return due;
}

void FollowedContents::warn_once(const std::string& path, std::string what) {
  constexpr std::size_t kMostRemembered = 10'000;
  if (warned_of_.size() < kMostRemembered && warned_of_.insert(path).second)
    warn(Error{std::move(what), {.file = on_one_line(path)}}.message());
}

std::vector<std::string> FollowedContents::take_warnings() {
  std::vector<std::string> warnings = folders_.take_warnings();
  for (std::string& warning : std::exchange(warnings_, {})) warnings.push_back(std::move(warning));
  return warnings;
}

void FollowedContents::postpone(StoredFile& file, FollowTime due) {
  file.due = due;
  to_judge_.insert(file.key);
}

}  // namespace goodput

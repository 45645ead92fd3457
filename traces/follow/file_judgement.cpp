// FollowedContents: what a file that has come or changed is, and whose.
#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/text.h"
#include "traces/follow/followed_contents.h"
#include "traces/follow/log_name.h"

namespace goodput {
namespace {

constexpr std::chrono::seconds kRetryJudgement{5};  // of files that could not be read
constexpr std::size_t kMostRounds = 8;              // of files that move because others do

}  // namespace

// Those that a former process read from come first: others may begin alike.
void FollowedContents::judge_due() {
  for (std::size_t round = 0; round < kMostRounds; ++round) {
    std::vector<InodeKey> due;
    for (const InodeKey& key : to_judge_) {
      if (stored_.find(key)->due <= now_) due.push_back(key);
    }
    if (due.empty()) return;
    std::set<InodeKey> known;
    for (const FileNumber number : without_source_) known.insert(contents_.at(number)->key);
    std::stable_partition(due.begin(), due.end(), [&](const InodeKey& key) { return known.contains(key); });
    for (const InodeKey& key : due) {
      to_judge_.erase(key);
      if (StoredFile* file = stored_.find(key)) judge(*file);
    }
  }
}

std::map<std::string, LogName> FollowedContents::oldest_awaited() const {
  std::map<std::string, LogName> oldest;
  for (const InodeKey& key : to_judge_) {
    const StoredFile& file = stored_.all().at(key);
    if (file.role != StoredFile::Role::kNew || file.due > now_ + settle_) continue;
    const LogName name = parse_log_name(file.path.text);
    LogName& known = oldest.try_emplace(name.log, name).first->second;
    if (name.is_older_than(known)) known = name;
  }
  return oldest;
}

void FollowedContents::judge(StoredFile& file) {
  if (file.role == StoredFile::Role::kSource || file.is_missing) return;
  file.role = StoredFile::Role::kNew;
  if (file.status.size == 0) return;
  const auto fail = [&](const Error& error) {
    if (warned_of_.insert(file.path.text).second) warn(error.message());  // which names the file
    postpone(file, now_ + kRetryJudgement);
  };
  const auto handle = stored_.open(file, folders_);
  if (!handle) return fail(handle.error());
  if ((*handle)->get() < 0) return;
  StoredFiles::update(file, status_of(**handle), now_);
  const auto head = read_content_head(**handle, file.path.text, parse_log_name(file.path.text).is_text);
  if (!head) return fail(head.error());
  if (head->kind == ContentKind::kUnknown) {
    file.role = StoredFile::Role::kLeftAlone;
    file.judged_bytes = file.status.size;
    return;
  }
  const bool has_to_settle = head->is_compressed || head->kind == ContentKind::kWhole;
  if (has_to_settle && !file.is_closed && now_ - file.changed_at < settle_)
    return postpone(file, file.changed_at + settle_);
  place({file, **handle, *head}, file);
}

void FollowedContents::place(const OpenedFile& opened, StoredFile& file) {
  std::optional<FileNumber> continued;
  std::optional<FileNumber> copied;
  const std::string owner = owner_of_(file.path.text);
  const auto content_of = [this](FileNumber number) -> const FollowedContent& {
    return *contents_.at(number);
  };
  for (const FileNumber number : heads_.like(opened.head, content_of)) {
    if (!contents_.contains(number) || contents_.at(number)->owner != owner)
      continue;  // match() may take one away
    if (std::ranges::find(file.refused, number) != file.refused.end()) continue;
    const ContentMatch found = match(opened, number);
    if (found == ContentMatch::kCopy) copied = number;
    if (found != ContentMatch::kContinues) continue;
    const auto rank = [&](FileNumber one) {
      const FollowedContent& content = *contents_.at(one);
      return std::pair(content.key == file.key, content.read);
    };
    if (!continued || rank(number) > rank(*continued)) continued = number;
  }
  if (!continued && copied) {
    file.role = StoredFile::Role::kCopy;
    file.content = *copied;
    take_name_of_copy(file, *contents_.at(*copied));
    return;
  }
  if (!continued) continued = add_content(std::make_unique<FollowedContent>());
  attach(opened, file, *continued);
}

// What has no name any more is as old as its copy.
void FollowedContents::take_name_of_copy(const StoredFile& copy, FollowedContent& content) {
  if (!content.source || !stored_.find(*content.source)->is_missing) return;
  content.path = copy.path.text;
  has_renamed_ = true;
}

ContentMatch FollowedContents::match(const OpenedFile& opened, FileNumber number) {
  FollowedContent& content = *contents_.at(number);
  if (!content.source || *content.source == opened.stored.key) return match_without_source(opened, content);
  const std::size_t common = std::min(opened.head.text.size(), content.head.size());
  if (opened.head.text.compare(0, common, content.head, 0, common) != 0) return ContentMatch::kOther;
  StoredFile& source = *stored_.find(*content.source);
  const bool is_text = content.kind == ContentKind::kLines && !content.is_compressed;
  const auto handle = stored_.open(source, folders_);
  const bool is_there = handle && (*handle)->get() >= 0;
  if (is_there) {
    StoredFiles::update(source, status_of(**handle), now_);
    if (is_text && !is_still(content, **handle))
      displace(source);
    else
      take_source_changed(source);
    if (!contents_.contains(number)) return ContentMatch::kOther;
    const bool is_read = is_text && content.read >= source.status.size;
    if (content.source && is_read && !source.status.has_names) stored_.close(source);
  }
  if (content.source && source.handle.get() < 0) {
    forget(source.key);
    lose_source(number);
  }
  if (!content.source) return match_without_source(opened, content);
  const auto head = read_content_head(source.handle, source.path.text, true);
  if (!head) return ContentMatch::kOther;
  const ContentMatch found = match_with_source(opened, content, {source, source.handle, *head});
  // It may have been emptied while it was compared: then the other one may be what it was.
  const bool is_as_it_was =
      !is_text || (status_of(source.handle).size >= source.status.size && is_still(content, source.handle));
  if (is_as_it_was) return found;
  displace(source);
  return match_without_source(opened, content);
}

void FollowedContents::attach(const OpenedFile& opened, StoredFile& file, FileNumber number) {
  FollowedContent& content = *contents_.at(number);
  heads_.remove(number, content);
  content.kind = opened.head.kind;
  content.path = file.path.text;
  content.owner = owner_of_(content.path);
  content.key = file.key;
  content.source = file.key;
  content.stored_size = file.status.size;
  content.is_compressed = opened.head.is_compressed && content.kind == ContentKind::kLines;
  if (!content.is_compressed) content.is_complete = false;
  if (opened.head.text.size() >= content.head.size()) content.head = opened.head.text;
  content.known_head_bytes = content.hashed_bytes = 0;
  heads_.add(number, content);
  if (content.tail.empty() && !opened.head.is_compressed)
    content.tail = text_before(opened.handle, content.read);
  content.blank = content.read;
  content.lost = 0;
  content.is_loss_due = false;
  content.retry_at = {};
  without_source_.erase(number);
  file.role = StoredFile::Role::kSource;
  file.content = number;
  has_renamed_ = has_moved_ = true;
}

}  // namespace goodput

#include "traces/follow/content_match.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace goodput {
namespace {

bool have_common_head(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  return a.substr(0, common) == b.substr(0, common);
}

bool has_head_of(const ContentHead& head, const FollowedContent& content) {
  if (content.known_head_bytes == 0) return have_common_head(head.text, content.head);
  const auto bytes = static_cast<std::size_t>(content.known_head_bytes);
  return head.text.size() >= bytes && head.hash_of_first(bytes) == content.known_head_hash;
}

ContentMatch match_whole(const OpenedFile& file, const FollowedContent& content) {
  if (file.stored.status.size != content.stored_size || !has_head_of(file.head, content))
    return ContentMatch::kOther;
  return content.source ? ContentMatch::kCopy : ContentMatch::kContinues;
}

}  // namespace

std::string text_before(const FileHandle& file, std::uint64_t end) {
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(end, kTailBytes)), '\0');
  const auto count = read_at(file, {}, text, end - text.size());
  return count && *count == text.size() ? text : std::string();
}

bool stands_before(const FileHandle& file, std::uint64_t end, std::string_view tail) {
  std::string there(tail.size(), '\0');
  const auto count = read_at(file, {}, there, end - tail.size());
  return count && *count == tail.size() && there == tail;
}

bool is_still(const FollowedContent& content, const FileHandle& file) {
  if (file.get() < 0) return true;
  if (content.read == 0 || content.kind == ContentKind::kWhole)
    return stands_before(file, content.head.size(), content.head);
  return stands_before(file, content.read, content.tail);
}

// Whether a file that has less than was read of the content still looks like it where there is a mark.
bool has_last_mark(const FileHandle& file, std::uint64_t size, const FollowedContent& content) {
  const auto behind = std::ranges::find_if(
      content.marks, [&](const FollowedContent::Mark& mark) { return mark.offset > size; });
  if (behind == content.marks.begin()) return true;
  const FollowedContent::Mark& mark = *std::prev(behind);
  return hash_of_tail(text_before(file, mark.offset)) == mark.hash;
}

ContentMatch match_without_source(const OpenedFile& file, const FollowedContent& content) {
  if (file.head.kind != content.kind && content.kind != ContentKind::kUnknown) return ContentMatch::kOther;
  if (file.head.kind == ContentKind::kWhole) return match_whole(file, content);
  if (!has_head_of(file.head, content)) return ContentMatch::kOther;
  // A text that has less than was read has nothing new.
  const bool is_short_head = file.head.text.size() < std::min<std::uint64_t>(content.read, kHeadBytes);
  if (is_short_head) return ContentMatch::kCopy;
  if (file.head.is_compressed) return ContentMatch::kContinues;  // reading will tell
  if (file.stored.status.size < content.read) {
    return has_last_mark(file.handle, file.stored.status.size, content) ? ContentMatch::kCopy
                                                                        : ContentMatch::kOther;
  }
  return stands_before(file.handle, content.read, content.tail) ? ContentMatch::kContinues
                                                                : ContentMatch::kOther;
}

ContentMatch match_with_source(const OpenedFile& file, const FollowedContent& content,
                               const OpenedFile& source) {
  if (file.head.kind != content.kind) return ContentMatch::kOther;
  if (content.kind == ContentKind::kWhole) return match_whole(file, content);
  const std::string_view head = file.head.text;
  const std::string_view source_head = source.head.text;
  if (!have_common_head(head, source_head)) return ContentMatch::kOther;
  const bool is_longer = head.size() > source_head.size();
  if (is_longer && !source.stored.is_missing) return ContentMatch::kOther;
  if (file.head.is_compressed || source.head.is_compressed) return ContentMatch::kCopy;
  const std::uint64_t size = file.stored.status.size;
  if (size > source.stored.status.size && !source.stored.is_missing) return ContentMatch::kOther;
  const std::uint64_t common = std::min(size, source.stored.status.size);
  const std::string end = text_before(source.handle, common);
  if (end.empty() || !stands_before(file.handle, common, end)) return ContentMatch::kOther;
  return ContentMatch::kCopy;
}

}  // namespace goodput

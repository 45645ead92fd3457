#include "traces/follow/head_index.h"

#include <algorithm>

namespace goodput {
namespace {

std::string key_of(const std::string& head) {
  return head.substr(0, HeadIndex::kKeyBytes);
}

template <typename Map>
void append(std::vector<HeadIndex::Number>& found, const Map& map, const typename Map::key_type& key) {
  const auto same = map.find(key);
  if (same != map.end()) found.insert(found.end(), same->second.begin(), same->second.end());
}

template <typename Map>
void remove_from(Map& map, const typename Map::key_type& key, HeadIndex::Number number) {
  const auto found = map.find(key);
  if (found == map.end()) return;
  std::erase(found->second, number);
  if (found->second.empty()) map.erase(found);
}

}  // namespace

void HeadIndex::add(Number number, const FollowedContent& content) {
  if (content.known_head_bytes > 0) {
    by_hash_[static_cast<std::size_t>(content.known_head_bytes)][content.known_head_hash].push_back(number);
  } else {
    short_.insert(number);
  }
}

void HeadIndex::remove(Number number, const FollowedContent& content) {
  if (content.known_head_bytes > 0) {
    remove_from(by_hash_[static_cast<std::size_t>(content.known_head_bytes)], content.known_head_hash,
                number);
  } else if (short_.erase(number) == 0) {
    remove_from(by_key_, key_of(content.head), number);
  }
}

std::vector<HeadIndex::Number> HeadIndex::like(
    const ContentHead& head, const std::function<const FollowedContent&(Number number)>& content_of) {
  std::erase_if(short_, [&](Number number) {
    const std::string& known = content_of(number).head;
    if (known.size() < kKeyBytes) return false;
    by_key_[key_of(known)].push_back(number);
    return true;
  });
  std::vector<Number> found(short_.begin(), short_.end());
  for (const auto& [bytes, by_hash] : by_hash_) {
    if (!by_hash.empty() && head.text.size() >= bytes) append(found, by_hash, head.hash_of_first(bytes));
  }
  if (head.text.size() >= kKeyBytes) {
    append(found, by_key_, key_of(head.text));
  } else {
    for (const auto& [key, numbers] : by_key_) {
      if (key.starts_with(head.text)) found.insert(found.end(), numbers.begin(), numbers.end());
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace goodput

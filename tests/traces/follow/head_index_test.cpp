#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/random.h"
#include "traces/follow/head_index.h"

namespace goodput {
namespace {

// Heads that are alike up to some place, of any length.
std::string any_head(RandomStream& random) {
  std::string head(random.below(3 * HeadIndex::kKeyBytes), 'x');
  for (std::size_t i = 0; i < head.size(); i += 50) head[i] = static_cast<char>('a' + random.below(2));
  return head;
}

using Contents = std::map<std::size_t, FollowedContent>;

bool may_be_alike(std::string_view head, const FollowedContent& content) {
  if (content.known_head_bytes > 0) {
    return head.size() >= content.known_head_bytes &&
           hash_of_head(head.substr(0, content.known_head_bytes)) == content.known_head_hash;
  }
  const std::string_view other = content.head;
  const std::size_t common = std::min({head.size(), other.size(), HeadIndex::kKeyBytes});
  return other.size() < HeadIndex::kKeyBytes || head.substr(0, common) == other.substr(0, common);
}

FollowedContent any_content(RandomStream& random) {
  FollowedContent content;
  content.head = any_head(random);
  if (random.below(3) > 0) return content;
  content.known_head_bytes = std::min<std::size_t>(content.head.size(), 60);
  content.known_head_hash = hash_of_head(std::string_view(content.head).substr(0, content.known_head_bytes));
  if (content.known_head_bytes > 0) content.head.clear();
  return content;
}

}  // namespace

TEST_CASE("head index: finds what may begin alike, while heads grow and contents go") {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "head index");
    HeadIndex index;
    Contents contents;
    for (std::size_t number = 0; number < 200; ++number) {
      index.add(number, contents[number] = any_content(random));
      const auto other = contents.find(random.below(number + 1));
      if (other != contents.end()) {
        if (other->second.known_head_bytes == 0) other->second.head += any_head(random);
        if (random.below(4) == 0) {
          index.remove(other->first, other->second);
          contents.erase(other);
        }
      }
      ContentHead head;
      head.text = any_head(random);
      std::vector<std::size_t> expected;
      for (const auto& [one, content] : contents) {
        if (may_be_alike(head.text, content)) expected.push_back(one);
      }
      CHECK(index.like(head, [&](std::size_t one) -> const FollowedContent& { return contents.at(one); }) ==
            expected);
      found += expected.size();
    }
  }
  CHECK(found > 10'000);
}

}  // namespace goodput

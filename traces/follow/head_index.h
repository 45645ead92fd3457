// Contents by how they begin, so that a file that comes is compared with the few that may be the same, of
// thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/follow/content_head.h"
#include "traces/follow/followed_content.h"

namespace goodput {

class HeadIndex {
 public:
  // So much of a head is looked at. One that is shorter may be that of any other with this beginning.
  static constexpr std::size_t kKeyBytes = 256;
  using Number = std::size_t;

  void add(Number number, const FollowedContent& content);
  // As it was added, but that its head may have grown.
  void remove(Number number, const FollowedContent& content);
  // Ascending: those that begin as `head` does, as far as that is known of both, or by the hash of a former
  // process. Of heads shorter than kKeyBytes all. `content_of`: heads may have grown since the last call.
  [[nodiscard]] std::vector<Number> like(
      const ContentHead& head, const std::function<const FollowedContent&(Number number)>& content_of);

 private:
  using Numbers = std::vector<Number>;
  std::set<Number> short_;
  std::unordered_map<std::string, Numbers> by_key_;
  std::map<std::size_t, std::unordered_map<std::uint64_t, Numbers>> by_hash_;  // of so many bytes
};

}  // namespace goodput

// Which pushes were taken in: the Idempotency-Keys of the last pushes of the last jobs.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// How a key is kept: as 32 hexadecimal digits of its SHA-256, which fit into the name of a file. Empty: there
// is no key.
[[nodiscard]] std::string push_key(std::string_view idempotency_key);
[[nodiscard]] bool is_push_key(std::string_view text);

struct PushedKey {
  std::string job;
  std::string key;  // push_key()

  friend bool operator==(const PushedKey&, const PushedKey&) = default;
};

class PushKeys {
 public:
  static constexpr std::size_t kKeptKeys = 256;  // of a job
  static constexpr std::size_t kKeptJobs = 256;

  [[nodiscard]] bool contains(const PushedKey& pushed) const;
  // No effect if it is there already, or the key is empty.
  void add(const PushedKey& pushed);
  void remove(const PushedKey& pushed);
  // In an order in which they can be added again: by job, the oldest first.
  [[nodiscard]] std::vector<PushedKey> all() const;

 private:
  std::map<std::string, std::deque<std::string>> keys_;  // by job, the oldest first
  std::deque<std::string> jobs_;                         // of keys_, the oldest first
};

}  // namespace goodput

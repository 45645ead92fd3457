#include "tools/web/push_keys.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr std::size_t kKeyBytes = 16;  // of the digest

}  // namespace

std::string push_key(std::string_view idempotency_key) {
  if (idempotency_key.empty()) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  const int made = EVP_Digest(idempotency_key.data(), idempotency_key.size(), digest.data(), nullptr,
                              EVP_sha256(), nullptr);
  GOODPUT_CHECK(made == 1, "cannot compute the digest");
  std::string key;
  for (std::size_t i = 0; i < kKeyBytes; ++i) key += fmt::format("{:02x}", digest.at(i));
  return key;
}

bool is_push_key(std::string_view text) {
  return text.size() == 2 * kKeyBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool PushKeys::contains(const PushedKey& pushed) const {
  const auto keys = keys_.find(pushed.job);
  return keys != keys_.end() && std::ranges::find(keys->second, pushed.key) != keys->second.end();
}

void PushKeys::add(const PushedKey& pushed) {
  if (pushed.key.empty() || contains(pushed)) return;
  const auto [keys, is_new] = keys_.try_emplace(pushed.job);
  if (is_new) jobs_.push_back(pushed.job);
  keys->second.push_back(pushed.key);
  if (keys->second.size() > kKeptKeys) keys->second.pop_front();
  if (jobs_.size() > kKeptJobs) {
    keys_.erase(jobs_.front());
    jobs_.pop_front();
  }
}

void PushKeys::remove(const PushedKey& pushed) {
  const auto keys = keys_.find(pushed.job);
  if (keys != keys_.end()) std::erase(keys->second, pushed.key);
}

std::vector<PushedKey> PushKeys::all() const {
  std::vector<PushedKey> all;
  for (const std::string& job : jobs_) {
    for (const std::string& key : keys_.at(job)) all.push_back({job, key});
  }
  return all;
}

}  // namespace goodput

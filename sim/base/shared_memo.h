// Results that are computed once for all threads, whoever asks first. All methods may be called by any number
// of threads at once.
//
//   SharedMemo    keeps everything it was ever asked for: references stay valid, asking again takes no lock
//   BoundedMemo   for keys without end: forgets, hands out copies, and takes a lock
//
// Who asks for a key that another thread is computing waits for it; other keys go on. What an exception ends
// was not computed: the next one who asks tries again. A computation may ask for other keys, never for its
// own.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/hash.h"

namespace goodput {

// A key of SharedMemo.
template <std::size_t kParts>
using MemoKey = std::array<std::int64_t, kParts>;

template <std::size_t kParts, typename Value>
class SharedMemo {
 public:
  SharedMemo() { add_table(64); }

  // `compute`: () -> Value. The value belongs to the key alone: it does not matter who computes it.
  template <typename Compute>
  [[nodiscard]] const Value& at(const MemoKey<kParts>& key, const Compute& compute) {
    const std::uint64_t hash = hash_of(key);
    Entry* entry = table_.load(std::memory_order_acquire)->find(key, hash);
    if (entry == nullptr) entry = &insert(key, hash);
    if (!entry->is_known.load(std::memory_order_acquire)) fill(*entry, compute);
    return *entry->value;
  }

 private:
  struct Entry {
    explicit Entry(const MemoKey<kParts>& of) : key(of) {}

    MemoKey<kParts> key;
    std::atomic<bool> is_known{false};
    std::mutex computing{};
    std::optional<Value> value{};
  };

  // Open addressing with linear probing; never more than half full. Entries are only ever added.
  struct Table {
    explicit Table(std::size_t size) : slots(size) {}

    [[nodiscard]] Entry* find(const MemoKey<kParts>& key, std::uint64_t hash) const {
      for (std::size_t at = hash & (slots.size() - 1);; at = (at + 1) & (slots.size() - 1)) {
        Entry* const entry = slots[at].load(std::memory_order_acquire);
        if (entry == nullptr || entry->key == key) return entry;
      }
    }
    void add(Entry& entry, std::uint64_t hash) {
      std::size_t at = hash & (slots.size() - 1);
      while (slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & (slots.size() - 1);
      slots[at].store(&entry, std::memory_order_release);
    }

    std::vector<std::atomic<Entry*>> slots;  // a power of two of them
  };

  static std::uint64_t hash_of(const MemoKey<kParts>& key) {
    Hash hash;
    for (const std::int64_t part : key) hash.add(part);
    return hash.value();
  }

  // REQUIRES: nobody else inserts.
  void add_table(std::size_t size) {
    tables_.push_back(std::make_unique<Table>(size));
    for (Entry& entry : entries_) tables_.back()->add(entry, hash_of(entry.key));
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  Entry& insert(const MemoKey<kParts>& key, std::uint64_t hash) {
    const std::scoped_lock lock(inserting_);
    if (Entry* const other = tables_.back()->find(key, hash)) return *other;  // somebody was faster
    if (2 * (entries_.size() + 1) > tables_.back()->slots.size()) add_table(4 * tables_.back()->slots.size());
    Entry& entry = entries_.emplace_back(key);
    tables_.back()->add(entry, hash);
    return entry;
  }

  template <typename Compute>
  static void fill(Entry& entry, const Compute& compute) {
    const std::scoped_lock lock(entry.computing);
    if (entry.is_known.load(std::memory_order_relaxed)) return;  // while we waited
    entry.value.emplace(compute());
    entry.is_known.store(true, std::memory_order_release);
  }

  std::mutex inserting_;
  std::deque<Entry> entries_;                   // where they are they stay
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is in use; somebody may still look into others
  std::atomic<Table*> table_{nullptr};          // the last one
};

// `Key` is ordered by <.
template <typename Key, typename Value>
class BoundedMemo {
 public:
  // Once it holds `most` results it forgets them all.
  explicit BoundedMemo(std::size_t most) : most_(most) {}

  // `compute`: () -> Value, as above.
  template <typename Compute>
  [[nodiscard]] Value at(const Key& key, const Compute& compute) {
    if (std::optional<Value> value = find_or_claim(key)) return *std::move(value);
    try {
      Value value = compute();
      settle(key, &value);
      return value;
    } catch (...) {
      settle(key, nullptr);
      throw;
    }
  }

 private:
  // Nothing: it is the caller who computes it.
  [[nodiscard]] std::optional<Value> find_or_claim(const Key& key) {
    std::unique_lock lock(mutex_);
    for (auto found = values_.find(key); found != values_.end(); found = values_.find(key)) {
      if (found->second) return found->second;
      settled_.wait(lock);
    }
    if (values_.size() >= most_) std::erase_if(values_, [](const auto& entry) { return !!entry.second; });
    values_.try_emplace(key);
    return std::nullopt;
  }
  // Null: there is none.
  void settle(const Key& key, const Value* value) {
    {
      const std::scoped_lock lock(mutex_);
      if (value != nullptr)
        values_[key] = *value;
      else
        values_.erase(key);
    }
    settled_.notify_all();
  }

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::map<Key, std::optional<Value>> values_;  // nothing: it is being computed
};

}  // namespace goodput

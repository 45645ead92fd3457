// Readers of a monitor's database, for handlers that run on several threads: each has one to itself while it
// answers.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

class ReaderPool {
 public:
  // A reader, given back in the end.
  class Lease {
   public:
    Lease(ReaderPool& pool, std::unique_ptr<MonitorStore> store) : pool_(&pool), store_(std::move(store)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (store_) pool_->give_back(std::move(store_));
    }

    [[nodiscard]] MonitorStore& store() const { return *store_; }

   private:
    ReaderPool* pool_;
    std::unique_ptr<MonitorStore> store_;
  };

  explicit ReaderPool(std::string path) : path_(std::move(path)) {}

  // Opens the database once more when all readers are in use; as many stay open as were ever in use at once.
  // Thread-safe.
  [[nodiscard]] Result<Lease> take();

 private:
  void give_back(std::unique_ptr<MonitorStore> store);

  std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<MonitorStore>> free_;
};

}  // namespace goodput

#include "tools/monitor_pages/reader_pool.h"

namespace goodput {

Result<ReaderPool::Lease> ReaderPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Lease lease(*this, std::move(free_.back()));
      free_.pop_back();
      return lease;
    }
  }
  GOODPUT_TRY(MonitorStore store, MonitorStore::open_for_reading(path_));
  return Lease(*this, std::make_unique<MonitorStore>(std::move(store)));
}

void ReaderPool::give_back(std::unique_ptr<MonitorStore> store) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(store));
}

}  // namespace goodput

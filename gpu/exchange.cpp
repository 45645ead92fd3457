#include "gpu/exchange.h"

namespace goodput::gpu {

void gather_counts(std::vector<Dispatcher>& dispatchers, Transport& transport, cudaStream_t stream) {
  if (dispatchers.empty()) return;
  std::vector<CountExchange> parts;
  parts.reserve(dispatchers.size());
  for (Dispatcher& dispatcher : dispatchers) parts.push_back({dispatcher.counts(), dispatcher.all_counts()});
  transport.all_gather(parts, static_cast<std::size_t>(dispatchers.front().shape().experts), stream);
}

std::vector<HostCounts> wait_host_counts(std::vector<Dispatcher>& dispatchers, Transport& transport) {
  std::vector<HostCounts> counts;
  counts.reserve(dispatchers.size());
  for (Dispatcher& dispatcher : dispatchers) {
    transport.synchronize(dispatcher.host_counts_copied());
    counts.push_back(dispatcher.host_counts());
  }
  return counts;
}

void exchange_rows(Direction direction, const std::vector<HostCounts>& counts,
                   const std::vector<const void*>& from, const std::vector<void*>& to, std::size_t row_bytes,
                   Transport& transport, cudaStream_t stream) {
  std::vector<RowExchange> parts;
  parts.reserve(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int32_t* const send = counts[i].send_rows.data();
    const std::int32_t* const receive = counts[i].receive_rows.data();
    const bool forth = direction == Direction::kToExperts;
    parts.push_back({from[i], to[i], forth ? send : receive, forth ? receive : send});
  }
  transport.all_to_all(parts, row_bytes, stream);
}

}  // namespace goodput::gpu

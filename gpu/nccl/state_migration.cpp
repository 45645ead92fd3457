#include "gpu/nccl/state_migration.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "gpu/checksum.h"
#include "gpu/device_memory.h"
#include "gpu/nccl/nccl_call.h"
#include "gpu/row_copy.h"

namespace goodput::gpu {
namespace {

// A transfer that this rank is one end of.
struct Parcel {
  const StateTransfer* transfer;
  std::int32_t peer;
  unsigned char* place;
};

// By peer, and for the same peer in the order of the list: both ends have the same.
struct Parcels {
  std::vector<Parcel> sent;
  std::vector<Parcel> received;
};

std::string name_of(const StateTransfer& transfer) {
  return "the state of expert " + std::to_string(transfer.expert) + " of layer " +
         std::to_string(transfer.layer) + " from rank " + std::to_string(transfer.from) + " to rank " +
         std::to_string(transfer.to);
}

[[noreturn]] void refuse(const StateTransfer& transfer, const std::string& problem) {
  throw std::invalid_argument("migration: " + name_of(transfer) + " " + problem);
}

void check(const StateTransfer& transfer, std::int32_t ranks) {
  const auto exists = [&](std::int32_t rank) { return rank >= 0 && rank < ranks; };
  if (!exists(transfer.from) || !exists(transfer.to)) {
    refuse(transfer, "refers to a rank that does not exist: the number of ranks is " + std::to_string(ranks));
  }
  if (transfer.from == transfer.to) refuse(transfer, "has the same source and destination rank");
  if (transfer.bytes <= 0) refuse(transfer, "has " + std::to_string(transfer.bytes) + " bytes");
}

Parcels parcels_of(const std::vector<StateTransfer>& transfers, const Communicator& communicator,
                   const StatePlace& place_of) {
  Parcels parcels;
  for (const StateTransfer& transfer : transfers) {
    check(transfer, communicator.ranks());
    const bool is_sent = transfer.from == communicator.rank();
    if (!is_sent && transfer.to != communicator.rank()) continue;
    auto* const place = static_cast<unsigned char*>(place_of(transfer));
    if (place == nullptr) refuse(transfer, "has no memory on rank " + std::to_string(communicator.rank()));
    if (is_sent) {
      parcels.sent.push_back({&transfer, transfer.to, place});
    } else {
      parcels.received.push_back({&transfer, transfer.from, place});
    }
  }
  const auto by_peer = [](const Parcel& a, const Parcel& b) { return a.peer < b.peer; };
  std::stable_sort(parcels.sent.begin(), parcels.sent.end(), by_peer);
  std::stable_sort(parcels.received.begin(), parcels.received.end(), by_peer);
  return parcels;
}

// Nothing is written where anything else is written or read. States may be sent more than once.
void check_places(const Parcels& parcels) {
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
    const StateTransfer* transfer;
    bool is_written;
  };
  std::vector<Range> ranges;
  const auto add = [&](const std::vector<Parcel>& some, bool are_written) {
    for (const Parcel& parcel : some) {
      const auto begin = reinterpret_cast<std::uintptr_t>(parcel.place);
      const auto bytes = static_cast<std::uintptr_t>(parcel.transfer->bytes);
      ranges.push_back({begin, begin + bytes, parcel.transfer, are_written});
    }
  };
  add(parcels.sent, false);
  add(parcels.received, true);
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const Range* furthest = nullptr;          // of all before
  const Range* furthest_written = nullptr;  // of the written ones before, which do not overlap
  for (const Range& range : ranges) {
    const Range* const other = range.is_written ? furthest : furthest_written;
    if (other != nullptr && other->end > range.begin) {
      refuse(*(range.is_written ? range : *other).transfer,
             "would overwrite " + name_of(*(range.is_written ? *other : range).transfer));
    }
    if (furthest == nullptr || range.end > furthest->end) furthest = &range;
    if (range.is_written) furthest_written = &range;
  }
}

// Checksums of blocks of memory, in their order; on the device.
class Checksums {
 public:
  explicit Checksums(const std::vector<Block>& blocks)
      : blocks_(upload(blocks)), sums_(blocks.size()), multiprocessors_(copy_device().multiprocessors) {
    for (const Block& block : blocks) most_bytes_ = std::max(most_bytes_, block.bytes);
  }

  void compute(cudaStream_t stream) {
    checksum_blocks(blocks_.data(), static_cast<std::int32_t>(blocks_.size()), most_bytes_, multiprocessors_,
                    sums_.data(), stream);
  }

  [[nodiscard]] const std::uint64_t* data() const { return sums_.data(); }

 private:
  DeviceBuffer<Block> blocks_;
  DeviceBuffer<std::uint64_t> sums_;
  std::int64_t most_bytes_ = 0;
  int multiprocessors_;
};

Checksums checksums_of(const std::vector<Parcel>& parcels) {
  std::vector<Block> blocks;
  blocks.reserve(parcels.size());
  for (const Parcel& parcel : parcels) blocks.push_back({parcel.place, parcel.transfer->bytes});
  return Checksums(blocks);
}

void copy_to_host(PinnedBuffer<std::uint64_t>& host, const std::uint64_t* device, cudaStream_t stream) {
  if (host.size() == 0) return;
  GOODPUT_CUDA(cudaMemcpyAsync(host.data(), device, host.size() * sizeof(std::uint64_t),
                               cudaMemcpyDeviceToHost, stream));
}

// Ranks with different lists would wait for one another, or write where nobody expects it.
void check_alike(Communicator& communicator, const std::vector<StateTransfer>& transfers,
                 cudaStream_t stream) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(5 * transfers.size());
  for (const StateTransfer& t : transfers) {
    numbers.insert(numbers.end(), {t.layer, t.expert, t.from, t.to, t.bytes});
  }
  const DeviceBuffer<std::int64_t> list = upload(numbers);
  Checksums own({{list.data(), static_cast<std::int64_t>(numbers.size() * sizeof(std::int64_t))}});
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  DeviceBuffer<std::uint64_t> all(ranks);
  PinnedBuffer<std::uint64_t> sums(ranks);
  communicator.or_abort([&] {
    own.compute(stream);
    communicator.group("the comparison of transfer lists", [&](ncclComm_t comm) {
      GOODPUT_NCCL_CALL(ncclAllGather(own.data(), all.data(), 1, ncclUint64, comm, stream));
    });
    copy_to_host(sums, all.data(), stream);
    communicator.synchronize(stream);
  });
  const std::uint64_t* const other = std::find_if(sums.data(), sums.data() + ranks,
                                                  [&](std::uint64_t sum) { return sum != sums.data()[0]; });
  if (other == sums.data() + ranks) return;
  throw MigrationError("migration: rank " + std::to_string(other - sums.data()) +
                       " has a different list of transfers than rank 0");
}

// Calls `visit(peer, first, count)` for the parcels of every peer.
template <class Visit>
void for_each_peer(const std::vector<Parcel>& parcels, const Visit& visit) {
  for (std::size_t first = 0; first < parcels.size();) {
    std::size_t end = first;
    while (end < parcels.size() && parcels[end].peer == parcels[first].peer) ++end;
    visit(parcels[first].peer, first, end - first);
    first = end;
  }
}

void exchange(Communicator& communicator, const Parcels& parcels, const std::uint64_t* sent_sums,
              std::uint64_t* received_sums, cudaStream_t stream) {
  communicator.group("the migration of states", [&](ncclComm_t comm) {
    for (const Parcel& parcel : parcels.sent) {
      GOODPUT_NCCL_CALL(ncclSend(parcel.place, static_cast<std::size_t>(parcel.transfer->bytes), ncclUint8,
                                 parcel.peer, comm, stream));
    }
    for (const Parcel& parcel : parcels.received) {
      GOODPUT_NCCL_CALL(ncclRecv(parcel.place, static_cast<std::size_t>(parcel.transfer->bytes), ncclUint8,
                                 parcel.peer, comm, stream));
    }
    for_each_peer(parcels.sent, [&](std::int32_t peer, std::size_t first, std::size_t count) {
      GOODPUT_NCCL_CALL(ncclSend(sent_sums + first, count, ncclUint64, peer, comm, stream));
    });
    for_each_peer(parcels.received, [&](std::int32_t peer, std::size_t first, std::size_t count) {
      GOODPUT_NCCL_CALL(ncclRecv(received_sums + first, count, ncclUint64, peer, comm, stream));
    });
  });
}

void check_arrived(const std::vector<Parcel>& received, const std::uint64_t* sent,
                   const std::uint64_t* arrived) {
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = received.size(); i-- > 0;) {
    if (sent[i] == arrived[i]) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return;
  throw MigrationError("migration: " + name_of(*received[first].transfer) +
                       " was corrupted in transit (checksums differ)" +
                       (wrong == 1 ? "" : ", in addition to " + std::to_string(wrong - 1) + " more"));
}

}  // namespace

void migrate_states(Communicator& communicator, const std::vector<StateTransfer>& transfers,
                    const StatePlace& place_of, cudaStream_t stream) {
  const Parcels parcels = parcels_of(transfers, communicator, place_of);
  check_places(parcels);
  check_alike(communicator, transfers, stream);

  // All memory first: CUDA may wait for the device to allocate, and with it for other ranks, without a
  // deadline.
  Checksums sent = checksums_of(parcels.sent);
  Checksums arrived = checksums_of(parcels.received);
  const std::size_t count = parcels.received.size();
  DeviceBuffer<std::uint64_t> announced(count);  // by the senders
  PinnedBuffer<std::uint64_t> announced_sums(count);
  PinnedBuffer<std::uint64_t> arrived_sums(count);
  communicator.or_abort([&] {
    sent.compute(stream);
    exchange(communicator, parcels, sent.data(), announced.data(), stream);
    arrived.compute(stream);
    copy_to_host(announced_sums, announced.data(), stream);
    copy_to_host(arrived_sums, arrived.data(), stream);
    communicator.synchronize(stream);
  });
  check_arrived(parcels.received, announced_sums.data(), arrived_sums.data());
}

}  // namespace goodput::gpu

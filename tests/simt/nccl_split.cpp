#include "tests/simt/nccl_split.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tests/simt/nccl_communicator.h"
#include "tests/simt/nccl_transfers.h"
#include "tests/simt/op_queue.h"

namespace simt {

namespace {

NcclFailure gone(int peer) {
  return {ncclRemoteError, "rank " + std::to_string(peer) + " is gone"};
}

}  // namespace

NcclSplit::NcclSplit(NcclCommunicator& parent, int color, int key, bool blocking)
    : parent_(parent),
      blocking_(blocking),
      wishes_(static_cast<std::size_t>(parent.ranks())),
      heard_(static_cast<std::size_t>(parent.ranks())) {
  Wish& own = wishes_[static_cast<std::size_t>(parent.rank())];
  own = {color, key, make_nccl_id()};
  for (int peer = 0; peer < parent.ranks(); ++peer)
    if (peer != parent.rank()) parent.channel(peer).start(MessageKind::kSplit, 0, &own, sizeof own);
}

NcclFailure NcclSplit::step() {
  if (stage_ == Stage::kTelling) return tell_all();
  return stage_ == Stage::kJoining ? join() : NcclFailure{};
}

NcclFailure NcclSplit::tell_all() {
  std::vector<pollfd> waits_for;
  for (int peer = 0; peer < parent_.ranks(); ++peer) {
    if (peer == parent_.rank()) continue;
    NcclFailure failure = tell(peer, waits_for);
    if (!failure.happened()) failure = hear(peer, waits_for);
    if (failure.happened()) return failure;
  }
  if (waits_for.empty()) {
    begin_joining();
  } else {
    wait_briefly(std::move(waits_for));
  }
  return {};
}

NcclFailure NcclSplit::tell(int peer, std::vector<pollfd>& waits_for) {
  Channel& channel = parent_.channel(peer);
  if (!channel.is_sending()) return {};
  const Transmission sent = channel.send();
  // A peer that is gone may have said before what this rank has to know: then hear() finds that it is gone.
  if (sent == Transmission::kGone && heard_[static_cast<std::size_t>(peer)]) return gone(peer);
  if (sent == Transmission::kBlocked) waits_for.push_back(channel.wait_for(POLLOUT));
  return {};
}

NcclFailure NcclSplit::hear(int peer, std::vector<pollfd>& waits_for) {
  const auto place = static_cast<std::size_t>(peer);
  if (heard_[place]) return {};
  Channel& channel = parent_.channel(peer);
  Transmission came = channel.receive_header();
  if (came == Transmission::kDone) {
    Transfer expected;
    expected.kind = MessageKind::kSplit;
    expected.bytes = sizeof(Wish);
    const std::string wrong =
        mismatch_with(expected, channel.expected_number(), parent_.rank(), peer, channel.header());
    if (!wrong.empty()) return {ncclInvalidUsage, wrong};
    came = channel.receive_data(&wishes_[place]);
  }
  if (came == Transmission::kGone) return gone(peer);
  if (came == Transmission::kBlocked) waits_for.push_back(channel.wait_for(POLLIN));
  heard_[place] = came == Transmission::kDone;
  return {};
}

void NcclSplit::begin_joining() {
  const int own_color = wishes_[static_cast<std::size_t>(parent_.rank())].color;
  stage_ = own_color == NCCL_SPLIT_NOCOLOR ? Stage::kComplete : Stage::kJoining;
  if (stage_ == Stage::kComplete) return;
  std::vector<std::pair<int, int>> members;  // key and rank here
  for (int rank = 0; rank < parent_.ranks(); ++rank) {
    const Wish& wish = wishes_[static_cast<std::size_t>(rank)];
    if (wish.color == own_color) members.emplace_back(wish.key, rank);
  }
  std::sort(members.begin(), members.end());
  NcclHello own;
  own.id = wishes_[static_cast<std::size_t>(members.front().second)].id;
  own.ranks = static_cast<int>(members.size());
  while (members[static_cast<std::size_t>(own.rank)].second != parent_.rank()) ++own.rank;
  child_ = std::make_shared<NcclCommunicator>(own, blocking_);
}

// Who is gone before he came to the rendezvous is missed here alone.
NcclFailure NcclSplit::join() {
  for (int peer = 0; peer < parent_.ranks(); ++peer)
    if (peer != parent_.rank() && parent_.channel(peer).is_gone()) return gone(peer);
  child_->poll();
  if (child_->failed()) return {child_->state(), child_->failure_text()};
  if (child_->state() == ncclSuccess) stage_ = Stage::kComplete;
  return {};
}

}  // namespace simt

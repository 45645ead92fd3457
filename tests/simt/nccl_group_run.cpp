#include "tests/simt/nccl_group_run.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/simt/nccl_sum.h"

namespace simt {

namespace {

// A bit that sums do not round away. Once more: as it was.
void corrupt(const Transfer& transfer) {
  if (transfer.corrupted && transfer.bytes != 0) *transfer.data ^= 0x40;
}

}  // namespace

GroupRun::GroupRun(std::shared_ptr<NcclCommunicator> communicator, std::shared_ptr<const GroupWork> work)
    : communicator_(std::move(communicator)), work_(std::move(work)), stale_(communicator_->closed()) {}

GroupRun::GroupRun(const GroupRun& other) : GroupRun(other.communicator_, other.work_) {}

// A failed kernel drops all that is queued: the rest of a message that was on its way never comes.
GroupRun::~GroupRun() {
  if (progress_ == nullptr || communicator_->closed()) return;
  communicator_->fail(ncclUnhandledCudaError, "a failed kernel dropped an operation that had begun");
}

Step GroupRun::operator()() {
  if (stale_) throw std::runtime_error("simt: a graph of a communicator that has ended was launched");
  if (communicator_->closed()) {
    progress_ = nullptr;
    return {};
  }
  if (communicator_->failed()) return {false, {}};
  if (progress_ == nullptr) {
    if (communicator_->running() != nullptr) return {false, {}};
    begin();
  }
  for (Lane& lane : progress_->lanes)
    if (!communicator_->failed()) advance(lane);
  return end_of_step();
}

Step GroupRun::end_of_step() {
  Step step{false, {}};
  if (communicator_->failed()) return step;
  for (const Lane& lane : progress_->lanes) {
    if (lane.done()) continue;
    const short events = lane.direction == Direction::kSend ? POLLOUT : POLLIN;
    step.waits_for.push_back(communicator_->channel(lane.peer).wait_for(events));
  }
  if (!step.waits_for.empty()) return step;
  end_sums();
  communicator_->set_running(nullptr);
  progress_ = nullptr;
  return {};
}

void GroupRun::begin() {
  progress_ = std::make_unique<Progress>();
  communicator_->set_running(progress_.get());
  copy_to_itself();
  begin_sums();
  std::vector<Lane>& lanes = progress_->lanes;
  for (Transfer& transfer : work_->in_order()) {
    if (transfer.peer == communicator_->rank()) continue;
    if (transfer.sum != Transfer::kNoSum) transfer.data = summand(transfer.sum, transfer.peer);
    const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& lane) {
      return lane.peer == transfer.peer && lane.direction == transfer.direction;
    });
    if (found == lanes.end()) {
      lanes.push_back({transfer.peer, transfer.direction, {transfer}, 0});
    } else {
      found->transfers.push_back(transfer);
    }
  }
}

// The m-th send to itself is the m-th receive: they were compared when the group ended.
void GroupRun::copy_to_itself() {
  std::vector<Transfer> sent;
  std::vector<Transfer> received;
  for (const Transfer& transfer : work_->in_order())
    if (transfer.peer == communicator_->rank())
      (transfer.direction == Direction::kSend ? sent : received).push_back(transfer);
  for (std::size_t m = 0; m < sent.size(); ++m)
    if (sent[m].bytes != 0) std::memmove(received[m].data, sent[m].data, sent[m].bytes);
}

char* GroupRun::summand(int sum, int rank) {
  const auto s = static_cast<std::size_t>(sum);
  return progress_->summands[s].data() + static_cast<std::size_t>(rank) * work_->sums[s].bytes;
}

void GroupRun::begin_sums() {
  const auto ranks = static_cast<std::size_t>(communicator_->ranks());
  for (const SumOverRanks& sum : work_->sums) {
    progress_->summands.emplace_back(ranks * sum.bytes);
    const int number = static_cast<int>(progress_->summands.size()) - 1;
    if (sum.bytes != 0) std::memcpy(summand(number, communicator_->rank()), sum.own, sum.bytes);
  }
}

// Behind all sends: a sum may be where its own summand was.
void GroupRun::end_sums() {
  for (std::size_t s = 0; s < work_->sums.size(); ++s) {
    const SumOverRanks& sum = work_->sums[s];
    if (sum.bytes == 0) continue;
    std::vector<char>& summands = progress_->summands[s];
    for (int rank = 1; rank < communicator_->ranks(); ++rank)
      add_to(summands.data(), summand(static_cast<int>(s), rank), sum.bytes, sum.type);
    std::memcpy(sum.to, summands.data(), sum.bytes);
  }
}

void GroupRun::advance(Lane& lane) {
  while (!lane.done()) {
    const Transmission came = lane.direction == Direction::kSend ? send(lane) : receive(lane);
    if (came == Transmission::kGone) return end_with(lane);
    if (came != Transmission::kDone) return;
    ++lane.next;
  }
}

// A peer that has closed may have said before what this rank has to know.
void GroupRun::end_with(const Lane& lane) {
  if (lane.direction == Direction::kSend) {
    for (Lane& other : progress_->lanes)
      if (other.peer == lane.peer && other.direction == Direction::kReceive) advance(other);
  }
  communicator_->fail(ncclRemoteError, "rank " + std::to_string(lane.peer) + " is gone");
}

Transmission GroupRun::send(Lane& lane) {
  Channel& channel = communicator_->channel(lane.peer);
  const Transfer& transfer = lane.transfers[lane.next];
  if (!channel.is_sending()) {
    corrupt(transfer);
    channel.start(transfer.kind, static_cast<std::uint32_t>(transfer.type), transfer.data, transfer.bytes);
  }
  const Transmission came = channel.send();
  if (came == Transmission::kDone) corrupt(transfer);
  return came;
}

Transmission GroupRun::receive(Lane& lane) {
  Channel& channel = communicator_->channel(lane.peer);
  const Transfer& transfer = lane.transfers[lane.next];
  const Transmission came = channel.receive_header();
  if (came != Transmission::kDone) return came;
  const std::string wrong =
      mismatch_with(transfer, channel.expected_number(), communicator_->rank(), lane.peer, channel.header());
  if (wrong.empty()) return channel.receive_data(transfer.data);
  communicator_->fail(ncclInvalidUsage, wrong);
  return Transmission::kBlocked;
}

}  // namespace simt

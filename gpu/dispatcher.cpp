#include "gpu/dispatcher.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "gpu/count_slots.h"
#include "gpu/positions.h"

namespace goodput::gpu {
namespace {

constexpr std::size_t kReportSize = sizeof(DeviceReport) / sizeof(std::int32_t);

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  GOODPUT_CUDA(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

void check(const DispatchShape& shape, const HostTables& placement, std::int32_t rank) {
  check_shape(shape);
  if (placement.ranks != shape.ranks || placement.experts != shape.experts) {
    throw std::invalid_argument("dispatch: the placement is for " + std::to_string(placement.ranks) +
                                " ranks x " + std::to_string(placement.experts) +
                                " experts, but the shape has " + std::to_string(shape.ranks) + " ranks x " +
                                std::to_string(shape.experts) + " experts");
  }
  if (rank < 0 || rank >= shape.ranks) {
    throw std::invalid_argument("dispatch: rank must be from 0 to " + std::to_string(shape.ranks - 1) +
                                ", not " + std::to_string(rank));
  }
}

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

Dispatcher::Dispatcher(const DispatchShape& shape, const HostTables& placement, std::int32_t rank,
                       CopyPath path)
    : shape_((check(shape, placement, rank), shape)), path_(path), device_(copy_device()) {
  hosts_ = upload(placement.hosts);
  expert_begin_ = upload(placement.expert_begin);
  entries_ = upload(placement.entries);
  rank_begin_ = upload(placement.rank_begin);
  placement_ = {shape.ranks,
                shape.experts,
                static_cast<std::int32_t>(placement.entries.size()),
                placement.most_hosts(),
                hosts_.data(),
                expert_begin_.data(),
                entries_.data(),
                rank_begin_.data(),
                rank,
                placement.rank_begin[size(rank)],
                placement.hosted_by(rank)};
  allocate_for_slots();
  allocate_for_schedule();
}

void Dispatcher::allocate_for_slots() {
  const std::size_t slots = size(shape_.max_slots());
  const std::int64_t blocks = (shape_.max_slots() + kSlotsPerBlock - 1) / kSlotsPerBlock;
  rank_in_block_ = DeviceBuffer<std::uint16_t>(slots);
  block_begin_ = DeviceBuffer<std::int32_t>(size(blocks * shape_.experts));
  counts_ = DeviceBuffer<moe::Tokens>(size(shape_.experts));
  all_counts_ = DeviceBuffer<moe::Tokens>(size(std::int64_t{shape_.ranks} * shape_.experts));
  surplus_rows_ = DeviceBuffer<std::int32_t>(slots);
  positions_ = DeviceBuffer<std::int32_t>(slots);
  regroup_map_ = DeviceBuffer<std::int32_t>(slots);  // balanced ranks receive as much
}

void Dispatcher::allocate_for_schedule() {
  const std::int64_t ranks = shape_.ranks;
  const std::int64_t experts = shape_.experts;
  const std::int64_t received = ranks * placement_.hosted;
  const std::size_t entries = size(placement_.entry_count);
  shares_ = DeviceBuffer<ExpertShare>(size(experts));
  chains_ = DeviceBuffer<moe::EuclidLevel>(size(experts * moe::kMostEuclidLevels));
  local_ = DeviceBuffer<moe::Tokens>(entries);
  residuals_ = DeviceBuffer<moe::Interval>(entries);
  send_counts_ = DeviceBuffer<std::int32_t>(entries);
  send_begin_ = DeviceBuffer<std::int32_t>(entries + 1);
  receive_counts_ = DeviceBuffer<std::int32_t>(size(received));
  receive_begin_ = DeviceBuffer<std::int32_t>(size(received + 1));
  group_begin_ = DeviceBuffer<std::int32_t>(size(received + 1));
  surplus_begin_ = DeviceBuffer<std::int32_t>(size(experts + 1));
  summary_ = DeviceBuffer<std::int32_t>(kReportSize + size(2 * ranks + placement_.hosted));
  host_summary_ = PinnedBuffer<std::int32_t>(summary_.size());
  std::fill_n(host_summary_.data(), kReportSize, kNothingWrong);
  std::fill_n(host_summary_.data() + kReportSize, summary_.size() - kReportSize, 0);

  std::int32_t* const rows = summary_.data() + kReportSize;
  schedule_ = {shares_.data(),
               chains_.data(),
               local_.data(),
               residuals_.data(),
               send_counts_.data(),
               send_begin_.data(),
               receive_counts_.data(),
               receive_begin_.data(),
               group_begin_.data(),
               surplus_begin_.data(),
               rows,
               rows + ranks,
               rows + 2 * ranks};
}

void Dispatcher::count(const std::int32_t* expert_of, std::int32_t tokens, cudaStream_t stream) {
  if (tokens < 0 || tokens > shape_.max_tokens) {
    throw std::invalid_argument("dispatch: tokens must be from 0 to " + std::to_string(shape_.max_tokens) +
                                ", not " + std::to_string(tokens));
  }
  tokens_ = tokens;
  expert_of_ = expert_of;
  // What is written below may still be on its way to the host.
  if (copy_queued_ && !is_capturing(stream)) GOODPUT_CUDA(cudaStreamWaitEvent(stream, copied_.get(), 0));
  GOODPUT_CUDA(cudaMemsetAsync(summary_.data(), kNothingWrongByte, sizeof(DeviceReport), stream));
  count_slots(expert_of, slots(), shape_.experts,
              {rank_in_block_.data(), block_begin_.data(), counts_.data()}, report(), stream);
}

void Dispatcher::schedule(cudaStream_t stream) {
  make_schedule(placement_, all_counts_.data(), shape_.policy, schedule_, report(), stream);
  scheduled_.record(stream);
  GOODPUT_CUDA(cudaStreamWaitEvent(copy_stream_.get(), scheduled_.get(), 0));
  GOODPUT_CUDA(cudaMemcpyAsync(host_summary_.data(), summary_.data(), summary_.size() * sizeof(std::int32_t),
                               cudaMemcpyDeviceToHost, copy_stream_.get()));
  copied_.record(copy_stream_.get());
  copy_queued_ = !is_capturing(stream);  // only then may another stream wait for it
}

void Dispatcher::place(cudaStream_t stream) {
  place_slots(placement_, schedule_, {rank_in_block_.data(), block_begin_.data(), counts_.data()}, expert_of_,
              slots(), surplus_rows_.data(), positions_.data(), stream);
}

void Dispatcher::join_host_counts(cudaStream_t stream) {
  GOODPUT_CUDA(cudaStreamWaitEvent(stream, copied_.get(), 0));
}

HostCounts Dispatcher::wait_host_counts() {
  copied_.synchronize();
  return host_counts();
}

HostCounts Dispatcher::host_counts() {
  DeviceReport report;
  std::memcpy(&report, host_summary_.data(), sizeof report);
  const std::int32_t* const send = host_summary_.data() + kReportSize;
  const std::int32_t* const receive = send + shape_.ranks;
  const std::int32_t* const experts = receive + shape_.ranks;

  HostCounts counts;
  counts.send_rows.assign(send, receive);
  counts.receive_rows.assign(receive, experts);
  counts.expert_rows.assign(experts, experts + placement_.hosted);
  counts.rows_sent = std::accumulate(send, receive, std::int64_t{0});
  counts.rows_received = std::accumulate(receive, experts, std::int64_t{0});
  const auto first = [](std::int32_t found) { return found == kNothingWrong ? -1 : found; };
  counts.bad_slot = first(report.bad_slot);
  counts.lost_expert = first(report.lost_expert);
  counts.crowded_expert = first(report.crowded_expert);
  reserve_rows(counts.rows_received);
  return counts;
}

std::string message_of(const HostCounts& counts) {
  std::string message;
  const auto add = [&](const char* what, std::int32_t where, const std::string& problem) {
    if (where < 0) return;
    message += (message.empty() ? "" : "; ") + std::string(what) + std::to_string(where) + problem;
  };
  add("slot ", counts.bad_slot, " names an expert that does not exist; use -1 to drop a choice");
  add("expert ", counts.lost_expert, " is lost: tokens are routed to it and no rank hosts it");
  add("expert ", counts.crowded_expert, " has more than " + std::to_string(moe::kMostTokens) + " tokens");
  return message;
}

void Dispatcher::scatter(const void* x, void* send, cudaStream_t stream) {
  scatter_rows(rows(x, send, tokens_), positions_.data(), shape_.top_k, path_, device_, stream);
}

void Dispatcher::reserve_rows(std::int64_t rows) {
  if (size(rows) > regroup_map_.size()) regroup_map_ = DeviceBuffer<std::int32_t>(size(rows + rows / 4));
}

void Dispatcher::check_reserved(std::int64_t rows) const {
  if (rows >= 0 && size(rows) <= regroup_map_.size()) return;
  throw std::invalid_argument("dispatch: " + std::to_string(rows) +
                              " received rows are more than any host counts reported");
}

void Dispatcher::regroup(const void* received, void* grouped, std::int64_t row_count, cudaStream_t stream) {
  check_reserved(row_count);
  regroup_map(placement_, schedule_, row_count, regroup_map_.data(), stream);
  scatter_rows(rows(received, grouped, row_count), regroup_map_.data(), 1, path_, device_, stream);
}

void Dispatcher::ungroup(const void* grouped, void* received, std::int64_t row_count, cudaStream_t stream) {
  check_reserved(row_count);
  gather_rows(rows(grouped, received, row_count), regroup_map_.data(), path_, device_, stream);
}

void Dispatcher::combine(const void* send, const float* weights, void* y, cudaStream_t stream) {
  combine_rows(token_rows(), send, weights, y, device_, stream);
}

void Dispatcher::scatter_backward(const void* d_send, void* dx, cudaStream_t stream) {
  combine_rows(token_rows(), d_send, nullptr, dx, device_, stream);
}

void Dispatcher::combine_backward(const void* dy, const void* send, const float* weights, void* d_send,
                                  float* d_weights, cudaStream_t stream) {
  combine_rows_backward(token_rows(), dy, send, weights, d_send, d_weights, device_, stream);
}

}  // namespace goodput::gpu

// One rank's token dispatcher of a mixture-of-experts layer, on the GPU (Lazarus, arXiv 2407.04656): replicas
// of an expert may be any number on any rank, every rank computes the same exact schedule from the same
// counts, and nothing depends on the order in which threads run.
//
// A layer, in order; all work is on the stream given (one device, the current one at construction):
//
//   count(expert_of)         -> counts(), to be all-gathered into all_counts()
//   schedule()               -> how many rows go where
//   place()                  -> positions()
//   wait_host_counts()          the one place where the host waits; with other processes, that of
//   gpu/exchange.h scatter(x, send)            ... all-to-all by send_rows and receive_rows ...
//   regroup(received, grouped)  ... the experts ...
//   ungroup(grouped, received)  ... all-to-all back ...
//   combine(send, weights, y)
//
// and backwards combine_backward, all-to-all, regroup, the experts, ungroup, all-to-all back,
// scatter_backward.
//
// One dispatch at a time: what schedule() and place() computed holds until the next count(), for the backward
// pass too; two micro-batches under way need two dispatchers. The host counts must have been read before the
// next count(). No call waits for the device but wait_host_counts(), and none allocates but the reading of
// host counts, where more rows are received than ever before. Nothing may be under way on destruction.
//
// CUDA graphs: all up to the host counts, and scatter(), can be captured. A capture with schedule() in it
// ends with join_host_counts(). Whoever replays it synchronises the stream, then reads host_counts().
// regroup() and ungroup() can be captured too; such a graph must be captured again once host_counts() has
// seen more rows.
//
// Rows: send buffers by destination rank, then expert, tokens in order; received ones by source rank, then
// expert; grouped ones by expert, then source: the experts of a rank, ascending, each one block of rows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/combine.h"
#include "gpu/device_memory.h"
#include "gpu/dispatch_shape.h"
#include "gpu/host_tables.h"
#include "gpu/report.h"
#include "gpu/row_copy.h"
#include "gpu/schedule.h"

namespace goodput::gpu {

// What the host has to know to exchange rows.
struct HostCounts {
  // The first of each; -1: none. Tokens concerned are sent nowhere: the caller decides whether that may be.
  std::int32_t bad_slot = -1;              // of this rank: it names an expert that does not exist
  std::int32_t lost_expert = -1;           // tokens of any rank are routed to it and no rank hosts it
  std::int32_t crowded_expert = -1;        // it has more than moe::kMostTokens tokens
  std::vector<std::int32_t> send_rows;     // ranks: rows for every rank, in order in the send buffer
  std::vector<std::int32_t> receive_rows;  // ranks: rows from every rank, in order in the receive buffer
  std::vector<std::int32_t> expert_rows;   // rows of every expert of the rank, ascending: the grouped buffer
  std::int64_t rows_sent = 0;
  std::int64_t rows_received = 0;

  [[nodiscard]] bool ok() const { return bad_slot < 0 && lost_expert < 0 && crowded_expert < 0; }
};

// One line for a person; "" where all is well.
std::string message_of(const HostCounts& counts);

class Dispatcher {
 public:
  // Allocates all it needs on the current device. A new placement needs a new dispatcher. Throws
  // std::invalid_argument (check_shape; `placement` or `rank` of another size) and CudaError.
  Dispatcher(const DispatchShape& shape, const HostTables& placement, std::int32_t rank,
             CopyPath path = CopyPath::kAuto);

  [[nodiscard]] const DispatchShape& shape() const { return shape_; }
  [[nodiscard]] std::int32_t rank() const { return placement_.me; }
  [[nodiscard]] std::int32_t hosted_experts() const { return placement_.hosted; }

  // `expert_of`: device, tokens x top_k, -1: dropped. Must stay as it is until place() has run. Throws
  // std::invalid_argument for more than max_tokens.
  void count(const std::int32_t* expert_of, std::int32_t tokens, cudaStream_t stream);
  [[nodiscard]] const moe::Tokens* counts() const { return counts_.data(); }  // device, experts
  [[nodiscard]] moe::Tokens* all_counts() { return all_counts_.data(); }      // device, ranks x experts

  // REQUIRES: count(), and all_counts() filled by the counts of all ranks.
  void schedule(cudaStream_t stream);
  void place(cudaStream_t stream);
  [[nodiscard]] const std::int32_t* positions() const { return positions_.data(); }  // device, tokens x top_k

  // Device memory, for those who want to look: sizes are in gpu/schedule.h.
  [[nodiscard]] const ScheduleView& schedule_view() const { return schedule_; }
  [[nodiscard]] const PlacementView& placement_view() const { return placement_; }

  // The stream waits for the copy that schedule() began on a stream of its own. Last in a capture: a graph
  // must end in the stream it began in (else the capture ends with cudaErrorStreamCaptureUnjoined), and what
  // is captured after this waits for the copy.
  void join_host_counts(cudaStream_t stream);
  // The end of that copy; for whoever waits in a way of his own (gpu/exchange.h).
  [[nodiscard]] cudaEvent_t host_counts_copied() const { return copied_.get(); }
  // The host waits for it; place() and what follows goes on meanwhile.
  HostCounts wait_host_counts();
  // The same without waiting. REQUIRES: the copy has ended.
  HostCounts host_counts();

  // x: tokens x hidden; send: rows_sent x hidden.
  void scatter(const void* x, void* send, cudaStream_t stream);
  // received, grouped: `rows` (rows_received) x hidden; throws std::invalid_argument for more than any host
  // counts said. ungroup() REQUIRES a regroup() of the same rows.
  void regroup(const void* received, void* grouped, std::int64_t rows, cudaStream_t stream);
  void ungroup(const void* grouped, void* received, std::int64_t rows, cudaStream_t stream);
  // y: tokens x hidden; weights: tokens x top_k, device. Order of sums: gpu/combine.h.
  void combine(const void* send, const float* weights, void* y, cudaStream_t stream);

  // The transpose of scatter().
  void scatter_backward(const void* d_send, void* dx, cudaStream_t stream);
  // The transpose of combine(); `send` is what combine() read. d_weights: tokens x top_k.
  void combine_backward(const void* dy, const void* send, const float* weights, void* d_send,
                        float* d_weights, cudaStream_t stream);

 private:
  [[nodiscard]] std::int64_t slots() const { return std::int64_t{tokens_} * shape_.top_k; }
  [[nodiscard]] Rows rows(const void* from, void* to, std::int64_t items) const {
    return {from, to, shape_.row_bytes(), items};
  }
  [[nodiscard]] TokenRows token_rows() const {
    return {shape_.element, shape_.hidden, tokens_, shape_.top_k, positions_.data()};
  }
  void allocate_for_slots();
  void allocate_for_schedule();
  void reserve_rows(std::int64_t rows);
  void check_reserved(std::int64_t rows) const;
  [[nodiscard]] DeviceReport* report() { return reinterpret_cast<DeviceReport*>(summary_.data()); }

  DispatchShape shape_;
  CopyPath path_;
  CopyDevice device_;
  std::int32_t tokens_ = 0;
  const std::int32_t* expert_of_ = nullptr;  // the caller's

  DeviceBuffer<ExpertHost> hosts_;
  DeviceBuffer<std::int32_t> expert_begin_;
  DeviceBuffer<PlacementEntry> entries_;
  DeviceBuffer<std::int32_t> rank_begin_;

  DeviceBuffer<std::uint16_t> rank_in_block_;
  DeviceBuffer<std::int32_t> block_begin_;
  DeviceBuffer<moe::Tokens> counts_;
  DeviceBuffer<moe::Tokens> all_counts_;
  DeviceBuffer<std::int32_t> surplus_rows_;
  DeviceBuffer<std::int32_t> positions_;
  DeviceBuffer<std::int32_t> regroup_map_;

  DeviceBuffer<ExpertShare> shares_;
  DeviceBuffer<moe::EuclidLevel> chains_;
  DeviceBuffer<moe::Tokens> local_;
  DeviceBuffer<moe::Interval> residuals_;
  DeviceBuffer<std::int32_t> send_counts_;
  DeviceBuffer<std::int32_t> send_begin_;
  DeviceBuffer<std::int32_t> receive_counts_;
  DeviceBuffer<std::int32_t> receive_begin_;
  DeviceBuffer<std::int32_t> group_begin_;
  DeviceBuffer<std::int32_t> surplus_begin_;

  // What the host gets: DeviceReport, send rows, receive rows, expert rows.
  DeviceBuffer<std::int32_t> summary_;
  PinnedBuffer<std::int32_t> host_summary_;
  Stream copy_stream_;
  Event scheduled_;
  Event copied_;
  bool copy_queued_ = false;  // and not captured

  // Of the buffers above.
  PlacementView placement_;
  ScheduleView schedule_;
};

}  // namespace goodput::gpu

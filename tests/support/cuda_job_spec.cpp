// Jobs at random, and what they are called.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tests/support/cuda_job.h"

namespace goodput::testing {
namespace {

class SpecDice {
 public:
  explicit SpecDice(std::uint64_t seed) : state_(finalized(seed)) {}

  double uniform() {
    state_ += 0x9e3779b97f4a7c15U;
    return static_cast<double>(finalized(state_) >> 11) * 0x1p-53;
  }
  bool chance(double probability) { return uniform() < probability; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  double log_between(double low, double high) { return low * std::exp(uniform() * std::log(high / low)); }
  int below(int bound) { return std::min(bound - 1, static_cast<int>(uniform() * bound)); }
  int in(int low, int high) { return low + below(high - low + 1); }
  template <typename Value, std::size_t kCount>
  Value one_of(const Value (&values)[kCount]) {
    return values[static_cast<std::size_t>(below(static_cast<int>(kCount)))];
  }

 private:
  static std::uint64_t finalized(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
  }

  std::uint64_t state_;
};

int random_ranks(SpecDice& dice) {
  const double at = dice.uniform();
  if (at < 0.40) return 8;
  if (at < 0.70) return 16;
  if (at < 0.89) return 32;
  if (at < 0.96) return 64;
  return at < 0.985 ? 128 : 256;
}

bool is_pipeline(const CudaJobSpec& spec) {
  return spec.kind == CudaJobKind::kOneFOneB || spec.kind == CudaJobKind::kGPipe;
}

void draw_shape(SpecDice& dice, CudaJobSpec& spec) {
  const bool is_large = spec.ranks > 32;
  const bool is_ddp = spec.kind == CudaJobKind::kDdp;  // others have more collectives in a layer
  spec.layers = is_large ? 4 : dice.in(4, is_ddp ? 8 : 6);
  spec.kernels = is_large ? 2 : dice.in(2, is_ddp ? 4 : 3);
  spec.steps = is_large ? 5 : dice.in(5, 6);
  spec.compute_s = dice.log_between(0.05, 0.4);
  spec.comm = dice.between(0.15, 0.9);
  spec.ahead = dice.below(3);
  switch (spec.kind) {
    case CudaJobKind::kDdp:
      spec.has_other_first_step = dice.chance(0.3);
      break;
    case CudaJobKind::kFsdp:
      spec.has_mesh_group = dice.chance(0.5);
      break;
    case CudaJobKind::kHsdp:
      spec.shards = dice.chance(0.5) ? spec.ranks / 2 : 4;
      break;
    case CudaJobKind::kTensor:
      spec.tp = dice.chance(0.5) ? 2 : spec.ranks >= 16 ? 8 : 4;
      spec.has_tensor_gathers = dice.chance(0.5);
      break;
    case CudaJobKind::kExpert:
      spec.shards = dice.chance(0.5) ? 4 : std::min(8, spec.ranks / 2);
      spec.has_comm_stream = dice.chance(0.4);
      break;
    case CudaJobKind::kOneFOneB:
    case CudaJobKind::kGPipe:
      spec.pp = dice.chance(0.5) ? 2 : 4;
      if (dice.chance(0.35) && spec.ranks / spec.pp >= 4) spec.tp = 2;
      spec.layers = dice.in(1, 2);
      spec.kernels = 2;
      spec.micro_batches = is_large ? spec.pp : spec.pp * dice.in(1, 2);
      spec.has_batched_p2p = dice.chance(0.5);
      spec.has_eager_sends = !spec.has_batched_p2p && dice.chance(0.3);
      spec.has_overlapped_reduce = dice.chance(0.5);
      spec.compute_s = dice.log_between(0.05, 0.25);
      break;
  }
  const bool may_coalesce = spec.kind != CudaJobKind::kDdp && spec.kind != CudaJobKind::kExpert;
  spec.has_coalescing = may_coalesce && dice.chance(0.3);
  spec.has_grad_norm = dice.chance(0.4);
  spec.has_sync_after_forward = !is_pipeline(spec) && dice.chance(0.1);
  spec.has_sync_before_optimizer = dice.chance(0.15);
}

void draw_trace(SpecDice& dice, CudaJobSpec& spec) {
  CudaTraceOptions& trace = spec.trace;
  trace.has_seq = dice.chance(0.5);
  trace.has_sync_events = dice.chance(0.35);
  trace.has_event_calls = trace.has_sync_events || dice.chance(0.3);
  trace.has_wait_records = dice.chance(0.5);
  trace.has_kernel_args = dice.chance(0.7);
  trace.has_leftover_kernels = dice.chance(0.3);
  trace.has_flows = dice.chance(0.2);
  trace.has_info_at_end = spec.ranks <= 16 && dice.chance(0.15);
  trace.has_local_group_names = dice.chance(0.4);
  trace.has_megatron_names = dice.chance(0.4);
  trace.has_own_base_times = dice.chance(0.7);
  const bool is_megatron_1f1b = spec.kind == CudaJobKind::kOneFOneB && spec.has_batched_p2p;
  trace.has_pass_labels = is_pipeline(spec) && !is_megatron_1f1b && dice.chance(0.5);
  trace.coalesced_link = dice.chance(0.6) ? CoalescedLink::kLast : CoalescedLink::kFirst;
  trace.form = dice.one_of({KinetoForm::kCompact, KinetoForm::kLines, KinetoForm::kIndented});
}

void draw_fault(SpecDice& dice, CudaJobSpec& spec) {
  CudaFault& fault = spec.fault;
  fault.kind = dice.one_of(
      {CudaFaultKind::kCompute, CudaFaultKind::kBackward, CudaFaultKind::kLoader, CudaFaultKind::kPause});
  fault.rank = dice.below(spec.ranks);
  fault.share = dice.log_between(0.05, 0.5);
  if (fault.kind == CudaFaultKind::kLoader) {
    spec.ahead = 0;  // otherwise the device does not feel it
    // Other stages wait for the first one's messages anyway.
    if (is_pipeline(spec)) fault.rank = dice.below(spec.ranks / spec.pp);
  }
  if (fault.kind == CudaFaultKind::kPause) {
    spec.has_sync_before_optimizer = is_pipeline(spec) || dice.chance(0.5);
    spec.has_sync_after_forward = !spec.has_sync_before_optimizer;
  }
}

std::string fault_text(const CudaFault& fault) {
  switch (fault.kind) {
    case CudaFaultKind::kNone:
      return "healthy";
    case CudaFaultKind::kCompute:
      return fmt::format("rank {} computes slowly, {:.1f} %", fault.rank, 100 * fault.share);
    case CudaFaultKind::kBackward:
      return fmt::format("rank {} computes backward passes slowly, {:.1f} %", fault.rank, 100 * fault.share);
    case CudaFaultKind::kLoader:
      return fmt::format("rank {} waits for data, {:.1f} %", fault.rank, 100 * fault.share);
    case CudaFaultKind::kPause:
      return fmt::format("rank {}'s host pauses, {:.1f} %", fault.rank, 100 * fault.share);
    case CudaFaultKind::kHiddenLoader:
      return fmt::format("healthy, rank {} has a slow data loader that the device does not feel", fault.rank);
  }
  return "";
}

}  // namespace

std::string cuda_job_kind_name(CudaJobKind kind) {
  switch (kind) {
    case CudaJobKind::kDdp:
      return "ddp";
    case CudaJobKind::kFsdp:
      return "fsdp";
    case CudaJobKind::kHsdp:
      return "hsdp";
    case CudaJobKind::kTensor:
      return "tp-dp";
    case CudaJobKind::kExpert:
      return "ep";
    case CudaJobKind::kOneFOneB:
      return "pp-1f1b";
    case CudaJobKind::kGPipe:
      return "pp-gpipe";
  }
  return "";
}

CudaJobSpec random_cuda_job(std::uint64_t seed, bool is_faulty) {
  SpecDice dice(seed);
  CudaJobSpec spec;
  spec.seed = seed;
  spec.kind = kCudaJobKinds[seed % std::size(kCudaJobKinds)];  // each of them as often
  spec.ranks = random_ranks(dice);
  draw_shape(dice, spec);
  draw_trace(dice, spec);
  if (is_faulty) {
    draw_fault(dice, spec);
  } else if (spec.ahead > 0 && !spec.has_sync_after_forward && !spec.has_sync_before_optimizer &&
             dice.chance(0.2)) {
    spec.fault = {CudaFaultKind::kHiddenLoader, dice.below(spec.ranks), 0};
  }
  return spec;
}

std::string describe(const CudaJobSpec& spec) {
  std::string text =
      fmt::format("seed {}: {} on {} ranks", spec.seed, cuda_job_kind_name(spec.kind), spec.ranks);
  const auto number = [&text](const char* what, int value, int plain) {
    if (value != plain) text += fmt::format(", {} {}", what, value);
  };
  const auto flag = [&text](bool is_on, const char* what) {
    if (is_on) text += fmt::format(", {}", what);
  };
  number("tp", spec.tp, 1);
  number("pp", spec.pp, 1);
  number("group of", spec.shards, 1);
  number("micro-batches", spec.micro_batches, 1);
  text += fmt::format(", {} layers of {} kernels, {} steps, comm {:.2f}, ahead {}", spec.layers, spec.kernels,
                      spec.steps, spec.comm, spec.ahead);
  flag(spec.has_grad_norm, "grad norm");
  flag(spec.has_other_first_step, "other first step");
  flag(spec.has_tensor_gathers, "tensor gathers");
  flag(spec.has_batched_p2p, "batched p2p");
  flag(spec.has_eager_sends, "eager sends");
  flag(spec.has_overlapped_reduce, "overlapped reduce");
  flag(spec.has_coalescing, "coalescing");
  flag(spec.has_comm_stream, "comm stream");
  flag(spec.has_mesh_group, "mesh group");
  flag(spec.has_sync_after_forward, "sync after forward");
  flag(spec.has_sync_before_optimizer, "sync before optimizer");
  const CudaTraceOptions& trace = spec.trace;
  flag(trace.has_seq, "Seq");
  flag(trace.has_sync_events, "sync events");
  flag(trace.has_event_calls && !trace.has_sync_events, "event calls");
  flag(trace.has_wait_records && spec.kind != CudaJobKind::kDdp, "wait records");
  flag(!trace.has_kernel_args, "no kernel args");
  flag(trace.has_leftover_kernels, "leftover kernels");
  flag(trace.has_flows, "flows");
  flag(trace.has_info_at_end, "info at end");
  flag(trace.has_local_group_names, "local group names");
  flag(trace.has_megatron_names, "Megatron names");
  flag(trace.has_pass_labels, "pass labels");
  if (spec.has_coalescing || (spec.has_batched_p2p && spec.pp > 1)) {
    constexpr const char* kLinks[] = {"linked to first launch", "linked to last launch",
                                      "not linked to a launch"};
    flag(true, kLinks[static_cast<int>(trace.coalesced_link)]);
  }
  constexpr const char* kForms[] = {"compact", "lines", "indented"};
  flag(true, kForms[static_cast<int>(trace.form)]);
  return text + "; " + fault_text(spec.fault);
}

}  // namespace goodput::testing

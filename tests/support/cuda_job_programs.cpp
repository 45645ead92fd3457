#include "tests/support/cuda_job_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/support/cuda_host_script.h"

namespace goodput::testing {
namespace {

// Streams besides that of compute, as FSDP and pipelines have them. The script has one for each group.
constexpr int kCopyInStream = 16;
constexpr int kAllGatherStream = 20;
constexpr int kReduceScatterStream = 24;
constexpr int kAllReduceStream = 28;
constexpr int kSendForwardStream = 40;
constexpr int kRecvForwardStream = 44;
constexpr int kSendBackwardStream = 48;
constexpr int kRecvBackwardStream = 52;

constexpr double kSmallCopyNs = 40e3;
constexpr double kTinyTransferNs = 35e3;  // of a collective of one number
constexpr double kBackwardWork = 2;       // over forward work
constexpr int kStepsBefore =
    2;  // run without being recorded, so that the host is ahead when recording begins

// Nominal times.
struct WorkSizes {
  double layer = 0;  // forward, of a micro-batch
  double head = 0;   // forward, of a micro-batch
  double optimizer = 0;
};

// Forward and backward passes (twice the work) are nine tenths of the compute; the head has 4 %, the
// optimizer 6 %.
WorkSizes work_sizes(const CudaJobSpec& spec) {
  const double compute = spec.compute_s * 1e9;
  const double passes = (1 + kBackwardWork) * spec.micro_batches;
  return {0.9 * compute / (passes * spec.layers), 0.04 * compute / passes, 0.06 * compute};
}

struct LayerKernel {
  const char* op;
  const char* kernel;
  double share;
};

// The last one is the second half of a layer: its MLP or experts.
std::vector<LayerKernel> layer_kernels(int kernels) {
  const LayerKernel norm{"aten::rms_norm",
                         "void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)",
                         0.08};
  const LayerKernel qkv{"aten::mm", "nvjet_hsh_192x192_64x4_2x1_v_bz_coopA_TNT", 0.2};
  const LayerKernel attention{"aten::_flash_attention_forward",
                              "void pytorch_flash::flash_fwd_kernel<128, 64, 64>(int)", 0.22};
  const LayerKernel mlp{"aten::mm", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopB_TNN", 0.5};
  if (kernels >= 4) return {norm, qkv, attention, mlp};
  if (kernels == 3) return {norm, {attention.op, attention.kernel, 0.42}, mlp};
  return {{attention.op, attention.kernel, 0.48}, {mlp.op, mlp.kernel, 0.52}};
}

// Layers of a job: their kernels, and the collectives of tensor and expert parallelism between them.
class LayerScript {
 public:
  explicit LayerScript(HostScript& host)
      : host_(host), sizes_(work_sizes(host.spec())), kernels_(layer_kernels(host.spec().kernels)) {}

  [[nodiscard]] const WorkSizes& sizes() const { return sizes_; }

  void forward() {
    gather();
    half(false, 1, PassKind::kForward);
    scatter();
    before_experts();
    gather();
    half(true, 1, PassKind::kForward);
    scatter();
    after_experts();
  }
  // On the autograd thread, within the event of a node.
  void backward(int layer) {
    host_.begin(fmt::format("autograd::engine::evaluate_function: {}",
                            layer % 2 == 0 ? "MmBackward0" : "NativeLayerNormBackward0"),
                HostCategory::kCpuOp);
    after_experts();
    gather();
    half(true, kBackwardWork, PassKind::kBackward);
    scatter();
    before_experts();
    gather();
    half(false, kBackwardWork, PassKind::kBackward);
    scatter();
    host_.end();
  }

 private:
  void half(bool is_second, double factor, PassKind pass) {
    const std::size_t first = is_second ? kernels_.size() - 1 : 0;
    const std::size_t last = is_second ? kernels_.size() : kernels_.size() - 1;
    for (std::size_t i = first; i < last; ++i) {
      const LayerKernel& kernel = kernels_[pass == PassKind::kForward ? i : first + last - 1 - i];
      host_.compute(kernel.op, kernel.kernel, kernel.share * factor * sizes_.layer, pass);
    }
  }
  void tensor_comm(CommKind kind, double share) {
    const int group = host_.place().tp_group;
    if (group < 0) return;
    host_.comm(kComputeStream, {host_.collective(kind, group, share * host_.spec().comm * sizes_.layer)});
  }
  void gather() {
    if (host_.spec().has_tensor_gathers) tensor_comm(CommKind::kAllGather, 0.08);
  }
  void scatter() {
    if (host_.spec().has_tensor_gathers) {
      tensor_comm(CommKind::kReduceScatter, 0.08);
    } else {
      tensor_comm(CommKind::kAllReduce, 0.15);
    }
  }
  void before_experts() { exchange_tokens(); }
  void after_experts() { exchange_tokens(); }
  void exchange_tokens() {
    const int group = host_.place().expert_group;
    if (group < 0) return;
    const CommCall call =
        host_.collective(CommKind::kAllToAll, group, 0.25 * host_.spec().comm * sizes_.layer);
    if (!host_.spec().has_comm_stream) {
      host_.comm(kComputeStream, {call});
      return;
    }
    host_.wait_work(host_.async_comm(host_.group_stream(group), {call}), call.meta, true);
  }

  HostScript& host_;
  WorkSizes sizes_;
  std::vector<LayerKernel> kernels_;
};

// Reduces gradients while a backward pass goes on: a bucket is launched when the last layer in it is done.
class GradientBuckets {
 public:
  GradientBuckets(HostScript& host, int group, int buckets, double transfer_ns, CommKind kind,
                  bool is_recorded_wait)
      : host_(host),
        group_(group),
        buckets_(buckets),
        transfer_ns_(transfer_ns),
        kind_(kind),
        is_recorded_wait_(is_recorded_wait) {}

  // After `done` of `layers` layers.
  void after_layer(int done, int layers) {
    if (group_ < 0) return;
    const int ready = done * buckets_ / layers;
    for (; launched_ < ready; ++launched_) {
      host_.begin("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                  HostCategory::kCpuOp);
      launch_one();
      host_.end();
    }
  }
  void launch_rest() {
    if (group_ < 0) return;
    for (; launched_ < buckets_; ++launched_) launch_one();
  }
  void wait_all() {
    for (const auto& [event, meta] : done_) host_.wait_work(event, meta, is_recorded_wait_);
    done_.clear();
  }

 private:
  void launch_one() {
    std::vector<CommCall> calls;
    // The sizes of buckets differ by a tenth.
    const double share = (1 + (launched_ % 2 == 0 ? 0.05 : -0.05)) / buckets_;
    if (kind_ == CommKind::kReduceScatter) {
      calls = host_.collectives(kind_, group_, share * transfer_ns_, true);
    } else {
      calls = {host_.collective(kind_, group_, share * transfer_ns_, true)};
    }
    const CudaCommMeta meta = calls.front().meta;
    done_.emplace_back(host_.async_comm(host_.group_stream(group_), std::move(calls)), meta);
  }

  HostScript& host_;
  int group_;
  int buckets_;
  double transfer_ns_;
  CommKind kind_;
  bool is_recorded_wait_;
  int launched_ = 0;
  std::vector<std::pair<int, CudaCommMeta>> done_;
};

// What all kinds of jobs do at the begin and at the end of a step.
class StepFrame {
 public:
  StepFrame(HostScript& host, const WorkSizes& sizes) : host_(host), sizes_(sizes) {}

  void open() {
    host_.step_begin(10 + host_.step());
    host_.begin("Optimizer.zero_grad#AdamW.zero_grad");
    host_.act(HostAction::kHostWork, 30e3);
    host_.end();
    host_.begin("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    host_.act(HostAction::kLoaderSpot);
    host_.act(HostAction::kHostWork, 150e3);
    host_.end();
    host_.launch(kComputeStream, "aten::to", "Memcpy HtoD (Pinned -> Device)", kSmallCopyNs, PassKind::kOther,
                 KernelKind::kCopy);
  }
  void loss() {
    host_.compute("aten::cross_entropy_loss", "void cunn_SoftMaxForward<8, float>(int)", sizes_.head,
                  PassKind::kForward);
  }
  void after_forward() {
    if (!host_.spec().has_sync_after_forward) return;
    host_.item();
    host_.act(HostAction::kPauseSpot);
  }
  void loss_backward() {
    host_.begin("autograd::engine::evaluate_function: LogSoftmaxBackward0", HostCategory::kCpuOp);
    host_.compute("aten::_log_softmax_backward_data", "void cunn_SoftMaxBackward<8, float>(int)",
                  kBackwardWork * sizes_.head, PassKind::kBackward);
    host_.end();
  }
  void optimize() {
    const CudaJobSpec& spec = host_.spec();
    if (spec.has_grad_norm) {
      host_.compute("aten::_foreach_norm", "void at::native::lpnorm_cleanup<float>(int)", kSmallCopyNs,
                    PassKind::kOther);
      host_.comm(kComputeStream, {host_.collective(CommKind::kAllReduce, 0, kTinyTransferNs, true)});
      host_.compute("aten::_foreach_mul_", "void at::native::multi_tensor_apply_kernel<float>(int)",
                    kSmallCopyNs, PassKind::kOther);
    }
    if (spec.has_sync_before_optimizer) {
      host_.item();
      if (!spec.has_sync_after_forward) host_.act(HostAction::kPauseSpot);
    }
    host_.begin("Optimizer.step#AdamW.step");
    for (int i = 0; i < 2; ++i) {
      host_.compute("aten::_fused_adamw_", "void at::native::multi_tensor_apply_kernel<FusedAdam>(int)",
                    sizes_.optimizer / 2, PassKind::kOther);
    }
    host_.end();
  }
  void close() {
    host_.await_device(host_.spec().ahead);
    host_.act(HostAction::kStepEnd);
  }

 private:
  HostScript& host_;
  const WorkSizes& sizes_;
};

// Data parallelism by DDP; also with tensor or expert parallelism in the layers.
void replicated_step(HostScript& host, bool is_first) {
  const CudaJobSpec& spec = host.spec();
  LayerScript layers(host);
  StepFrame frame(host, layers.sizes());
  frame.open();
  const bool is_ddp = spec.kind == CudaJobKind::kDdp;
  const bool is_sharded =
      spec.kind == CudaJobKind::kTensor && spec.has_coalescing;  // a distributed optimizer
  const int group = spec.kind == CudaJobKind::kTensor ? host.place().dp_group : 0;
  const double transfer = 0.6 * spec.comm * spec.compute_s * 1e9;
  const int buckets = std::max(2, spec.layers / 2) + (is_first && spec.has_other_first_step ? 2 : 0);
  GradientBuckets gradients(host, group, std::min(buckets, spec.layers), transfer,
                            is_sharded ? CommKind::kReduceScatter : CommKind::kAllReduce, !is_ddp);
  if (is_ddp) host.begin("DistributedDataParallel.forward");
  for (int layer = 0; layer < spec.layers; ++layer) layers.forward();
  frame.loss();
  if (is_ddp) host.end();
  frame.after_forward();
  host.set_autograd(true);
  frame.loss_backward();
  for (int layer = spec.layers; layer-- > 0;) {
    layers.backward(layer);
    gradients.after_layer(spec.layers - layer, spec.layers);
  }
  if (is_ddp) gradients.wait_all();
  host.set_autograd(false);
  gradients.wait_all();
  frame.optimize();
  if (is_sharded && group >= 0) {
    host.comm(kComputeStream, host.collectives(CommKind::kAllGather, group, 0.3 * transfer, false));
    host.compute("aten::copy_", "void at::native::unrolled_elementwise_kernel<float>(int)", kSmallCopyNs,
                 PassKind::kOther);
  }
  frame.close();
}

// FSDP2, and HSDP.
class ShardedStep {
 public:
  explicit ShardedStep(HostScript& host) : host_(host), layers_(host), frame_(host, layers_.sizes()) {
    shard_group_ = std::max(0, host.place().shard_group);
    replica_group_ = host.place().replica_group;
    transfer_ns_ = 0.9 * host.spec().comm * layers_.sizes().layer;
  }

  void run() {
    const int layers = host_.spec().layers;
    frame_.open();
    const int optimized = host_.record(kComputeStream);
    host_.stream_wait(kCopyInStream, optimized);
    host_.stream_wait(kAllGatherStream, optimized);
    for (int unit = 0; unit <= layers; ++unit) {  // unit 0 is the root: embeddings and head
      host_.begin(label("FSDP::pre_forward", unit));
      all_gather(unit);
      await_unit(true);
      host_.end();
      if (unit > 0) layers_.forward();
    }
    frame_.loss();
    copied_out_ = -1;
    frame_.after_forward();
    host_.set_autograd(true);
    frame_.loss_backward();
    all_gather(layers);
    for (int unit = layers; unit > 0; --unit) {
      await_unit(false);
      if (unit > 1) all_gather(unit - 1);
      layers_.backward(unit);
      reduce(unit);
    }
    reduce(0);
    host_.stream_wait(kComputeStream, reduced_);
    host_.set_autograd(false);
    frame_.optimize();
    frame_.close();
  }

 private:
  static std::string label(const char* what, int unit) {
    return unit == 0 ? std::string(what) : fmt::format("{} (layers.{})", what, unit - 1);
  }
  [[nodiscard]] double transfer(int unit) const { return (unit == 0 ? 0.4 : 1) * transfer_ns_; }

  void all_gather(int unit) {
    host_.begin(label("FSDP::all_gather", unit));
    host_.launch(kCopyInStream, "fsdp::all_gather_copy_in",
                 "void at::native::multi_tensor_copy_in_kernel<c10::BFloat16>(int)", kSmallCopyNs / 2,
                 PassKind::kOther);
    CommCall call = host_.collective(CommKind::kAllGather, shard_group_, transfer(unit));
    gathered_meta_ = call.meta;
    gathered_ = host_.async_comm(kAllGatherStream, {std::move(call)}, kCopyInStream);
    host_.end();
  }
  // The compute stream waits for the all-gather that was launched last, and takes its result. In forward
  // passes the all-gather after next waits for that, in backward passes the next one does.
  void await_unit(bool is_forward) {
    if (is_forward && copied_out_ >= 0) hold_gathers(copied_out_);
    host_.wait_work(gathered_, gathered_meta_, true);
    host_.compute("fsdp::split_with_sizes_copy",
                  "void at::native::split_with_sizes_copy_out_contiguous_no_cast_kernel(int)", kSmallCopyNs,
                  PassKind::kOther);
    copied_out_ = host_.record(kComputeStream);
    if (!is_forward) hold_gathers(copied_out_);
  }
  void hold_gathers(int event) {
    host_.stream_wait(kCopyInStream, event);
    host_.stream_wait(kAllGatherStream, event);
  }
  void reduce(int unit) {
    if (reduced_ >= 0) host_.stream_wait(kComputeStream, reduced_);
    host_.begin(label("FSDP::post_backward_reduce", unit));
    host_.compute("fsdp::chunk_cat", "void at::native::chunk_cat_cuda_kernel<float, c10::BFloat16>(int)",
                  kSmallCopyNs, PassKind::kOther);
    reduced_ = host_.async_comm(
        kReduceScatterStream,
        host_.collectives(CommKind::kReduceScatter, shard_group_, 1.2 * transfer(unit), true));
    if (replica_group_ >= 0) {
      CommCall call = host_.collective(CommKind::kAllReduce, replica_group_, 0.3 * transfer(unit), true);
      reduced_ = host_.async_comm(kAllReduceStream, {std::move(call)}, kReduceScatterStream);
    }
    host_.end();
  }

  HostScript& host_;
  LayerScript layers_;
  StepFrame frame_;
  int shard_group_ = 0;
  int replica_group_ = -1;
  double transfer_ns_ = 0;
  int gathered_ = -1;  // events
  CudaCommMeta gathered_meta_;
  int copied_out_ = -1;
  int reduced_ = -1;
};

// One rank of a pipeline.
class PipelineStep {
 public:
  explicit PipelineStep(HostScript& host)
      : host_(host),
        place_(host.place()),
        layers_(host),
        frame_(host, layers_.sizes()),
        transfer_ns_(0.08 * host.spec().comm * layers_.sizes().layer * host.spec().layers),
        gradients_(host, place_.dp_group, std::min(2, host.spec().layers),
                   0.25 * host.spec().comm * host.spec().compute_s * 1e9,
                   host.spec().has_coalescing ? CommKind::kReduceScatter : CommKind::kAllReduce, true) {}

  void run() {
    frame_.open();
    if (host_.spec().kind == CudaJobKind::kGPipe) {
      fill_and_drain();
    } else if (host_.spec().has_batched_p2p) {
      one_forward_one_backward_batched();
    } else {
      one_forward_one_backward();
    }
    for (const auto& [event, meta] : sends_) host_.wait_work(event, meta, true);
    gradients_.launch_rest();
    gradients_.wait_all();
    frame_.optimize();
    if (host_.spec().has_coalescing && place_.dp_group >= 0) {
      host_.comm(kComputeStream,
                 host_.collectives(CommKind::kAllGather, place_.dp_group, 2 * transfer_ns_, false));
      host_.compute("aten::copy_", "void at::native::unrolled_elementwise_kernel<float>(int)", kSmallCopyNs,
                    PassKind::kOther);
    }
    frame_.close();
  }

 private:
  [[nodiscard]] bool is_last() const { return place_.next < 0; }

  void forward() {
    for (int layer = 0; layer < host_.spec().layers; ++layer) layers_.forward();
    if (is_last()) frame_.loss();
  }
  void backward(int micro_batch) {
    const int layers = host_.spec().layers;
    const bool reduces = host_.spec().has_overlapped_reduce && micro_batch == host_.spec().micro_batches - 1;
    host_.set_autograd(true);
    if (is_last()) frame_.loss_backward();
    for (int layer = layers; layer-- > 0;) {
      layers_.backward(layer);
      if (reduces) gradients_.after_layer(layers - layer, layers);
    }
    host_.set_autograd(false);
  }

  // A kernel of its own per message: asynchronous, each direction on its own stream.
  void send(int peer, int stream) {
    if (peer < 0) return;
    CommCall call = host_.message(CommKind::kSend, peer, transfer_ns_);
    const CudaCommMeta meta = call.meta;
    sends_.emplace_back(host_.async_comm(p2p_stream(stream), {std::move(call)}), meta);
  }
  void post_recv(int peer, int stream) {
    posted_ = -1;
    if (peer < 0) return;
    CommCall call = host_.message(CommKind::kRecv, peer, transfer_ns_);
    posted_meta_ = call.meta;
    posted_ = host_.async_comm(p2p_stream(stream), {std::move(call)});
  }
  void await_recv() {
    if (posted_ >= 0) host_.wait_work(posted_, posted_meta_, true);
  }
  [[nodiscard]] int p2p_stream(int stream) const {
    return host_.spec().has_batched_p2p ? host_.group_stream(place_.pp_group) : stream;
  }
  void label(const std::string& text) {
    if (host_.spec().trace.has_pass_labels) host_.begin(text);
  }
  void end_label() {
    if (host_.spec().trace.has_pass_labels) host_.end();
  }

  void forward_alone(int micro_batch) {
    post_recv(place_.previous, kRecvForwardStream);
    label(fmt::format("PP:{}F{}", place_.stage, micro_batch));
    await_recv();
    forward();
    end_label();
    send(place_.next, kSendForwardStream);
  }
  void backward_alone(int micro_batch) {
    post_recv(place_.next, kRecvBackwardStream);
    label(fmt::format("PP:{}B{}", place_.stage, micro_batch));
    await_recv();
    backward(micro_batch);
    end_label();
    send(place_.previous, kSendBackwardStream);
  }
  void one_forward_one_backward() {
    const int micro_batches = host_.spec().micro_batches;
    const int warm_up = std::min(micro_batches, host_.spec().pp - 1 - place_.stage);
    for (int i = 0; i < warm_up; ++i) forward_alone(i);
    for (int i = warm_up; i < micro_batches; ++i) {
      forward_alone(i);
      backward_alone(i - warm_up);
    }
    for (int i = micro_batches - warm_up; i < micro_batches; ++i) backward_alone(i);
  }

  void fill_and_drain() {
    const int micro_batches = host_.spec().micro_batches;
    for (int i = 0; i < micro_batches; ++i) {
      label(fmt::format("Forward {}", i));
      post_recv(place_.previous, kRecvForwardStream);
      await_recv();
      forward();
      send(place_.next, kSendForwardStream);
      end_label();
    }
    for (int i = 0; i < micro_batches; ++i) {
      label(fmt::format("Backward {}", i));
      post_recv(place_.next, kRecvBackwardStream);
      await_recv();
      backward(i);
      send(place_.previous, kSendBackwardStream);
      end_label();
    }
  }

  // Megatron's: the messages that are due go in one kernel, which the compute stream waits for.
  void exchange(int send_peer, int recv_peer) {
    std::vector<CommCall> calls;
    if (send_peer >= 0) calls.push_back(host_.message(CommKind::kSend, send_peer, transfer_ns_));
    if (recv_peer >= 0) calls.push_back(host_.message(CommKind::kRecv, recv_peer, transfer_ns_));
    if (calls.empty()) return;
    const std::vector<CommCall> waited = calls;
    const int done = host_.async_comm(host_.group_stream(place_.pp_group), std::move(calls));
    for (const CommCall& call : waited) host_.wait_work(done, call.meta, true);
  }
  void one_forward_one_backward_batched() {
    const int micro_batches = host_.spec().micro_batches;
    const int warm_up = std::min(micro_batches, host_.spec().pp - 1 - place_.stage);
    const int steady = micro_batches - warm_up;
    for (int i = 0; i < warm_up; ++i) {
      exchange(-1, place_.previous);
      forward();
      exchange(place_.next, -1);
    }
    if (steady > 0) exchange(-1, place_.previous);
    for (int i = 0; i < steady; ++i) {
      forward();
      exchange(place_.next, place_.next);
      backward(i);
      exchange(place_.previous, i + 1 < steady ? place_.previous : -1);
    }
    for (int i = steady; i < micro_batches; ++i) {
      exchange(-1, place_.next);
      backward(i);
      exchange(place_.previous, -1);
    }
  }

  HostScript& host_;
  const CudaRankPlace& place_;
  LayerScript layers_;
  StepFrame frame_;
  double transfer_ns_;
  GradientBuckets gradients_;
  std::vector<std::pair<int, CudaCommMeta>> sends_;
  int posted_ = -1;
  CudaCommMeta posted_meta_;
};

void run_step(HostScript& host, bool is_first) {
  switch (host.spec().kind) {
    case CudaJobKind::kFsdp:
    case CudaJobKind::kHsdp:
      ShardedStep(host).run();
      break;
    case CudaJobKind::kOneFOneB:
    case CudaJobKind::kGPipe:
      PipelineStep(host).run();
      break;
    default:
      replicated_step(host, is_first);
  }
}

}  // namespace

JobPrograms make_job_programs(const CudaJobSpec& spec) {
  JobPrograms programs;
  CudaNameTable names;
  CudaLayout layout = make_cuda_layout(spec);
  programs.steps_before = spec.has_other_first_step ? 0 : kStepsBefore;
  for (const CudaRankPlace& place : layout.places) {
    HostScript host(spec, layout, place, names);
    for (int step = -programs.steps_before; step < spec.steps; ++step) {
      host.set_step(step);
      run_step(host, step == -programs.steps_before);
    }
    programs.ranks.push_back(host.take());
  }
  programs.groups = std::move(layout.groups);
  programs.names = names.take();
  return programs;
}

}  // namespace goodput::testing

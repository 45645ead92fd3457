#include "tests/support/kineto_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput::testing {
namespace {

constexpr std::size_t kKinetoListed = 30;  // torch cuts longer lists of ranks
constexpr int kKinetoDevices = 8;

// Keys and values of an object, as JSON.
class JsonFields {
 public:
  JsonFields(bool is_compact, std::string_view separator) : is_compact_(is_compact), separator_(separator) {}

  template <typename Number>
  void number(std::string_view key, Number value) {
    add(key, fmt::format("{}", value));
  }
  void text(std::string_view key, std::string_view value) { add(key, fmt::format("\"{}\"", value)); }
  void add(std::string_view key, std::string_view value) {
    if (!text_.empty()) text_ += separator_;
    fmt::format_to(std::back_inserter(text_), "\"{}\":{}{}", key, is_compact_ ? "" : " ", value);
  }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  bool is_compact_;
  std::string_view separator_;
  std::string text_;
};

template <typename Values>
std::string kineto_list(const Values& values) {
  const std::size_t shown = std::min(values.size(), kKinetoListed);
  return fmt::format("[{}{}]",
                     fmt::join(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     values.size() > shown ? ", ..." : "");
}

const char* kineto_collective(CommKind kind) {
  switch (kind) {
    case CommKind::kAllReduce:
      return "allreduce";
    case CommKind::kAllGather:
      return "_allgather_base";
    case CommKind::kReduceScatter:
      return "_reduce_scatter_base";
    case CommKind::kAllToAll:
      return "all_to_allv";
    case CommKind::kSend:
      return "send";
    case CommKind::kRecv:
      return "recv";
  }
  return "";
}

const char* kineto_category(HostCategory category) {
  switch (category) {
    case HostCategory::kAnnotation:
      return "user_annotation";
    case HostCategory::kCpuOp:
      return "cpu_op";
    case HostCategory::kRuntime:
      return "cuda_runtime";
    case HostCategory::kSync:
      return "cuda_sync";
  }
  return "";
}

class KinetoWriter {
 public:
  KinetoWriter(const CudaJob& job, int rank, KinetoForm form)
      : job_(job),
        rank_(rank),
        form_(form),
        from_(job.ranks[static_cast<std::size_t>(rank)]),
        host_shift_(from_.host_clock_ns - from_.base_time_ns),
        device_shift_(host_shift_ + from_.device_clock_ns),
        pid_(2000 + 17 * rank),
        autograd_tid_(pid_ + 611),
        device_(rank % kKinetoDevices) {}

  std::string write() {
    out_.reserve(400 * (from_.host.size() + from_.kernels.size()));
    begin_file();
    write_threads();
    int index = 0;
    for (const CudaHostEvent& event : from_.host) {
      if (event.category == HostCategory::kAnnotation || event.category == HostCategory::kCpuOp) {
        write_operation(event, index++);
      }
    }
    for (const CudaHostEvent& event : from_.host) {
      if (event.category == HostCategory::kRuntime && is_recorded(event)) write_runtime(event);
      if (event.category == HostCategory::kSync) write_sync(event);
    }
    for (const CudaKernel& kernel : from_.kernels) {
      if (is_recorded(kernel)) write_kernel(kernel);
    }
    end_file();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_compact() const { return form_ == KinetoForm::kCompact; }
  [[nodiscard]] bool is_recorded(const CudaKernel& kernel) const {
    return kernel.step >= 0 ||
           (job_.spec.trace.has_leftover_kernels && kernel.end_ns > from_.record_begin_ns);
  }
  [[nodiscard]] bool is_recorded(const CudaHostEvent& call) const {
    const std::string& what = name(call.name);
    return job_.spec.trace.has_event_calls || (what != "cudaEventRecord" && what != "cudaStreamWaitEvent");
  }
  [[nodiscard]] JsonFields fields() const { return {is_compact(), is_compact() ? "," : ", "}; }
  // For events that are not spans: the indented form puts each field on a line of its own.
  [[nodiscard]] JsonFields event_fields() const {
    return form_ == KinetoForm::kIndented ? JsonFields(false, ",\n    ") : fields();
  }
  static std::string micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
  [[nodiscard]] const std::string& name(int index) const {
    return job_.names[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] int tid(const CudaHostEvent& event) const { return event.is_autograd ? autograd_tid_ : pid_; }

  // --- The file ---

  [[nodiscard]] std::string distributed_info(bool has_ranks_as_text) const {
    std::string groups;
    for (const int group : from_.groups) {
      const CudaGroup& one = job_.groups[static_cast<std::size_t>(group)];
      JsonFields config = fields();
      config.text("pg_name", group_name(job_, rank_, group));
      config.text("pg_desc", one.description);
      config.text("backend_config", "cuda:nccl");
      config.number("pg_size", one.ranks.size());
      const std::string ranks = fmt::format("[{}]", fmt::join(one.ranks, ", "));
      if (has_ranks_as_text) {
        config.text("ranks", kineto_list(one.ranks));
      } else {
        config.add("ranks", ranks);
      }
      groups += fmt::format("{}{{{}}}", groups.empty() ? "" : ", ", config.str());
    }
    JsonFields info = fields();
    info.text("backend", "nccl");
    info.number("rank", rank_);
    info.number("world_size", job_.ranks.size());
    info.number("pg_count", from_.groups.size());
    info.add("pg_config", "[" + groups + "]");
    info.text("nccl_version", has_ranks_as_text ? "unknown" : "2.27.3");
    return "{" + info.str() + "}";
  }

  void begin_file() {
    JsonFields device = fields();
    device.number("id", device_);
    device.text("name", "NVIDIA H100 80GB HBM3");
    device.number("totalGlobalMem", 85'520'809'984);
    device.number("computeMajor", 9);
    device.number("computeMinor", 0);
    device.number("numSms", 132);
    const std::string line = is_compact() ? "" : "\n    ";
    const char* colon = is_compact() ? ":" : ": ";
    out_ += is_compact() ? "{" : "\n  {";
    const auto field = [&](const char* key, const std::string& value) {
      out_ += fmt::format("{}\"{}\"{}{},", line, key, colon, value);
    };
    field("schemaVersion", "1");
    field("deviceProperties", fmt::format("[{}{{{}}}{}]", line, device.str(), line));
    field("trace_id", fmt::format("\"{:032X}\"", job_.spec.seed * 1000 + static_cast<std::uint64_t>(rank_)));
    if (!job_.spec.trace.has_info_at_end) field("distributedInfo", distributed_info(false));
    field("host_name", fmt::format("\"host{}\"", rank_ / kKinetoDevices));
    field("displayTimeUnit", "\"ms\"");
    field("baseTimeNanoseconds", std::to_string(from_.base_time_ns));
    out_ += fmt::format("{}\"traceEvents\"{}[", line, colon);
  }

  void end_file() {
    JsonFields last = event_fields();
    last.text("ph", "i");
    last.text("s", "g");
    last.text("name", "Record Window End");
    last.text("pid", "");
    last.text("tid", "");
    last.add("ts", micros(from_.record_end_ns + host_shift_));
    plain_event(last);
    const char* line = is_compact() ? "" : "\n  ";
    const char* colon = is_compact() ? ":" : ": ";
    out_ += fmt::format("{}],", line);
    if (job_.spec.trace.has_info_at_end) {
      out_ += fmt::format("{}\"distributedInfo\"{}{},", line, colon, distributed_info(true));
    }
    out_ += fmt::format("{}\"traceName\"{}\"rank{}.json\"{}}}", line, colon, rank_, is_compact() ? "" : "\n");
  }

  // --- Events ---

  void separate() {
    if (has_event_) out_ += ",";
    has_event_ = true;
  }
  void plain_event(const JsonFields& event) {
    separate();
    out_ += is_compact() ? "{" + event.str() + "}" : "\n  {\n    " + event.str() + "\n  }";
  }
  struct Place {
    int pid;
    int tid;
    std::int64_t begin_ns;  // in the trace
    std::int64_t end_ns;
  };
  void complete_event(std::string_view category, std::string_view event_name, const Place& place,
                      const JsonFields& args) {
    separate();
    const std::string ts = micros(place.begin_ns);
    const std::string duration = micros(place.end_ns - place.begin_ns);
    constexpr const char* kLayouts[] = {
        R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        "\n  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {},\n    "
        "\"ts\": {}, "
        "\"dur\": {},\n    \"args\": {{\n      {}\n    }}\n  }}",
        "\n  {{\n    \"ph\": \"X\",\n    \"cat\": \"{}\",\n    \"name\": \"{}\",\n    \"pid\": {},\n    "
        "\"tid\": {},\n"
        "    \"ts\": {},\n    \"dur\": {}\n    ,\n    \"args\": {{\n      {}\n    }}\n  }}"};
    fmt::format_to(std::back_inserter(out_), fmt::runtime(kLayouts[static_cast<int>(form_)]), category,
                   event_name, place.pid, place.tid, ts, duration, args.str());
  }
  void metadata_event(const char* event_name, int pid, int tid, const char* key, const std::string& value) {
    JsonFields args = fields();
    args.text(key, value);
    JsonFields event = event_fields();
    event.text("ph", "M");
    event.text("name", event_name);
    event.add("ts", micros(from_.record_begin_ns + host_shift_));
    event.number("pid", pid);
    event.number("tid", tid);
    event.add("args", "{" + args.str() + "}");
    plain_event(event);
  }
  void write_threads() {
    metadata_event("process_name", pid_, 0, "name", "python");
    metadata_event("process_labels", pid_, 0, "labels", "CPU");
    metadata_event("process_name", device_, 0, "name", "python");
    metadata_event("process_labels", device_, 0, "labels", fmt::format("GPU {}", device_));
    metadata_event("thread_name", pid_, pid_, "name", fmt::format("thread {} (python)", pid_));
    metadata_event("thread_name", pid_, autograd_tid_, "name",
                   fmt::format("thread {} (pt_autograd_0)", autograd_tid_));
  }
  void write_flow(const char* phase, int id, int pid, int tid, std::int64_t ns) {
    if (!job_.spec.trace.has_flows) return;
    JsonFields event = event_fields();
    event.text("ph", phase);
    event.number("id", id);
    event.number("pid", pid);
    event.number("tid", tid);
    event.add("ts", micros(ns));
    event.text("cat", "ac2g");
    event.text("name", "ac2g");
    if (phase[0] == 'f') event.text("bp", "e");
    plain_event(event);
  }

  void write_operation(const CudaHostEvent& event, int index) {
    JsonFields args = fields();
    args.number("External id", event.external_id);
    args.number("Record function id", 0);
    args.number("Ev Idx", index);
    if (event.meta >= 0) {
      const CudaCommMeta& meta = from_.metas[static_cast<std::size_t>(event.meta)];
      const std::vector<int>& ranks = job_.groups[static_cast<std::size_t>(meta.group)].ranks;
      const int of_group = meta.peer >= 0 ? meta.peer : rank_;
      args.number("Rank", std::find(ranks.begin(), ranks.end(), of_group) - ranks.begin());
      add_comm(args, meta);
    }
    complete_event(kineto_category(event.category), name(event.name), host_place(event), args);
  }
  [[nodiscard]] Place host_place(const CudaHostEvent& event) const {
    return {pid_, tid(event), event.begin_ns + host_shift_, event.end_ns + host_shift_};
  }
  void add_comm(JsonFields& args, const CudaCommMeta& meta) const {
    const CudaGroup& group = job_.groups[static_cast<std::size_t>(meta.group)];
    args.text("Collective name", meta.is_wait ? "wait" : kineto_collective(meta.kind));
    args.number("In msg nelems", meta.is_wait ? 0 : meta.in_elements);
    args.number("Out msg nelems", meta.is_wait ? 0 : meta.out_elements);
    args.number("Group size", group.ranks.size());
    args.text("dtype", meta.is_wait ? "Byte" : meta.is_float32 ? "Float" : "BFloat16");
    args.text("In split size", meta.is_wait ? "[]" : kineto_list(meta.in_splits));
    args.text("Out split size", meta.is_wait ? "[]" : kineto_list(meta.out_splits));
    args.text("Process Group Name", group_name(job_, rank_, meta.group));
    args.text("Process Group Description", group.description);
    args.text("Process Group Ranks", kineto_list(group.ranks));
    if (meta.peer >= 0 && !meta.is_wait)
      args.number(meta.kind == CommKind::kSend ? "Dst Rank" : "Src Rank", meta.peer);
    if (job_.spec.trace.has_seq) args.number("Seq", meta.seq);
  }

  void write_runtime(const CudaHostEvent& event) {
    JsonFields args = fields();
    if (event.external_id > 0) args.number("External id", event.external_id);
    const std::string& call = name(event.name);
    args.number("cbid", call.starts_with("cudaLaunch") ? 211 : call.starts_with("cudaMemcpy") ? 41 : 135);
    args.number("correlation", event.correlation);
    complete_event(kineto_category(event.category), call, host_place(event), args);
    if (!call.starts_with("cudaLaunch") && !call.starts_with("cudaMemcpy")) return;
    write_flow("s", event.correlation, pid_, tid(event), event.begin_ns + host_shift_);
  }

  void write_sync(const CudaHostEvent& event) {
    JsonFields args = fields();
    args.text("cuda_sync_kind", name(event.name));
    if (event.wait_on_correlation >= 0) {
      args.number("wait_on_stream", event.wait_on_stream);
      args.number("wait_on_cuda_event_record_corr_id", event.wait_on_correlation);
      args.number("wait_on_cuda_event_id", event.wait_on_correlation % 97);
    }
    args.number("stream", event.stream);
    args.number("correlation", event.correlation);
    args.number("device", device_);
    args.number("context", 1);
    Place place = host_place(event);
    place.pid = device_;
    place.tid = std::max(0, event.stream);
    complete_event(kineto_category(event.category), name(event.name), place, args);
  }

  void write_kernel(const CudaKernel& kernel) {
    JsonFields args = fields();
    if (kernel.external_id > 0) args.number("External id", kernel.external_id);
    if (kernel.kind != KernelKind::kCopy) args.number("queued", 0);
    args.number("device", device_);
    args.number("context", 1);
    args.number("stream", kernel.stream);
    args.number("correlation", kernel.correlation);
    if (kernel.kind == KernelKind::kCopy) {
      args.number("bytes", 65'536);
    } else {
      args.add("grid", kernel.kind == KernelKind::kComm ? "[24, 1, 1]" : "[132, 1, 1]");
      args.add("block", kernel.kind == KernelKind::kComm ? "[544, 1, 1]" : "[256, 1, 1]");
    }
    if (kernel.meta >= 0 && job_.spec.trace.has_kernel_args) {
      add_comm(args, from_.metas[static_cast<std::size_t>(kernel.meta)]);
    }
    const Place place{device_, kernel.stream, kernel.begin_ns + device_shift_, kernel.end_ns + device_shift_};
    complete_event(kernel.kind == KernelKind::kCopy ? "gpu_memcpy" : "kernel", name(kernel.name), place,
                   args);
    write_flow("f", kernel.correlation, device_, kernel.stream, place.begin_ns);
  }

  const CudaJob& job_;
  int rank_;
  KinetoForm form_;
  const CudaRank& from_;
  std::int64_t host_shift_;
  std::int64_t device_shift_;
  int pid_;
  int autograd_tid_;
  int device_;
  std::string out_;
  bool has_event_ = false;
};

}  // namespace

std::string kineto_text(const CudaJob& job, int rank, KinetoForm form) {
  return KinetoWriter(job, rank, form).write();
}

std::string kineto_text(const CudaJob& job, int rank) {
  return kineto_text(job, rank, job.spec.trace.form);
}

}  // namespace goodput::testing

#include "sim/machine/cluster.h"

#include "sim/base/errors.h"

namespace goodput {
namespace {

using namespace std::chrono_literals;
using config::Need;

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;
constexpr double kGigabit = 1e9 / 8;
constexpr std::int32_t kMostNodes = 1'000'000;
constexpr std::int32_t kMostGpusPerNode = 1024;
constexpr config::Range kRate = config::between(1e-6, 1e9);  // keeps times inside 63 bits of nanoseconds
constexpr config::Range kLatency = config::between(0, 1e9);  // us

std::optional<double> rate_in_giga(const std::optional<BytesPerSecond>& rate) {
  return rate ? std::optional(rate->value / kGiga) : std::nullopt;
}

config::Value link(LinkSpec& link, std::string_view rate_key, double rate_unit,
                   std::string_view rate_meaning) {
  const auto fields = [&link, rate_key, rate_unit, rate_meaning]() -> config::Fields {
    return {
        {rate_key, Need::kRequired, config::number(link.bandwidth, kRate, rate_unit), rate_meaning},
        {"efficiency", Need::kOptional, config::number(link.efficiency, config::kFraction),
         "share of the bandwidth that large messages reach"},
        {"latency_us", Need::kOptional, config::number(link.latency, kLatency, 1us),
         "latency of one message, including the kernel launch"},
        {"hop_latency_us", Need::kOptional, config::number(link.hop_latency, kLatency, 1us),
         "latency of each ring or tree step after the first one"},
        {"send_gb_per_s", Need::kOptional,
         config::number([&link] { return rate_in_giga(link.send); },
                        [&link](double value) { link.send = BytesPerSecond{value * kGiga}; }, kRate),
         "rate of one send from a pipeline stage to the next (default: bandwidth times efficiency)"},
        {"in_network_reduction", Need::kOptional, config::flag(link.in_network_reduction),
         "whether switches do the reduction (NVLS, SHARP), so that an all-reduce sends the data only once"},
    };
  };
  return config::object({[] { return true; }, fields, []() -> Status { return Ok{}; }});
}

config::Value written_if_given(PodSpec& pod) {
  config::Value value = config::object(pod);
  value.write = [&pod, write = std::move(value.write)](OrderedJson& into) {
    if (pod.nodes > 0) write(into);
  };
  return value;
}

// Not written if it is the default.
config::Value host_link(GpuSpec& gpu) {
  config::Value value = config::number(gpu.host_link, kRate, kGiga);
  value.write = [&gpu, write = std::move(value.write)](OrderedJson& into) {
    if (gpu.host_link.value != GpuSpec{}.host_link.value) write(into);
  };
  return value;
}

}  // namespace

FlopsPerSecond GpuSpec::rated(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return fp32;
    case Precision::kTf32:
      return tf32.value_or(fp32);
    case Precision::kBf16:
      return bf16;
    case Precision::kFp8:
      return fp8.value_or(bf16);
  }
  GOODPUT_CHECK(false, "unknown precision");
}

config::Fields config_fields(GpuSpec& gpu) {
  return {
      {"name", Need::kRequired, config::text(gpu.name), "vendor's name for the GPU"},
      {"bf16_tflops", Need::kRequired, config::number(gpu.bf16, kRate, kTera),
       "dense tensor-core rate for 16-bit inputs, 32-bit accumulation"},
      {"fp8_tflops", Need::kOptional, config::number(gpu.fp8, kRate, kTera),
       "dense tensor-core rate for FP8; omit this key if the GPU has no FP8"},
      {"fp32_tflops", Need::kRequired, config::number(gpu.fp32, kRate, kTera),
       "32-bit rate without tensor cores"},
      {"tf32_tflops", Need::kOptional, config::number(gpu.tf32, kRate, kTera),
       "dense tensor-core rate for 32-bit inputs (TF32); omit this key if the GPU has no TF32"},
      {"memory_gib", Need::kRequired, config::number(gpu.memory, config::between(0.001, 1e6), kGibi),
       "size of the GPU memory that a job can use"},
      {"memory_gb_per_s", Need::kRequired, config::number(gpu.memory_bandwidth, kRate, kGiga),
       "memory bandwidth"},
      {"multiprocessors", Need::kRequired, config::integer(gpu.multiprocessors, 1, 100'000),
       "number of streaming multiprocessors (SMs)"},
      {"host_gb_per_s", Need::kOptional, host_link(gpu),
       "bandwidth of the link to host memory, per direction"},
  };
}

config::Fields config_fields(StorageSpec& storage) {
  return {
      {"write_gb_per_s", Need::kRequired, config::number(storage.write_per_node, kRate, kGiga),
       "write rate from one node to shared storage"},
      {"read_gb_per_s", Need::kRequired, config::number(storage.read_per_node, kRate, kGiga),
       "read rate from shared storage to one node"},
  };
}

config::Fields config_fields(PodSpec& pod) {
  return {
      {"nodes", Need::kRequired, config::integer(pod.nodes, 1, kMostNodes),
       "number of consecutive nodes that share switches"},
      {"oversubscription", Need::kRequired, config::number(pod.oversubscription, config::between(1, 1000)),
       "bandwidth of the pod's NICs divided by the bandwidth of the pod's links to other pods"},
  };
}

config::Fields config_fields(ClusterSpec& cluster) {
  return {
      {"name", Need::kRequired, config::text(cluster.name), "name shown in reports"},
      {"nodes", Need::kRequired, config::integer(cluster.nodes, 1, kMostNodes), "total number of nodes"},
      {"gpus_per_node", Need::kRequired, config::integer(cluster.gpus_per_node, 1, kMostGpusPerNode),
       "number of GPUs per node, all in one NVLink or PCIe domain"},
      {"gpu", Need::kRequired, config::object(cluster.gpu), "GPU model of all nodes"},
      {"intra_node", Need::kRequired,
       link(cluster.intra_node, "bandwidth_gb_per_s", kGiga,
            "bandwidth per GPU and direction, in gigabytes per second"),
       "network between the GPUs of a node: NVLink or PCIe"},
      {"inter_node", Need::kRequired,
       link(cluster.inter_node, "bandwidth_gbps", kGigabit,
            "bandwidth per NIC and direction, in gigabits per second"),
       "network between nodes"},
      {"nics_per_node", Need::kRequired, config::number(cluster.nics_per_node, config::between(0.001, 1000)),
       "number of NICs per node (0.5: two nodes share one NIC)"},
      {"pod", Need::kOptional, written_if_given(cluster.pod),
       "groups of nodes; bandwidth is lower between groups than within a group"},
      {"storage", Need::kOptional, config::object(cluster.storage), "shared storage for checkpoints"},
      config::tier(cluster.tier),
  };
}

}  // namespace goodput

// Events of a torch.profiler file by hand, as its reader would hand them over. Times in microseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/kineto/kineto_events.h"
#include "traces/kineto/kineto_names.h"

namespace goodput::testing {

// Rank 0 of 2 with their group "0"; the main thread is 1, autograd's is 2.
class KinetoEventsCase {
 public:
  KinetoEventsCase() {
    events.path = "rank0.json";
    events.header.rank = 0;
    events.header.world_size = 2;
    events.header.groups = {{"0", "default_pg", {0, 1}}};
    events.names.emplace_back();
  }

  std::uint32_t name(std::string_view text) {
    const auto found = std::ranges::find(events.names, text);
    const auto index = static_cast<std::uint32_t>(found - events.names.begin());
    if (found == events.names.end()) events.names.emplace_back(text);
    return index;
  }

  void step(std::int64_t number, std::int64_t begin_us, std::int64_t end_us) {
    events.steps.push_back({number, 1000 * begin_us, 1000 * end_us, kMainThread});
  }

  // Something of the host; a span if an analysis knows its name. Returns the span, to be changed, or nothing.
  KinetoEvents::Span* host(std::string_view text, std::int64_t begin_us, std::int64_t end_us,
                           std::uint32_t thread = kMainThread) {
    std::optional<std::string_view> known = kineto_span_name(text, false);
    if (!known) known = kineto_span_name(text, true);
    const std::uint32_t index = known ? name(*known) : 0;
    events.marks.push_back({1000 * begin_us, 1000 * end_us, thread, index});
    if (!known) return nullptr;
    KinetoEvents::Span span;
    span.begin_ns = 1000 * begin_us;
    span.end_ns = 1000 * end_us;
    span.name = index;
    span.thread = thread;
    events.spans.push_back(span);
    return &events.spans.back();
  }

  // A kernel that the host launches at `launch_us`.
  KinetoEvents::Kernel& kernel(std::int64_t launch_us, std::int64_t begin_us, std::int64_t end_us,
                               std::uint32_t stream = kComputeStream, std::uint32_t thread = kMainThread) {
    events.launches.push_back({1000 * launch_us, ++correlation_, thread});
    events.kernels.push_back({1000 * begin_us, 1000 * end_us, stream, correlation_, -1});
    return events.kernels.back();
  }

  // A kernel of NCCL; `comm`: what its args say, if they do.
  KinetoEvents::CollectiveKernel& nccl(std::int64_t launch_us, std::int64_t begin_us, std::int64_t end_us,
                                       std::int32_t comm, std::uint64_t external_id = 0,
                                       std::uint32_t stream = kNcclStream) {
    KinetoEvents::Kernel& own = kernel(launch_us, begin_us, end_us, stream);
    own.collective = static_cast<std::int32_t>(events.collective_kernels.size());
    KinetoEvents::CollectiveKernel collective;
    collective.external_id = external_id;
    collective.comm = comm;
    events.collective_kernels.push_back(collective);
    return events.collective_kernels.back();
  }

  // A record_param_comms of the host.
  void record(std::int64_t begin_us, std::uint64_t external_id, std::int32_t comm) {
    KinetoEvents::Span& span = *host("record_param_comms", begin_us, begin_us + 1);
    span.external_id = external_id;
    span.comm = comm;
  }

  // Args of a collective of `elements` floats; by index into comm_args. No `group`: without its name.
  std::int32_t args(std::string_view collective, std::int64_t elements = 64, std::string_view group = "0",
                    std::int64_t sequence = -1) {
    KinetoCommArgs args;
    args.collective = name(collective);
    args.dtype = name("Float");
    args.group_name = name(group);
    args.in_elements = elements;
    args.group_size = 2;
    args.sequence = sequence;
    events.comm_args.push_back(args);
    return static_cast<std::int32_t>(events.comm_args.size()) - 1;
  }
  std::int32_t send_args(std::int32_t peer, std::string_view group = "0") {
    const std::int32_t index = args("send", 64, group);
    events.comm_args.back().destination = peer;
    return index;
  }
  std::int32_t receive_args(std::int32_t peer, std::string_view group = "0") {
    const std::int32_t index = args("recv", 64, group);
    events.comm_args.back().source = peer;
    return index;
  }

  // As the reader: what hosts do tells nothing where there are kernels.
  [[nodiscard]] KinetoEvents take() {
    if (!events.kernels.empty()) events.marks.clear();
    return std::move(events);
  }

  static constexpr std::uint32_t kMainThread = 1;
  static constexpr std::uint32_t kAutogradThread = 2;
  static constexpr std::uint32_t kComputeStream = 7;
  static constexpr std::uint32_t kNcclStream = 20;

  KinetoEvents events;

 private:
  std::uint32_t correlation_ = 100;
};

}  // namespace goodput::testing

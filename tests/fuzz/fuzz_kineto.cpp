#include "models/collectives/arrange_collectives.h"
#include "tests/fuzz/fuzz_target.h"
#include "traces/kineto/kineto_activity.h"
#include "traces/kineto/kineto_events.h"

namespace {

// A number for what was read, 0 for an error: where the windows are cut must not show.
std::uint64_t read_digest(const std::string& path, std::size_t window_bytes) {
  auto source = goodput::ByteSource::open(path);
  if (!source) return 0;
  goodput::JsonWindowLimits limits;
  limits.window_bytes = window_bytes;
  limits.event_bytes = std::size_t{1} << 14;  // more costs time
  const auto events = goodput::read_kineto_events(*source, limits);
  if (!events) return 0;
  std::uint64_t digest = 1;
  const auto add = [&](std::uint64_t value) { digest = (digest ^ value) * 0x100000001b3; };
  for (const std::size_t count :
       {events->names.size(), events->comm_args.size(), events->collective_kernels.size(),
        events->spinning_kernels.size(), events->header.groups.size(), std::size_t{events->is_cut}}) {
    add(count);
  }
  for (const auto& step : events->steps) add(static_cast<std::uint64_t>(step.end_ns));
  for (const auto& span : events->spans) add(static_cast<std::uint64_t>(span.end_ns) ^ span.shape);
  for (const auto& mark : events->marks) add(static_cast<std::uint64_t>(mark.end_ns));
  for (const auto& kernel : events->kernels) add(static_cast<std::uint64_t>(kernel.end_ns) ^ kernel.stream);
  for (const auto& launch : events->launches) add(static_cast<std::uint64_t>(launch.begin_ns));
  for (const auto& wait : events->stream_waits) add(static_cast<std::uint64_t>(wait.begin_ns));
  add(events->events);
  return digest | 1;
}

// What a rank did, and the graph of a job of this rank: neither may crash.
void analyze_alone(const std::string& path) {
  auto source = goodput::ByteSource::open(path);
  if (!source) return;
  auto events = goodput::read_kineto_events(*source);
  if (!events) return;
  auto activity = goodput::rank_activity(std::move(*events), {true});
  if (!activity) return;
  std::vector<goodput::RankActivity> all;
  all.push_back(std::move(*activity));
  std::vector<std::string> notes;
  static_cast<void>(goodput::arrange_collectives(std::move(all), {}, notes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const goodput::fuzz::MemoryFile file(data, size);
  if (read_digest(file.path(), std::size_t{1} << 14) != read_digest(file.path(), 16)) std::abort();
  analyze_alone(file.path());
  return 0;
}

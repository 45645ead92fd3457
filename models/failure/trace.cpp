// The replay of a recording of spot nodes, or of a part of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "models/failure/failure_draws.h"
#include "models/failure/failure_fields.h"
#include "models/failure/failure_setup.h"
#include "models/failure/trace_cap.h"
#include "sim/base/errors.h"
#include "sim/base/index.h"
#include "sim/base/text.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {
namespace {

// ---- Which nodes come and go in a part of a recording.

// Part of a recording; times of its events are from `begin` on. What happens at `begin` has happened already,
// what happens at `end` is still seen.
struct TraceSegment {
  SimTime begin{};
  SimTime end{};
};

// Who is lost when a count drops.
enum class TraceVictims : std::uint8_t { kRandom, kNewest, kOldest };

using Kind = NodeEvent::Kind;

// Nodes without names that are held, by order of joining.
class CountedNodes {
 public:
  CountedNodes(TraceVictims victims, const FailureKey& key)
      : victims_(victims), random_(key.stream(kWholeCluster)) {}

  // Adds and removes nodes until there are `count`.
  void become(std::int32_t count, SimTime time) {
    while (held_.size() < index(count)) add(time);
    while (held_.size() > index(count)) remove(time);
  }

  [[nodiscard]] std::vector<NodeEvent> take_events() { return std::move(events_); }

 private:
  void add(SimTime time) {
    auto node = static_cast<NodeId>(held_.size());  // where none is free, the ids up to here are held
    if (!free_.empty()) {
      node = free_.top();
      free_.pop();
    }
    held_.push_back(node);
    events_.push_back({time, Kind::kAdd, node, 1});
  }

  void remove(SimTime time) {
    const auto victim = held_.begin() + static_cast<std::ptrdiff_t>(choose_victim());
    events_.push_back({time, Kind::kRemove, *victim, 1});
    free_.push(*victim);
    held_.erase(victim);
  }

  [[nodiscard]] std::size_t choose_victim() {
    switch (victims_) {
      case TraceVictims::kRandom:
        return random_.below(held_.size());
      case TraceVictims::kNewest:
        return held_.size() - 1;
      case TraceVictims::kOldest:
        return 0;
    }
    GOODPUT_CHECK(false, "unknown rule for victims");
  }

  TraceVictims victims_;
  RandomStream random_;
  std::vector<NodeId> held_;
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> free_;
  std::vector<NodeEvent> events_;
};

// Nodes that are lost together.
struct Loss {
  std::int32_t held = 0;  // before
  std::int32_t lost = 0;
};

std::vector<Loss> losses_of(const std::vector<NodeEvent>& events) {
  std::vector<Loss> losses;
  std::int32_t held = 0;
  for (auto event = events.begin(); event != events.end();) {
    Loss loss{held, 0};
    const SimTime now = event->time;
    for (; event != events.end() && event->time == now; ++event) {
      if (event->kind == Kind::kRemove) ++loss.lost;
      held += event->kind == Kind::kRemove ? -1 : event->kind == Kind::kAdd ? 1 : 0;
    }
    if (loss.lost > 0) losses.push_back(loss);
  }
  return losses;
}

// One node of the lost after the other is not among the used ones.
double miss_probability(const Loss& loss, std::int32_t used) {
  double misses = 1;
  for (std::int32_t i = 0; i < loss.lost && misses > 0; ++i)
    misses *= std::max(0.0, static_cast<double>(loss.held - used - i) / (loss.held - i));
  return misses;
}

// Of a recording of events. Who is held at the beginning joins at time 0, in order of having joined.
std::vector<NodeEvent> events_of_nodes(const SpotTrace& trace, const TraceSegment& segment) {
  std::vector<NodeEvent> events;
  auto event = trace.events.begin();
  for (; event != trace.events.end() && event->time <= segment.begin; ++event) {
    if (event->kind == Kind::kAdd) {
      events.push_back({SimTime{}, Kind::kAdd, event->node, 1});
    } else {
      const auto is_it = [&](const NodeEvent& held) { return held.node == event->node; };
      const auto found = std::find_if(events.begin(), events.end(), is_it);
      GOODPUT_CHECK(found != events.end(), "only a node that is held can be removed");
      events.erase(found);
    }
  }
  const SimDuration begin = segment.begin.time_since_epoch();
  for (; event != trace.events.end() && event->time <= segment.end; ++event) {
    events.push_back({event->time - begin, event->kind, event->node, 1});
  }
  return events;
}

// Of a recording of counts. Nodes join under the lowest free ids.
std::vector<NodeEvent> events_of_counts(const SpotTrace& trace, const TraceSegment& segment,
                                        TraceVictims victims, const FailureKey& key) {
  const auto& counts = trace.counts;
  const auto after = [](SimTime time, const SpotCount& count) { return time < count.time; };
  auto count = std::upper_bound(counts.begin(), counts.end(), segment.begin, after);
  CountedNodes nodes(victims, key);
  if (count != counts.begin()) nodes.become(std::prev(count)->count, SimTime{});
  for (; count != counts.end() && count->time <= segment.end; ++count) {
    nodes.become(count->count, count->time - segment.begin.time_since_epoch());
  }
  return nodes.take_events();
}

// Of these events up to `end`: the moments at which a job loses some of its nodes, over that time. Of N nodes
// that are there and k that are lost at a moment, none is among the n that the job uses with probability
// C(N-k, n) / C(N, n): any of them may be the job's, for nobody knows which. Nothing is lost in no time.
InterruptionRate loss_rate(const std::vector<NodeEvent>& events, SimTime end) {
  const double seconds = to_seconds(end.time_since_epoch());
  return [losses = losses_of(events), seconds](NodeId used) {
    double hits = 0;
    for (const Loss& loss : losses) hits += used > 0 ? 1 - miss_probability(loss, used) : 0;
    return seconds > 0 ? hits / seconds : 0;
  };
}

// ---- The replay.

// Where trials start: at a random moment, or all at the same one.
enum class TraceStarts : std::uint8_t { kRandom, kFixed };
constexpr std::array<std::string_view, 2> kTraceStartsNames = {"random", "fixed"};

// The replay of a recording (sim/nodes/spot_trace.h).
struct TraceFailures {
  enum class Holes : std::uint8_t { kRefuse, kHold };
  enum class Probe : std::uint8_t { kRefuse, kReplay };

  std::string file{};
  std::string fallback{};  // read where there is no `file`; empty: none
  std::optional<SpotPolarity> polarity{};
  std::optional<SpotMeaning> meaning{};
  NodeId nodes = 0;  // of the cluster of a failure log; 0: as logged
  SimDuration from{};
  std::optional<SimDuration> to{};
  std::optional<TraceStarts> starts{};  // none: random where the recording is long enough
  TraceVictims victims = TraceVictims::kRandom;
  Holes holes = Holes::kRefuse;
  Probe probe = Probe::kRefuse;
  std::optional<TraceCap> cap{};

  // What of the recording decides which of these move anything; none: it was not read yet.
  struct Recorded {
    bool has_nodes = false;  // and no counts
    bool is_faults = false;  // a failure log
    bool has_holes = false;  // in the part that is replayed
    bool is_probe = false;
  };
  std::optional<Recorded> recorded{};
};

class TraceReplay final : public FailureModel {
 public:
  TraceReplay(std::vector<NodeEvent> events, NodeId nodes, NodeId most_held, SimTime end)
      : events_(std::move(events)), nodes_(nodes), most_held_(most_held), end_(end) {}

  [[nodiscard]] NodeId nodes() const override { return nodes_; }
  [[nodiscard]] NodeId most_held() const override { return most_held_; }
  [[nodiscard]] std::optional<SimTime> end() const override { return end_; }
  [[nodiscard]] std::optional<NodeEvent> next() override {
    if (next_ == events_.size()) return std::nullopt;
    return events_[next_++];
  }

 private:
  std::vector<NodeEvent> events_;
  std::size_t next_ = 0;
  NodeId nodes_;
  NodeId most_held_;
  SimTime end_;
};

Result<TraceSegment> segment_of(const TraceFailures& failures, const SpotTrace& trace) {
  const TraceSegment segment{SimTime{failures.from}, failures.to ? SimTime{*failures.to} : trace.end};
  const std::string ends = fmt::format("but {} ends at {} s", trace.file, to_seconds(trace.end));
  if (segment.begin >= trace.end && segment.begin > SimTime{}) {
    return Error{fmt::format("is {}, {}", to_seconds(segment.begin), ends), {.pointer = "/from_s"}};
  }
  if (segment.end > trace.end)
    return Error{fmt::format("is {}, {}", to_seconds(segment.end), ends), {.pointer = "/to_s"}};
  return segment;
}

bool is_in(const SpotHole& hole, const TraceSegment& segment) {
  return hole.end > segment.begin && hole.begin < segment.end;
}

// Holes and probes are replayed only by who says so.
Status check_trace(const TraceFailures& failures, const SpotTrace& trace, const TraceSegment& segment) {
  if (trace.meaning == SpotMeaning::kProbe && failures.probe == TraceFailures::Probe::kRefuse) {
    return Error{
        fmt::format("{} records how many nodes could have been launched, so a drop is not necessarily a "
                    "preemption; set \"probe\": \"replay\" to replay drops as preemptions",
                    trace.file),
        {.pointer = "/probe"}};
  }
  if (failures.holes == TraceFailures::Holes::kHold) return Ok{};
  for (const SpotHole& hole : trace.holes) {
    if (!is_in(hole, segment)) continue;
    return Error{
        fmt::format("{} has no data from {} s to {} s; set \"holes\": \"hold\" to keep the nodes from before "
                    "the hole, or choose another part of the recording with from_s and to_s",
                    trace.file, to_seconds(hole.begin), to_seconds(hole.end)),
        {.pointer = "/holes"}};
  }
  return Ok{};
}

// All that the recording has, so that an id is the same node in every part of it.
NodeId nodes_of(const SpotTrace& trace) {
  if (trace.has_names()) return static_cast<NodeId>(trace.node_names.size());
  NodeId nodes = 0;
  for (const NodeEvent& event : trace.events) nodes = std::max(nodes, event.node + 1);
  for (const SpotCount& count : trace.counts) nodes = std::max(nodes, count.count);
  return nodes;
}

config::Fields config_fields(TraceFailures& failures) {
  using config::Need;
  static constexpr std::array<std::string_view, 3> kVictimNames = {"random", "newest", "oldest"};
  static constexpr std::array<std::string_view, 2> kHolesNames = {"refuse", "hold"};
  static constexpr std::array<std::string_view, 2> kProbeNames = {"refuse", "replay"};
  const config::Range any_time = config::between(0, kMostFailureSeconds);
  const auto has_nodes = [&failures] {
    return failures.recorded && failures.recorded->has_nodes ? "the recording names the nodes" : "";
  };
  return {
      {"file", Need::kRequired, config::path(failures.file), "recording to replay"},
      {"fallback", Need::kOptional, config::path(failures.fallback),
       "recording to use if `file` does not exist"},
      {"polarity", Need::kOptional, optional_choice(failures.polarity, kSpotPolarityNames),
       "what the numbers in a recording of counts mean (default: as the recording's format defines)",
       has_nodes},
      {"meaning", Need::kOptional, optional_choice(failures.meaning, kSpotMeaningNames),
       "what was recorded. held: nodes in use, a drop is a preemption; probe: nodes that could have been "
       "launched; faults: nodes of a cluster, a drop is a fault (default: as stated in the recording)"},
      {"nodes", Need::kOptional, config::integer(failures.nodes, 0, kMostNodes),
       "of a failure log: number of nodes of the cluster, with those that never failed; 0: the nodes in the "
       "log",
       [&failures] {
         return failures.recorded && !failures.recorded->is_faults ? "the recording is not a failure log"
                                                                   : "";
       }},
      {"from_s", Need::kOptional, seconds_value(failures.from, any_time),
       "time in the recording at which the replay starts; nodes held at that moment join at time 0"},
      {"to_s", Need::kOptional, seconds_value(failures.to, any_time),
       "time in the recording at which the replay ends (default: the end of the recording)"},
      {"starts", Need::kOptional, optional_choice(failures.starts, kTraceStartsNames),
       "start of all trials but the first: a random moment of the recording, or from_s; default: random if "
       "from_s is 0 and the recording is at least 4 times as long as the job may take, else fixed"},
      {"victims", Need::kOptional, config::choice(failures.victims, kVictimNames),
       "which nodes are lost when a count drops", has_nodes},
      {"holes", Need::kOptional, config::choice(failures.holes, kHolesNames),
       "what happens at times without data in the recording. refuse: goodput reports an error; hold: the "
       "previous nodes stay",
       [&failures] {
         return failures.recorded && !failures.recorded->has_holes
                    ? "the replayed part of the recording has no holes"
                    : "";
       }},
      {"probe", Need::kOptional, config::choice(failures.probe, kProbeNames),
       "what happens if the meaning of the recording is probe. refuse: goodput reports an error; replay: "
       "drops are replayed as preemptions",
       [&failures] {
         return failures.recorded && !failures.recorded->is_probe
                    ? "the counts of the recording are not of kind probe"
                    : "";
       }},
      {"cap", Need::kOptional, config::object(failures.cap), "limit on the number of replayed nodes"}};
}

Status config_finish(TraceFailures& failures) {
  if (!failures.to || *failures.to > failures.from) return Ok{};
  return Error{
      fmt::format("must be after from_s ({1}), not {0}", to_seconds(*failures.to), to_seconds(failures.from)),
      {.pointer = "/to_s"}};
}

std::optional<FailureFile> file_of(const TraceFailures& failures) {
  return FailureFile{.content = FailureFile::Content::kRecording,
                     .key = "file",
                     .path = failures.file,
                     .fallback = failures.fallback,
                     .polarity = failures.polarity,
                     .meaning = failures.meaning,
                     .nodes = failures.nodes};
}

void note_source(TraceFailures& failures, const FailureSource& source) {
  if (source.trace == nullptr) return;
  const SpotTrace& trace = *source.trace;
  const TraceSegment segment{SimTime{failures.from}, failures.to ? SimTime{*failures.to} : trace.end};
  failures.recorded = {
      .has_nodes = trace.counts.empty(),
      .is_faults = trace.format == "failure_log",
      .has_holes = std::any_of(trace.holes.begin(), trace.holes.end(),
                               [&segment](const SpotHole& hole) { return is_in(hole, segment); }),
      .is_probe = trace.meaning == SpotMeaning::kProbe};
}

void forget_paths(TraceFailures& failures) {
  failures.file = failures.fallback = "";
}

// ---- Where a trial starts.

using Starts = RecordingReplay::Starts;

Starts starts_of(const TraceFailures& failures, SimDuration length, SimDuration window) {
  if (failures.starts == TraceStarts::kFixed) return Starts::kChosen;
  if (failures.starts == TraceStarts::kRandom)
    return window > SimDuration{} && window < length ? Starts::kRandom : Starts::kTooShort;
  if (failures.from > SimDuration{}) return Starts::kChosen;
  const bool is_long = window > SimDuration{} && window <= length / kWindowsForRandomStarts;
  return is_long ? Starts::kRandom : Starts::kTooShort;
}

// A whole second that leaves a window to replay, each with the same chance. Whatever the window, it is the
// first such moment of one sequence, so that jobs with windows of about the same length mostly start
// together.
SimDuration random_start(SimDuration length, SimDuration window, const FailureKey& key) {
  constexpr int kMostDraws = 64;
  RandomStream random = key.stream(kReplayStart);
  const auto part_of = [&random](SimDuration whole) {
    return std::chrono::floor<std::chrono::seconds>(from_seconds(random.uniform() * to_seconds(whole)));
  };
  for (int i = 0; i < kMostDraws; ++i) {
    const SimDuration start = part_of(length);
    if (start <= length - window) return start;
  }
  return part_of(length - window);
}

// REQUIRES: the recording has the segment.
RecordingReplay replay_in(const TraceFailures& failures, const TraceSegment& segment,
                          const FailureInputs& inputs) {
  RecordingReplay replay{.length = segment.end - segment.begin, .start = segment.begin.time_since_epoch()};
  replay.starts = starts_of(failures, replay.length, inputs.source.window);
  if (replay.starts == Starts::kRandom && inputs.key.trial > 0)
    replay.start += random_start(replay.length, inputs.source.window, inputs.key);
  return replay;
}

// A recording that is too short for the random starts that were asked for.
Status check_starts(const TraceFailures& failures, const SpotTrace& trace, const TraceSegment& segment,
                    SimDuration window) {
  const SimDuration length = segment.end - segment.begin;
  if (failures.starts != TraceStarts::kRandom || window == SimDuration{} || window < length) return Ok{};
  return Error{fmt::format("is \"random\", but {} has only {} s to replay and the job may take {} s; give a "
                           "longer recording, or set \"fixed\"",
                           trace.file, to_seconds(length), std::ceil(to_seconds(window))),
               {.pointer = "/starts"}};
}

// ---- What is replayed, from time 0 to `end`.

struct TraceReplayed {
  std::vector<NodeEvent> events{};
  NodeId most_held = 0;
  SimTime end{};
};

Result<TraceReplayed> replayed(const TraceFailures& failures, const FailureInputs& inputs) {
  GOODPUT_CHECK(inputs.source.trace != nullptr, "the recording must have been read");
  const SpotTrace& trace = *inputs.source.trace;
  GOODPUT_TRY(TraceSegment segment, segment_of(failures, trace));
  GOODPUT_TRY_STATUS(check_trace(failures, trace, segment));
  GOODPUT_TRY_STATUS(check_starts(failures, trace, segment, inputs.source.window));
  segment.begin = SimTime{replay_in(failures, segment, inputs).start};
  auto events = trace.counts.empty() ? events_of_nodes(trace, segment)
                                     : events_of_counts(trace, segment, failures.victims, inputs.key);
  NodeId most_held = most_held_in(events);
  if (failures.cap) {
    auto some = capped(events, *failures.cap, trace, inputs.key);
    if (!some) return some.error().inside("/cap");
    events = *std::move(some);
    most_held = std::min(most_held, failures.cap->most_nodes());
  }
  return TraceReplayed{std::move(events), most_held, SimTime{segment.end - segment.begin}};
}

InterruptionRate interruption_rate(const TraceFailures& failures, const FailureInputs& inputs) {
  const Result<TraceReplayed> replay = replayed(failures, inputs);
  GOODPUT_CHECK(replay.has_value(), "the recording must be replayable");
  return loss_rate(replay->events, replay->end);
}

RecordingReplay replay_of(const TraceFailures& failures, const FailureInputs& inputs) {
  GOODPUT_CHECK(inputs.source.trace != nullptr, "the recording must have been read");
  const auto segment = segment_of(failures, *inputs.source.trace);
  GOODPUT_CHECK(segment.has_value(), "the recording must be replayable");
  return replay_in(failures, *segment, inputs);
}

void set_cap(TraceFailures& failures, NodeId nodes, bool others_wait) {
  if (failures.cap && failures.cap->most_nodes() <= nodes) return;
  failures.cap =
      TraceCap{.rule = others_wait ? TraceCap::Rule::kSaturate : TraceCap::Rule::kAdmit, .nodes = nodes};
}

Result<std::unique_ptr<FailureModel>> make_failures(const TraceFailures& failures,
                                                    const FailureInputs& inputs) {
  GOODPUT_TRY(TraceReplayed replay, replayed(failures, inputs));
  return std::unique_ptr<FailureModel>(std::make_unique<TraceReplay>(
      std::move(replay.events), nodes_of(*inputs.source.trace), replay.most_held, replay.end));
}

}  // namespace

FailureModelInfo failure_trace() {
  return {
      .name = "trace",
      .summary = "replays a recording of spot nodes or a failure log, or part of it",
      .example =
          R"({"model": "trace", "file": "p3-trace.csv", "to_s": 4800, "cap": {"rule": "list", "nodes": 10}})",
      .make = make_failure_setup<TraceFailures>};
}

}  // namespace goodput

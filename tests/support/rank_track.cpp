#include "tests/support/rank_track.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace goodput::testing {

RankTrack::RankTrack(std::int32_t rank, std::int32_t world_size, bool on_device) {
  activity.file = fmt::format("rank{}.json", rank);
  activity.rank = rank;
  activity.world_size = world_size;
  activity.on_device = on_device;
  activity.names.emplace_back();
}

std::int32_t RankTrack::add_group(std::string_view name, std::vector<std::int32_t> ranks,
                                  std::string_view description) {
  activity.groups.push_back({std::string(name), std::string(description), std::move(ranks)});
  return static_cast<std::int32_t>(activity.groups.size()) - 1;
}

void RankTrack::begin_step(std::int64_t number, std::int64_t begin_ns) {
  RankActivity::Step step;
  step.number = number;
  step.begin_ns = begin_ns;
  step.first_cut = static_cast<std::uint32_t>(activity.cuts.size());
  activity.steps.push_back(step);
}

void RankTrack::end_step(std::int64_t end_ns) {
  activity.steps.back().end_ns = end_ns;
  cut(TrackCut::Kind::kStepEnd, end_ns, -1);
}

void RankTrack::cut(TrackCut::Kind kind, std::int64_t end_ns, std::int32_t part) {
  TrackCut next;
  next.kind = kind;
  next.part = part;
  next.end_ns = end_ns;
  activity.cuts.push_back(next);
  ++activity.steps.back().cut_count;
}

CommunicationPart& RankTrack::launch(std::int64_t cut_ns, std::string_view name, PartTimes times) {
  CommunicationPart part;
  part.step = static_cast<std::uint32_t>(activity.steps.size()) - 1;
  part.group = activity.groups.empty() ? -1 : 0;
  part.name = this->name(name);
  part.dtype = this->name("Float");
  part.elements = 1024;
  part.stream = 1;
  part.launch_ns = cut_ns;
  part.begin_ns = times.begin_ns;
  part.end_ns = times.end_ns;
  activity.parts.push_back(part);
  cut(TrackCut::Kind::kLaunch, cut_ns, last_part());
  return activity.parts.back();
}

CommunicationPart& RankTrack::collective(std::int64_t cut_ns, PartTimes times) {
  return launch(cut_ns, "allreduce", times);
}

CommunicationPart& RankTrack::send(std::int64_t cut_ns, std::int32_t peer, PartTimes times) {
  CommunicationPart& part = launch(cut_ns, "send", times);
  part.kind = CommunicationPart::Kind::kSend;
  part.peer = peer;
  return part;
}

CommunicationPart& RankTrack::receive(std::int64_t cut_ns, std::int32_t peer, PartTimes times) {
  CommunicationPart& part = launch(cut_ns, "recv", times);
  part.kind = CommunicationPart::Kind::kReceive;
  part.peer = peer;
  return part;
}

void RankTrack::put_with_previous() {
  activity.parts.back().is_with_previous = true;
  activity.cuts.pop_back();
  --activity.steps.back().cut_count;
}

void RankTrack::wait(std::int64_t cut_ns, std::int32_t part) {
  cut(TrackCut::Kind::kWait, cut_ns, part);
}

void RankTrack::end_pass(std::int64_t cut_ns) {
  cut(TrackCut::Kind::kPassEnd, cut_ns, -1);
}

void RankTrack::label(std::string_view name) {
  const std::uint32_t index = this->name(name);
  activity.cuts.back().label = index;
}

void RankTrack::work_on(std::uint32_t stream) {
  activity.cuts.back().streams |= std::uint64_t{1} << stream;
}

void RankTrack::first_work_at(std::int64_t begin_ns) {
  activity.cuts.back().begin_ns = begin_ns;
}

void RankTrack::idle(std::int64_t begin_ns, std::int64_t end_ns) {
  activity.gaps.push_back({begin_ns, end_ns});
}

std::uint32_t RankTrack::name(std::string_view text) {
  const auto found = std::ranges::find(activity.names, text);
  const auto index = static_cast<std::uint32_t>(found - activity.names.begin());
  if (found == activity.names.end()) activity.names.emplace_back(text);
  return index;
}

std::vector<RankActivity> activities_of(const std::vector<RankTrack>& ranks) {
  std::vector<RankActivity> activities;
  for (const RankTrack& rank : ranks) activities.push_back(rank.activity);
  return activities;
}

double recorded_s(const ArrangedJob& job, std::string_view type, int at, int rank, std::size_t step) {
  const Recording& recording = job.recording;
  const auto worker =
      static_cast<std::size_t>(std::ranges::find(recording.ranks, rank) - recording.ranks.begin());
  if (worker == recording.ranks.size()) throw std::out_of_range("no such rank");
  const WorkerGrid::Worker place = recording.worker(worker);
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const TraceOp& own = recording.ops[op];
    const bool is_it = recording.types[own.type].name == type && own.seq_id == at &&
                       static_cast<std::size_t>(own.stage) == place.stage;
    if (!is_it) continue;
    for (const StepBlock& block : recording.blocks) {
      if (step < block.first_step || step >= block.first_step + block.shape.steps) continue;
      return block.row(block.value_s, op)[block.shape.lane(step - block.first_step, place.dp_rank)];
    }
  }
  throw std::out_of_range(fmt::format("no op {}_{} of rank {}", type, at, rank));
}

std::vector<std::string> types_of(const ArrangedJob& job) {
  std::set<std::string> names;
  for (const TraceOp& op : job.recording.ops) names.insert(job.recording.types[op.type].name);
  return {names.begin(), names.end()};
}

}  // namespace goodput::testing

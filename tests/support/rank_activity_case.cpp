#include "tests/support/rank_activity_case.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace goodput::testing {

RankCase::RankCase(std::int32_t rank, std::int32_t world_size, std::vector<ProcessGroup> groups) {
  activity_.file = "rank" + std::to_string(rank) + ".json";
  activity_.rank = rank;
  activity_.world_size = world_size;
  activity_.on_device = true;
  activity_.groups = std::move(groups);
  activity_.names.emplace_back();
}

std::int64_t RankCase::ns(double ms) const {
  return std::llround(1e6 * (step_ms_ + ms));
}

std::uint32_t RankCase::name(const std::string& text) {
  const auto at =
      static_cast<std::uint32_t>(std::ranges::find(activity_.names, text) - activity_.names.begin());
  if (at == activity_.names.size()) activity_.names.push_back(text);
  return at;
}

RankCase& RankCase::step(double begin_ms) {
  step_ms_ = begin_ms;
  RankActivity::Step next;
  next.number = static_cast<std::int64_t>(activity_.steps.size()) + 1;
  next.begin_ns = ns(0);
  next.first_cut = static_cast<std::uint32_t>(activity_.cuts.size());
  next.is_first_in_file = activity_.steps.empty();
  activity_.steps.push_back(next);
  if (activity_.steps.size() == 1) reached_ns_ = next.begin_ns;
  return *this;
}

RankCase& RankCase::work(double begin_ms, double end_ms) {
  if (ns(begin_ms) > reached_ns_) activity_.gaps.push_back({reached_ns_, ns(begin_ms)});
  if (segment_begin_ns_ == 0) segment_begin_ns_ = ns(begin_ms);
  reached_ns_ = std::max(reached_ns_, ns(end_ms));
  streams_ |= 1;
  return *this;
}

void RankCase::cut(TrackCut::Kind kind, std::int32_t part) {
  TrackCut next;
  next.kind = kind;
  next.part = part;
  next.end_ns = std::max(reached_ns_, activity_.steps.back().begin_ns);
  next.begin_ns = std::exchange(segment_begin_ns_, 0);
  next.streams = std::exchange(streams_, 0);
  activity_.cuts.push_back(next);
}

CommunicationPart& RankCase::launch(double begin_ms, double end_ms) {
  cut(TrackCut::Kind::kLaunch, static_cast<std::int32_t>(activity_.parts.size()));
  CommunicationPart part;
  part.step = static_cast<std::uint32_t>(activity_.steps.size()) - 1;
  part.stream = stream_;
  part.launch_ns = activity_.cuts.back().end_ns;
  part.begin_ns = ns(begin_ms);
  part.end_ns = ns(end_ms);
  activity_.parts.push_back(part);
  return activity_.parts.back();
}

RankCase& RankCase::collective(std::int32_t group, double begin_ms, double end_ms, std::int64_t elements,
                               const std::string& collective) {
  CommunicationPart& part = launch(begin_ms, end_ms);
  part.group = group;
  part.elements = elements;
  part.name = name(collective);
  part.dtype = name("Float");
  return *this;
}

RankCase& RankCase::message(std::int32_t peer, bool is_send, double begin_ms, double end_ms) {
  CommunicationPart& part = launch(begin_ms, end_ms);
  part.kind = is_send ? CommunicationPart::Kind::kSend : CommunicationPart::Kind::kReceive;
  part.group = 0;
  part.peer = peer;
  part.name = name(is_send ? "send" : "recv");
  return *this;
}

RankCase& RankCase::wait() {
  cut(TrackCut::Kind::kWait, static_cast<std::int32_t>(activity_.parts.size()) - 1);
  return *this;
}

RankCase& RankCase::end(double end_ms) {
  cut(TrackCut::Kind::kStepEnd, -1);
  RankActivity::Step& step = activity_.steps.back();
  step.end_ns = ns(end_ms);
  step.cut_count = static_cast<std::uint32_t>(activity_.cuts.size()) - step.first_cut;
  return *this;
}

RankCase& RankCase::on_stream(std::uint32_t stream) {
  stream_ = stream;
  return *this;
}

RankActivity RankCase::take() {
  activity_.gaps.push_back({reached_ns_, reached_ns_ + 1'000'000'000});
  return std::move(activity_);
}

}  // namespace goodput::testing

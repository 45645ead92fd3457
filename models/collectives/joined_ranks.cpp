#include "models/collectives/joined_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/text.h"
#include "sim/cleaning/findings.h"
#include "sim/cleaning/step_list.h"
#include "sim/cleaning/step_selection.h"

namespace goodput {
namespace {

using Kind = CommunicationPart::Kind;

// What all ranks that run one program have in common at a cut.
std::uint64_t hash_of_cut(const RankActivity& rank, const TrackCut& cut) {
  Hash hash;
  hash.add(static_cast<int>(cut.kind));
  if (cut.kind != TrackCut::Kind::kLaunch) return hash.value();
  for (auto at = static_cast<std::size_t>(cut.part);; ++at) {
    const CommunicationPart& part = rank.parts[at];
    hash.add(static_cast<int>(part.kind));
    hash.add(std::string_view(rank.names[part.name]));
    if (has_equal_sizes(rank, part)) {
      hash.add(part.elements);
      hash.add(part.shape);
    }
    if (part.group >= 0) hash.add(rank.groups[static_cast<std::size_t>(part.group)].ranks.size());
    if (at + 1 >= rank.parts.size() || !rank.parts[at + 1].is_with_previous) return hash.value();
  }
}

std::uint64_t hash_of_step(const RankActivity& rank, const RankActivity::Step& step) {
  Hash hash;
  for (std::uint32_t i = 0; i < step.cut_count; ++i)
    hash.add(hash_of_cut(rank, rank.cuts[step.first_cut + i]));
  return hash.value();
}

// Joins the segments on both sides of every cut of a kind.
void drop_cuts(RankActivity& rank, TrackCut::Kind kind) {
  std::vector<TrackCut> kept;
  for (RankActivity::Step& step : rank.steps) {
    const auto first = static_cast<std::uint32_t>(kept.size());
    TrackCut joined;
    for (std::uint32_t i = 0; i < step.cut_count; ++i) {
      TrackCut cut = rank.cuts[step.first_cut + i];
      joined.streams |= cut.streams;
      if (joined.begin_ns == 0) joined.begin_ns = cut.begin_ns;
      if (cut.kind == kind) continue;
      cut.streams = joined.streams;
      cut.begin_ns = joined.begin_ns;
      joined = {};
      kept.push_back(cut);
    }
    step.first_cut = first;
    step.cut_count = static_cast<std::uint32_t>(kept.size()) - first;
  }
  rank.cuts = std::move(kept);
}

std::string place_of_cut(const RankActivity& rank, const TrackCut& cut) {
  switch (cut.kind) {
    case TrackCut::Kind::kLaunch:
      return "launches " + describe_part(rank, rank.parts[static_cast<std::size_t>(cut.part)]);
    case TrackCut::Kind::kWait:
      return "waits for a collective";
    case TrackCut::Kind::kPassEnd:
      return "ends a pass";
    case TrackCut::Kind::kStepEnd:
      break;
  }
  return "ends the step";
}

Error different_programs(std::int64_t step, const RankActivity& a, const std::string& what_a,
                         const RankActivity& b, const std::string& what_b) {
  return Error{fmt::format("step {}: rank {} {}, but rank {} {}: the ranks do not run the same program", step,
                           a.rank, what_a, b.rank, what_b)};
}

}  // namespace

bool has_equal_sizes(const RankActivity& rank, const CommunicationPart& part) {
  return part.kind == Kind::kCollective && rank.names[part.name] != "all_to_allv" &&
         rank.names[part.name] != "all_to_all";
}

std::string label_of(const ProcessGroup& group) {
  return is_described(group) ? group.description : fmt::format("{} ranks", group.ranks.size());
}

std::string describe_part(const RankActivity& rank, const CommunicationPart& part) {
  std::string text = rank.names[part.name];
  if (part.elements >= 0)
    text += fmt::format(" of {}{}{}", part.elements, rank.names[part.dtype].empty() ? "" : " ",
                        rank.names[part.dtype]);
  if (part.kind == Kind::kSend) text += fmt::format(" to {}", part.peer);
  if (part.kind == Kind::kReceive) text += fmt::format(" from {}", part.peer);
  if (part.group >= 0) {
    const ProcessGroup& group = rank.groups[static_cast<std::size_t>(part.group)];
    std::vector<std::int64_t> ranks(group.ranks.begin(), group.ranks.end());
    std::ranges::sort(ranks);
    text += fmt::format(" in group {} (ranks {})", group.name, step_list(ranks));
  }
  return text;
}

bool JoinedRanks::is_first_of_files(std::size_t step) const {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].steps[step_index_[rank][step]].is_first_in_file) return true;
  }
  return false;
}

void JoinedRanks::shift_clock(std::uint32_t rank, std::int64_t offset_ns) {
  shift_times(ranks_[rank], -offset_ns);
}

void JoinedRanks::add_gap(std::uint32_t rank, IdleGap gap) {
  std::vector<IdleGap>& gaps = ranks_[rank].gaps;
  gaps.insert(std::ranges::upper_bound(gaps, gap.begin_ns, {}, &IdleGap::begin_ns), gap);
}

class RankJoiner {
 public:
  RankJoiner(JoinedRanks& joined, const JoinedRanks::Options& options, std::vector<std::string>& notes)
      : joined_(joined), options_(options), notes_(notes) {}

  Status join(std::vector<RankActivity> activities) {
    GOODPUT_TRY_STATUS(take_ranks(std::move(activities)));
    GOODPUT_TRY_STATUS(find_common_steps());
    GOODPUT_TRY_STATUS(resolve_peers());
    GOODPUT_TRY_STATUS(find_slots());
    GOODPUT_TRY_STATUS(choose_steps());
    fill_slots();
    return Ok{};
  }

 private:
  Status take_ranks(std::vector<RankActivity> activities) {
    GOODPUT_CHECK(!activities.empty(), "at least one rank is needed");
    GOODPUT_TRY_STATUS(check_one_job(activities));
    std::map<std::int32_t, RankActivity> by_rank;
    take_notes(activities);
    std::int32_t world = 0;
    for (RankActivity& activity : activities) {
      world = std::max({world, activity.world_size, activity.rank + 1});
      const auto [entry, is_new] = by_rank.try_emplace(activity.rank);
      if (is_new) {
        entry->second = std::move(activity);
      } else {
        GOODPUT_TRY_STATUS(append_steps(entry->second, activity));
      }
    }
    std::vector<std::int64_t> missing;
    for (std::int32_t rank = 0; rank < world && missing.size() < 1'000'000; ++rank) {
      if (!by_rank.contains(rank)) missing.push_back(rank);
    }
    if (!missing.empty())
      return Error{
          fmt::format("only {} of {} ranks have traces (missing: {}); all are needed because ranks wait for "
                      "each other; profile all ranks (Megatron-LM: --profile-ranks)",
                      by_rank.size(), world, step_list(missing))};
    for (auto& [rank, activity] : by_rank) joined_.ranks_.push_back(std::move(activity));
    return Ok{};
  }

  static Status check_one_job(const std::vector<RankActivity>& activities) {
    const RankActivity& first = activities.front();
    for (const RankActivity& activity : activities) {
      const bool says_size = activity.world_size > 0 && first.world_size > 0;
      if (says_size && activity.world_size != first.world_size)
        return Error{fmt::format("world_size is {} here but {} in {}: these traces are from different jobs; "
                                 "give the files of one job",
                                 activity.world_size, first.world_size, on_one_line(first.file)),
                     {.file = activity.file}};
      if (activity.on_device != first.on_device)
        return Error{fmt::format("has {}, but {} has {}; use the same profiler activities on all ranks",
                                 activity.on_device ? "GPU kernels" : "no GPU kernels",
                                 on_one_line(first.file), activity.on_device ? "none" : "some"),
                     {.file = activity.file}};
    }
    return Ok{};
  }

  // Thousands of ranks may have the same note: a few are enough.
  void take_notes(const std::vector<RankActivity>& activities) {
    constexpr std::size_t kMostNotes = 4;
    std::size_t count = 0;
    for (const RankActivity& activity : activities) {
      for (const std::string& note : activity.notes) {
        if (count++ < kMostNotes) notes_.push_back(note);
      }
    }
    if (count > kMostNotes)
      notes_.push_back(fmt::format("{} similar notes about other files are not shown", count - kMostNotes));
  }

  // Adds another file of the same rank, which has other steps.
  static Status append_steps(RankActivity& to, RankActivity& from) {
    for (const RankActivity::Step& step : from.steps) {
      if (std::ranges::find(to.steps, step.number, &RankActivity::Step::number) != to.steps.end())
        return Error{
            fmt::format(
                "step {} of rank {} is also in {}: these files are from two runs; give the files of one run",
                step.number, to.rank, on_one_line(to.file)),
            {.file = from.file}};
    }
    const auto cuts = static_cast<std::uint32_t>(to.cuts.size());
    const auto parts = static_cast<std::int32_t>(to.parts.size());
    const auto steps = static_cast<std::uint32_t>(to.steps.size());
    for (RankActivity::Step step : from.steps) {
      step.first_cut += cuts;
      to.steps.push_back(step);
    }
    std::ranges::sort(to.steps, {}, &RankActivity::Step::number);
    const auto name_of = [&](std::uint32_t name) {
      const auto found = std::ranges::find(to.names, from.names[name]);
      const auto number = static_cast<std::uint32_t>(found - to.names.begin());
      if (found == to.names.end()) to.names.push_back(from.names[name]);
      return number;
    };
    for (TrackCut cut : from.cuts) {
      if (cut.part >= 0) cut.part += parts;
      cut.label = name_of(cut.label);
      to.cuts.push_back(cut);
    }
    for (CommunicationPart part : from.parts) {
      part.step += steps;
      part.name = name_of(part.name);
      part.dtype = name_of(part.dtype);
      if (part.group >= 0) {
        const ProcessGroup& group = from.groups[static_cast<std::size_t>(part.group)];
        const auto found = std::ranges::find(to.groups, group);
        part.group = static_cast<std::int32_t>(found - to.groups.begin());
        if (found == to.groups.end()) to.groups.push_back(group);
      }
      to.parts.push_back(part);
    }
    to.spinning.insert(to.spinning.end(), from.spinning.begin(), from.spinning.end());
    to.stages = std::max(to.stages, from.stages);
    to.gaps.insert(to.gaps.end(), from.gaps.begin(), from.gaps.end());
    std::ranges::sort(to.gaps, {}, &IdleGap::begin_ns);
    return Ok{};
  }

  Status find_common_steps() {
    std::map<std::int64_t, std::size_t> count;
    for (const RankActivity& rank : joined_.ranks_) {
      for (const RankActivity::Step& step : rank.steps) ++count[step.number];
    }
    std::vector<std::int64_t> partial;
    for (const auto& [number, ranks] : count)
      (ranks == joined_.ranks_.size() ? common_ : partial).push_back(number);
    if (common_.empty()) return no_common_step();
    joined_.recorded_steps_ = count.size();
    for (const std::int64_t step : partial)
      findings_.add(CleaningRule::kMissingOps, 1, step, "not all ranks recorded the step");
    GOODPUT_TRY_STATUS(check_asked_for(common_, options_.steps));
    std::erase_if(common_, [&](std::int64_t step) { return !is_asked_for(step, options_.steps); });
    return Ok{};
  }

  [[nodiscard]] Error no_common_step() const {
    const auto steps_of = [](const RankActivity& rank) {
      std::vector<std::int64_t> numbers;
      for (const RankActivity::Step& step : rank.steps) numbers.push_back(step.number);
      std::ranges::sort(numbers);
      return numbers;
    };
    const RankActivity& first = joined_.ranks_.front();
    const RankActivity* other = &joined_.ranks_.back();
    for (const RankActivity& rank : joined_.ranks_) {
      std::vector<std::int64_t> both;
      std::ranges::set_intersection(steps_of(first), steps_of(rank), std::back_inserter(both));
      if (both.empty()) {
        other = &rank;
        break;
      }
    }
    return Error{
        fmt::format("no step is in all traces: rank {} has {}, rank {} has {}; start the profiler at the "
                    "same step on all ranks",
                    first.rank, step_list(steps_of(first)), other->rank, step_list(steps_of(*other)))};
  }

  // Ranks in an unknown group to ranks of the job: messages go to neighbors in the pipeline.
  Status resolve_peers() {
    for (RankActivity& rank : joined_.ranks_) {
      const std::vector<std::int32_t> pipeline = pipeline_of(rank);
      for (CommunicationPart& part : rank.parts) {
        if (part.kind == Kind::kCollective) continue;
        if (part.group < 0) {
          if (part.peer >= static_cast<std::int32_t>(pipeline.size()))
            return Error{
                fmt::format(
                    "a send or receive names rank {} of a process group with {} ranks: the trace is damaged",
                    part.peer, pipeline.size()),
                {.file = rank.file}};
          part.peer = pipeline[static_cast<std::size_t>(part.peer)];
        }
        if (part.peer < 0 || part.peer >= static_cast<std::int32_t>(joined_.ranks_.size()) ||
            part.peer == rank.rank)
          return Error{
              fmt::format(
                  "has a message between rank {} and rank {}, but the job has {} ranks: the trace is damaged",
                  rank.rank, part.peer, joined_.ranks_.size()),
              {.file = rank.file}};
      }
    }
    return Ok{};
  }

  // The group of a rank's messages if the trace does not say: found by the names that libraries give to
  // pipeline groups, else all ranks.
  [[nodiscard]] std::vector<std::int32_t> pipeline_of(const RankActivity& rank) const {
    const auto has_name = [](const ProcessGroup& group, bool is_exact) {
      if (group.ranks.size() < 2) return false;
      if (is_exact)
        return group.description == "PIPELINE_MODEL_PARALLEL_GROUP" || group.description == "mesh_pp" ||
               group.description == "pp";
      return group.description.find("pp") != std::string::npos ||
             group.description.find("ipeline") != std::string::npos ||
             group.description.find("PIPELINE") != std::string::npos;
    };
    for (const bool is_exact : {true, false}) {
      for (const ProcessGroup& group : rank.groups) {
        if (has_name(group, is_exact)) return group.ranks;
      }
    }
    std::vector<std::int32_t> all(joined_.ranks_.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // Lanes are the connected components of the messages; their ranks ascend.
  Status find_slots() {
    std::vector<std::uint32_t> chain(joined_.ranks_.size());
    std::iota(chain.begin(), chain.end(), 0U);
    const auto root = [&](std::uint32_t rank) {
      while (chain[rank] != rank) rank = chain[rank] = chain[chain[rank]];
      return rank;
    };
    for (const RankActivity& rank : joined_.ranks_) {
      for (const CommunicationPart& part : rank.parts) {
        if (part.kind == Kind::kCollective) continue;
        const std::uint32_t own = root(static_cast<std::uint32_t>(rank.rank));
        const std::uint32_t other = root(static_cast<std::uint32_t>(part.peer));
        chain[std::max(own, other)] = std::min(own, other);
      }
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> lanes;
    for (std::uint32_t rank = 0; rank < chain.size(); ++rank) lanes[root(rank)].push_back(rank);
    const std::vector<std::uint32_t>& first = lanes.begin()->second;
    joined_.slots_.resize(first.size());
    joined_.slot_of_.resize(chain.size());
    joined_.lane_of_.resize(chain.size());
    std::uint32_t lane = 0;
    for (const auto& [at, ranks] : lanes) {
      if (ranks.size() != first.size())
        return Error{fmt::format("pipelines of different lengths (ranks {} and ranks {}) are not supported",
                                 numbers_of(first), numbers_of(ranks))};
      for (std::uint32_t slot = 0; slot < ranks.size(); ++slot) {
        joined_.slots_[slot].ranks.push_back(ranks[slot]);
        joined_.slot_of_[ranks[slot]] = slot;
        joined_.lane_of_[ranks[slot]] = lane;
      }
      ++lane;
    }
    return Ok{};
  }

  static std::string numbers_of(const std::vector<std::uint32_t>& ranks) {
    return step_list(std::vector<std::int64_t>(ranks.begin(), ranks.end()));
  }

  // By rank and common step: a hash of what the rank does.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> hash_steps() const {
    std::vector<std::vector<std::uint64_t>> hashes;
    for (const RankActivity& rank : joined_.ranks_) {
      hashes.emplace_back();
      for (const std::int64_t number : common_)
        hashes.back().push_back(
            hash_of_step(rank, *std::ranges::find(rank.steps, number, &RankActivity::Step::number)));
    }
    return hashes;
  }

  // What the ranks of each slot do in most steps.
  struct Roles {
    std::vector<std::vector<std::uint64_t>> hashes;  // [rank][common step]
    std::vector<std::uint64_t> of_slot;
    std::vector<std::size_t> good;  // common steps in which all ranks do what their slot does
  };

  [[nodiscard]] Roles find_roles() const {
    Roles roles{hash_steps(), {}, {}};
    for (const RankSlot& slot : joined_.slots_) {
      std::map<std::uint64_t, std::size_t> count;
      for (const std::uint32_t rank : slot.ranks) {
        for (const std::uint64_t hash : roles.hashes[rank]) ++count[hash];
      }
      roles.of_slot.push_back(
          std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first);
    }
    for (std::size_t step = 0; step < common_.size(); ++step) {
      bool is_good = true;
      for (std::size_t rank = 0; rank < roles.hashes.size() && is_good; ++rank)
        is_good = roles.hashes[rank][step] == roles.of_slot[joined_.slot_of_[rank]];
      if (is_good) roles.good.push_back(step);
    }
    return roles;
  }

  // Ignores the ends of passes, and then the recorded waits, if they differ between ranks in most steps.
  Status choose_steps() {
    Roles roles = find_roles();
    for (const TrackCut::Kind kind : {TrackCut::Kind::kPassEnd, TrackCut::Kind::kWait}) {
      if (2 * roles.good.size() >= common_.size()) break;
      std::vector<RankActivity> before = joined_.ranks_;
      for (RankActivity& rank : joined_.ranks_) drop_cuts(rank, kind);
      Roles without = find_roles();
      if (without.good.size() > 2 * roles.good.size()) {
        roles = std::move(without);
      } else {
        joined_.ranks_ = std::move(before);
      }
    }
    if (roles.good.empty()) return refuse(roles);
    for (std::size_t step = 0, good = 0; step < common_.size(); ++step) {
      if (good < roles.good.size() && roles.good[good] == step) {
        ++good;
        joined_.steps_.push_back(common_[step]);
      } else {
        findings_.add(CleaningRule::kOtherShape, 1, common_[step], what_is_unusual(roles, step));
      }
    }
    joined_.findings_ = std::move(findings_).take();
    if (options_.strict) GOODPUT_TRY_STATUS(refuse_strictly(joined_.findings_));
    for (const RankActivity& rank : joined_.ranks_) {
      joined_.step_index_.emplace_back();
      for (const std::int64_t number : joined_.steps_)
        joined_.step_index_.back().push_back(static_cast<std::uint32_t>(
            std::ranges::find(rank.steps, number, &RankActivity::Step::number) - rank.steps.begin()));
    }
    return Ok{};
  }

  [[nodiscard]] std::string what_is_unusual(const Roles& roles, std::size_t step) const {
    for (std::size_t rank = 0; rank < roles.hashes.size(); ++rank) {
      if (roles.hashes[rank][step] != roles.of_slot[joined_.slot_of_[rank]])
        return fmt::format("in step {}, rank {} launches different communication than in other steps",
                           common_[step], rank);
    }
    return "";
  }

  // The ranks do not agree in any step: names two that differ in the last step, which is not a warm-up.
  [[nodiscard]] Error refuse(const Roles& roles) const {
    const std::size_t step = common_.size() - 1;
    for (const RankSlot& slot : joined_.slots_) {
      std::map<std::uint64_t, std::size_t> count;
      for (const std::uint32_t rank : slot.ranks) ++count[roles.hashes[rank][step]];
      // The first rank of the majority.
      const auto usual_rank = std::ranges::max_element(
          slot.ranks, {}, [&](std::uint32_t rank) { return count[roles.hashes[rank][step]]; });
      const std::uint64_t usual = roles.hashes[*usual_rank][step];
      for (const std::uint32_t rank : slot.ranks) {
        if (roles.hashes[rank][step] != usual)
          return first_difference(common_[step], joined_.ranks_[rank], joined_.ranks_[*usual_rank]);
      }
    }
    return Error{
        fmt::format("in none of the {} steps do all ranks launch their usual collectives; profile more "
                    "steps, after the warm-up",
                    common_.size())};
  }

  static Error first_difference(std::int64_t number, const RankActivity& a, const RankActivity& b) {
    const auto cuts_of = [&](const RankActivity& rank) {
      const RankActivity::Step& step = *std::ranges::find(rank.steps, number, &RankActivity::Step::number);
      return std::span(rank.cuts).subspan(step.first_cut, step.cut_count);
    };
    const auto cuts_a = cuts_of(a);
    const auto cuts_b = cuts_of(b);
    std::size_t at = 0;
    const std::size_t last = std::min(cuts_a.size(), cuts_b.size()) - 1;
    while (at < last && hash_of_cut(a, cuts_a[at]) == hash_of_cut(b, cuts_b[at])) ++at;
    return different_programs(number, a, place_of_cut(a, cuts_a[at]), b, place_of_cut(b, cuts_b[at]));
  }

  void fill_slots() {
    std::set<std::uint64_t> programs;
    for (RankSlot& slot : joined_.slots_) {
      const std::uint32_t rank = slot.ranks.front();
      const RankActivity& activity = joined_.ranks_[rank];
      const std::span<const TrackCut> cuts = joined_.cuts(rank, 0);
      for (std::uint32_t i = 0; i < cuts.size(); ++i) {
        slot.cuts.push_back(cuts[i].kind);
        slot.first_part.push_back(static_cast<std::uint32_t>(slot.parts.size()));
        if (cuts[i].kind != TrackCut::Kind::kLaunch) continue;
        std::uint32_t at = 0;
        do {
          slot.parts.push_back({i, at++});
        } while (static_cast<std::size_t>(cuts[i].part) + at < activity.parts.size() &&
                 activity.parts[static_cast<std::size_t>(cuts[i].part) + at].is_with_previous);
      }
      slot.first_part.push_back(static_cast<std::uint32_t>(slot.parts.size()));
      programs.insert(hash_of_step(activity, joined_.step(rank, 0)));
    }
    joined_.is_pipeline_ = programs.size() > 1;
  }

  JoinedRanks& joined_;
  const JoinedRanks::Options& options_;
  std::vector<std::string>& notes_;
  std::vector<std::int64_t> common_;
  Findings findings_;
};

Result<JoinedRanks> JoinedRanks::join(std::vector<RankActivity> activities, const Options& options,
                                      std::vector<std::string>& notes) {
  JoinedRanks joined;
  GOODPUT_TRY_STATUS(RankJoiner(joined, options, notes).join(std::move(activities)));
  return joined;
}

}  // namespace goodput

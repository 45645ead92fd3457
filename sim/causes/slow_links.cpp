#include "sim/causes/slow_links.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kSlowStep = 1.5;      // min factor of a slow step
constexpr double kSureNoise = 5;       // standard deviations of one step's factor
constexpr double kWorthDating = 0.02;  // smaller changes, relative to the factor, are not dated
constexpr double kSameSteps = 0.5;     // min share of the slow steps in which all replicas are slow
constexpr std::size_t kFewestSlowSteps = 2;

double take_at(std::vector<double>& values, std::size_t index) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The messages between two stages, in both directions (0: forward, 1: backward).
struct Link {
  std::size_t low = 0;
  std::size_t high = 0;
  std::array<std::vector<OpId>, 2> messages;      // by direction: the first op of each
  std::array<std::vector<double>, 2> transfer_s;  // by direction, at replica * steps + step
  std::array<double, 2> usual_s{};                // by direction
};

bool is_between_stages(const OpGraph::Unit& unit, const Recording& recording) {
  return recording.is_message(unit) && recording.ops[unit.first].stage != recording.ops[unit.first + 1].stage;
}

std::vector<Link> find_links(const OpGraph& graph, const Recording& recording,
                             std::vector<std::int32_t>& direction_of_op) {
  std::map<std::pair<std::int16_t, std::int16_t>, std::size_t> numbers;
  std::vector<Link> links;
  direction_of_op.assign(recording.ops.size(), -1);
  for (const OpGraph::Unit& unit : graph.units()) {
    if (!is_between_stages(unit, recording)) continue;
    const TraceOp& first = recording.ops[unit.first];
    const auto [low, high] = std::minmax(first.stage, recording.ops[unit.first + 1].stage);
    const auto [at, is_new] = numbers.try_emplace({low, high}, links.size());
    if (is_new) links.push_back({static_cast<std::size_t>(low), static_cast<std::size_t>(high), {}, {}, {}});
    const bool is_forward = first.type == OpType::kForwardSend || first.type == OpType::kForwardRecv;
    const std::size_t direction = is_forward ? 0 : 1;
    links[at->second].messages[direction].push_back(unit.first);
    for (const OpId op : {unit.first, unit.first + 1})
      direction_of_op[op] = static_cast<std::int32_t>(2 * at->second + direction);
  }
  return links;
}

// The lower median over the messages of each replica and step. A flap, which hits a few messages, does not
// change it.
std::vector<double> transfers_of(const Recording& recording, const std::vector<OpId>& messages) {
  const std::size_t steps = recording.steps.size();
  std::vector<double> transfers(static_cast<std::size_t>(recording.dp_size) * steps);
  std::vector<double> values;
  for (const StepBlock& block : recording.blocks) {
    for (std::size_t dp = 0; dp < block.shape.replicas; ++dp) {
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        const std::size_t lane = block.shape.lane(step, dp);
        values.clear();
        for (const OpId op : messages) {
          values.push_back(
              std::min(block.row(block.value_s, op)[lane], block.row(block.value_s, op + 1)[lane]));
        }
        transfers[dp * steps + block.first_step + step] = take_at(values, (values.size() - 1) / 2);
      }
    }
  }
  return transfers;
}

// Whether the first replica's workers of the two stages are on one host. True for all links if the hosts are
// unknown: then all links are compared with each other.
bool is_inside_host(const Recording& recording, const Link& link) {
  for (const WorkerGrid::PlaceKind& kind : recording.places) {
    if (kind.name == "host") return kind.of_worker[link.low] == kind.of_worker[link.high];
  }
  return true;
}

// Fills in the usual duration of each link and direction. Links inside a host are compared with each other
// only, and so are links between hosts.
void find_usual(const Recording& recording, std::vector<Link>& links) {
  for (Link& link : links) {
    for (const std::size_t direction : {0U, 1U}) {
      if (link.messages[direction].empty()) continue;
      std::vector<double> cells = link.transfer_s[direction];
      link.usual_s[direction] = take_at(cells, (cells.size() - 1) / 4);
    }
  }
  for (const bool inside : {false, true}) {
    for (const std::size_t direction : {0U, 1U}) {
      std::vector<double> of_links;
      for (const Link& link : links) {
        if (is_inside_host(recording, link) == inside && link.usual_s[direction] > 0)
          of_links.push_back(link.usual_s[direction]);
      }
      if (of_links.empty()) continue;
      const double others = take_at(of_links, (of_links.size() - 1) / 2);
      for (Link& link : links) {
        if (is_inside_host(recording, link) == inside && link.usual_s[direction] >= kSlowLink * others)
          link.usual_s[direction] = others;
      }
    }
  }
}

class Finder {
 public:
  Finder(const OpGraph& graph, const Recording& recording) : recording_(recording) {
    pace_.replicas = static_cast<std::size_t>(recording.dp_size);
    pace_.steps = recording.steps.size();
    links_ = find_links(graph, recording, pace_.direction_of_op);
    pace_.links = links_.size();
  }

  LinkPace find() {
    for (Link& link : links_) {
      for (const std::size_t direction : {0U, 1U}) {
        if (!link.messages[direction].empty())
          link.transfer_s[direction] = transfers_of(recording_, link.messages[direction]);
      }
    }
    find_usual(recording_, links_);
    measure();
    for (std::size_t link = 0; link < links_.size(); ++link) find_slow(link);
    if (pace_.slow.empty()) pace_.factors.clear();
    std::ranges::stable_sort(pace_.slow, std::greater<>(), &LinkFault::factor);
    return std::move(pace_);
  }

 private:
  [[nodiscard]] std::span<double> series(std::size_t link, std::size_t direction, std::size_t replica) {
    const std::size_t at = (2 * link + direction) * pace_.replicas + replica;
    return std::span(pace_.factors).subspan(at * pace_.steps, pace_.steps);
  }

  // Fills pace_.factors with every factor, including those within noise.
  void measure() {
    for (const Link& link : links_) {
      for (const std::size_t direction : {0U, 1U}) {
        const double usual = link.usual_s[direction];
        for (std::size_t cell = 0; cell < pace_.replicas * pace_.steps; ++cell)
          pace_.factors.push_back(usual > 0 ? link.transfer_s[direction][cell] / usual : 1);
      }
    }
    // Relative to the mean of each link and replica: a slow link also varies more.
    std::vector<double> relative = pace_.factors;
    std::vector<std::span<const double>> all;
    for (std::size_t first = 0; first < relative.size(); first += pace_.steps) {
      const auto own = std::span(relative).subspan(first, pace_.steps);
      const double usual = pace_.steps > 1 ? mean(own) : 1;
      for (double& factor : own) factor /= usual > 0 ? usual : 1;
      all.emplace_back(own);
    }
    noise_ = all.empty() ? 0 : noise_of_steps(all);
  }

  // Sets the factors of steps that are not slow to 1. Returns the larger factor of the two directions, by
  // step.
  std::vector<double> keep_slow_steps(std::size_t link, std::size_t replica) {
    std::vector<double> larger(pace_.steps, 1.0);
    for (const std::size_t direction : {0U, 1U}) {
      const auto factors = series(link, direction, replica);
      for (std::size_t step = 0; step < pace_.steps; ++step) {
        if (factors[step] < std::max(kSlowStep, 1 + kSureNoise * noise_)) factors[step] = 1;
        larger[step] = std::max(larger[step], factors[step]);
      }
    }
    return larger;
  }

  [[nodiscard]] TimePattern time_of(const std::vector<double>& factors) const {
    return find_time_pattern(factors, noise_, kWorthDating * mean(factors));
  }

  void find_slow(std::size_t link) {
    std::vector<LinkFault> found;
    std::vector<std::size_t> slow_replicas(pace_.steps);  // by step
    std::vector<double> mean_of_step(pace_.steps, 0.0);
    for (std::size_t replica = 0; replica < pace_.replicas; ++replica) {
      const std::vector<double> factors = keep_slow_steps(link, replica);
      double sum = 0;
      std::size_t count = 0;
      for (std::size_t step = 0; step < pace_.steps; ++step) {
        mean_of_step[step] += factors[step] / static_cast<double>(pace_.replicas);
        if (factors[step] == 1) continue;
        sum += factors[step];
        ++count;
      }
      if (count < std::min(kFewestSlowSteps, pace_.steps) || sum < kSlowLink * static_cast<double>(count)) {
        for (const std::size_t direction : {0U, 1U}) std::ranges::fill(series(link, direction, replica), 1.0);
        continue;
      }
      for (std::size_t step = 0; step < pace_.steps; ++step) slow_replicas[step] += factors[step] > 1 ? 1 : 0;
      found.push_back(
          {links_[link].low, links_[link].high, replica, sum / static_cast<double>(count), time_of(factors)});
    }
    if (found.empty()) return;
    for (const LinkFault& fault : found) repair(link, *fault.dp_rank);
    const auto any = static_cast<double>(
        std::ranges::count_if(slow_replicas, [](std::size_t count) { return count > 0; }));
    const auto every = static_cast<double>(std::ranges::count(slow_replicas, pace_.replicas));
    if (pace_.replicas > 1 && found.size() == pace_.replicas && every >= kSameSteps * any) {
      LinkFault fault = found.front();
      fault.dp_rank = std::nullopt;
      fault.factor = 0;
      for (const LinkFault& one : found) fault.factor += one.factor / static_cast<double>(found.size());
      fault.time = time_of(mean_of_step);
      found = {fault};
    }
    pace_.slow.insert(pace_.slow.end(), found.begin(), found.end());
  }

  void repair(std::size_t link, std::size_t replica) {
    for (const std::size_t direction : {0U, 1U}) {
      const auto factors = series(link, direction, replica);
      for (std::size_t i = 0; i < recording_.blocks.size(); ++i) {
        const StepBlock& block = recording_.blocks[i];
        for (std::size_t step = 0; step < block.shape.steps; ++step) {
          const double factor = factors[block.first_step + step];
          if (factor == 1) continue;
          const std::size_t lane = block.shape.lane(step, replica);
          for (const OpId first : links_[link].messages[direction]) {
            for (const OpId op : {first, first + 1})
              pace_.repaired.push_back({i, op, lane, block.row(block.value_s, op)[lane] / factor});
          }
        }
      }
    }
  }

  const Recording& recording_;
  std::vector<Link> links_;
  LinkPace pace_;
  double noise_ = 0;  // standard deviation of one step's factor
};

}  // namespace

double LinkPace::factor(const OpGraph::Unit& unit, std::size_t dp_rank, std::size_t step) const {
  const std::int32_t direction = direction_of_op[unit.first];
  if (direction < 0 || factors.empty()) return 1;
  return factors[(static_cast<std::size_t>(direction) * replicas + dp_rank) * steps + step];
}

LinkPace find_slow_links(const OpGraph& graph, const Recording& recording) {
  return Finder(graph, recording).find();
}

}  // namespace goodput

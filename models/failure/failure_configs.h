// What a scenario says of its nodes' failures: a struct a model of models/failure/failure_models.def, which
// also reads it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/nodes/failure_model.h"
#include "sim/nodes/spot_trace.h"

namespace goodput {

// Whose nodes a model is about.
enum class FailureScope : std::uint8_t {
  kOwn,     // it says which nodes there are
  kOthers,  // where other models say so it acts on theirs
};

// At most `nodes` nodes of a recording: which ones.
struct TraceCap {
  enum class Rule : std::uint8_t {
    kList,       // `names` only; none given: the nodes lost together first, then those that came first
    kFirstSeen,  // those that came first
    kThin,       // each with probability nodes / peak; who would be one too many stays out
    kSaturate,   // at any time those held for longest; the others wait and step in when one leaves
  };
  Rule rule = Rule::kList;
  NodeId nodes = 0;  // 0: as many as `names`
  std::vector<std::string> names{};
};
inline constexpr std::array<std::string_view, 4> kTraceCapNames = {"list", "first_seen", "thin", "saturate"};

// The replay of a recording (sim/nodes/spot_trace.h).
struct TraceFailures {
  enum class Victims : std::uint8_t { kRandom, kNewest, kOldest };  // when a count drops
  enum class Holes : std::uint8_t { kRefuse, kHold };
  enum class Probe : std::uint8_t { kRefuse, kReplay };

  static constexpr FailureScope kScope = FailureScope::kOwn;
  std::string file{};
  std::string fallback{};  // read where there is no `file`; empty: none
  std::optional<SpotPolarity> polarity{};
  std::optional<SpotMeaning> meaning{};
  SimDuration from{};
  std::optional<SimDuration> to{};
  Victims victims = Victims::kRandom;
  Holes holes = Holes::kRefuse;
  Probe probe = Probe::kRefuse;
  std::optional<TraceCap> cap{};
};

// Nodes that fail and are repaired, each by a clock of its own.
struct NodeLives {
  enum class Repair : std::uint8_t { kFixed, kExponential };
  NodeId nodes = 1;
  // Mean time from a node's start or repair to its failure: exactly one of these.
  std::optional<double> mtbf_hours{};
  std::optional<double> failures_per_1000_node_days{};
  SimDuration repair_time{};  // the mean
  Repair repair = Repair::kFixed;
};

struct ExponentialFailures {
  static constexpr FailureScope kScope = FailureScope::kOwn;
  NodeLives lives{};
};

struct WeibullFailures {
  enum class InitialAge : std::uint8_t {
    kNew,         // all nodes start their life with the job: k < 1 fails more at first, k > 1 less
    kStationary,  // they have been running for long: one failure every MTBF / nodes from the start
  };
  static constexpr FailureScope kScope = FailureScope::kOwn;
  NodeLives lives{};
  double shape = 1;
  InitialAge initial_age = InitialAge::kStationary;
};

// The spot market of Bamboo's simulator (Thorpe et al., NSDI'23): lots are drawn once an hour.
struct HourlyFailures {
  static constexpr FailureScope kScope = FailureScope::kOwn;
  NodeId nodes = 1;                       // the most there can be
  std::optional<NodeId> initial_nodes{};  // none: all
  double loss_probability = 0;            // of a node, an hour
  double return_probability = 0;          // of a missing one
  SimDuration boot{std::chrono::seconds{45}};
};

// A node is lost at fixed intervals, as in the experiments of the Lazarus paper (section 6).
struct IntervalFailures {
  static constexpr FailureScope kScope = FailureScope::kOwn;
  NodeId nodes = 1;
  SimDuration every{std::chrono::minutes{5}};
  NodeId floor_nodes = 0;                     // with so many left nothing is lost
  std::optional<SimDuration> return_after{};  // none: never
  std::vector<NodeId> victims{};              // in this order; after them, and where they are gone, any
};

// Neighbours that are lost together.
struct BurstFailures {
  enum class Kind : std::uint8_t { kRack, kZone, kFleet };
  static constexpr FailureScope kScope = FailureScope::kOthers;
  NodeId nodes = 0;  // 0: those of the other models
  Kind kind = Kind::kRack;
  NodeId group_size = 0;  // nodes of consecutive ids; 0: of a fleet, all
  double per_hour = 0;    // bursts, of the whole cluster; each strikes one group
  SimDuration outage_time{};
};

// Nodes that run slow for a while.
struct SlowFailures {
  enum class Duration : std::uint8_t { kExponential, kFixed };
  static constexpr FailureScope kScope = FailureScope::kOthers;
  NodeId nodes = 0;         // 0: those of the other models
  double per_node_day = 0;  // while the node is healthy
  // How slow: uniform between two speeds, or 1/S of a list of slowdowns S.
  std::optional<double> speed_min{};
  std::optional<double> speed_max{};
  std::vector<double> slowdowns{};
  std::string whatif{};  // a file of `goodput whatif --json` with such a list; empty: none
  SimDuration mean_duration{std::chrono::hours{1}};
  Duration duration = Duration::kExponential;
};

}  // namespace goodput

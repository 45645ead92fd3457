// What the records of a calibration amount to: the visits that count, what has to be done again because a
// sentinel moved, and how every point stands. Pure: the same records give the same answers, so a calibration
// that was killed goes on from them. Host only.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "gpu/calibrate/record.h"

namespace goodput::gpu::calibrate {

// Rounds of a point may differ by so much before another one decides, and sentinels before what was measured
// since is done again.
inline constexpr double kSteadyWithin = 0.03;

// A visit that counts no more.
struct VoidVisit {
  PointKey key;
  int round;
};

// A point over all of its rounds.
struct PointSummary {
  Visit visit;    // medians over rounds of what the rounds came to; the least of min; sums of n and nwrong
  bool unsteady;  // its first rounds differ by more than kSteadyWithin
};

class MeasuredPoints {
 public:
  // `rounds`: that every point is visited; one more decides where these differ.
  explicit MeasuredPoints(int rounds) : rounds_(rounds) {}

  void add(const Record& record);

  [[nodiscard]] bool has(const PointKey& key) const { return find(key) != nullptr; }
  [[nodiscard]] bool has(const PointKey& key, int round) const;
  // All rounds are there, they differ, and none has decided.
  [[nodiscard]] bool wants_decision(const PointKey& key) const;
  // In the order in which they were measured.
  [[nodiscard]] const std::vector<VoidVisit>& to_do_again() const { return to_do_again_; }

  // Of every point the first visit that counts, in the order in which points were first seen.
  [[nodiscard]] std::vector<const VisitRecord*> points() const;
  // REQUIRES: a visit to it.
  [[nodiscard]] PointSummary summary(const PointKey& key) const;

  // What the sentinels and the program said, a line each.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  using Rounds = std::map<int, VisitRecord>;

  void add_visit(const VisitRecord& record);
  void add_sentinels(const SentinelRecord& record);
  [[nodiscard]] const Rounds* find(const PointKey& key) const;
  [[nodiscard]] bool first_rounds_differ(const Rounds& rounds) const;

  int rounds_;
  std::vector<Rounds> points_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::string, double> sentinel_us_;  // since they moved last
  std::vector<VoidVisit> since_sentinels_;
  std::vector<VoidVisit> to_do_again_;
  std::vector<std::string> notes_;
};

}  // namespace goodput::gpu::calibrate

// A machine that does not exist, for the statistics of a calibration: every point takes alpha + beta * size,
// with log-normal noise and one outlier in a hundred, on a clock that rises while there is work, and from
// some moment on everything takes longer. Its time passes by what it runs, and by nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/calibrate/run_calibration.h"
#include "gpu/calibrate/stopping_rule.h"

namespace goodput::gpu::calibrate {

struct InventedOptions {
  std::uint64_t seed = 1;
  double noise = 0.02;       // deviation of the logarithm
  double drift_at_s = 1e18;  // from then on everything takes
  double drift = 1.05;       // times as long
  double fickle = 1;  // every visit of a point named "fickle" takes 1 or so many times as long, in turn
};

class InventedMachine {
 public:
  static constexpr double kFullMhz = 1980;
  static constexpr double kRiseMs = 200;  // of work, from a sixth of the clock to all of it

  explicit InventedMachine(const InventedOptions& options) : options_(options), random_(options.seed) {}

  [[nodiscard]] double now_s() const { return now_us_ / 1e6; }
  [[nodiscard]] double drift() const { return now_s() >= options_.drift_at_s ? options_.drift : 1; }

  // us of one run at the full clock, before any drift.
  [[nodiscard]] static double truth_us(const PointKey& key) {
    const double alpha = key.table.op == "copy" ? 4 : 7.5;
    return alpha + static_cast<double>(key.size) / 1000;
  }

  void begin_sweep() {
    warm_mhz_.reset();
    busy_ms_ = 0;  // idle meanwhile
  }

  Visit visit(const SweepPoint& point, const bench::Deadline& deadline) {
    const double turn = point.key.table.op == "fickle" && ++fickle_visits_ % 2 == 0 ? options_.fickle : 1;
    const double us = turn * truth_us(point.key);
    const bench::Sampler sampler{[&](int count) { return samples(count, us); },
                                 [&](int count) { return batch(count, us); }, [&] { return probe(); }};
    bench::Sampled sampled = bench::take_samples_warm(sampler, rule_for(Sizes::kFull), deadline, warm_mhz_);
    if (sampled.us.empty() || sampled.stop == bench::Stop::kDeadline) throw bench::DeadlinePassed();
    Visit visit;
    visit.us = bench::summarize(std::move(sampled.us));
    visit.sm_mhz = sampled.sm_mhz.after;
    return visit;
  }

 private:
  [[nodiscard]] double mhz() const { return kFullMhz * (1 + 5 * std::min(busy_ms_ / kRiseMs, 1.0)) / 6; }

  double run(double us) {
    const double took = us * drift() * kFullMhz / mhz() * std::exp(options_.noise * normal_(random_)) *
                        (random_() % 100 == 0 ? 10 : 1);
    busy_ms_ += took / 1e3;
    now_us_ += took;
    return took;
  }
  // Replays of a graph of as many runs as take a millisecond.
  std::vector<double> samples(int count, double us) {
    const double runs = std::max(1.0, std::ceil(1000 / us));
    std::vector<double> taken;
    for (int i = 0; i < count; ++i) taken.push_back(run(us * runs) / runs);
    return taken;
  }
  double batch(int count, double us) {
    double ms = 0;
    for (int i = 0; i < count; ++i) ms += run(us * std::max(1.0, std::ceil(1000 / us))) / 1e3;
    return ms;
  }
  std::optional<double> probe() {
    now_us_ += 1000;
    busy_ms_ += 1;
    return mhz();
  }

  InventedOptions options_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double now_us_ = 0;
  double busy_ms_ = 0;
  int fickle_visits_ = 0;
  std::optional<double> warm_mhz_;
};

inline SweepPoint invented_point(const std::string& op, std::int64_t size) {
  return {{{op, {{"hidden", std::int64_t{4096}}}}, "bytes", size}, 0.1, {}, {}};
}

// Points of one op, of sizes from 100 on.
inline Sweep invented_sweep(const std::string& op, int points) {
  Sweep sweep{op, {}, {}};
  for (int i = 0; i < points; ++i) sweep.points.push_back(invented_point(op, 100 + 37 * i));
  return sweep;
}

// A calibration of an invented machine, and what it left.
struct InventedRun {
  explicit InventedRun(const InventedOptions& options) : machine(options) {}

  CalibrationEnd run(const CalibrationPlan& plan, double deadline_s = 1e18) {
    const bench::Deadline deadline{[this] { return machine.now_s(); }, deadline_s};
    return run_calibration(plan,
                           {[this] { machine.begin_sweep(); },
                            [&](const SweepPoint& point, Checking) {
                              const double drift = machine.drift();
                              const Visit visit = machine.visit(point, deadline);
                              drift_of[{text_of(point.key), ++visits[text_of(point.key)]}] = drift;
                              return visit;
                            },
                            [this](const Record& record) { journal.push_back(line_of(record)); },
                            [this] { ++saves; }, [](const std::string&) {}},
                           deadline, points)
        .end;
  }

  InventedMachine machine;
  MeasuredPoints points{2};
  std::vector<std::string> journal;
  std::map<std::string, int> visits;                       // of a point
  std::map<std::pair<std::string, int>, double> drift_of;  // at the beginning of a visit
  int saves = 0;
};

}  // namespace goodput::gpu::calibrate

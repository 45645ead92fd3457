#include "gpu/calibrate/run_calibration.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <random>
#include <utility>

#include "gpu/bench/judgement.h"

namespace goodput::gpu::calibrate {
namespace {

// FNV-1a: the same everywhere, unlike std::hash.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string printed(const VisitRecord& record) {
  std::string text =
      record.sweep + "  " + text_of(record.key) + "  " + bench::us_text(record.visit.us.median) + " us";
  text += "  n " + std::to_string(record.visit.us.count) + "  round " + std::to_string(record.round);
  if (record.again) text += " again";
  if (record.visit.nwrong && *record.visit.nwrong > 0) {
    text += "  " + std::to_string(*record.visit.nwrong) + " wrong";
  }
  return text;
}

// Thrown to leave all loops at once.
struct Ended {
  CalibrationEnd how;
};

class CalibrationRun {
 public:
  CalibrationRun(const CalibrationPlan& plan, const CalibrationHooks& hooks, const bench::Deadline& deadline,
                 MeasuredPoints& points)
      : plan_(plan), hooks_(hooks), deadline_(deadline), points_(points) {}

  void run() {
    look_at_sentinels();
    for (const Sweep& sweep : plan_.sweeps) run_sweep(sweep);
    look_at_sentinels();
    for (const Sweep& sweep : plan_.sweeps) decide(sweep);  // what has been done again may differ now
  }

  [[nodiscard]] int failed() const { return failed_; }

 private:
  void run_sweep(const Sweep& sweep) {
    bool begun = false;
    for (int round = 1; round <= sweep.rounds(plan_.rounds); ++round) {
      for (const SweepPoint* const point : order_of_round(sweep, round, plan_.seed)) {
        if (points_.has(point->key, round)) continue;
        if (!std::exchange(begun, true)) hooks_.begin_sweep();
        look_if_due();
        visit(sweep, *point, round, false);
      }
    }
    decide(sweep);
    if (sweep.done) sweep.done();
  }

  void decide(const Sweep& sweep) {
    const int round = plan_.rounds + 1;
    for (const SweepPoint* const point : order_of_round(sweep, round, plan_.seed)) {
      if (points_.wants_decision(point->key)) visit(sweep, *point, round, false);
    }
  }

  void visit(const Sweep& sweep, const SweepPoint& point, int round, bool again) {
    VisitRecord record{sweep.name, point.key, point.ceiling, plan_.tier, round, again, {}};
    try {
      if (deadline_.passed()) throw bench::DeadlinePassed();
      record.visit = hooks_.visit(point, checking(point.key, round));
      failures_ = 0;
    } catch (const bench::DeadlinePassed&) {
      throw Ended{CalibrationEnd::kDeadline};
    } catch (const PointLeftOut& error) {
      return leave_out(text_of(point.key) + ": " + error.what());
    } catch (const std::exception& error) {
      return fail(text_of(point.key) + ": " + error.what());
    }
    add(record);
    hooks_.print(printed(record));
  }

  [[nodiscard]] Checking checking(const PointKey& key, int round) const {
    return round == 1 || !points_.has(key) ? Checking::kYes : Checking::kNo;
  }

  void leave_out(const std::string& what) {
    add(NoteRecord{"failed: " + what});
    hooks_.print("failed: " + what);
    ++failed_;
  }
  void fail(const std::string& what) {
    leave_out(what);
    if (++failures_ == kMostFailures) throw Ended{CalibrationEnd::kGaveUp};
  }

  void look_if_due() {
    if (deadline_.now() - looked_at_ >= plan_.look_every_s) look_at_sentinels();
  }

  void look_at_sentinels() {
    if (deadline_.passed()) throw Ended{CalibrationEnd::kDeadline};
    SentinelRecord record;
    for (const SweepPoint& sentinel : plan_.sentinels) {
      try {
        record.times.push_back({text_of(sentinel.key), hooks_.visit(sentinel, Checking::kNo).us.median});
      } catch (const bench::DeadlinePassed&) {
        throw Ended{CalibrationEnd::kDeadline};
      } catch (const std::exception& error) {
        fail(text_of(sentinel.key) + ": " + error.what());
      }
    }
    const std::size_t notes = points_.notes().size();
    add(record);
    for (std::size_t i = notes; i < points_.notes().size(); ++i) hooks_.print(points_.notes()[i]);
    do_again();
    hooks_.save();
    looked_at_ = deadline_.now();
  }

  void do_again() {
    const std::vector<VoidVisit> gone = points_.to_do_again();
    for (const VoidVisit& one : gone) {
      for (const Sweep& sweep : plan_.sweeps) {
        const auto point = std::find_if(sweep.points.begin(), sweep.points.end(),
                                        [&](const SweepPoint& other) { return other.key == one.key; });
        if (point != sweep.points.end()) visit(sweep, *point, one.round, true);
      }
    }
  }

  void add(const Record& record) {
    hooks_.append(record);
    points_.add(record);
  }

  const CalibrationPlan& plan_;
  const CalibrationHooks& hooks_;
  const bench::Deadline& deadline_;
  MeasuredPoints& points_;
  double looked_at_ = 0;
  int failures_ = 0;  // in a row
  int failed_ = 0;
};

}  // namespace

std::vector<const SweepPoint*> order_of_round(const Sweep& sweep, int round, std::uint64_t seed) {
  std::vector<const SweepPoint*> order;
  for (const SweepPoint& point : sweep.points) order.push_back(&point);
  std::mt19937_64 draw(hash_of(sweep.name) ^
                       (seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(round)));
  // std::shuffle is not the same everywhere.
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[draw() % left]);
  return order;
}

CalibrationOutcome run_calibration(const CalibrationPlan& plan, const CalibrationHooks& hooks,
                                   const bench::Deadline& deadline, MeasuredPoints& points) {
  CalibrationEnd end = CalibrationEnd::kDone;
  CalibrationRun run(plan, hooks, deadline, points);
  try {
    run.run();
  } catch (const Ended& ended) {
    end = ended.how;
  }
  hooks.save();
  return {end, run.failed()};
}

}  // namespace goodput::gpu::calibrate

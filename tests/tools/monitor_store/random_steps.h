// Results of steps that nobody analysed, for tests of how they are stored, and a folder for the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/random.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput::testing {

// With everything a result may have: numbers that are none, text that wants quotes, workers that are missing.
[[nodiscard]] StepResult random_result(RandomStream& random, StepId id);

// Ops in no order, some with times that are float32 values, some with a step of their own.
[[nodiscard]] OpTrace random_rows(RandomStream& random, std::size_t rows, std::int64_t step, bool is_float32);

// Of the job "job".
[[nodiscard]] Incident random_incident(RandomStream& random, StepId at);

// An analysed step of 2 x 2 workers that finished then, and nothing else.
[[nodiscard]] StepRecord plain_step(StepId id, double finished_s, double slowdown = 1.5);
// With `rows` rows, nobody's.
[[nodiscard]] StepRecord step_with_rows(StepId id, double finished_s, std::size_t rows = 10);

[[nodiscard]] StepCommit commit_of(const std::string& job, std::vector<StepRecord> steps);

// To the bit.
[[nodiscard]] bool is_same(double a, double b);
[[nodiscard]] bool is_same(const std::vector<double>& a, const std::vector<double>& b);
[[nodiscard]] bool is_same(const StepTotals& a, const StepTotals& b);
[[nodiscard]] bool is_same(const StepResult& a, const StepResult& b);
[[nodiscard]] bool is_same(const OpTrace& a, const OpTrace& b);

// An empty folder that goes with this, and a file in it that is not there yet.
class StoreFolder {
 public:
  StoreFolder();
  ~StoreFolder();
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file() const { return path_ + "/monitor.db"; }

 private:
  std::string path_;
};

// What a result without its value says.
template <typename T>
[[nodiscard]] std::string message_in(const Result<T>& result) {
  return result ? std::string() : result.error().message();
}

}  // namespace goodput::testing

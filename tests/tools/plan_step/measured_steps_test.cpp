// Predicted against measured training steps (docs/validation.md), where the measurements are to be had.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>

#include "tools/plan_step/plan_step_batch.h"

namespace goodput {
namespace {

// Mean absolute error in per cent; the last two cells of a row are measured and predicted.
double mean_error(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  double sum = 0;
  double rows = 0;
  while (std::getline(lines, line)) {
    for (int appended = 0; appended < 3; ++appended) line.erase(line.rfind(','));  // mfu, memory_gib, fits
    const auto last = line.rfind(',');
    const auto before = line.rfind(',', last - 1);
    const double measured = std::stod(line.substr(before + 1, last - before - 1));
    sum += std::abs(std::stod(line.substr(last + 1)) / measured - 1);
    rows += 1;
  }
  return 100 * sum / rows;
}

}  // namespace

TEST_CASE("plan-step: measured A100 steps are met within 6 % on one node and 8 % on 64 to 512 GPUs" *
          doctest::test_suite("release-only")) {
  const auto plan = read_training_plan(GOODPUT_CONFIGS "/plans/megatron_a100.json");
  REQUIRE(plan);
  for (const auto& [name, target] : {std::pair{"single", 6.0}, std::pair{"multi", 8.0}}) {
    const std::string path = fmt::format("{}/steps/vtrain_{}_open.csv", GOODPUT_SHARED_DATA, name);
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: no shared data");
      return;
    }
    const auto predicted = predict_rows(*plan, path, Granularity::kOps, 0);
    REQUIRE(predicted);
    CHECK(predicted->errors.empty());
    const double error = mean_error(predicted->csv);
    MESSAGE(fmt::format("{}: {} rows (40 in all of both files were fitted), {:.2f} %, target {} %", name,
                        predicted->rows.size(), error, target));
    CHECK(error <= target);
  }
}

}  // namespace goodput

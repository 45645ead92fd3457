#include "gpu/calibrate/sweep_list.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "gpu/calibrate/calibrate_options.h"
#include "gpu/calibrate/collective_sweep.h"

namespace goodput::gpu::calibrate {
namespace {

std::string param_text(const PointKey& key, const std::string& name) {
  for (const Param& param : key.table.params) {
    if (param.name == name) return text_of(TableKey{"", {param}});
  }
  return "";
}

const Sweep& named(const std::vector<Sweep>& sweeps, const std::string& name) {
  return *std::find_if(sweeps.begin(), sweeps.end(), [&](const Sweep& sweep) { return sweep.name == name; });
}

TEST_CASE("sweep list: what matters most comes first, and all of it takes 450 s at most") {
  const std::vector<Sweep> sweeps = all_sweeps({});
  std::vector<std::string> names;
  for (const Sweep& sweep : sweeps) names.push_back(sweep.name);
  CHECK(names == std::vector<std::string>{"ceilings", "gemm", "sustained", "grouped_gemm", "copy", "dispatch",
                                          "launch", "host_copy", "norm", "checks", "checks_sustained"});
  const double seconds = estimate_s(sweeps, 2);
  std::vector<Sweep> of_eight = sweeps;
  of_eight.push_back(collective_sweep(Sizes::kFull, {{2, {}}, {4, {}}, {8, {}}}, {}));
  MESSAGE("a whole calibration of one GPU: about " << seconds << " s, of eight " << estimate_s(of_eight, 2)
                                                   << " s");
  CHECK(estimate_s(of_eight, 2) <= 450);

  // The last line of --list says the same.
  const std::string text = list_text(sweeps, 2);
  char sum[32];
  std::snprintf(sum, sizeof sum, "%8.1f  all ", seconds);
  CHECK(text.find(sum) != std::string::npos);
}

// The sum of the estimates of all points, once a round, is what the lines of the list sum up to.
TEST_CASE("sweep list: the lines of tables sum up to their points") {
  const std::vector<Sweep> sweeps = all_sweeps({});
  double points_s = 0;
  std::size_t points = 0;
  for (const Sweep& sweep : sweeps) {
    for (const SweepPoint& point : sweep.points) {
      points_s += sweep.rounds(2) * point.estimate_s;
      CHECK(point.estimate_s > 0);
    }
    points += sweep.points.size();
  }
  CHECK(estimate_s(sweeps, 2) >= points_s);
  CHECK(estimate_s(sweeps, 2) <= 1.1 * points_s + 5);
  CHECK(list_text(sweeps, 2).find("\n" + std::string(5 - std::to_string(points).size(), ' ') +
                                  std::to_string(points) + " ") != std::string::npos);
}

// The line of a table: points, seconds of all rounds, sweep, table.
TEST_CASE("sweep list: seconds are those of all rounds") {
  const std::vector<Sweep> sweeps = only_with("launch", all_sweeps({}));
  REQUIRE(sweeps.size() == 1);
  for (const int rounds : {1, 40}) {
    char line[100];
    std::snprintf(line, sizeof line, "\n%5d %8.1f  launch        launch_gap\n", 1,
                  rounds * sweeps[0].points[1].estimate_s);
    CHECK(list_text(sweeps, rounds).find(line) != std::string::npos);
  }
}

// A point's size is what is read.
TEST_CASE("sweep list: a ceiling's work is every byte that is read and written") {
  for (const Sizes sizes : {Sizes::kFull, Sizes::kQuick}) {
    SweepRequest request;
    request.sizes = sizes;
    const std::vector<Sweep> sweeps = all_sweeps(request);
    std::set<std::string> names;
    for (const SweepPoint& point : named(sweeps, "ceilings").points) {
      REQUIRE(point.ceiling);
      names.insert(point.ceiling->name);
      const auto bytes = static_cast<double>(point.key.size);
      if (point.ceiling->name == "copy_1r1w_gb_per_s") CHECK(point.ceiling->amount == 2 * bytes);
      if (point.ceiling->name == "copy_1r8w_gb_per_s") CHECK(point.ceiling->amount == 9 * bytes);
    }
    CHECK(names == std::set<std::string>{"copy_1r1w_gb_per_s", "copy_1r8w_gb_per_s", "gemm_bf16_tflops"});
  }
}

TEST_CASE("sweep list: no two points have one name, at any size") {
  for (const Sizes sizes : {Sizes::kFull, Sizes::kQuick}) {
    SweepRequest request;
    request.sizes = sizes;
    std::set<std::string> names;
    for (const Sweep& sweep : all_sweeps(request)) {
      for (const SweepPoint& point : sweep.points)
        CHECK_MESSAGE(names.insert(text_of(point.key)).second, text_of(point.key));
    }
  }
}

TEST_CASE("sweep list: a quick run has every table's kind that a full one has") {
  const auto kinds = [](Sizes sizes) {
    SweepRequest request;
    request.sizes = sizes;
    std::set<std::string> all;
    for (const Sweep& sweep : all_sweeps(request)) {
      for (const SweepPoint& point : sweep.points) {
        std::string kind = sweep.name + " " + point.key.table.op;
        for (const char* const flag :
             {"layout", "sustained", "backward", "pinned", "beside_gemm", "beside_copy", "policy", "kind",
              "loads", "dtype", "dispatch", "gated"})
          kind += param_text(point.key, flag);
        all.insert(kind);
      }
    }
    return all;
  };
  CHECK(kinds(Sizes::kQuick) == kinds(Sizes::kFull));
}

TEST_CASE("sweep list: the dispatcher's points cover every pair of sizes in 150 points at most") {
  const std::vector<Sweep> sweeps = all_sweeps({});
  const Sweep& sweep = named(sweeps, "dispatch");
  CHECK(sweep.points.size() <= 150);
  std::set<std::string> pairs;
  std::set<std::string> schedules;
  for (const SweepPoint& point : sweep.points) {
    if (point.key.table.op == "schedule") {
      schedules.insert(text_of(point.key.table));
      continue;
    }
    const std::string stage = point.key.table.op + param_text(point.key, "backward");
    const std::string tokens = " T" + std::to_string(point.key.size);
    const std::string hidden = param_text(point.key, "hidden");
    const std::string top_k = param_text(point.key, "top_k");
    pairs.insert(stage + tokens + hidden);
    pairs.insert(stage + tokens + top_k);
    pairs.insert(stage + hidden + top_k);
  }
  // 4 x 4 clusters by 2 policies; 5 stages with 5 T x 4 d, 5 T x 3 k and 4 d x 3 k; the way back of regroup
  // with 2 T: 2 x 4 and 2 x 3, and of its 4 x 3 pairs those 8 that its 8 points have.
  CHECK(schedules.size() == 32);
  CHECK(pairs.size() == 5 * (20 + 15 + 12) + 8 + 6 + 8);
}

TEST_CASE("sweep list: only what has the text is left, and a text that nothing has is refused") {
  const std::vector<Sweep> sweeps = only_with("launch_gap", all_sweeps({}));
  REQUIRE(sweeps.size() == 1);
  CHECK(sweeps[0].points.size() == 1);
  CHECK(only_with("copy copy bytes=", all_sweeps({}))[0].points.size() == 9);
  CHECK(only_with("nonsense", all_sweeps({})).empty());
}

std::string option_error(const std::vector<std::string>& arguments) {
  try {
    static_cast<void>(parse_calibrate_options(arguments));
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST_CASE("calibrate options: what they mean, and one line for what they cannot") {
  const CalibrateOptions options =
      parse_calibrate_options({"--out", "h.json", "--resume", "--only", "gemm", "--deadline-s", "30.5",
                               "--rounds", "3", "--seed", "9", "--ranks", "8", "--quick", "--date", "today"});
  CHECK(options.out == "h.json");
  CHECK(options.journal() == "h.json.journal");
  CHECK(options.resume);
  CHECK(options.only == "gemm");
  CHECK(options.deadline_s == 30.5);
  CHECK(options.rounds == 3);
  CHECK(options.seed == 9);
  CHECK(options.ranks == 8);
  CHECK(options.sizes == Sizes::kQuick);
  CHECK(options.date == "today");
  CHECK(arguments_that_count(options) == std::vector<std::string>{"--rounds", "3", "--seed", "9", "--quick",
                                                                  "--only", "gemm", "--ranks", "8"});
  CHECK(parse_calibrate_options({"--list"}).list);

  CHECK(option_error({}) == "--out FILE is required; see --help");
  CHECK(option_error({"--out", ""}) == "--out must not be empty");
  CHECK(option_error({"--out", "h", "--rounds", "0"}) ==
        "--rounds must be a whole number from 1 to 100, not '0'");
  CHECK(option_error({"--out", "h", "--ranks", "two"}) ==
        "--ranks must be a whole number from 1 to 1024, not 'two'");
  CHECK(option_error({"--out", "h", "--deadline-s", "-1"}) ==
        "--deadline-s must be a positive number, not '-1'");
  CHECK(
      option_error({"--out", "h", "--ranks", "2", "--id-file", "id"}) ==
      "--ranks and --id-file cannot be combined: with an id file, the environment sets the number of ranks");
  CHECK(option_error({"--out", "h", "--id-file", "id"}).empty());
  CHECK(option_error({"--out"}) == "--out needs a value");
  CHECK(option_error({"--fast"}) == "unknown option '--fast'; see --help");
  CHECK(option_error({"h.json"}) == "unexpected argument 'h.json'; see --help");
}

}  // namespace
}  // namespace goodput::gpu::calibrate

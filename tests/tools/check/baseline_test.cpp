#include "tools/check/baseline.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

Baseline small_baseline() {
  Baseline baseline{.suite = "mine", .seed = 7};
  baseline.runs["a"] = {{"0.1.0", "abc", "00ff", "h200.json 0123"}, {{"ds", {{"productive_s", 10.5}}}}};
  baseline.runs["b"] = {{"0.1.0", "abc", "", ""}, {}};
  baseline.figures["a/ds/goodput"] = {.value = 0.375, .trials = {0.5, 0.25}};
  baseline.figures["a/one \"two\", three/goodput"] = {.value = 0.1, .trials = {0.1, 0.1}};
  baseline.figures["b/fits"] = {.text = "true"};
  baseline.figures["b/step_s"] = {.value = 0.30000000000000004};
  return baseline;
}

// Both files, in a folder of their own.
class BaselineFiles {
 public:
  explicit BaselineFiles(const Baseline& baseline) : json_("baseline.json", baseline_json(baseline)) {
    write_trials(baseline_trials_csv(baseline));
  }
  void write_trials(const std::string& text) const { std::ofstream(trials_path(json_.path())) << text; }
  void write(const std::string& text) const { std::ofstream(json_.path()) << text; }
  [[nodiscard]] std::string path() const { return json_.path(); }
  // Without the folder.
  [[nodiscard]] std::string fault() const {
    std::string message = read_baseline(path()).error().message();
    const std::string folder = fs::path(path()).parent_path().string() + "/";
    for (auto at = message.find(folder); at != std::string::npos; at = message.find(folder))
      message.erase(at, folder.size());
    return message;
  }

 private:
  TemporaryFile json_;
};

TEST_CASE("baseline: what is written is read back, to the last bit") {
  const Baseline baseline = small_baseline();
  const BaselineFiles files(baseline);
  const Baseline read = read_baseline(files.path()).value();
  CHECK(read.suite == "mine");
  CHECK(read.seed == 7);
  CHECK(read.runs == baseline.runs);
  CHECK(read.figures == baseline.figures);
  CHECK(baseline_json(read) == baseline_json(baseline));
}

TEST_CASE("baseline: objects are the same in whatever order their keys come") {
  Baseline baseline = small_baseline();
  const RunFigures shown =
      figures_of(
          {.name = "b",
           .command = {"plan-step"},
           .metrics = {{"/memory", Direction::kSame, "exact", Tolerance{}}}},
          R"({"schema": "goodput.plan-step/1", "memory": {"z": 1, "a": [0.1, {"y": 2, "b": null}]}, "critical_path": []})")
          .value();
  baseline.figures["b/memory"] = baseline_figure(shown.figures.at(0));
  const BaselineFiles files(baseline);
  CHECK(read_baseline(files.path()).value().figures.at("b/memory") == baseline_figure(shown.figures.at(0)));
}

TEST_CASE("baseline: a line a figure, so that a review shows which moved") {
  const std::string json = baseline_json(small_baseline());
  CHECK(json.find("\n\"a/ds/goodput\": {\"is\":0.375,\"trials\":2},\n") != std::string::npos);
  CHECK(json.find("\n\"b/step_s\": {\"is\":0.30000000000000004}\n}\n}\n") != std::string::npos);
  CHECK(baseline_trials_csv(small_baseline()) ==
        "figure,0,1\na/ds/goodput,0.5,0.25\n\"a/one \"\"two\"\", three/goodput\",0.1,0.1\n");
}

TEST_CASE("baseline: files that do not belong together are refused") {
  const BaselineFiles files(small_baseline());
  files.write_trials("figure,0,1\na/ds/goodput,0.5,0.5\n\"a/one \"\"two\"\", three/goodput\",0.1,0.1\n");
  CHECK(files.fault() ==
        "baseline.trials.csv: the trials of \"a/ds/goodput\" do not match baseline.json; take both files "
        "from the same commit, or remove both and run --update");
  files.write_trials("figure,0,1\na/ds/goodput,0.5,0.25\n");
  CHECK(files.fault() ==
        "baseline.trials.csv: the trials of \"a/one \"two\", three/goodput\" do not match baseline.json; "
        "take both files from the same commit, or remove both and run --update");
  files.write_trials("figure,0,1\nc/goodput,1,1\n");
  CHECK(files.fault() ==
        "baseline.trials.csv:2: figure \"c/goodput\" is not in the baseline that belongs to this file; take "
        "both files from the same commit");
  files.write_trials("figure,0,1\na/ds/goodput,0.5,high\n");
  CHECK(files.fault() == "baseline.trials.csv:2: trial 1 must be a number, not \"high\"");
  files.write_trials("figure,0,1\na/ds/goodput,0.5,1e301\n");
  CHECK(files.fault() == "baseline.trials.csv:2: trial 1 must be a number, not \"1e301\"");
  files.write_trials("figure\n\"a\n");
  CHECK(files.fault() == "baseline.trials.csv:2: a field has an opening quote without a closing quote");
  fs::remove(trials_path(files.path()));
  CHECK(files.fault() == "baseline.trials.csv: cannot open: No such file or directory");
}

TEST_CASE("baseline: what is none says how to make one") {
  const BaselineFiles files(small_baseline());
  const std::string remedy =
      "; remove the file and make a new baseline with `goodput check SUITE --baseline FILE --update`";
  files.write("{}");
  CHECK(files.fault() == "baseline.json: is not a baseline: the key \"schema\" is missing" + remedy);
  files.write(R"({"schema": "goodput.baseline/2"})");
  CHECK(files.fault() ==
        "baseline.json: is not a baseline: the schema is \"goodput.baseline/2\", but this program reads "
        "goodput.baseline/1" +
            remedy);
  files.write(R"({"schema": "goodput.baseline/1"})");
  CHECK(files.fault().starts_with("baseline.json: is not a baseline: "));
  files.write(R"({"schema": "goodput.baseline/1", "suite": "x", "seed": -1})");
  CHECK(files.fault() == "baseline.json: is not a baseline: the seed is not a whole number" + remedy);
  files.write(R"({"schema": "goodput.baseline/1", "suite": 3, "seed": 0})");
  CHECK(files.fault().starts_with("baseline.json: is not a baseline: "));
}

}  // namespace
}  // namespace goodput

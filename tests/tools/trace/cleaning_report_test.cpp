#include "tools/trace/cleaning_report.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "sim/base/json.h"

namespace goodput {
namespace {

const std::vector<CleaningFinding> kFindings = {
    {CleaningRule::kRepeatedRows, 12, {1, 2, 3, 9}, ""},
    {CleaningRule::kMissingOps, 1, {4}, "gc_0_0 is missing in step 4, dp_rank 1"},
    {CleaningRule::kUnclosedFiles, 2, {}, ""}};

}  // namespace

TEST_CASE("cleaning: a table says how many of what, what was done, and where") {
  CHECK(cleaning_text({}).empty());
  CHECK(cleaning_text(kFindings) ==
        "found in the trace                   count  action\n"
        "  rows recorded twice                   12  dropped (steps 1-3, 9)\n"
        "  steps with missing ops                 1  left out (step 4)\n"
        "    gc_0_0 is missing in step 4, dp_rank 1\n"
        "  files without a closing bracket        2  read to the end\n");
}

TEST_CASE("cleaning: the JSON has a rule an entry, none for a clean trace") {
  CHECK(cleaning_json({}) == OrderedJson::array());
  const auto json = cleaning_json(kFindings);
  REQUIRE(json.size() == 3);
  CHECK(json[1] == OrderedJson{{"rule", "missing-ops"},
                               {"found", "steps with missing ops"},
                               {"done", "left out"},
                               {"count", 1},
                               {"steps", {4}},
                               {"detail", "gc_0_0 is missing in step 4, dp_rank 1"}});
}

TEST_CASE("cleaning: the page of op traces has the rules of the program") {
  std::ifstream page(std::string(GOODPUT_CONFIGS) + "/../docs/formats/op-traces.md");
  REQUIRE(page);
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  for (const CleaningRuleInfo& rule : kCleaningRules) {
    const std::string row = fmt::format("\n| {} | {} | {} | {} |\n", rule.name, rule.found, rule.done,
                                        rule.strict ? "refuses" : "accepts");
    CAPTURE(row);
    CHECK(text.find(row) != std::string::npos);
  }
}

}  // namespace goodput

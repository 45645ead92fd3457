// What docs/formats says of suites and of the results of checks is what the program does.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "sim/base/json.h"
#include "tests/support/config_table.h"
#include "tools/check/check_report.h"
#include "tools/check/suite.h"

namespace goodput {
namespace {

std::string check_page(const std::string& name) {
  std::ifstream file(GOODPUT_CONFIGS "/../docs/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `table` must stand in the page word for word: after a change, paste it in.
template <typename T>
void check_keys_of(T value) {
  const std::string table = config::describe(config_fields(value));
  CHECK_MESSAGE(check_page("formats/suites.md").find(table) != std::string::npos,
                "docs/formats/suites.md wants the table\n", table);
}

void check_all_explained(const std::string& page, const OrderedJson& value) {
  if (value.is_array() && !value.empty()) check_all_explained(page, value.front());
  if (!value.is_object()) return;
  for (const auto& item : value.items()) {
    const std::string& key = item.key;
    CHECK_MESSAGE(page.find("`" + key + "`") != std::string::npos, key);
    if (key != "counts") check_all_explained(page, item.value);
  }
}

TEST_CASE("docs: the keys of suites are those of the reader") {
  check_keys_of(Suite{});
  check_keys_of(SuiteRun{});
  check_keys_of(MetricRule{});
}

TEST_CASE("docs: every key of goodput.check/1 and every outcome is explained") {
  const Suite suite{.file = "mine.json", .name = "mine"};
  CheckReport report{suite};
  const Tolerance tolerance = Tolerance::parse("1 % at 95 %").value();
  report.figures = {{.name = "a/ds/goodput", .rule = {"goodput", Direction::kMore, "", tolerance}}};
  report.speeds.emplace_back();
  OrderedJson json;
  add_check_json(report, json);
  const std::string page = check_page("formats/check.md");
  check_all_explained(page, json);
  for (const std::string_view outcome : kOutcomeNames) CHECK(page.find(outcome) != std::string::npos);
}

}  // namespace
}  // namespace goodput

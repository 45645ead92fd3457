#include "tools/page/page_html.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/analysed_trace.h"
#include "tools/page/page_result.h"

namespace goodput {
namespace {

PageResult page_input(std::string name, std::string_view text) {
  return testing::value_or_throw(page_result(std::move(name), text));
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("page: results stand in it once, in their order, with their names") {
  const std::string page = page_html({page_input("b.json", R"({"schema":"goodput.whatif/1","n":1})"),
                                      page_input("</a>", R"({"schema":"goodput.plan-step/1"})")});
  CHECK(occurrences(page, R"([{"name":"b.json","result":{"schema":"goodput.whatif/1","n":1}},)") == 1);
  CHECK(occurrences(page, R"({"name":"\u003c/a>","result":{"schema":"goodput.plan-step/1"}}])") == 1);
  CHECK(page.starts_with("<!doctype html>\n"));
}

TEST_CASE("page: the title names each kind once, and none that HTML would have to escape") {
  const auto title = [](const std::vector<PageResult>& results) {
    const std::string page = page_html(results);
    const std::size_t begin = page.find("<title>") + 7;
    return page.substr(begin, page.find("</title>") - begin);
  };
  const PageResult whatif = page_input("a", R"({"schema":"goodput.whatif/1"})");
  CHECK(title({whatif}) == "goodput: whatif");
  CHECK(title({whatif, page_input("b", R"({"schema":"goodput.plan-step/1"})"), whatif}) ==
        "goodput: whatif, plan-step");
  CHECK(title({page_input("c", R"({"schema":"goodput.<b>/1"})")}) == "goodput");
}

TEST_CASE("page: it allows one script and one style by hash, and reaches nothing") {
  const std::string page = page_html({page_input("", R"({"schema":"goodput.x/1"})")});
  CHECK(occurrences(page, "default-src 'none'; script-src 'sha256-") == 1);
  CHECK(occurrences(page, "<script>") == 1);
  CHECK(occurrences(page, "<style>") == 1);
  CHECK(occurrences(page, " src=") == 0);
  CHECK(occurrences(page, "@RESULTS@") + occurrences(page, "@SCRIPT") + occurrences(page, "@STYLE") == 0);
  CHECK(occurrences(page, "Redistribution and use in source and binary forms") == 1);  // D3's licence
}

}  // namespace goodput

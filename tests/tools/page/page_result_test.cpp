#include "tools/page/page_result.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "tests/support/analysed_trace.h"

namespace goodput {
namespace {

PageResult page_result_of(std::string_view text) {
  return testing::value_or_throw(page_result("a.json", text));
}

// Of a result with these members besides its schema.
std::string rewritten(std::string_view members) {
  constexpr std::string_view kSchema = R"({"schema":"goodput.x/1",)";
  const std::string text = page_result_of(fmt::format("{}{}}}", kSchema, members)).json;
  return text.substr(kSchema.size(), text.size() - kSchema.size() - 1);
}

std::string refusal_of(std::string_view text) {
  const auto result = page_result("", text);
  REQUIRE_FALSE(result.has_value());
  return result.error().message();
}

}  // namespace

TEST_CASE("page result: what is between values goes, what they say stays, numbers as they are written") {
  const PageResult result = page_result_of(
      " {\n  \"schema\": \"goodput.x/1\",\n  \"a\": [1, -2, 3.10, 1e3, {}, []],\n"
      "  \"b\": {\"c\": null, \"d\": true, \"e\": \"f\"}\n}\n");
  CHECK(result.name == "a.json");
  CHECK(result.schema == "goodput.x/1");
  CHECK(result.json ==
        R"({"schema":"goodput.x/1","a":[1,-2,3.10,1e3,{},[]],"b":{"c":null,"d":true,"e":"f"}})");
}

TEST_CASE("page result: the schema is the result's own, not one of a member") {
  CHECK(page_result_of(R"({"config": {"schema": "goodput.y/2"}, "schema": "goodput.x/1"})").schema ==
        "goodput.x/1");
  CHECK(refusal_of(R"({"config": {"schema": "goodput.y/1"}})") ==
        "has no schema; expected a result that a goodput command wrote with --json");
}

TEST_CASE("page result: nothing in it can end the script around it") {
  CHECK(rewritten(R"("</script>":"<!-- <script>")") == R"("\u003c/script>":"\u003c!-- \u003cscript>")");
  // U+2028 and U+2029 end lines of JavaScript; their neighbour U+2027 does not.
  CHECK(rewritten("\"a\":\"\u2027\u2028\u2029\"") == "\"a\":\"\u2027\\u2028\\u2029\"");
  CHECK(rewritten(R"("a":"\u0000\u001f\"\\\n")") == R"("a":"\u0000\u001f\"\\\n")");
}

TEST_CASE("page result: long texts and names are cut between characters, and say so") {
  CHECK(rewritten(fmt::format("\"a\":\"{}\"", std::string(kLongestPageText, 'x'))).size() ==
        kLongestPageText + std::string_view(R"("a":"")").size());
  // 4095 bytes and a character of two: the second byte would be the 4097th.
  const std::string cut =
      rewritten(fmt::format("\"a\":\"{}\u00e9yz\"", std::string(kLongestPageText - 1, 'x')));
  CHECK(cut == fmt::format("\"a\":\"{} [4 more bytes left out of this page]\"",
                           std::string(kLongestPageText - 1, 'x')));
  const std::string name = rewritten(fmt::format("\"{}\":1", std::string(kLongestPageText + 3, 'k')));
  CHECK(name ==
        fmt::format("\"{} [3 more bytes left out of this page]\":1", std::string(kLongestPageText, 'k')));
}

TEST_CASE("page result: a name that is no UTF-8 is replaced, not thrown on") {
  CHECK(page_text("caf\xe9") == "\"caf\ufffd\"");
}

TEST_CASE("page result: what is no result is refused") {
  CHECK(refusal_of("{") == "is not JSON; expected a result that a goodput command wrote with --json");
  CHECK(refusal_of("") == "is not JSON; expected a result that a goodput command wrote with --json");
  CHECK(refusal_of(R"({"schema": "goodput.x/1"} x)") ==
        "is not JSON; expected a result that a goodput command wrote with --json");
  CHECK(refusal_of(R"(["schema", "goodput.x/1"])") ==
        "has no schema; expected a result that a goodput command wrote with --json");
  CHECK(
      refusal_of(R"({"schema": "goodput.x"})") ==
      R"(has the schema "goodput.x", which is not a goodput schema; expected a result that a goodput command wrote with --json)");
  CHECK(refusal_of(R"({"schema": "goodput.x/12"})") ==
        "has schema \"goodput.x/12\", but this goodput reads only version 1 of this schema; use the goodput "
        "version that wrote the result");
  CHECK(refusal_of(std::string(65, '[')) == "is nested too deeply to be a result");
  CHECK(refusal_of(std::string(64, '[')) ==
        "is not JSON; expected a result that a goodput command wrote with --json");
}

}  // namespace goodput

// Results that a page is made of: what is taken stays the same JSON, but for texts that are cut, and inert in
// HTML.
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/page/page_result.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto result = page_result("", text);
  if (!result) return 0;
  GOODPUT_CHECK(result->json.find('<') == std::string::npos, "a result that could end its script");
  const auto shown = Json::try_parse(result->json);
  GOODPUT_CHECK(shown && shown->is_object() && shown->at("schema") == result->schema,
                "no JSON, or that of another schema");
  if (size <= kLongestPageText) {
    GOODPUT_CHECK(shown == Json::try_parse(text), "another result than was given");
    const auto again = page_result("", result->json);
    GOODPUT_CHECK(again && again->json == result->json, "what was taken is not taken again");
  }
  return 0;
}

#include "models/check/tolerance.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput {
namespace {

TEST_CASE("tolerance: every form reads back as it is written") {
  for (const char* text : {"exact", "1 %", "0.02", "1 % at 95 %", "0.5 at 99.9 %"})
    CHECK(Tolerance::parse(text).value().text() == text);
  CHECK(Tolerance::parse(" 2%  at 90% ").value().text() == "2 % at 90 %");
}

TEST_CASE("tolerance: an exact figure may not move at all, not by its last bit") {
  const Tolerance exact = Tolerance::parse("exact").value();
  CHECK(exact.allows(0.1, 0.1));
  CHECK_FALSE(exact.allows(0.1, 0.1 + 1e-17 * 3));
}

TEST_CASE("tolerance: a relative one counts from the baseline, whatever its sign") {
  const Tolerance one_percent = Tolerance::parse("1 %").value();
  CHECK(one_percent.allows(200, 202));
  CHECK_FALSE(one_percent.allows(200, 202.1));
  CHECK(one_percent.allows(-200, -198));
  CHECK(*one_percent.change(-200, -198) == 0.01);  // up
}

TEST_CASE("tolerance: of a baseline of 0 nothing is relative but 0 itself") {
  const Tolerance one_percent = Tolerance::parse("1 %").value();
  CHECK(one_percent.allows(0, 0));
  CHECK_FALSE(one_percent.allows(0, 1e-300));
  CHECK_FALSE(one_percent.change(0, 1).has_value());
}

TEST_CASE("tolerance: an absolute one is in the figure's unit") {
  const Tolerance absolute = Tolerance::parse("0.5").value();
  CHECK(absolute.allows(0, -0.5));
  CHECK_FALSE(absolute.allows(0, -0.51));
}

TEST_CASE("tolerance: what is none says which forms there are") {
  const auto wrong = [](const char* text) { return Tolerance::parse(text).error().message(); };
  const std::string forms = R"(must be "exact", "1 %", "0.02" or, with several trials, "1 % at 95 %", not )";
  CHECK(wrong("") == forms + R"("")");
  CHECK(wrong("a lot") == forms + R"("a lot")");
  CHECK(wrong("1 % at 95") == forms + R"("1 % at 95")");
  CHECK(wrong("nan %") == forms + R"("nan %")");
  CHECK(wrong("-1 %") == R"(must be 0 or more, not "-1 %")");
  CHECK(wrong("1 % at 100 %") ==
        R"(must have a confidence of at least 50 % and below 100 %, not "1 % at 100 %")");
}

}  // namespace
}  // namespace goodput

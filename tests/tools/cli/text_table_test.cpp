#include "tools/cli/text_table.h"

#include <doctest/doctest.h>

namespace goodput {

TEST_CASE("text table: the first column begins at the left, the others end at the right") {
  CHECK(aligned({{"policy", "steps"}, {"ds", "7"}, {"lazarus", "12345"}}) ==
        "policy   steps\n"
        "ds           7\n"
        "lazarus  12345\n");
}

TEST_CASE("text table: a letter of several bytes is one column, short rows end early") {
  CHECK(aligned({{"a", "1 ±2", "x"}, {"b"}, {"c", "1234"}}) == "a  1 ±2  x\nb\nc  1234\n");
}

}  // namespace goodput

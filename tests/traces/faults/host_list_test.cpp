// Slurm's short form of node names.
#include "traces/faults/host_list.h"

#include <doctest/doctest.h>

namespace goodput::testing {
namespace {

using Names = std::vector<std::string>;

Names names_of(std::string_view text) {
  const auto names = expand_host_list(text);
  REQUIRE_MESSAGE(names, (names ? "" : names.error().what));
  return *names;
}

}  // namespace

TEST_CASE("host lists: ranges keep their leading zeros") {
  CHECK(names_of("n[001-003,059],login1") == Names{"n001", "n002", "n003", "n059", "login1"});
  CHECK(names_of("n[9-11]") == Names{"n9", "n10", "n11"});
  CHECK(names_of("n[098-101]").back() == "n101");
}

TEST_CASE("host lists: several brackets multiply, and a suffix stays") {
  CHECK(names_of("r[1-2]n[1-2]-ib") == Names{"r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"});
  CHECK(names_of("n1-5") == Names{"n1-5"});
}

TEST_CASE("host lists: malformed and gigantic lists are refused") {
  for (const std::string_view text : {"n[1-", "n[]", "n[3-1]", "n[a-b]", "a,,b", "n[1-3"}) {
    CAPTURE(text);
    const auto names = expand_host_list(text);
    REQUIRE_FALSE(names);
    CHECK(names.error().what.starts_with("node names must be like n[001-057,059],login1, not "));
  }
  const auto many = expand_host_list("a[1-999999]b[1-999999]");
  REQUIRE_FALSE(many);
  CHECK(many.error().what == "\"a[1-999999]b[1-999999]\" is more than 1000000 nodes; is it the right file?");
}

}  // namespace goodput::testing

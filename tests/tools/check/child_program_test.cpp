#include "tools/check/child_program.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput {
namespace {

TEST_CASE("child program: what it writes and how it ends comes back, however much it is") {
  const ChildResult child =
      run_child("/bin/sh", {"-c", "head -c 300000 /dev/zero | tr '\\0' x; echo oops >&2; exit 3"}).value();
  CHECK(child.exit_code == 3);
  CHECK(child.out == std::string(300'000, 'x'));
  CHECK(child.messages == "oops\n");
}

TEST_CASE("child program: words are words, and stdin is empty") {
  const ChildResult child =
      run_child("/bin/sh", {"-c", "cat; printf '%s|' \"$@\"", "sh", "a b", "$HOME", ""}).value();
  CHECK(child.out == "a b|$HOME||");
}

TEST_CASE("child program: a signal is 128 and its number") {
  CHECK(run_child("/bin/sh", {"-c", "kill -TERM $$"}).value().exit_code == 143);
}

TEST_CASE("child program: one that does not end is ended") {
  CHECK(run_child("/bin/sleep", {"100"}, std::chrono::milliseconds(20)).error().message() ==
        "\"/bin/sleep\" did not finish within 0.02 s");
}

TEST_CASE("child program: what cannot be started says so") {
  CHECK(run_child("/nowhere/goodput", {}).error().message() ==
        "cannot run \"/nowhere/goodput\": No such file or directory");
}

}  // namespace
}  // namespace goodput

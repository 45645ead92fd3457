// Units, random streams, hashes, suggestions: the small things everything stands on.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/errors.h"
#include "sim/base/hash.h"
#include "sim/base/parallel.h"
#include "sim/base/random.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/ops/op_type.h"

namespace goodput {

TEST_CASE("units: a size over a rate is a time, rounded to the nearest nanosecond") {
  CHECK(Bytes{8} / BytesPerSecond{4e9} == SimDuration{2});
  CHECK(Bytes{1} / BytesPerSecond{3e9} == SimDuration{0});  // 0.33 ns
  CHECK(Bytes{2} / BytesPerSecond{3e9} == SimDuration{1});  // 0.67 ns
  CHECK(Flops{1e12} / FlopsPerSecond{1e15} == std::chrono::milliseconds{1});
}

TEST_CASE("units: half nanoseconds round to even, so that roundings do not pile up") {
  CHECK(from_seconds(0.5e-9) == SimDuration{0});
  CHECK(from_seconds(1.5e-9) == SimDuration{2});
  CHECK(from_seconds(-1.5e-9) == SimDuration{-2});
  CHECK(to_seconds(SimDuration{1500}) == 1.5e-6);
}

TEST_CASE("units: quantities add to their own kind, scale, and divide to a ratio") {
  CHECK(Bytes{3} + Bytes{4} == Bytes{7});
  CHECK(2 * Bytes{3} - Bytes{1} == Bytes{5});
  CHECK(Bytes{3} < Bytes{4});
  CHECK(Bytes{3} / Bytes{4} == 0.75);
}

TEST_CASE("random: the first draws are pinned, on every machine") {
  RandomStream random(1, "failure", 7);
  const std::array<std::uint64_t, 3> drawn = {random.bits(), random.bits(), random.bits()};
  CHECK(drawn ==
        std::array<std::uint64_t, 3>{6176731912590912989U, 17176464830181700165U, 10912781975070183241U});
}

TEST_CASE("random: streams differ by seed, by name and by id") {
  const auto first = [](std::uint64_t seed, std::string_view name, std::uint64_t id) {
    return RandomStream(seed, name, id).bits();
  };
  CHECK(first(1, "a", 0) != first(2, "a", 0));
  CHECK(first(1, "a", 0) != first(1, "b", 0));
  CHECK(first(1, "a", 0) != first(1, "a", 1));
  CHECK(first(1, "a", 0) == first(1, "a", 0));
}

TEST_CASE("random: distributions have their mean and deviation within four standard errors") {
  constexpr int kDraws = 100000;
  RandomStream random(42, "moments");
  double uniform = 0;
  double exponential = 0;
  double normal = 0;
  double squares = 0;
  std::array<int, 5> below{};
  for (int i = 0; i < kDraws; ++i) {
    uniform += random.uniform();
    exponential += random.exponential(0.5);
    const double x = random.normal(3, 2);
    normal += x;
    squares += (x - 3) * (x - 3);
    ++below[random.below(5)];
  }
  const double error = 4 / std::sqrt(kDraws);
  CHECK(std::abs(uniform / kDraws - 0.5) < error * std::sqrt(1.0 / 12));
  CHECK(std::abs(exponential / kDraws - 2) < error * 2);
  CHECK(std::abs(normal / kDraws - 3) < error * 2);
  CHECK(std::abs(squares / kDraws - 4) < error * 4 * std::sqrt(2.0));
  for (const int count : below) CHECK(std::abs(count - kDraws / 5) < 4 * std::sqrt(kDraws * 0.2 * 0.8));
}

TEST_CASE("hash: order, lengths and single bits of the content matter") {
  const auto of = [](std::initializer_list<double> values) {
    Hash hash;
    hash.add(std::span<const double>(values.begin(), values.size()));
    return hash.value();
  };
  CHECK(of({1, 2, 3, 4, 5}) == of({1, 2, 3, 4, 5}));
  CHECK(of({1, 2, 3, 4, 5}) != of({2, 1, 3, 4, 5}));
  CHECK(of({1, 2, 3, 4, 5, 6, 7, 8}) != of({5, 6, 7, 8, 1, 2, 3, 4}));
  CHECK(of({0, 0}) != of({0, 0, 0}));
  CHECK(of({1}) != of({std::nextafter(1.0, 2.0)}));
}

TEST_CASE("did you mean: the nearest name within a third of the length is offered") {
  const std::array<std::string_view, 3> names = {"forward-compute", "backward-compute", "gc"};
  CHECK(did_you_mean("foward-compute", names) == "; did you mean \"forward-compute\"?");
  CHECK(did_you_mean("cg", names) == "; did you mean \"gc\"?");  // a swap of neighbours
  CHECK(did_you_mean("something-else", names).empty());
  CHECK(did_you_mean(std::string(100000, 'x'), names).empty());
}

TEST_CASE("did you mean: the distance counts insertions, deletions, substitutions and swaps") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("same", "same") == 0);
}

TEST_CASE("did you mean: quoted names stay on one line and short") {
  CHECK(in_quotes("plain") == "\"plain\"");
  CHECK(in_quotes("a\nb\x1b") == "\"a\\x0ab\\x1b\"");
  CHECK(in_quotes(std::string(70, 'y')) == "\"" + std::string(60, 'y') + "...\" (70 characters)");
}

TEST_CASE("errors: a message names the place when there is one") {
  CHECK(Error{"no number", {.file = "trace.csv", .position = Position::line(3)}}.message() ==
        "trace.csv:3: no number");
  CHECK(Error{"no number"}.message() == "no number");
}

TEST_CASE("errors: a place is told as far as it is known") {
  const auto in_file = [](Position position) { return Where{.file = "t", .position = position}.text(); };
  CHECK(Where{}.text().empty());
  CHECK(Where{}.empty());
  CHECK_FALSE(Where{.pointer = "/a"}.empty());
  CHECK(in_file({}) == "t");
  CHECK(in_file(Position::line(3)) == "t:3");
  CHECK(in_file(Position::line(3, 7)) == "t:3:7");
  CHECK(in_file(Position::row(0)) == "t:row 0");
  CHECK(in_file(Position::event(5)) == "t: event 5");
  CHECK(in_file(Position::byte(9)) == "t: byte 9");
  CHECK(Where{.file = "t", .pointer = "/a/b"}.text() == "t /a/b");
  CHECK(Where{.pointer = "/a/b"}.text() == "/a/b");
}

TEST_CASE("errors: an owner says where the object stands, until there is a file") {
  const Error error = Error{"is 0", {.pointer = "/heads"}}.inside("/model").in_file("plan.json");
  CHECK(error.where == Where{.file = "plan.json", .pointer = "/model/heads"});
  CHECK(error.inside("/plan").in_file("scenario.json").where == error.where);
  CHECK(Error{"is 0"}.inside("/model").message() == "/model: is 0");
  CHECK(Error{"is 0"}.in_file("plan.json").message() == "plan.json: is 0");
}

TEST_CASE("errors: an option has the name that who asks knows it by") {
  const auto flag = [](std::string_view key) { return "--" + std::string(key); };
  const Error steps = Error{"runs backwards"}.of_option("steps");
  CHECK(steps.message() == "steps: runs backwards");
  CHECK(steps.message(flag) == "--steps: runs backwards");
  CHECK(steps.in_file("t").message(flag) == "t: runs backwards");
  const Error mends = Error{fmt::format("is ambiguous; say {} up|down", kOption)}.of_option("polarity");
  CHECK(mends.message() == "is ambiguous; say polarity up|down");
  CHECK(mends.in_file("t").message(flag) == "t: is ambiguous; say --polarity up|down");
}

TEST_CASE("errors: a failed check says where and what") {
  const auto fails = [] { GOODPUT_CHECK(1 + 1 == 3, "arithmetic"); };
  try {
    fails();
    FAIL("no exception");
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()).find("foundation_test.cpp") != std::string::npos);
    CHECK(std::string(error.what()).find("arithmetic (1 + 1 == 3)") != std::string::npos);
  }
}

TEST_CASE("op types: names are in alphabetical order, which breaks ties between ops that start together") {
  for (std::size_t i = 1; i < kNdtimelineTypeCount; ++i)
    CHECK(kNdtimelineTypes[i - 1].name < kNdtimelineTypes[i].name);
  CHECK(find_op_type("optimizer") == OpType::kOptimizer);
  CHECK_FALSE(find_op_type("optimiser"));
}

TEST_CASE("parallel: every piece is done once, whatever the number of threads") {
  for (const unsigned jobs : {0U, 1U, 2U, 3U, 100U}) {
    CAPTURE(jobs);
    std::vector<int> done(37, 0);
    parallel_chunks(jobs, done.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++done[i];
    });
    CHECK(done == std::vector<int>(37, 1));
  }
  parallel_chunks(4, 0, [](std::size_t, std::size_t) { FAIL("nothing to do"); });
}

TEST_CASE("parallel: whoever is free takes the next piece, and every one is done once") {
  for (const unsigned jobs : {0U, 1U, 3U, 100U}) {
    for (const std::size_t at_once : {1UL, 5UL, 100UL}) {
      CAPTURE(jobs);
      CAPTURE(at_once);
      std::vector<int> done(37, 0);
      parallel_pieces(jobs, done.size(), at_once, [&](std::size_t begin, std::size_t end) {
        CHECK(begin % at_once == 0);
        CHECK(end == std::min<std::size_t>(37, begin + at_once));
        for (std::size_t i = begin; i < end; ++i) ++done[i];
      });
      CHECK(done == std::vector<int>(37, 1));
    }
  }
  parallel_pieces(4, 0, 1, [](std::size_t, std::size_t) { FAIL("nothing to do"); });
}

TEST_CASE("parallel: after an exception no piece is begun, and the caller sees it") {
  std::size_t begun = 0;
  CHECK_THROWS_AS(parallel_pieces(1, 8, 1,
                                  [&](std::size_t begin, std::size_t) {
                                    ++begun;
                                    if (begin == 2) throw InternalError("piece");
                                  }),
                  InternalError);
  CHECK(begun == 3);
}

TEST_CASE("parallel: an exception of a thread reaches the caller") {
  CHECK_THROWS_AS(parallel_chunks(4, 8,
                                  [](std::size_t begin, std::size_t) {
                                    if (begin > 0) throw InternalError("piece");
                                  }),
                  InternalError);
}

TEST_CASE("errors: a file's name may have any character, that which stands for an option too") {
  // Whoever shows the message escapes it.
  const Error error{fmt::format("is wide_csv, but a{}b is long_csv", kOption), {.file = "l.csv"}};
  CHECK(error.message() == fmt::format("l.csv: is wide_csv, but a{}b is long_csv", kOption));
}

}  // namespace goodput

#include "models/schedule/schedule.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "sim/base/random.h"
#include "tests/support/schedule_times.h"

namespace goodput {
namespace {

using testing::PassTimes;
using testing::schedule_named;
using testing::step_time;

constexpr PassTimes kTimes = {10, 12, 8};
constexpr double kAll = 30;

}  // namespace

TEST_CASE("schedules: every stage runs each pass of each of its chunks once, in an order the graph accepts") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, "schedules");
    const ScheduleInfo& info = schedules()[random.below(schedules().size())];
    ScheduleShape shape;
    shape.stages = static_cast<std::int32_t>(1 + random.below(8));
    shape.chunks = static_cast<std::int32_t>(1 + random.below(3));
    shape.micro_batches = static_cast<std::int32_t>(1 + random.below(24));
    if (!info.schedule.check(shape)) continue;
    CAPTURE(seed);
    CAPTURE(info.name);
    std::set<std::tuple<std::int32_t, std::int32_t>> places;
    for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
      std::map<std::tuple<Pass::Kind, int, int>, int> seen;
      std::size_t split = 0;
      for (const Pass& pass : info.schedule.passes(shape, stage)) {
        ++seen[{pass.kind, pass.chunk, pass.micro_batch}];
        split += pass.splits_weight ? 1 : 0;
        // A backward follows its forward, a weight pass its backward.
        if (pass.kind == Pass::Kind::kBackward)
          CHECK(seen.contains({Pass::Kind::kForward, pass.chunk, pass.micro_batch}));
        if (pass.kind == Pass::Kind::kBackwardWeight)
          CHECK(seen.contains({Pass::Kind::kBackward, pass.chunk, pass.micro_batch}));
      }
      const std::size_t copies = info.name == "dualpipe" ? 2 : 1;
      const auto each = static_cast<std::size_t>(info.schedule.chunks(shape)) *
                        static_cast<std::size_t>(shape.micro_batches) / copies;
      CHECK(seen.size() == 2 * each + split);
      for (const auto& [pass, count] : seen) CHECK(count == 1);
      for (std::int32_t chunk = 0; chunk < info.schedule.chunks(shape); ++chunk) {
        const ChunkPlace place = info.schedule.place(shape, stage, chunk);
        CHECK(place.position < info.schedule.positions(shape));
        CHECK(places.emplace(place.pipeline, place.position).second);
      }
    }
    CHECK(step_time(info.schedule, shape, kTimes) >= shape.micro_batches * kAll);
  }
}

TEST_CASE("schedules: GPipe and 1F1B take (m + p - 1) passes, a bubble of (p-1)/(m+p-1)") {
  for (const std::string_view name : {"gpipe", "1f1b"}) {
    for (int p = 1; p <= 8; ++p) {
      for (int m = 1; m <= 20; ++m) {
        // Fewer micro-batches than stages are legal, too.
        const double expected = (m + p - 1) * kAll;
        const double time = step_time(schedule_named(name), {p, 1, m}, kTimes);
        CHECK_MESSAGE(time == expected,
                      fmt::format("{} p={} m={}: {} against {}", name, p, m, time, expected));
        if (p == 8 && m == 20) {
          MESSAGE(fmt::format("{} p=8 m=20: {}, closed form (m+p-1)(f+b) = {}", name, time, expected));
        }
        CHECK(1 - m * kAll / time == doctest::Approx((p - 1.0) / (m + p - 1)));
      }
    }
  }
}

TEST_CASE("schedules: interleaving divides the bubble by the chunks, (p-1)/(v m) of the work") {
  for (int p = 2; p <= 6; ++p) {
    for (int v = 1; v <= 4; ++v) {
      for (int groups = 1; groups <= 4; ++groups) {
        const int m = p * groups;
        const double expected = m * kAll + (p - 1) * kAll / v;
        const double time = step_time(schedule_named("interleaved"), {p, v, m}, kTimes);
        if (p == 6 && v == 4 && groups == 4) {
          MESSAGE(fmt::format("interleaved p=6 v=4 m=24: {}, closed form m(f+b) + (p-1)(f+b)/v = {}", time,
                              expected));
        }
        CHECK_MESSAGE(time == doctest::Approx(expected), fmt::format("p={} v={} m={}", p, v, m));
      }
    }
  }
}

TEST_CASE("schedules: ZB-H1 takes m (f+b+w) + (p-1)(f+b-w) for m >= p") {
  for (const PassTimes times : {PassTimes{1, 1, 1}, PassTimes{10, 12, 8}, PassTimes{10, 14, 6}}) {
    for (int p = 1; p <= 8; ++p) {
      for (int m = p; m <= 20; ++m) {
        const double expected = m * (times.forward + times.backward + times.weight) +
                                (p - 1) * (times.forward + times.backward - times.weight);
        const double time = step_time(schedule_named("zb-h1"), {p, 1, m}, times);
        if (p == 8 && m == 20) {
          MESSAGE(
              fmt::format("zb-h1 p=8 m=20: {}, closed form m(f+b+w) + (p-1)(f+b-w) = {}", time, expected));
        }
        CHECK_MESSAGE(time == expected, fmt::format("p={} m={}: {} against {}", p, m, time, expected));
      }
    }
  }
}

TEST_CASE("schedules: DualPipe's bubble is no larger than its paper's, (p/2-1)(f&b + b - 3w)") {
  // Table 2 of the DeepSeek-V3 report; f&b: a forward and a whole backward in turn, b: a whole backward. Ours
  // is (p/2-1)(f + b_input - w) where passes take turns: both come from the same eight steps, the paper's
  // with messages between them.
  for (const PassTimes times : {PassTimes{10, 10, 10}, PassTimes{10, 12, 8}}) {
    for (int p = 2; p <= 8; p += 2) {
      for (int m = 2 * p; m <= 4 * p; m += 2) {
        const double whole = times.backward + times.weight;
        const double work = m * (times.forward + whole);
        const double bubble = step_time(schedule_named("dualpipe"), {p, 1, m}, times) - work;
        CHECK_MESSAGE(bubble <= (p / 2 - 1) * (times.forward + whole + whole - 3 * times.weight),
                      fmt::format("p={} m={}: {}", p, m, bubble));
        CHECK_MESSAGE(bubble == (p / 2 - 1) * (times.forward + times.backward - times.weight),
                      fmt::format("p={} m={}: {}", p, m, bubble));
      }
    }
  }
}

TEST_CASE("schedules: what one cannot run is refused by the field that causes it") {
  const auto refusal = [](std::string_view name, ScheduleShape shape) {
    const Status status = schedule_named(name).check(shape);
    REQUIRE(!status);
    return status.error().message();
  };
  CHECK(refusal("1f1b", {4, 2, 8}) ==
        "/parallel/vpp: 2 chunks per stage, but schedule \"1f1b\" supports only one; use \"interleaved\"");
  CHECK(refusal("interleaved", {1, 2, 8}) ==
        "/parallel/vpp: 2 chunks per stage, but pp is 1, so there is nothing to interleave; use vpp 1");
  CHECK(refusal("interleaved", {4, 2, 6}) ==
        "/parallel/global_batch: 6 micro-batches per replica are not a multiple of the 4 stages, which "
        "interleaving (vpp 2) needs; change global_batch, micro_batch or dp");
  CHECK(refusal("dualpipe", {4, 2, 8}) ==
        "/parallel/vpp: 2 chunks per stage, but schedule \"dualpipe\" sets the chunks itself; use vpp 1");
  CHECK(refusal("dualpipe", {3, 1, 8}) ==
        "/parallel/pp: 3 stages, but schedule \"dualpipe\" needs an even number");
  CHECK(refusal("dualpipe", {4, 1, 6}) ==
        "/parallel/global_batch: 6 micro-batches per replica, but schedule \"dualpipe\" needs an even number "
        "of at least 8, twice the stages");
  for (const std::string_view name : {"zb-v", "v-half", "dualpipev"}) {
    CHECK(refusal(name, {4, 2, 8}) ==
          fmt::format(
              "/parallel/vpp: 2 chunks per stage, but schedule \"{}\" sets the chunks itself; use vpp 1",
              name));
  }
  CHECK(refusal("dualpipev", {4, 1, 7}) ==
        "/parallel/global_batch: 7 micro-batches per replica, but schedule \"dualpipev\" needs at least 8, "
        "twice the stages");
  const auto unknown = find_schedule("1f1d");
  REQUIRE(!unknown);
  CHECK(unknown.error().message() ==
        "/parallel/schedule: unknown schedule \"1f1d\"; did you mean \"1f1b\"?; known: gpipe, 1f1b, "
        "interleaved, "
        "zb-h1, "
        "dualpipe, zb-v, v-half, dualpipev");
}

}  // namespace goodput

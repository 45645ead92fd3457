#include "tools/monitor/step_queue.h"

#include <doctest/doctest.h>

#include <thread>
#include <utility>

namespace goodput {
namespace {

QueuedStep step_with(std::int64_t number, std::size_t rows) {
  QueuedStep queued;
  queued.step.id.step = number;
  for (std::size_t i = 0; i < rows; ++i) REQUIRE(!queued.step.rows.append(OpRow{.step = number}));
  return queued;
}

std::chrono::steady_clock::time_point now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

TEST_CASE("step queue: steps come out as they went in, and nothing comes of an empty one") {
  StepQueue queue(100);
  CHECK(!queue.pop(now()));
  REQUIRE(queue.push(step_with(1, 10), WhenFull::kWait));
  REQUIRE(queue.push(step_with(2, 10), WhenFull::kWait));
  CHECK(queue.pop(now())->step.id.step == 1);
  CHECK(queue.pop(now())->step.id.step == 2);
  CHECK(!queue.is_idle(""));  // both are still at work
  queue.done("");
  queue.done("");
  CHECK(queue.is_idle(""));
}

TEST_CASE("step queue: one job is idle while steps of another wait or are at work") {
  StepQueue queue(100);
  QueuedStep busy = step_with(1, 10);
  busy.job.name = "busy";
  REQUIRE(queue.push(std::move(busy), WhenFull::kWait));
  CHECK(!queue.is_idle("busy"));
  CHECK(queue.is_idle("silent"));
  REQUIRE(queue.pop(now()));
  CHECK(!queue.is_idle("busy"));
  CHECK(queue.is_idle("silent"));
  queue.done("busy");
  CHECK(queue.is_idle("busy"));
}

TEST_CASE("step queue: without room the oldest steps are skipped, their rows gone, their places kept") {
  StepQueue queue(100);
  for (std::int64_t number = 1; number <= 4; ++number)
    REQUIRE(queue.push(step_with(number, 60), WhenFull::kSkip));  // one of 60 rows fits, no two
  for (std::int64_t number = 1; number <= 4; ++number) {
    const auto queued = queue.pop(now());
    REQUIRE(queued);
    CHECK(queued->step.id.step == number);
    const bool is_last = number == 4;
    CHECK((queued->step.status == StepStatus::kAnalysed) == is_last);
    CHECK(queued->step.rows.size() == (is_last ? 60 : 0));
  }
}

TEST_CASE("step queue: a step larger than the queue goes in alone") {
  StepQueue queue(10);
  CHECK(queue.push(step_with(1, 60), WhenFull::kWait));
  CHECK(queue.push(step_with(2, 60), WhenFull::kSkip));
  CHECK(queue.pop(now())->step.status == StepStatus::kSkipped);
  CHECK(queue.pop(now())->step.rows.size() == 60);
}

TEST_CASE("step queue: who waits for room gets it with the next pop, or is sent away by the end") {
  StepQueue queue(100);
  REQUIRE(queue.push(step_with(1, 60), WhenFull::kWait));
  std::thread writer([&] {
    CHECK(queue.push(step_with(2, 60), WhenFull::kWait));
    CHECK(!queue.push(step_with(3, 60), WhenFull::kWait));
  });
  CHECK(queue.pop(now() + std::chrono::seconds(10))->step.id.step == 1);
  queue.done("");
  while (queue.is_idle("")) std::this_thread::yield();  // until step 2 is there
  queue.close(StepQueue::Waiting::kDrop);
  writer.join();
  CHECK(queue.is_closed());
  CHECK(!queue.pop(now()));
}

TEST_CASE("step queue: what waits when it is closed still comes out, unless it is dropped") {
  StepQueue queue(100);
  REQUIRE(queue.push(step_with(1, 10), WhenFull::kWait));
  queue.close(StepQueue::Waiting::kKeep);
  CHECK(!queue.push(step_with(2, 10), WhenFull::kWait));
  CHECK(queue.pop(now())->step.id.step == 1);
  CHECK(!queue.pop(now()));
}

}  // namespace goodput

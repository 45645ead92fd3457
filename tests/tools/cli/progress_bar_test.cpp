#include "tools/cli/progress_bar.h"

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "tools/cli/live_progress.h"

namespace goodput {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE(
    "progress bar: appears after two seconds, is redrawn ten times a second at most, and wipes itself") {
  std::ostringstream err;
  {
    const ProgressBar::Clock::time_point start{};
    ProgressBar bar(err, ProgressBar::Show::kWhenSlow, "reading", 1000, start);
    bar.update(100, start + seconds(1));
    CHECK(err.str().empty());
    bar.update(500, start + seconds(3));
    CHECK(err.str() == "\rreading [###############...............]  50 %  3 s left\x1b[K");
    bar.update(600, start + seconds(3) + milliseconds(50));
    CHECK(err.str().find("60 %") == std::string::npos);
    bar.update(2000, start + seconds(4));  // a file that grows
    CHECK(err.str().ends_with("100 %\x1b[K"));
  }
  CHECK(err.str().ends_with("\r\x1b[K"));
}

namespace {

// What the line says behind the bar.
std::string said_at(ProgressBar& bar, std::ostringstream& err, std::uint64_t done, int at_s) {
  err.str("");
  bar.update(done, ProgressBar::Clock::time_point{} + seconds(at_s));
  const std::string text = err.str();
  const std::size_t from = text.find("] ");
  return text.substr(from + 2, text.find('\x1b') - from - 2);
}

}  // namespace

TEST_CASE("progress bar: how long the rest takes follows from what is done, and counts down in between") {
  std::ostringstream err;
  ProgressBar bar(err, ProgressBar::Show::kWhenSlow, "simulating", 10, {});
  CHECK(said_at(bar, err, 0, 5) == "  0 %  5 s so far");        // nothing to go by
  CHECK(said_at(bar, err, 1, 10) == " 10 %  1 min 30 s left");  // nine more of 10 s
  CHECK(said_at(bar, err, 1, 15) == " 10 %  1 min 25 s left");  // 5 s of them are over
  CHECK(said_at(bar, err, 1, 20) == " 10 %  1 min 20 s left");  // the next one is due
  CHECK(said_at(bar, err, 1, 30) == " 10 %  2 min 0 s left");   // two in 30 s at best: eight of 15 s
  CHECK(said_at(bar, err, 2, 31) == " 20 %  2 min 4 s left");   // a second later: eight of 15.5 s
  CHECK(said_at(bar, err, 8, 40) == " 80 %  10 s left");        // 5 s each
  CHECK(said_at(bar, err, 10, 41) == "100 %");
}

TEST_CASE("progress bar: long times are told in two units") {
  // One of two is done: as long again.
  const auto left_after = [](int at_s) {
    std::ostringstream err;
    ProgressBar bar(err, ProgressBar::Show::kWhenSlow, "simulating", 2, {});
    const std::string said = said_at(bar, err, 1, at_s);
    return said.substr(said.find('%') + 3);
  };
  CHECK(left_after(59) == "59 s left");
  CHECK(left_after(60) == "1 min 0 s left");
  CHECK(left_after(3599) == "59 min 59 s left");
  CHECK(left_after(3600) == "1 h 0 min left");
  CHECK(left_after(86399) == "23 h 59 min left");
  CHECK(left_after(90000) == "1 day 1 h left");
  CHECK(left_after(200000) == "2 days 7 h left");
}

TEST_CASE("live progress: it moves while nothing is reported, and wipes itself" *
          doctest::test_suite("slow")) {
  std::ostringstream err;
  {
    // Began 5 s ago, and a fifth is done at the first look: 20 s more or a little later, then 19 and so on.
    LiveProgress bar(err, ProgressBar::Show::kWhenSlow, "simulating", 5,
                     ProgressBar::Clock::now() - seconds(5));
    bar.update(1);
    std::this_thread::sleep_for(milliseconds(2100));
  }
  const std::string text = err.str();
  CHECK(text.find(" 20 %  ") != std::string::npos);
  std::set<std::string> told;
  for (auto at = text.find(" s left"); at != std::string::npos; at = text.find(" s left", at + 1))
    told.insert(text.substr(at - 2, 2));
  CHECK(told.size() >= 2);
  CHECK(text.ends_with("\r\x1b[K"));
  std::ostringstream silent;
  { LiveProgress(silent, ProgressBar::Show::kNever, "simulating", 5).update(1); }
  CHECK(silent.str().empty());
}

TEST_CASE("progress bar: without a known size it counts megabytes, and it can be told to stay away") {
  std::ostringstream err;
  ProgressBar bar(err, ProgressBar::Show::kWhenSlow, "reading", 0);
  bar.update(12'000'000, ProgressBar::Clock::now() + seconds(9));
  CHECK(err.str() == "\rreading 12 MB\x1b[K");
  std::ostringstream silent;
  ProgressBar never(silent, ProgressBar::Show::kNever, "reading", 0);
  never.update(1, ProgressBar::Clock::now() + seconds(9));
  CHECK(silent.str().empty());
}

}  // namespace goodput

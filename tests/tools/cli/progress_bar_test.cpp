#include "tools/cli/progress_bar.h"

#include <doctest/doctest.h>

#include <sstream>

namespace goodput {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE(
    "progress bar: appears after two seconds, is redrawn ten times a second at most, and wipes itself") {
  std::ostringstream err;
  {
    ProgressBar bar(err, ProgressBar::Show::kWhenSlow, "reading", 1000);
    const auto start = ProgressBar::Clock::now();
    bar.update(100, start + seconds(1));
    CHECK(err.str().empty());
    bar.update(500, start + seconds(3));
    CHECK(err.str() == "\rreading [###############...............]  50 %\x1b[K");
    bar.update(600, start + seconds(3) + milliseconds(50));
    CHECK(err.str().find("60 %") == std::string::npos);
    bar.update(2000, start + seconds(4));  // a file that grows
    CHECK(err.str().ends_with("100 %\x1b[K"));
  }
  CHECK(err.str().ends_with("\r\x1b[K"));
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

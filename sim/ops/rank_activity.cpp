#include "sim/ops/rank_activity.h"

namespace goodput {

void shift_times(RankActivity& rank, std::int64_t by_ns) {
  for (RankActivity::Step& step : rank.steps) {
    step.begin_ns += by_ns;
    step.end_ns += by_ns;
  }
  for (TrackCut& cut : rank.cuts) {
    cut.end_ns += by_ns;
    if (cut.begin_ns != 0) cut.begin_ns += by_ns;
  }
  for (CommunicationPart& part : rank.parts) {
    part.launch_ns += by_ns;
    part.begin_ns += by_ns;
    part.end_ns += by_ns;
  }
  for (IdleGap& gap : rank.gaps) {
    gap.begin_ns += by_ns;
    gap.end_ns += by_ns;
  }
}

}  // namespace goodput

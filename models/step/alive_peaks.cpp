#include "models/step/alive_peaks.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace goodput {
namespace {

using Moment = std::vector<std::int32_t>;  // alive, by chunk

bool gives_back(const Pass& pass) {
  return pass.kind == Pass::Kind::kBackwardWeight ||
         (pass.kind == Pass::Kind::kBackward && !pass.splits_weight);
}

// Every moment after a forward and before the next pass that gives back.
std::set<Moment> summits(const std::vector<Pass>& passes, std::size_t chunks) {
  std::set<Moment> found;
  Moment now(chunks);
  bool rises = false;
  for (const Pass& pass : passes) {
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    if (pass.kind == Pass::Kind::kForward) {
      ++now[chunk];
      rises = true;
    } else if (gives_back(pass)) {
      if (rises) found.insert(now);
      rises = false;
      --now[chunk];
    }
  }
  if (rises) found.insert(now);
  return found;
}

bool is_no_more(const Moment& a, const Moment& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](std::int32_t x, std::int32_t y) { return x <= y; });
}

}  // namespace

std::int32_t AlivePeaks::most() const {
  return alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end());
}

double AlivePeaks::most_bytes(std::span<const double> chunk_bytes) const {
  double most = 0;
  for (std::size_t begin = 0; begin < alive.size(); begin += chunks) {
    double bytes = 0;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) bytes += alive[begin + chunk] * chunk_bytes[chunk];
    most = std::max(most, bytes);
  }
  return most;
}

AlivePeaks alive_peaks(const std::vector<Pass>& passes, std::size_t chunks) {
  // Those with most in all come first: nothing behind a moment has more of every chunk.
  const std::set<Moment> all = summits(passes, chunks);
  std::vector<Moment> moments(all.begin(), all.end());
  std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
    return std::accumulate(a.begin(), a.end(), 0) > std::accumulate(b.begin(), b.end(), 0);
  });
  std::vector<Moment> kept;
  AlivePeaks peaks;
  peaks.chunks = chunks;
  for (const Moment& moment : moments) {
    const auto covers = [&](const Moment& other) { return is_no_more(moment, other); };
    if (std::any_of(kept.begin(), kept.end(), covers)) continue;
    kept.push_back(moment);
    peaks.alive.insert(peaks.alive.end(), moment.begin(), moment.end());
  }
  return peaks;
}

std::vector<AlivePeaks> alive_peaks(const PipelineSchedule& schedule, const ScheduleShape& shape) {
  std::vector<AlivePeaks> peaks;
  const auto chunks = static_cast<std::size_t>(schedule.chunks(shape));
  for (const std::vector<Pass>& passes : schedule.all_passes(shape))
    peaks.push_back(alive_peaks(passes, chunks));
  return peaks;
}

}  // namespace goodput

#include "tools/monitor_store/worker_map_blob.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "tools/monitor_store/blob_archive.h"
#include "tools/monitor_store/packed_bytes.h"

namespace goodput {
namespace {

using Word = std::uint16_t;  // a code whatever its sign: differences wrap around, and back

constexpr int kMapLevel = 1;  // of zstd: noise does not get smaller by more work
constexpr std::size_t kMostMapBytes = std::size_t{1} << 26;
constexpr auto kNoNumber = std::numeric_limits<std::int16_t>::min();
constexpr double kMostCode = std::numeric_limits<std::int16_t>::max();

Word code_of(double slowdown) {
  const double code = std::log(slowdown) / kMapResolution;
  if (std::isnan(code)) return static_cast<Word>(kNoNumber);
  return static_cast<Word>(static_cast<std::int16_t>(std::lround(std::clamp(code, -kMostCode, kMostCode))));
}

double slowdown_of(Word word) {
  const auto code = static_cast<std::int16_t>(word);
  if (code == kNoNumber) return std::numeric_limits<double>::quiet_NaN();
  return std::exp(code * kMapResolution);
}

// Takes the middle of every group away from its words; entry i is of group group_of(i).
template <typename GroupOf>
std::vector<Word> take_medians(std::vector<Word>& words, std::size_t groups, GroupOf group_of) {
  std::vector<std::vector<std::int16_t>> of_group(groups);
  for (std::size_t i = 0; i < words.size(); ++i)
    of_group[group_of(i)].push_back(static_cast<std::int16_t>(words[i]));
  std::vector<Word> medians(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<std::int16_t>& codes = of_group[group];
    if (codes.empty()) continue;
    const auto middle = codes.begin() + static_cast<std::ptrdiff_t>(codes.size() / 2);
    std::nth_element(codes.begin(), middle, codes.end());
    medians[group] = static_cast<Word>(*middle);
  }
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<Word>(words[i] - medians[group_of(i)]);
  return medians;
}

// A map is what its stages have in common, what its replicas have, and what is left: small numbers.
struct MapShape {
  std::size_t stages;
  std::size_t replicas;

  [[nodiscard]] auto stage_of() const {
    return [stages = stages](std::size_t i) { return i % stages; };
  }
  [[nodiscard]] auto replica_of() const {
    return [stages = stages](std::size_t i) { return i / stages; };
  }
};

MapShape shape_of(std::int32_t pp_size, std::size_t workers) {
  const auto stages = static_cast<std::size_t>(std::max(pp_size, 1));
  return {stages, (workers + stages - 1) / stages};
}

}  // namespace

std::string map_blob(const WorkerMapValues& map) {
  std::vector<Word> words;
  words.reserve(map.slowdown.size());
  for (const double slowdown : map.slowdown) words.push_back(code_of(slowdown));
  const MapShape shape = shape_of(map.pp_size, words.size());
  const std::vector<Word> stages = take_medians(words, shape.stages, shape.stage_of());
  const std::vector<Word> replicas = take_medians(words, shape.replicas, shape.replica_of());
  for (Word& word : words) word = zigzag(word);
  const std::string planes = planes_of(std::span<const Word>(words));
  // A frame a plane, for each has a code of its own.
  const std::string_view both(planes);
  BlobWriter writer;
  writer(map.dp_size, map.pp_size, words.size(), stages, replicas,
         compressed(both.substr(0, words.size()), kMapLevel),
         compressed(both.substr(words.size()), kMapLevel));
  return writer.bytes();
}

Result<WorkerMapValues> read_map_blob(std::string_view blob) {
  WorkerMapValues map;
  std::size_t workers = 0;
  std::vector<Word> stages;
  std::vector<Word> replicas;
  std::array<std::string, 2> frames;
  BlobReader reader(blob);
  reader(map.dp_size, map.pp_size, workers, stages, replicas, frames[0], frames[1]);
  const Error damaged{"contains a damaged worker map"};
  if (!reader.is_good() || workers > kMostMapBytes) return damaged;
  const MapShape shape = shape_of(map.pp_size, workers);
  if (stages.size() != shape.stages || replicas.size() != shape.replicas) return damaged;
  std::string planes;
  for (const std::string& frame : frames) {
    GOODPUT_TRY(const std::string plane, decompressed(frame, workers));
    if (plane.size() != workers) return damaged;
    planes += plane;
  }
  const std::vector<Word> words = words_of<Word>(planes);
  map.slowdown.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) {
    const Word common = static_cast<Word>(stages[shape.stage_of()(i)] + replicas[shape.replica_of()(i)]);
    map.slowdown.push_back(slowdown_of(static_cast<Word>(unzigzag(words[i]) + common)));
  }
  return map;
}

}  // namespace goodput

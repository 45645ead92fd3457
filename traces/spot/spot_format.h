// The interface of a spot trace format, and the list of all of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/nodes/spot_trace.h"
#include "traces/io/byte_source.h"

namespace goodput {

// What a user knows about a file that cannot be told from its content.
struct SpotOptions {
  std::optional<SpotPolarity> polarity{};  // option "polarity"
  std::optional<SpotMeaning> meaning{};    // option "meaning"
  std::string format{};                    // a name of spot_formats(); empty: from the content
  NodeId nodes = 0;                        // option "nodes": of the cluster of a failure log; 0: as logged
};

// A trace whose meaning is not settled yet.
struct SpotContent {
  SpotTrace trace{};                             // without file, format and meaning
  std::optional<SpotMeaning> stated_meaning{};   // by the file: no option may contradict it
  std::optional<SpotMeaning> assumed_meaning{};  // files of the format mean this, unless an option says else
};

struct SpotFormat {
  std::string_view name;                     // by which it is asked for
  std::string_view summary;                  // one line for `goodput list formats`
  std::vector<std::string_view> extensions;  // that mean this format when written, with the dot

  // Whether a file that begins like this (the first 64 KiB, gunzipped) is of this format, or is meant to be.
  bool (*matches)(std::string_view head);

  Result<SpotContent> (*read)(ByteSource& source, const SpotOptions& options);

  // Writes `trace` to a file at `path` (which the caller moves into place). Gzip when `final_path` ends in
  // .gz. None: the format is only read.
  Status (*write)(const SpotTrace& trace, const std::string& path, std::string_view final_path);
};

#define GOODPUT_SPOT_FORMAT(name) SpotFormat spot_format_##name();
#include "traces/spot/spot_formats.def"
#undef GOODPUT_SPOT_FORMAT

// Every format, in the order in which contents are tried.
[[nodiscard]] std::span<const SpotFormat> spot_formats();

}  // namespace goodput

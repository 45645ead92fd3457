// The interface of a routing trace format, and the list of all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/routing/routing_trace.h"
#include "traces/io/byte_source.h"
#include "traces/routing/routing_rows.h"

namespace goodput {

struct RoutingFormat {
  std::string_view name;                     // by which it is asked for
  std::string_view summary;                  // one line for `goodput list formats`
  std::vector<std::string_view> extensions;  // that mean this format when written, with the dot

  // Whether a file that begins like this (the first 64 KiB, gunzipped) is of this format.
  bool (*matches)(std::string_view head);

  // Adds the rows of one file, which `rows` was told of.
  Status (*append_file)(ByteSource& source, RoutingRows& rows);

  // Writes `trace` to a file at `path` (which the caller moves into place). Gzip when `final_path` ends in
  // .gz. None: the format is only read.
  Status (*write)(const RoutingTrace& trace, const std::string& path, std::string_view final_path);
};

#define GOODPUT_ROUTING_FORMAT(name) RoutingFormat routing_format_##name();
#include "traces/routing/routing_formats.def"
#undef GOODPUT_ROUTING_FORMAT

// Every format, in the order in which contents are tried.
[[nodiscard]] std::span<const RoutingFormat> routing_formats();

}  // namespace goodput

#include "traces/spot/spot_reader.h"

#include <fmt/format.h>

#include <utility>

#include "traces/io/formats.h"

namespace goodput {
namespace {

std::string_view name_of(SpotMeaning meaning) {
  return kSpotMeaningNames[static_cast<std::size_t>(meaning)];
}

Result<SpotMeaning> settle_meaning(const SpotContent& content, const SpotOptions& options,
                                   const std::string& path) {
  const std::optional<SpotMeaning> stated = content.stated_meaning;
  if (stated && options.meaning && *stated != *options.meaning) {
    return Error{
        fmt::format("{} {} contradicts the file, which has \"{}\"; remove the option or correct the file",
                    kOption, name_of(*options.meaning), name_of(*stated)),
        {.file = path},
        "meaning"};
  }
  if (stated) return *stated;
  if (options.meaning) return *options.meaning;
  if (content.assumed_meaning) return *content.assumed_meaning;
  return Error{
      fmt::format("does not show what its counts mean: nodes that were held (a drop is a preemption), or "
                  "nodes that could have been launched (a drop may not be a preemption); give {} held|probe",
                  kOption),
      {.file = path},
      "meaning"};
}

}  // namespace

Result<SpotTrace> read_spot_trace(const std::string& path, const SpotOptions& options) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const SpotFormat format, format_of(spot_formats(), "spot trace", options.format, source));
  GOODPUT_TRY(SpotContent content, format.read(source, options));
  SpotTrace& trace = content.trace;
  GOODPUT_CHECK(trace.events.empty() || trace.counts.empty(),
                "a spot trace cannot have both events and counts");
  GOODPUT_TRY(trace.meaning, settle_meaning(content, options, path));
  trace.file = path;
  trace.format = format.name;
  return std::move(trace);
}

Result<bool> is_spot_trace(const std::string& path) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string_view head, source.peek());
  return matching_format(spot_formats(), without_leading_comments(head)) != nullptr;
}

}  // namespace goodput

#include "traces/spot/spot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

std::string_view name_of(SpotMeaning meaning) {
  return kSpotMeaningNames[static_cast<std::size_t>(meaning)];
}

const SpotFormat* matching(const std::vector<SpotFormat>& formats, std::string_view head) {
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const auto& format) { return format.matches(head); });
  return found == formats.end() ? nullptr : &*found;
}

Result<const SpotFormat*> find_format(const std::vector<SpotFormat>& formats, std::string_view name) {
  std::vector<std::string_view> known;
  std::string listed;
  for (const SpotFormat& format : formats) {
    if (format.name == name) return &format;
    known.push_back(format.name);
    listed.append(listed.empty() ? "" : ", ").append(format.name);
  }
  return Error{
      fmt::format("unknown format {}{}; known: {}", in_quotes(name), did_you_mean(name, known), listed)};
}

Result<const SpotFormat*> detect_format(const std::vector<SpotFormat>& formats, ByteSource& source) {
  constexpr std::size_t kShownBytes = 24;
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (head.empty()) return Error{"is empty", {.file = source.path()}};
  if (const SpotFormat* format = matching(formats, head)) return format;
  std::string known;
  for (const SpotFormat& format : formats) known.append(known.empty() ? "" : ", ").append(format.name);
  return Error{
      fmt::format("is no spot trace in a known format ({}; say `goodput list formats`); it begins with {}",
                  known, in_quotes(head.substr(0, std::min(head.find('\n'), kShownBytes)))),
      {.file = source.path()}};
}

Result<SpotMeaning> settle_meaning(const SpotContent& content, const SpotOptions& options,
                                   const std::string& path) {
  const std::optional<SpotMeaning> stated = content.stated_meaning;
  if (stated && options.meaning && *stated != *options.meaning) {
    return Error{fmt::format("{} {}: the file says \"{}\" itself; leave the option out or mend the file",
                             kOption, name_of(*options.meaning), name_of(*stated)),
                 {.file = path},
                 "meaning"};
  }
  if (stated) return *stated;
  if (options.meaning) return *options.meaning;
  if (content.assumed_meaning) return *content.assumed_meaning;
  return Error{
      fmt::format("does not say whether its nodes were really held (a drop is a preemption) or could have "
                  "been launched (a drop need not be one); say {} held|probe",
                  kOption),
      {.file = path},
      "meaning"};
}

}  // namespace

Result<SpotTrace> read_spot_trace(const std::string& path, const SpotOptions& options) {
  const std::vector<SpotFormat> formats = spot_formats();
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const SpotFormat* format,
              options.format.empty() ? detect_format(formats, source) : find_format(formats, options.format));
  GOODPUT_TRY(SpotContent content, format->read(source, options));
  SpotTrace& trace = content.trace;
  GOODPUT_CHECK(trace.events.empty() || trace.counts.empty(), "a spot trace has events or counts");
  GOODPUT_TRY(trace.meaning, settle_meaning(content, options, path));
  trace.file = path;
  trace.format = format->name;
  return std::move(trace);
}

Result<bool> is_spot_trace(const std::string& path) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(const std::string_view head, source.peek());
  return matching(spot_formats(), head) != nullptr;
}

}  // namespace goodput

#include "sim/causes/fix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/base/text.h"
#include "sim/causes/slow_workers.h"

namespace goodput {
namespace {

constexpr std::string_view kCauseKey = "cause=";

double factor_to(double even, double recorded) {
  return recorded > 0 ? even / recorded : 1;
}

Result<Remedy> even_partition(const AnalysedJob& job, const Patterns& patterns) {
  if (job.recording.pp_size == 1) return Error{"the job has only one stage, so there are no layers to move"};
  const PassPace& pace = patterns.pace;
  Remedy remedy;
  for (std::size_t stage = 0; stage < pace.stage.size(); ++stage) {
    remedy.stages.push_back({factor_to(mean(pace.forward_s), pace.forward_s[stage]),
                             factor_to(mean(pace.backward_s), pace.backward_s[stage])});
  }
  return remedy;
}

Result<Remedy> balanced_micro_batches(const AnalysedJob& /*job*/, const Patterns& patterns) {
  if (!patterns.micro_batches) {
    return Error{"the trace has no micro-batches to compare (no mb_id), or all passes take equally long"};
  }
  Remedy remedy;
  remedy.micro_batches = patterns.micro_batches->balance;
  return remedy;
}

Result<Remedy> without_pauses(const AnalysedJob& /*job*/, const Patterns& patterns) {
  if (patterns.pairs.empty()) return Error{"the trace has no micro-batches to compare (no mb_id)"};
  Remedy remedy;
  for (const Pause& pause : patterns.pauses) remedy.patches.push_back(pause.expected);
  return remedy;
}

Result<Remedy> launches_at_once(const AnalysedJob& /*job*/, const Patterns& /*patterns*/) {
  Remedy remedy;
  remedy.launches_at_once = true;
  return remedy;
}

Result<Remedy> healthy_workers(const AnalysedJob& job, const Patterns& patterns) {
  return repair_of(job.recording, patterns.pace, workers_of(slow_or_slowest(job, patterns.pace).groups));
}

Result<Remedy> usual_links(const AnalysedJob& /*job*/, const Patterns& patterns) {
  if (patterns.links.slow.empty()) return Error{"no link between stages is slower than the others"};
  Remedy remedy;
  remedy.patches = patterns.links.repaired;
  return remedy;
}

Result<Remedy> usual_transfers(const AnalysedJob& /*job*/, const Patterns& patterns) {
  if (!patterns.transfers)
    return Error{"no transfer takes several times as long as the median transfer of the same kind"};
  Remedy remedy;
  remedy.patches = patterns.transfers->patches;
  return remedy;
}

struct CauseRemedy {
  std::string_view name;
  Result<Remedy> (*make)(const AnalysedJob&, const Patterns&);
};
constexpr CauseRemedy kRemedies[] = {{"launch-delay", launches_at_once},
                                     {"stage-partition", even_partition},
                                     {"sequence-length", balanced_micro_batches},
                                     {"gc-pauses", without_pauses},
                                     {"slow-link", usual_links},
                                     {"communication-flap", usual_transfers},
                                     {"worker-fault", healthy_workers}};
constexpr std::array<std::string_view, std::size(kRemedies)> kRemedyNames = {
    kRemedies[0].name, kRemedies[1].name, kRemedies[2].name, kRemedies[3].name,
    kRemedies[4].name, kRemedies[5].name, kRemedies[6].name};

Result<Remedy> remedy_of_one(const AnalysedJob& job, const Patterns* patterns, const std::string& selector) {
  if (!selector.starts_with(kCauseKey)) {
    if (selector.find("&cause=") != std::string::npos)
      return Error{
          fmt::format("selector {}: a cause cannot be combined with other conditions; give the cause as a "
                      "separate selector",
                      in_quotes(selector))};
    Remedy remedy;
    GOODPUT_TRY(InstanceBox box, select(job.recording, selector));
    remedy.ideal.boxes.push_back(std::move(box));
    return remedy;
  }
  const std::string_view name = std::string_view(selector).substr(kCauseKey.size());
  const auto* known =
      std::ranges::find_if(kRemedies, [&](const CauseRemedy& remedy) { return remedy.name == name; });
  if (known == std::end(kRemedies)) {
    return Error{
        fmt::format("selector {}: there is no fix for cause {}{}; causes with a fix: {} (alone, without "
                    "other conditions); for any other cause, select the slow operations",
                    in_quotes(selector), in_quotes(name), did_you_mean(name, kRemedyNames),
                    fmt::join(kRemedyNames, ", "))};
  }
  if (patterns == nullptr)
    return Error{
        fmt::format("selector {}: this trace has no passes, so causes cannot be fixed by name; fix a rank or "
                    "an op type, for example rank=3",
                    in_quotes(selector))};
  Result<Remedy> remedy = known->make(job, *patterns);
  if (!remedy) return Error{fmt::format("selector {}: {}", in_quotes(selector), remedy.error().what)};
  return remedy;
}

}  // namespace

std::span<const std::string_view> remedied_causes() {
  return kRemedyNames;
}

Result<Remedy> remedy_of(const AnalysedJob& job, const Patterns* patterns,
                         const std::vector<std::string>& selectors) {
  Remedy all;
  std::vector<std::string> distinct;
  for (const std::string& selector : selectors) {
    if (std::ranges::find(distinct, selector) != distinct.end()) continue;
    distinct.push_back(selector);
    GOODPUT_TRY(const Remedy one, remedy_of_one(job, patterns, selector));
    all = united(std::move(all), one);
  }
  return all;
}

}  // namespace goodput

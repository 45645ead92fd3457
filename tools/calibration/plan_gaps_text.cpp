#include <fmt/format.h>

#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/calibration/plan_gaps.h"
#include "tools/calibration/table_text.h"
#include "tools/cli/text_table.h"

namespace goodput {
namespace {

// In the order of TableCoverage.
constexpr std::string_view kAnsweredBy[] = {"own table", "other tables", "intra-node tables", "roofline"};
constexpr std::string_view kCoverageNames[] = {"measured", "carried_over", "in_nodes", "none"};

std::string gap_sizes_text(const PlanGap& gap) {
  const std::string_view key = gap.work.size_key();
  const auto& [least, most] = gap.sizes;
  if (key == "bytes")
    return least == most ? bytes_text(least) : bytes_text(least) + " .. " + bytes_text(most);
  return least == most ? fmt::format("{} {:.0f}", key, least)
                       : fmt::format("{} {:.0f} .. {:.0f}", key, least, most);
}

}  // namespace

std::string plan_gaps_text(const PlanGaps& gaps, const std::string& plan) {
  const std::string name = on_one_line(plan);
  if (gaps.gaps.empty())
    return fmt::format("Nothing is missing: every op in a step of {} has its own table.\n", name);
  std::vector<TextRow> rows = {
      {"work that has no table in " + name, "sizes", "time taken from", "share of step"}};
  for (const PlanGap& gap : gaps.gaps) {
    rows.push_back({gap.work.name(), gap_sizes_text(gap),
                    std::string(kAnsweredBy[static_cast<std::size_t>(gap.work.coverage)]),
                    percent_text(gap.share)});
  }
  return aligned(rows) +
         fmt::format(
             "\nA step takes {:.6g} s. If the work above took no time, the step would take {} less.\n",
             to_seconds(gaps.step), percent_text(gaps.share));
}

OrderedJson plan_gaps_json(const PlanGaps& gaps, const std::string& plan) {
  OrderedJson json = {{"file", plan},
                      {"step_s", to_seconds(gaps.step)},
                      {"share", gaps.share},
                      {"missing", OrderedJson::array()}};
  for (const PlanGap& gap : gaps.gaps) {
    const AskedWork& work = gap.work;
    OrderedJson line = {{"work", work.name()},
                        {"coverage", kCoverageNames[static_cast<std::size_t>(work.coverage)]}};
    line["size"] = work.size_key();
    line["least"] = gap.sizes.least;
    line["most"] = gap.sizes.most;
    line["share"] = gap.share;
    json["missing"].push_back(std::move(line));
  }
  return json;
}

}  // namespace goodput

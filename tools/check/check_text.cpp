// For people at a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/text.h"
#include "tools/check/check_report.h"
#include "tools/check/check_summary.h"
#include "tools/cli/text_table.h"

namespace goodput {
namespace {

constexpr std::size_t kMostTextRows = 60;  // all are in --json
constexpr std::size_t kMostReasons = 10;   // the worst figures

std::string counts_text(const CheckReport& report) {
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const std::size_t count = report.count(static_cast<Outcome>(i));
    if (count > 0) counts.push_back(fmt::format("{} {}", count, kOutcomeNames[i]));
  }
  return counts.empty() ? "no figures" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string title(const CheckReport& report) {
  const std::string against = report.baseline_file.empty() ? "another goodput program" : report.baseline_file;
  return fmt::format("{} against {}: {}\n", on_one_line(report.suite.name), on_one_line(against),
                     counts_text(report));
}

// What moved, failed, came or went, worst first.
std::vector<const CheckedFigure*> shown_figures(const CheckReport& report) {
  std::vector<const CheckedFigure*> shown;
  for (const CheckedFigure& figure : report.figures) {
    if (figure.outcome != Outcome::kSame && figure.outcome != Outcome::kUndecided) shown.push_back(&figure);
  }
  return shown;
}

std::string figures_text(const std::vector<const CheckedFigure*>& figures) {
  if (figures.empty()) return "";
  std::vector<TextRow> rows = {{"", "was", "is", "change", "interval", "trials"}};
  for (std::size_t i = 0; i < std::min(figures.size(), kMostTextRows); ++i) {
    const CheckedFigure& figure = *figures[i];
    const auto name = kOutcomeNames[static_cast<std::size_t>(figure.outcome)];
    rows.push_back({fmt::format("{:<9}  {}", name, on_one_line(figure.name)),
                    value_text(figure, figure.baseline), value_text(figure, figure.figure),
                    change_text(figure), interval_text(figure),
                    figure.test ? fmt::format("{}", figure.test->trials) : ""});
  }
  std::string text = "\n" + aligned(rows);
  if (figures.size() > kMostTextRows)
    text += fmt::format("... and {} more (--json has all)\n", figures.size() - kMostTextRows);
  return text;
}

// Of one policy often the same of all its figures.
bool have_one_reason(const CheckedFigure& a, const CheckedFigure& b) {
  return a.reason == b.reason && a.why == b.why;
}

std::string reasons_text(const std::vector<const CheckedFigure*>& figures) {
  std::string text;
  std::size_t told = 0;
  const CheckedFigure* last = nullptr;
  std::string lines;
  for (const CheckedFigure* figure : figures) {
    const bool says_all = figure->outcome == Outcome::kGone ||
                          (figure->outcome == Outcome::kNew && figure->reason == kNotInBaseline);
    if (says_all || (figure->why.empty() && figure->reason.empty())) continue;
    if (last != nullptr && have_one_reason(*last, *figure)) {
      text += on_one_line(figure->name) + "\n";
      continue;
    }
    text += lines;
    if (++told > kMostReasons) return text;
    text += fmt::format("\n{}\n", on_one_line(figure->name));
    lines = figure->reason.empty() ? "" : fmt::format("  {}\n", on_one_line(figure->reason));
    for (const std::string& line : figure->why) lines += fmt::format("  {}\n", on_one_line(line));
    last = figure;
  }
  return text + lines;
}

std::string speeds_text(const CheckReport& report) {
  if (report.speeds.empty()) return "";
  std::vector<TextRow> rows = {{"time", "was", "is", "min", "median", "noise", "rounds"}};
  for (const SpeedResult& speed : report.speeds) {
    const std::string_view verdict = speed.is_slower() ? "slower" : speed.is_faster() ? "faster" : "same";
    rows.push_back(
        {fmt::format("{:<9}  {}", verdict, speed.run), fmt::format("{:.1f} ms", 1e3 * speed.baseline_s),
         fmt::format("{:.1f} ms", 1e3 * speed.program_s), fmt::format("{:.3f}x", speed.ratio.of_minima),
         fmt::format("{:.3f}x", speed.ratio.of_medians), fmt::format("{:.1f} %", 100 * speed.noise.excess()),
         fmt::format("{}", speed.rounds)});
  }
  return "\n" + aligned(rows);
}

}  // namespace

std::string check_text(const CheckReport& report) {
  const std::vector<const CheckedFigure*> figures = shown_figures(report);
  std::string text = check_headline(report) + "\n" + title(report) + figures_text(figures);
  if (const std::string undecided = undecided_text(report); !undecided.empty())
    text += "\n" + undecided + "\n";
  return text + reasons_text(figures) + speeds_text(report);
}

}  // namespace goodput

// A comment under a pull request: what moved as a table, why and the rest folded away.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "tools/check/check_report.h"
#include "tools/check/check_summary.h"

namespace goodput {
namespace {

constexpr std::size_t kMostMarkdownRows = 50;
constexpr std::size_t kMostSame = 300;  // a comment has some 65,000 characters

// Within a cell: names of users make neither columns nor links nor HTML.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : on_one_line(text)) {
    if (std::string_view("\\`*_{}[]<>()#|!~&@").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string headline(const CheckReport& report) {
  const std::string_view verdict = report.verdict();
  std::string text = fmt::format("### goodput check {}: {}\n\n{}\n\n", cell(report.suite.name), verdict,
                                 cell(check_headline(report)));
  const char* separator = "";
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const std::size_t count = report.count(static_cast<Outcome>(i));
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, kOutcomeNames[i]);
    separator = ", ";
  }
  return text + "\n";
}

std::string moved_table(const std::vector<const CheckedFigure*>& figures) {
  std::string text = "\n| | figure | was | is | change | interval |\n|---|---|---:|---:|---:|---|\n";
  for (std::size_t i = 0; i < std::min(figures.size(), kMostMarkdownRows); ++i) {
    const CheckedFigure& figure = *figures[i];
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n",
                        kOutcomeNames[static_cast<std::size_t>(figure.outcome)], cell(figure.name),
                        value_text(figure, figure.baseline), value_text(figure, figure.figure),
                        change_text(figure), interval_text(figure));
  }
  if (figures.size() > kMostMarkdownRows)
    text += fmt::format("\n... and {} more\n", figures.size() - kMostMarkdownRows);
  return text;
}

std::string details(std::string_view summary, const std::string& body) {
  return fmt::format("\n<details><summary>{}</summary>\n\n{}\n</details>\n", summary, body);
}

std::string why_list(const std::vector<const CheckedFigure*>& figures) {
  std::string text;
  for (std::size_t i = 0; i < std::min(figures.size(), kMostMarkdownRows); ++i) {
    const CheckedFigure& figure = *figures[i];
    if (figure.reason.empty() && figure.why.empty()) continue;
    text += fmt::format("- {}\n", cell(figure.name));
    if (!figure.reason.empty()) text += fmt::format("  - {}\n", cell(figure.reason));
    for (const std::string& line : figure.why) text += fmt::format("  - {}\n", cell(line));
  }
  return text;
}

std::string speed_table(const CheckReport& report) {
  std::string text = "\n| time | was | is | min | median | noise |\n|---|---:|---:|---:|---:|---:|\n";
  for (const SpeedResult& speed : report.speeds) {
    const std::string_view verdict = speed.is_slower() ? "slower: " : speed.is_faster() ? "faster: " : "";
    text += fmt::format("| {}{} | {:.1f} ms | {:.1f} ms | {:.3f} | {:.3f} | {:.1f} % |\n", verdict,
                        cell(speed.run), 1e3 * speed.baseline_s, 1e3 * speed.program_s, speed.ratio.of_minima,
                        speed.ratio.of_medians, 100 * speed.noise.excess());
  }
  return text;
}

}  // namespace

std::string check_markdown(const CheckReport& report) {
  std::vector<const CheckedFigure*> moved;
  std::string same;
  std::size_t listed = 0;
  for (const CheckedFigure& figure : report.figures) {
    if (figure.outcome == Outcome::kUndecided) continue;
    if (figure.outcome != Outcome::kSame)
      moved.push_back(&figure);
    else if (++listed <= kMostSame)
      same += fmt::format("- {}: {}\n", cell(figure.name), value_text(figure, figure.figure));
  }
  if (listed > kMostSame) same += fmt::format("- and {} more\n", listed - kMostSame);
  std::string text = headline(report);
  for (const std::string& note : report.notes) text += fmt::format("\n> {}\n", cell(note));
  if (!moved.empty()) text += moved_table(moved);
  if (const std::string undecided = undecided_text(report); !undecided.empty())
    text += fmt::format("\n{}\n", cell(undecided));
  if (const std::string why = why_list(moved); !why.empty()) text += details("Why", why);
  if (!same.empty()) text += details(fmt::format("{} the same", report.count(Outcome::kSame)), same);
  if (!report.speeds.empty()) text += speed_table(report);
  return text;
}

}  // namespace goodput

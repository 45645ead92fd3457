#include "tools/check/check_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "sim/base/text.h"

namespace goodput {
namespace {

// ---- A figure in words.

// What a metric is called, and its unit.
struct MetricWords {
  std::string name;
  std::string_view unit;
  [[nodiscard]] bool is_share() const { return unit == "%"; }
  [[nodiscard]] double factor() const { return is_share() ? 100 : 1; }
};

struct NamedMetric {
  std::string_view key, name, unit;
};
constexpr NamedMetric kNamedMetrics[] = {
    {"jct_s", "job completion time", "s"},
    {"p_deadline", "chance of meeting the deadline", "%"},
    {"samples_per_hour", "samples per hour", "samples/h"},
    {"wall_s", "wall time", "s"},
    {"goodput", "goodput", "%"},
    {"ettr", "effective training time ratio", "%"},
    {"running_goodput", "running goodput", "%"},
    {"efficiency", "efficiency", "%"},
    {"cost", "cost", "USD"},
    {"samples_per_usd", "samples per USD", "samples/USD"},
    {"waste", "waste", "%"},
    {"discrepancy", "discrepancy", "%"},
};

struct UnitSuffix {
  std::string_view suffix, unit;
};
constexpr UnitSuffix kUnitSuffixes[] = {{"_gb_per_s", "GB/s"}, {"_bytes", "bytes"}, {"_hours", "h"},
                                        {"_gib", "GiB"},       {"_usd", "USD"},     {"_ms", "ms"},
                                        {"_us", "us"},         {"_s", "s"}};

MetricWords words_of(const CheckedFigure& figure) {
  const std::string_view key = std::string_view(figure.name).substr(figure.name.rfind('/') + 1);
  for (const NamedMetric& named : kNamedMetrics) {
    if (named.key == key) return {std::string(named.name), named.unit};
  }
  MetricWords words{std::string(key), ""};
  for (const auto& [suffix, unit] : kUnitSuffixes) {
    if (!key.ends_with(suffix) || key.size() == suffix.size()) continue;
    words = {std::string(key.substr(0, key.size() - suffix.size())), unit};
    break;
  }
  std::replace(words.name.begin(), words.name.end(), '_', ' ');
  return words;
}

std::string with_unit(std::string number, std::string_view unit) {
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

std::string number_text(const MetricWords& words, double value) {
  return words.is_share() ? fmt::format("{:.4g}", 100 * value) : figure_text(value);
}

// Of a share, per cent could be of it or points.
std::string change_words(const CheckedFigure& figure, const MetricWords& words) {
  if (figure.is_relative)
    return words.is_share() ? "a relative change of " + change_text(figure) : change_text(figure);
  const std::string_view unit = words.is_share() ? "percentage points" : words.unit;
  return with_unit(fmt::format("{:+.4g}", words.factor() * *figure.change), unit);
}

std::string evidence_words(const CheckedFigure& figure) {
  const Tolerance& tolerance = figure.rule.tolerance;
  const std::string interval = interval_text(figure);
  if (!interval.empty())
    return fmt::format("{} at {:g} % confidence, {} trials", interval, 100 * *tolerance.confidence,
                       figure.test->trials);
  if (tolerance.kind == Tolerance::Kind::kExact) return "no change is allowed";
  return fmt::format("tolerance {}", tolerance.text());
}

std::string place_words(const CheckedFigure& figure) {
  if (figure.policy.empty()) return fmt::format("run {}", figure.run);
  return fmt::format("policy {} in scenario {}", figure.policy, figure.run);
}

// ---- The headline.

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

const CheckedFigure* first_of(const CheckReport& report, Outcome outcome) {
  const auto found =
      std::find_if(report.figures.begin(), report.figures.end(),
                   [outcome](const CheckedFigure& figure) { return figure.outcome == outcome; });
  return found == report.figures.end() ? nullptr : &*found;
}

// "1 of 4 figures worse: X" or "2 of 4 figures worse, most of all X".
std::string named_worst(const CheckReport& report, Outcome outcome, std::string_view verb) {
  const std::size_t count = report.count(outcome);
  return fmt::format("{} of {} {}{} {}", count, plural(report.figures.size(), "figure"), verb,
                     count == 1 ? ":" : ", most of all", moved_text(*first_of(report, outcome)));
}

std::string failed_sentence(const CheckReport& report) {
  const CheckedFigure& failed = *first_of(report, Outcome::kFailed);
  const std::string what = failed.policy.empty()
                               ? fmt::format("Run {}", failed.run)
                               : fmt::format("Policy {} in scenario {}", failed.policy, failed.run);
  const std::size_t count = report.count(Outcome::kFailed);
  const std::string others = count == 1 ? "" : fmt::format(" ({} figures failed)", count);
  return fmt::format("{} failed{}: {}", what, others, failed.reason);
}

std::string slower_sentence(const CheckReport& report) {
  const SpeedResult* slowest = nullptr;
  for (const SpeedResult& speed : report.speeds) {
    if (!speed.is_slower()) continue;
    if (slowest == nullptr || speed.ratio.of_minima > slowest->ratio.of_minima) slowest = &speed;
  }
  if (slowest == nullptr) return "";
  return fmt::format("Run {} takes {:.3f}x as long: {:.1f} ms -> {:.1f} ms (noise {:.1f} %)", slowest->run,
                     slowest->ratio.of_minima, 1e3 * slowest->baseline_s, 1e3 * slowest->program_s,
                     100 * slowest->noise.excess());
}

// What is neither worse nor the same: "2 undecided, 1 new".
struct OpenCounts {
  std::size_t count = 0;
  std::string text;
};

OpenCounts open_counts(const CheckReport& report) {
  std::vector<std::string> counts;
  OpenCounts open;
  for (const Outcome outcome : {Outcome::kUndecided, Outcome::kNew, Outcome::kGone}) {
    const std::size_t count = report.count(outcome);
    if (count == 0) continue;
    open.count += count;
    counts.push_back(fmt::format("{} {}", count, kOutcomeNames[static_cast<std::size_t>(outcome)]));
  }
  open.text = fmt::format("{}", fmt::join(counts, ", "));
  return open;
}

std::string harmless_sentence(const CheckReport& report) {
  const OpenCounts open = open_counts(report);
  if (report.verdict() == "regression")
    return fmt::format("Nothing is worse, but --strict counts {} figure{} as a regression", open.text,
                       open.count == 1 ? "" : "s");
  if (const std::size_t undecided = report.count(Outcome::kUndecided); undecided > 0)
    return fmt::format("Nothing is known to be worse, but {} of {} {} undecided", undecided,
                       plural(report.figures.size(), "figure"), undecided == 1 ? "is" : "are");
  if (report.count(Outcome::kBetter) > 0)
    return "Nothing is worse, and this change makes " + named_worst(report, Outcome::kBetter, "better");
  if (report.figures.empty()) return "There are no figures to compare";
  const std::size_t same = report.count(Outcome::kSame);
  if (same == report.figures.size())
    return same == 1 ? "Nothing is worse: the only figure is the same"
                     : fmt::format("Nothing is worse: all {} figures are the same", same);
  return fmt::format("Nothing is worse: {} the same, {}", same, open.text);
}

// ---- What is undecided.

// Rounded up to two digits: 87.3 s is 88 s, 134 s is 140 s.
double round_up(double seconds) {
  const double power = std::pow(10.0, std::max(0.0, std::floor(std::log10(seconds)) - 1));
  return std::ceil(seconds / power) * power;
}

std::string trials_range(const std::vector<const OpenQuestion*>& open) {
  const auto [least, most] =
      std::minmax_element(open.begin(), open.end(),
                          [](const OpenQuestion* a, const OpenQuestion* b) { return a->trials < b->trials; });
  if ((*least)->trials == (*most)->trials) return plural(static_cast<std::size_t>((*most)->trials), "trial");
  return fmt::format("{} to {} trials", (*least)->trials, (*most)->trials);
}

// Trials that should decide all; nothing: no number is known to.
std::optional<std::int64_t> trials_needed(const std::vector<const OpenQuestion*>& open) {
  std::int64_t needed = 0;
  for (const OpenQuestion* question : open) {
    if (!question->needed) return std::nullopt;
    needed = std::max(needed, *question->needed);
  }
  return needed;
}

// Time goes with trials; the other figures of the suite need no more of them.
double budget_for(const std::vector<const OpenQuestion*>& open, double budget_s) {
  double budget = budget_s;
  for (const OpenQuestion* question : open) {
    const auto wanted =
        static_cast<double>(std::min(question->needed.value_or(question->most), question->most));
    budget = std::max(budget,
                      budget_s * wanted / static_cast<double>(std::max<std::int64_t>(1, question->trials)));
  }
  return std::max(round_up(budget), 2 * budget_s);
}

std::string remedy(OpenQuestion::Cause cause, const std::vector<const OpenQuestion*>& open,
                   const CheckReport& report) {
  const auto needed = trials_needed(open);
  const std::string_view them = open.size() == 1 ? "it" : "them";
  const std::string about =
      needed ? fmt::format("about {} trials", *needed) : std::string("a wider tolerance");
  switch (cause) {
    case OpenQuestion::Cause::kOutOfTime: {
      std::int64_t most = 0;
      for (const OpenQuestion* question : open) most = std::max(most, question->most);
      const std::string budget = fmt::format("--budget-s {:g}", budget_for(open, report.budget_s));
      if (needed && *needed <= most) return fmt::format("{} ({}) should decide {}", budget, about, them);
      return fmt::format("{} is enough for all {} possible trials; {} should decide {}", budget, most, about,
                         them);
    }
    case OpenQuestion::Cause::kBaselineEnds:
      if (!needed) return fmt::format("more trials are unlikely to decide {}; widen the tolerance", them);
      return fmt::format(
          "the baseline has no more trials; {} should decide {} (give --against PATH with the program before "
          "the change, or set \"trials\": {} in the suite and make a new baseline with that program)",
          about, them, *needed);
    case OpenQuestion::Cause::kAllTrials:
      return fmt::format("{} should decide {}", about, them);
    case OpenQuestion::Cause::kStopped:
      return fmt::format("--fail-fast ended the check; leave out --fail-fast to decide {}", them);
    case OpenQuestion::Cause::kNoTrials:
      return "the baseline has too few trials to compare; rebuild it with --update";
  }
  return "";
}

}  // namespace

std::string value_text(const CheckedFigure& figure, std::optional<double> value) {
  if (!value) return "";
  const MetricWords words = words_of(figure);
  return with_unit(number_text(words, *value), words.unit);
}

std::string moved_text(const CheckedFigure& figure) {
  const MetricWords words = words_of(figure);
  const std::string place =
      fmt::format("{} {} {}", words.name, figure.policy.empty() ? "in" : "of", place_words(figure));
  if (!figure.baseline || !figure.figure || !figure.change) return fmt::format("{} {}", place, figure.reason);
  return fmt::format(
      "{}: {} -> {}, {} ({})", place,
      words.is_share() ? value_text(figure, figure.baseline) : number_text(words, *figure.baseline),
      value_text(figure, figure.figure), change_words(figure, words), evidence_words(figure));
}

std::string check_headline(const CheckReport& report) {
  std::vector<std::string> sentences;
  if (report.count(Outcome::kFailed) > 0) sentences.push_back(failed_sentence(report));
  if (report.count(Outcome::kWorse) > 0)
    sentences.push_back("This change makes " + named_worst(report, Outcome::kWorse, "worse"));
  if (report.count(Outcome::kWorse) == 0 && report.count(Outcome::kChanged) > 0)
    sentences.push_back("This change moves " +
                        named_worst(report, Outcome::kChanged, "that should stay the same"));
  if (std::string slower = slower_sentence(report); !slower.empty()) sentences.push_back(std::move(slower));
  if (sentences.empty()) sentences.push_back(harmless_sentence(report));
  return on_one_line(fmt::format("{}.", fmt::join(sentences, ". ")));
}

std::string undecided_text(const CheckReport& report) {
  std::map<OpenQuestion::Cause, std::vector<const OpenQuestion*>> by_cause;
  std::size_t count = 0;
  for (const CheckedFigure& figure : report.figures) {
    if (!figure.open) continue;
    by_cause[figure.open->cause].push_back(&*figure.open);
    ++count;
  }
  if (count == 0) return "";
  std::vector<std::string> parts;
  for (const auto& [cause, open] : by_cause) {
    const std::string many = by_cause.size() == 1 ? "" : std::to_string(open.size());
    const std::string at = cause == OpenQuestion::Cause::kNoTrials ? "" : " at " + trials_range(open);
    parts.push_back(fmt::format("{}{}: {}", many, at, remedy(cause, open, report)));
  }
  return fmt::format("{} {} undecided{}{}.", plural(count, "figure"), count == 1 ? "is" : "are",
                     by_cause.size() == 1 ? "" : ": ", fmt::join(parts, "; "));
}

}  // namespace goodput

// The format that continuous integration reads: a test case a figure.
#include <fmt/format.h>

#include "tools/check/check_report.h"
#include "tools/check/check_summary.h"

namespace goodput {
namespace {

// Text within an attribute or an element; what XML 1.0 has no place for is left out.
std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) escaped += c;
    }
  }
  return escaped;
}

bool is_failure(const CheckReport& report, Outcome outcome) {
  switch (outcome) {
    case Outcome::kFailed:
    case Outcome::kWorse:
    case Outcome::kChanged:
      return true;
    case Outcome::kUndecided:
    case Outcome::kGone:
    case Outcome::kNew:
      return report.is_strict;
    case Outcome::kBetter:
    case Outcome::kSame:
      return false;
  }
  return false;
}

std::string message_of(const CheckedFigure& figure) {
  std::string message(kOutcomeNames[static_cast<std::size_t>(figure.outcome)]);
  if (figure.change) message += ": " + moved_text(figure);
  if (!figure.reason.empty()) message += ": " + figure.reason;
  return message;
}

std::string test_case(const CheckReport& report, const CheckedFigure& figure) {
  const std::string head = fmt::format("  <testcase classname=\"{}\" name=\"{}\"",
                                       xml_text(report.suite.name + "." + figure.run), xml_text(figure.name));
  if (figure.outcome == Outcome::kSame || figure.outcome == Outcome::kBetter) return head + "/>\n";
  const std::string message = xml_text(message_of(figure));
  if (!is_failure(report, figure.outcome))
    return fmt::format("{}>\n    <skipped message=\"{}\"/>\n  </testcase>\n", head, message);
  std::string why;
  for (const std::string& line : figure.why) why += line + "\n";
  return fmt::format("{}>\n    <failure message=\"{}\">{}</failure>\n  </testcase>\n", head, message,
                     xml_text(why));
}

std::string speed_case(const CheckReport& report, const SpeedResult& speed) {
  const std::string head =
      fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\"",
                  xml_text(report.suite.name + ".time"), xml_text(speed.run), speed.program_s);
  if (!speed.is_slower()) return head + "/>\n";
  return fmt::format(
      "{}>\n    <failure message=\"slower: takes {:.3f}x as long, noise {:.1f} %\"/>\n  </testcase>\n", head,
      speed.ratio.of_minima, 100 * speed.noise.excess());
}

}  // namespace

std::string check_junit(const CheckReport& report) {
  std::size_t failures = 0;
  std::size_t skipped = 0;
  std::string cases;
  for (const CheckedFigure& figure : report.figures) {
    const bool fails = is_failure(report, figure.outcome);
    failures += fails ? 1 : 0;
    skipped += !fails && figure.outcome != Outcome::kSame && figure.outcome != Outcome::kBetter ? 1 : 0;
    cases += test_case(report, figure);
  }
  for (const SpeedResult& speed : report.speeds) {
    failures += speed.is_slower() ? 1 : 0;
    cases += speed_case(report, speed);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}</testsuite>\n",
      xml_text(report.suite.name), report.figures.size() + report.speeds.size(), failures, skipped, cases);
}

}  // namespace goodput

// The journal of a sweep's shard: the lines of a file, and what a line says whose checksum nobody looked at.
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/sweep/store/journal_file.h"
#include "tools/sweep/store/journal_line.h"

namespace goodput::fuzz {
namespace {

using Part = JournalLineReader::Part;

// What was read and is written again reads the same, with its trials and without. A line that nobody wrote
// may say one thing with its trials and nothing without: where it is no JSON, what is stepped over is not
// looked into.
void check_line(JournalLineReader& reader, std::string_view line) {
  static_cast<void>(reader.header(line));
  static_cast<void>(reader.point(line, Part::kAllButTrials));
  auto point = reader.point(line, Part::kAll);
  if (!point) return;
  const std::string written = journal_line(*point);
  const std::string_view text = std::string_view(written).substr(0, written.size() - 1);
  GOODPUT_CHECK(is_intact(text), "a line that was written is not intact");
  const auto again = reader.point(text, Part::kAll);
  GOODPUT_CHECK(again && journal_line(*again) == written, "a line that was written reads as another");
  const auto without_trials = reader.point(text, Part::kAllButTrials);
  for (PolicyRows& policy : point->policies) policy.trials.clear();
  GOODPUT_CHECK(without_trials && journal_line(*without_trials) == journal_line(*point),
                "a line that was written says something else without its trials");
}

}  // namespace
}  // namespace goodput::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const fuzz::MemoryFile memory(data, size);
  auto file = JournalFile::open(memory.path());
  if (!file) return 0;
  JournalLineReader reader;
  std::uint64_t behind = 0;
  for (;;) {
    const auto line = file->next();
    if (!line || !*line) break;
    GOODPUT_CHECK((*line)->offset == behind, "bytes between lines");
    behind += (*line)->text.size() + 1;
    fuzz::check_line(reader, (*line)->text);
  }
  GOODPUT_CHECK(behind == size || behind == size + 1, "bytes behind the last line");
  return 0;
}

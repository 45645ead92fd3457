// A body that was pushed: what is looked through reads the same again, in whole lines.
#include <string>

#include "sim/base/errors.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/web/pushed_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  PushLimits limits;
  limits.text_bytes = 100'000;
  limits.ratio_free_bytes = 10'000;
  limits.piece_bytes = 50;
  limits.line_bytes = 5000;
  PushedLines lines(std::string(reinterpret_cast<const char*>(data), size), limits);
  std::string first;
  for (;;) {
    const auto piece = lines.next();
    if (!piece) return 0;
    if (!*piece) break;
    GOODPUT_CHECK((*piece)->ends_with('\n'), "half a line");
    first += **piece;
  }
  GOODPUT_CHECK(first.size() - lines.text_bytes() <= 1, "text that was not sent");
  lines.rewind();
  std::string second;
  for (auto piece = lines.next();; piece = lines.next()) {
    GOODPUT_CHECK(piece.has_value(), "what was looked through is damaged");
    if (!*piece) break;
    second += **piece;
  }
  GOODPUT_CHECK(first == second, "another text the second time");
  return 0;
}

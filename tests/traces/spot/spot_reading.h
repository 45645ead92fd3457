// A spot trace from text, for tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tests/traces/io/temporary_file.h"
#include "traces/spot/spot_reader.h"

namespace goodput::testing {

inline constexpr std::string_view kSpotFile = "spot.txt";  // the content tells the format, not the name

inline SpotOptions held() {
  return {.meaning = SpotMeaning::kHeld};
}

inline SpotTrace read_spot(const std::string& text, const SpotOptions& options = {}) {
  const TemporaryFile file(kSpotFile, text);
  auto trace = read_spot_trace(file.path(), options);
  INFO((trace ? std::string() : trace.error().message()));
  REQUIRE(trace);
  return *std::move(trace);
}

// The error without the path: `:LINE: what` or ` /POINTER: what`.
inline std::string spot_error(const std::string& text, const SpotOptions& options = {}) {
  const TemporaryFile file(kSpotFile, text);
  const auto trace = read_spot_trace(file.path(), options);
  REQUIRE_FALSE(trace);
  CHECK(trace.error().message().find('\n') == std::string::npos);
  return without_path(trace.error().message(), file);
}

inline SimTime at_s(std::int64_t seconds) {
  return SimTime{std::chrono::seconds{seconds}};
}

}  // namespace goodput::testing

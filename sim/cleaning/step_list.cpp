#include "sim/cleaning/step_list.h"

#include <fmt/format.h>

namespace goodput {

std::string step_list(std::span<const std::int64_t> steps, std::size_t most) {
  std::string text;
  std::size_t parts = 0;
  for (std::size_t begin = 0; begin < steps.size(); ++parts) {
    if (parts == most) return text + fmt::format(" and {} more", steps.size() - begin);
    std::size_t end = begin + 1;
    while (end < steps.size() && steps[end] == steps[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - begin == 1 ? fmt::format("{}", steps[begin])
                             : fmt::format("{}-{}", steps[begin], steps[end - 1]);
    begin = end;
  }
  return text;
}

std::string named_steps(std::span<const std::int64_t> steps) {
  return fmt::format("step{} {}", steps.size() == 1 ? "" : "s", step_list(steps));
}

}  // namespace goodput

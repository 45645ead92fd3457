#include "tools/sweep/store/number_list.h"

#include <fmt/format.h>

#include <vector>

namespace goodput {
namespace {

constexpr std::size_t kMostListed = 10;

}  // namespace

std::string numbered(std::string_view noun, std::span<const std::uint64_t> numbers) {
  std::vector<std::string> parts;
  std::size_t listed = 0;
  while (listed < numbers.size() && parts.size() < kMostListed) {
    std::size_t last = listed;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last - listed < 2) last = listed;  // two neighbours are no range
    parts.push_back(last == listed ? fmt::format("{}", numbers[listed])
                                   : fmt::format("{}-{}", numbers[listed], numbers[last]));
    listed = last + 1;
  }
  if (listed < numbers.size()) parts.push_back(fmt::format("{} more", numbers.size() - listed));
  std::string text = fmt::format("{}{} {}", noun, numbers.size() == 1 ? "" : "s", parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) text += (i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return text;
}

}  // namespace goodput

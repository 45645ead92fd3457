#include "sim/config/yaml_nesting.h"

namespace goodput {

bool is_nested_too_deeply(std::string_view yaml) {
  int open = 0;
  int dashes = 0;
  for (std::size_t i = 0; i < yaml.size(); ++i) {
    const char c = yaml[i];
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    const bool is_indicator = (c == '-' || c == '?') && (i + 1 == yaml.size() || yaml[i + 1] == ' ');
    if (is_indicator)
      ++dashes;
    else if (c != ' ')
      dashes = 0;
    if (open > kDeepestYaml || dashes > kDeepestYaml) return true;
  }
  return false;
}

}  // namespace goodput

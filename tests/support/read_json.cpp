#include "tests/support/read_json.h"

#include <fstream>
#include <iterator>
#include <string>

namespace goodput::testing {

Json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return Json::parse(text);
}

}  // namespace goodput::testing

#include "tools/simulate/scenario_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

bool is_there(const std::string& path) {
  std::error_code failed;
  return !path.empty() && std::filesystem::exists(path, failed);
}

}  // namespace

Result<ScenarioFile> choose_file(std::string_view scenario, std::string pointer, const std::string& named,
                                 const std::string& fallback) {
  const std::string& first = named.empty() ? fallback : named;
  if (is_there(named) || (named.empty() && is_there(fallback)))
    return ScenarioFile{std::move(pointer), first, first};
  if (is_there(fallback)) return ScenarioFile{std::move(pointer), named, fallback};
  std::string what = fmt::format("{} does not exist", in_quotes(first));
  if (!named.empty() && !fallback.empty())
    what += fmt::format(", and neither does its fallback {}", in_quotes(fallback));
  return Error{std::move(what), {.file = std::string(scenario), .pointer = std::move(pointer)}};
}

Result<std::uint64_t> hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Error{"cannot be read", {.file = path}};
  Hash hash;
  hash.add(content);
  return hash.value();
}

}  // namespace goodput

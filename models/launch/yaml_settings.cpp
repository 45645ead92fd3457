#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/launch/structured_text.h"
#include "sim/base/text.h"
#include "sim/config/yaml_nesting.h"

namespace goodput::launch {
namespace {

constexpr std::size_t kMostSettings = 20'000;  // what references to earlier parts can multiply

Status too_many(const std::string& file) {
  return Error{fmt::format("has more than {} settings, the maximum for a launch file", kMostSettings),
               {.file = file}};
}

class YamlReader {
 public:
  explicit YamlReader(std::string file) : settings_(std::move(file)) {}

  Status add(const YAML::Node& node, const std::string& key, int depth) {
    if (++count_ > kMostSettings) return too_many(settings_.file());
    if (depth > kDeepestYaml)
      return Error{"is too deeply nested for a launch file", {.file = settings_.file()}};
    if (node.IsMap()) return add_members(node, key, depth);
    Setting setting{.key = key, .shown = {}, .texts = {}, .is_list = node.IsSequence(), .where = {}};
    setting.where = {.file = settings_.file(),
                     .position = Position::line(static_cast<std::uint64_t>(node.Mark().line) + 1)};
    if (node.IsScalar() || node.IsNull()) setting.texts.push_back(node.IsNull() ? "null" : node.Scalar());
    for (std::size_t i = 0; node.IsSequence() && i < node.size(); ++i) {
      if (node[i].IsScalar())
        setting.texts.push_back(node[i].Scalar());
      else
        GOODPUT_TRY_STATUS(add(node[i], fmt::format("{}.{}", key, i), depth + 1));
    }
    setting.shown =
        setting.is_list || setting.texts.empty() ? key : fmt::format("{}: {}", key, setting.texts[0]);
    settings_.add(std::move(setting));
    return Ok{};
  }

  Settings take() && { return std::move(settings_); }

 private:
  // "<<" takes over the members of what it refers to; the mapping's own members come after it.
  Status add_members(const YAML::Node& node, const std::string& key, int depth) {
    std::set<std::string> names;
    for (const bool merged : {true, false}) {
      for (const auto& member : node) {
        const std::string name = member.first.IsScalar() ? member.first.Scalar() : "";
        if ((name == "<<") != merged) continue;
        if (!merged && !names.insert(name).second) {
          return Error{
              fmt::format("{} is given twice", key.empty() ? name : fmt::format("{}.{}", key, name)),
              {.file = settings_.file(),
               .position = Position::line(static_cast<std::uint64_t>(member.first.Mark().line) + 1)}};
        }
        if (merged && member.second.IsSequence()) {
          for (std::size_t i = member.second.size(); i-- > 0;)
            GOODPUT_TRY_STATUS(add(member.second[i], key, depth + 1));
          continue;
        }
        const std::string below = key.empty() ? name : fmt::format("{}.{}", key, name);
        GOODPUT_TRY_STATUS(add(member.second, merged ? key : below, depth + 1));
      }
    }
    return Ok{};
  }

  Settings settings_;
  std::size_t count_ = 0;
};

}  // namespace

Result<Settings> yaml_settings(const std::string& text, const std::string& file) {
  if (is_nested_too_deeply(text)) return Error{"is too deeply nested for a launch file", {.file = file}};
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() != 1)
      return Error{fmt::format("has {} YAML documents; keep one", documents.size()), {.file = file}};
    const YAML::Node& root = documents.front();
    if (!root.IsMap()) return Error{"must be a mapping of keys to values", {.file = file}};
    YamlReader reader(file);
    GOODPUT_TRY_STATUS(reader.add(root, "", 0));
    return std::move(reader).take();
  } catch (const YAML::Exception& error) {
    const auto line = static_cast<std::uint64_t>(error.mark.line) + 1;
    return Error{"is not valid YAML: " + on_one_line(error.msg),
                 {.file = file, .position = Position::line(line)}};
  }
}

}  // namespace goodput::launch

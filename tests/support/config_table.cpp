#include "tests/support/config_table.h"

#include <fmt/format.h>

#include "sim/base/json.h"

namespace goodput::config {
namespace {

std::string preset_of(const Field& field) {
  if (field.need == Need::kRequired) return "required";
  OrderedJson preset;
  if (field.value.write) field.value.write(preset);
  return preset.is_null() || preset.is_object() ? "" : preset.dump();
}

void describe_into(std::string& table, const std::string& prefix, const Fields& fields) {
  for (const Field& field : fields) {
    const std::string key = prefix + std::string(field.key);
    table +=
        fmt::format("| `{}` | {} | {} | {} |\n", key, field.value.wanted, preset_of(field), field.meaning);
    if (field.value.fields) describe_into(table, key + '/', field.value.fields());
  }
}

}  // namespace

std::string describe(const Fields& fields) {
  std::string table = "| key | value | default | meaning |\n|---|---|---|---|\n";
  describe_into(table, "", fields);
  return table;
}

}  // namespace goodput::config

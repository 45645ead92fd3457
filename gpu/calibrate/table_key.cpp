#include "gpu/calibrate/table_key.h"

namespace goodput::gpu::calibrate {
namespace {

std::string text_of(const Param& param) {
  if (const auto* number = std::get_if<std::int64_t>(&param.value))
    return " " + param.name + "=" + std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&param.value)) return " " + param.name + "=" + *word;
  return std::get<bool>(param.value) ? " " + param.name : "";
}

}  // namespace

std::string text_of(const TableKey& table) {
  std::string text = table.op;
  for (const Param& param : table.params) text += text_of(param);
  return text;
}

std::string text_of(const PointKey& point) {
  if (point.size_name.empty()) return text_of(point.table);
  return text_of(point.table) + " " + point.size_name + "=" + std::to_string(point.size);
}

}  // namespace goodput::gpu::calibrate

#include "tools/calibration/measured_type_name.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace goodput {
namespace {

struct TypeName {
  std::string_view name;  // in lower case, without the prefixes below
  MeasuredType type;
};
constexpr TypeName kTypeNames[] = {{"bf16", MeasuredType::kBf16},      {"bfloat16", MeasuredType::kBf16},
                                   {"16bf", MeasuredType::kBf16},      {"fp16", MeasuredType::kFp16},
                                   {"f16", MeasuredType::kFp16},       {"half", MeasuredType::kFp16},
                                   {"float16", MeasuredType::kFp16},   {"16f", MeasuredType::kFp16},
                                   {"fp32", MeasuredType::kFp32},      {"f32", MeasuredType::kFp32},
                                   {"float", MeasuredType::kFp32},     {"float32", MeasuredType::kFp32},
                                   {"single", MeasuredType::kFp32},    {"32f", MeasuredType::kFp32},
                                   {"int8", MeasuredType::kInt8},      {"uint8", MeasuredType::kInt8},
                                   {"i8", MeasuredType::kInt8},        {"s8", MeasuredType::kInt8},
                                   {"char", MeasuredType::kInt8},      {"8i", MeasuredType::kInt8},
                                   {"fp8", MeasuredType::kFp8},        {"f8", MeasuredType::kFp8},
                                   {"float8", MeasuredType::kFp8},     {"e4m3", MeasuredType::kFp8},
                                   {"e5m2", MeasuredType::kFp8},       {"f8e4m3", MeasuredType::kFp8},
                                   {"f8e5m2", MeasuredType::kFp8},     {"fp8_e4m3", MeasuredType::kFp8},
                                   {"fp8_e5m2", MeasuredType::kFp8},   {"8f_e4m3", MeasuredType::kFp8},
                                   {"8f_e5m2", MeasuredType::kFp8},    {"float8_e4m3fn", MeasuredType::kFp8},
                                   {"float8_e5m2", MeasuredType::kFp8}};
constexpr std::string_view kPrefixes[] = {"torch.", "cuda_r_", "__nv_", "nv_", "__"};

}  // namespace

std::optional<MeasuredType> measured_type_of(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view rest = lower;
  for (const std::string_view prefix : kPrefixes) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    break;
  }
  const auto found = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                  [&](const TypeName& one) { return one.name == rest; });
  if (found == std::end(kTypeNames)) return std::nullopt;
  return found->type;
}

}  // namespace goodput

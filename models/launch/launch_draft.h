// A plan in the making: values of a plan's keys that launch files state, that follow from others, or that are
// assumed, each with its origin.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/settings.h"
#include "sim/base/errors.h"

namespace goodput::launch {

// Where a value comes from, weakest first. A stronger basis replaces a weaker one; of two equal ones the
// later counts, but the first of two assumptions.
enum class Basis : std::uint8_t {
  kAssumed,  // the framework's default
  kBase,     // a model or recipe that the user names
  kStated,   // a launch file, or what follows from one
  kOption,   // the user, in place of what the files state
};

struct DraftValue {
  std::string json{};  // the value, as JSON text
  Basis basis = Basis::kAssumed;
  std::string origin{};  // "pretrain.sh:7: --num-layers 80", "Megatron-LM's default", "GPUs / (tp x pp)"
  Where where{};         // of a stated one
  std::string shown{};   // of a stated one, as the user wrote it: "--num-layers 80"
};

// Tells the user about a setting that is not modeled, or that looks like a mistake.
struct LaunchWarning {
  std::string text{};
  Where where{};
};

class LaunchDraft {
 public:
  // ---- Values, by their pointers in a plan: "/parallel/tp". `/gpus` is the number of GPUs.

  // Fails if another file states another value.
  Status state(std::string_view pointer, std::string json, const Setting& by);
  Status state_integer(std::string_view pointer, const Setting* by);  // null: the key is not set
  // Follows from what is stated.
  void derive(std::string_view pointer, std::string json, std::string how);
  void assume(std::string_view pointer, std::string json, std::string why);
  void set(std::string_view pointer, std::string json, std::string origin, Basis basis, Where where = {},
           std::string shown = {});
  // The model is the one that the user or a file names: what the files state of it must agree.
  void fix_model(std::string name);

  [[nodiscard]] const DraftValue* find(std::string_view pointer) const;
  [[nodiscard]] bool has(std::string_view pointer) const { return find(pointer) != nullptr; }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view pointer) const;
  [[nodiscard]] std::int64_t integer_or(std::string_view pointer, std::int64_t otherwise) const;
  [[nodiscard]] bool is_true(std::string_view pointer) const;
  [[nodiscard]] const std::map<std::string, DraftValue, std::less<>>& values() const { return values_; }

  // GPUs / (tp x pp x cp), once these are there; none: the number of GPUs is not known. Fails if it is not
  // whole.
  Result<std::optional<std::int64_t>> replicas() const;

  // ---- What to tell the user.

  void warn(std::string text, Where where = {});
  void warn(const Setting& setting, std::string_view text);
  // Has no effect on a plan.
  void ignore(const Setting& setting);

  std::vector<LaunchWarning> warnings{};
  std::vector<std::string> ignored{};
  // Features that the user accepts to be treated as the nearest thing that is modeled.
  std::vector<std::string> approximated{};
  // Fails unless the user accepts it. `instead`: "full attention".
  Status approximate(const Setting& setting, std::string_view feature, std::string_view instead);
  std::string model_name{};        // of a library's model that the files name
  std::string title{};             // of the model, for reports
  std::string fixed_model{};       // what the fixed model is called; empty: the files describe it
  bool has_default_batch = false;  // a batch that is not given is one micro-batch per replica

 private:
  [[nodiscard]] bool is_fixed(std::string_view pointer) const;

  std::map<std::string, DraftValue, std::less<>> values_{};
};

// "FILE:LINE: --num-layers 80"
[[nodiscard]] std::string origin_of(const Setting& setting);
[[nodiscard]] std::string json_text(std::string_view text);  // in quotation marks

}  // namespace goodput::launch

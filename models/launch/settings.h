// What a launch file sets, whatever its syntax: one setting per key, each with its place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput::launch {

// Around the name of a shell variable, in a text: the script does not set it.
inline constexpr char kUnsetBegin = '\x01';
inline constexpr char kUnsetEnd = '\x02';
// Behind kUnsetBegin: the script sets it to something that goodput cannot tell.
inline constexpr char kUnknown = '\x03';

struct Setting {
  std::string key{};                 // tensor_model_parallel_size, model.num_layers
  std::string shown{};               // as the user wrote it: "--tensor-model-parallel-size 4"
  std::vector<std::string> texts{};  // the value; several: a list; none: a flag without value, or null
  bool is_list = false;
  Where where{};

  [[nodiscard]] Error error(std::string_view what) const;
};

// The settings of one file. Those that nobody asked for remain in unused().
class Settings {
 public:
  explicit Settings(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] const std::string& file() const { return file_; }
  // A later setting of the same key replaces the earlier one, as in argparse.
  void add(Setting setting);

  // Each of these marks the setting as used. Several keys: the first that is set.
  [[nodiscard]] const Setting* find(std::initializer_list<std::string_view> keys);
  [[nodiscard]] const Setting* find(std::string_view key) { return find({key}); }
  // Marks a setting as used although other settings override it.
  void skip(std::string_view key) { static_cast<void>(find({key})); }
  [[nodiscard]] bool has(std::string_view key) const;
  // Also false and 0: off.
  [[nodiscard]] bool is_on(std::string_view key);
  [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise = "");
  [[nodiscard]] std::vector<const Setting*> unused() const;
  [[nodiscard]] const std::vector<Setting>& all() const { return settings_; }

 private:
  std::string file_;
  std::vector<Setting> settings_{};
  std::vector<bool> used_{};
  std::map<std::string, std::size_t, std::less<>> by_key_{};
};

// The value of a setting. Errors name the place, the key as written, and what it must be.
[[nodiscard]] Result<std::int64_t> integer_of(const Setting& setting);
[[nodiscard]] Result<double> number_of(const Setting& setting);
// A flag without a value is true.
[[nodiscard]] Result<bool> flag_of(const Setting& setting);
[[nodiscard]] Result<std::string> text_of(const Setting& setting);
// No value: null, none, "".
[[nodiscard]] bool is_null(const Setting& setting);

}  // namespace goodput::launch

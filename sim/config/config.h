// Strict JSON files to plain structs and back, from one list of fields a struct.
//
// A struct T that can be configured has beside it
//   std::vector<config::Field> config_fields(T&);  // key, where it goes and its limits, what it means
//   Status config_finish(T&);                      // optional: derived defaults, rules between fields;
//                                                  // errors have a pointer from T: "/kv_heads"
// A field's default is what the struct holds before. Unknown, missing and repeated keys, wrong types and
// values out of range are errors "FILE /json/pointer: what"; the first one ends the reading. Every object may
// also have "source" (text), "sources" ({key: text}) and "tier" (sim/base/tier.h), which say where its
// numbers come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "sim/base/tier.h"
#include "sim/base/units.h"
#include "sim/config/changes.h"
#include "sim/config/library.h"

namespace goodput::config {

// A key that was given and has no effect, or was given by its former name.
struct KeyNote {
  std::string file{};
  std::string pointer{};
  std::string why{};       // why the key has no effect; empty if it has one
  std::string new_name{};  // empty: the key was not renamed
};
using KeyNotes = std::vector<KeyNote>;

// A key that was given by its former name, or may turn out to have no effect (Field::idle).
struct GivenKey {
  std::string file{};
  std::string pointer{};
  std::function<std::string()> idle{};
  std::string new_name{};  // empty: the key was not renamed
};

// Where a value stands; reading leaves behind the lowest tier that is named in it.
struct Place {
  std::string file;
  std::string pointer;
  std::optional<Tier> tier;
  const Library* library = nullptr;  // where names are looked up besides; none: only beside the file
  Changes* changes = nullptr;        // of the file, those that wait for files it names; none: there are none
  std::vector<GivenKey>* given = nullptr;  // gathers them; none: nobody wants to know

  [[nodiscard]] Error error(std::string what) const;
  // "is VALUE, want WANTED". Error::option is that of the change that put the value there, if one did.
  [[nodiscard]] Error not_wanted(const Json& value, std::string_view wanted) const;
  [[nodiscard]] Place at(std::string_view key) const;
  // What relative paths here start at: the folder of the file, or of the config that changes the value.
  [[nodiscard]] std::filesystem::path folder() const;
};

struct Field;
using Fields = std::vector<Field>;

// How one value is read, written (null: left out) and described. Refers to the variable it was made for.
struct Value {
  std::string wanted;  // "an integer from 1 to 8"
  std::function<Status(const Json&, Place&)> read;
  std::function<void(OrderedJson&)> write;  // into a null; none: never written
  std::function<Fields()> fields;           // of an object, for tables in docs
};

enum class Need : std::uint8_t { kRequired, kOptional };

struct Field {
  std::string_view key;
  Need need = Need::kOptional;
  Value value;
  std::string_view meaning;
  // Why this key has no effect given the other keys; empty if it has one. Asked once all are read.
  // Such a key is named where it was given, and not written. Refers to what the value refers to.
  std::function<std::string()> idle{};
  // Called if the key is not given, with the place of the missing value; none: the variable keeps what it
  // held.
  std::function<Status(Place&)> absent{};
  // The key's name before it was renamed. It is still read, with a note, and results still use it for the
  // programs that read them. Empty: the key was not renamed.
  std::string_view former_key{};
};
// `field`, whose key was `former_key` before.
[[nodiscard]] Field renamed(Field field, std::string_view former_key);

struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool is_least_excluded = false;
};
[[nodiscard]] constexpr Range at_least(double least) {
  return {.least = least};
}
[[nodiscard]] constexpr Range above(double least) {
  return {.least = least, .is_least_excluded = true};
}
[[nodiscard]] constexpr Range between(double least, double most) {
  return {.least = least, .most = most};
}
inline constexpr Range kFraction = {.least = 0, .most = 1, .is_least_excluded = true};

// ---- Kinds of values. What they are given must outlive them.

[[nodiscard]] Value integer(std::int32_t& value, std::int64_t least,
                            std::int64_t most = std::numeric_limits<std::int32_t>::max());
[[nodiscard]] Value integer(std::int64_t& value, std::int64_t least, std::int64_t most);
[[nodiscard]] Value integers(std::vector<std::int32_t>& values, std::int64_t least,
                             std::int64_t most = std::numeric_limits<std::int32_t>::max());
[[nodiscard]] Value flag(bool& value);
[[nodiscard]] Value text(std::string& value);
// Lists, written unless they are empty.
[[nodiscard]] Value texts(std::vector<std::string>& values);
[[nodiscard]] Value numbers(std::vector<double>& values, Range range);
[[nodiscard]] Value path(
    std::string& value);  // of a file, relative to the config that names it (Place::folder())

// A number in the file is `unit` of the variable's: number(gpu.bf16, above(0), 1e12) for TFLOP/s.
[[nodiscard]] Value number(std::function<std::optional<double>()> get, std::function<void(double)> set,
                           Range range);
[[nodiscard]] Value number(double& value, Range range, double unit = 1);
[[nodiscard]] Value number(Bytes& value, Range range, double unit);             // to the nearest byte
[[nodiscard]] Value number(SimDuration& value, Range range, SimDuration unit);  // to the nearest ns
[[nodiscard]] Value number(FlopsPerSecond& value, Range range, double unit);
[[nodiscard]] Value number(std::optional<FlopsPerSecond>& value, Range range, double unit);
[[nodiscard]] Value number(BytesPerSecond& value, Range range, double unit);

[[nodiscard]] Value choice(std::function<std::size_t()> get, std::function<void(std::size_t)> set,
                           std::span<const std::string_view> names);
// `names` in the order of the enumerators.
template <typename Enum>
[[nodiscard]] Value choice(Enum& value, std::span<const std::string_view> names) {
  return choice([&value] { return static_cast<std::size_t>(value); },
                [&value](std::size_t index) { value = static_cast<Enum>(index); }, names);
}
// The lowest tier of its object and all within that keep none of their own. Written with key "tier".
[[nodiscard]] Field tier(Tier& value);

// ---- Objects.

struct ObjectAccess {
  std::function<bool()> is_present;
  std::function<Fields()> fields;  // makes it present
  std::function<Status()> finish;
};
[[nodiscard]] Value object(const ObjectAccess& access);

template <typename T>
[[nodiscard]] Status finish(T& value) {
  if constexpr (requires { config_finish(value); })
    return config_finish(value);
  else
    return Ok{};
}
template <typename T>
[[nodiscard]] ObjectAccess access(T& value) {
  return {[] { return true; }, [&value] { return config_fields(value); }, [&value] { return finish(value); }};
}
template <typename T>
[[nodiscard]] ObjectAccess access(std::optional<T>& value) {
  const auto fields = [&value] { return config_fields(value ? *value : value.emplace()); };
  return {[&value] { return value.has_value(); }, fields, [&value] { return finish(*value); }};
}
template <typename T>
[[nodiscard]] Value object(T& value) {
  return object(access(value));
}

// An array. `value_at(i)` is how element i is read and written; it appends an element if there are only i.
struct ListAccess {
  std::function<void()> clear;
  std::function<std::size_t()> size;
  std::function<Value(std::size_t)> value_at;
};
[[nodiscard]] Value list(const ListAccess& access, std::string wanted);

// `wanted`: "an array of causes".
template <typename T>
[[nodiscard]] Value objects(std::vector<T>& values, std::string wanted) {
  const auto value_at = [&values](std::size_t i) {
    if (i == values.size()) values.emplace_back();
    return object(values[i]);
  };
  return list({[&values] { values.clear(); }, [&values] { return values.size(); }, value_at},
              std::move(wanted));
}

// An object, or the file that has it: "y/x.json" is seen from Place::folder(), a name is looked up
// (find_from). The file that was read goes to `sources`.
[[nodiscard]] Value object_or_name(const ObjectAccess& access, const Kind& kind,
                                   std::vector<Source>& sources);

// The file that the value at `place` names: by its path, seen from Place::folder(), or by a name.
[[nodiscard]] Result<Source> source_named(const std::string& name, const Place& place, const Kind& kind);

// "y/x.json", seen from Place::folder(), or a name, left as it is.
[[nodiscard]] Value path_or_name(std::string& value, const Kind& kind);

// ---- Whole files.

// `library`: where names that it has are looked up. `changes`: made before anything is read. `kind`: what the
// file is, if it may also be one of another program (Library::foreign). The result is what to note about the
// keys of this file and of those that it names.
[[nodiscard]] Result<KeyNotes> read_file(const std::string& file, const ObjectAccess& access,
                                         const Library& library = {}, Changes changes = {},
                                         const Kind* kind = nullptr);
// The same, where parts of the file are read later: `changes` then know what they put there (Place::changes).
[[nodiscard]] Result<KeyNotes> read_changed_file(const std::string& file, const ObjectAccess& access,
                                                 const Library& library, Changes& changes);
// The same of an object that is in no file: names are looked up here and in the library.
[[nodiscard]] Result<KeyNotes> read_object(const Json& object, const ObjectAccess& access,
                                           const Library& library, Changes changes);
// What to note about the keys that were given, after everything was read. For an object without effect, the
// keys in it get no note.
[[nodiscard]] KeyNotes key_notes(std::span<const GivenKey> given);
[[nodiscard]] OrderedJson write(const Fields& fields);

template <typename T>
[[nodiscard]] Result<T> read(const std::string& file, const Library& library = {}) {
  T value{};
  GOODPUT_TRY_STATUS(read_file(file, access(value), library));
  return value;
}

}  // namespace goodput::config

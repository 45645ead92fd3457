// Registries: what can be chosen by name - schedules, cost models, failure models, recovery policies, trace
// formats, commands.
//
// All have one shape. To add a thing takes a file and a line:
//   a line with its name, an identifier, in the .def file of its kind:
//     GOODPUT_SCHEDULE(zb_h1)
//   a file of that name that defines `<kind>_<name>()`, which returns the thing's info: a struct with `name`
//   (what users write; "zb-h1"), `summary` (a line of `goodput list`) and whatever makes the thing:
//     ScheduleInfo schedule_zb_h1() { return {"zb-h1", "zero-bubble H1: ...", schedule}; }
// Nothing else knows it by name. The kind itself has, once for all its things,
//   the struct of the info and a declaration of every `<kind>_<name>()`, in its header,
//   a function that returns all infos: those of a Registry.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// `unknown KIND "NAME"; did you mean "X"?; known: X, Y`: the error for every name that does not exist.
[[nodiscard]] Error unknown_name(std::string_view kind, std::string_view name,
                                 std::span<const std::string_view> known);

// Where `name` stands in `known`: of an enum, the names of its enumerators. Fails with unknown_name().
[[nodiscard]] Result<std::size_t> index_of_name(std::span<const std::string_view> known,
                                                std::string_view kind, std::string_view name);

// The names of all infos, in their order.
template <typename Infos>
[[nodiscard]] std::vector<std::string_view> names_of(const Infos& infos) {
  std::vector<std::string_view> names;
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

// The info of this name. Fails with unknown_name(); Error::where is empty.
template <typename Info>
[[nodiscard]] Result<Info> find_named(std::span<const Info> infos, std::string_view kind,
                                      std::string_view name) {
  GOODPUT_TRY(const std::size_t at, index_of_name(names_of(infos), kind, name));
  return infos[at];
}

// Fails as our bug where a name is empty or there twice.
void check_names(std::span<const std::string_view> names);

// The infos of all things of a kind, in the order of its .def; names are checked.
template <typename Info>
class Registry {
 public:
  Registry(std::initializer_list<Info> infos) : infos_(infos) { check_names(names_of(infos_)); }

  [[nodiscard]] std::span<const Info> infos() const { return infos_; }

 private:
  std::vector<Info> infos_;
};

}  // namespace goodput

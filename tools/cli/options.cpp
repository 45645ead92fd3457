#include "tools/cli/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace goodput {

Option& Option::required() {
  declared_->option->required();
  return *this;
}

Option& Option::one_value_each() {
  declared_->option->allow_extra_args(false);
  return *this;
}

Option& Option::at_least(int values) {
  declared_->option->expected(values, CLI::detail::expected_max_vector_size);
  return *this;
}

Option& Option::in_group(const std::string& name) {
  declared_->option->group(name);
  return *this;
}

Option& Option::check(std::string (*problem)(const std::string&)) {
  declared_->option->check(problem);
  return *this;
}

Option& Option::input() {
  declared_->is_input = true;
  return output();
}

Option& Option::inputs_but_last() {
  declared_->is_last_output = true;
  return input();
}

Option& Option::output() {
  declared_->kind = {ValueKind::Of::kFile, {}, {}};
  return *this;
}

Option& Option::folder() {
  declared_->kind = {ValueKind::Of::kFolder, {}, {}};
  return *this;
}

Option& Option::one_of(std::span<const std::string_view> names) {
  declared_->kind = {ValueKind::Of::kChoice, {names.begin(), names.end()}, {}};
  return *this;
}

Option& Option::listed(std::string_view what) {
  declared_->is_input = true;
  declared_->kind = {ValueKind::Of::kListed, {}, std::string(what)};
  return *this;
}

template <typename T>
Option Options::add(const std::string& name, T& value, const std::string& value_name,
                    const std::string& help) {
  // CLI11 calls an argument by its name in messages: FILE, not what the code calls it.
  const bool is_argument = !name.starts_with('-');
  const std::string shown = is_argument ? value_name.substr(0, value_name.find_first_of(". ")) : name;
  CLI::Option* option = app_->add_option(shown, value, help);
  if (!is_argument) option->type_name(value_name);
  DeclaredOption& declared = declared_->emplace_back();
  declared.option = option;
  declared.value_name = value_name;
  if (const auto comma = name.find(','); comma != std::string::npos)
    declared.former_name = name.substr(comma + 1);
  if constexpr (std::is_same_v<T, std::string>) declared.text = &value;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) declared.texts = &value;
  return Option(declared);
}

template Option Options::add(const std::string&, std::string&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::vector<std::string>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::int64_t&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::uint64_t&, const std::string&, const std::string&);
template Option Options::add(const std::string&, int&, const std::string&, const std::string&);
template Option Options::add(const std::string&, double&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::optional<std::int64_t>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::optional<double>&, const std::string&,
                             const std::string&);

Option Options::add_flag(const std::string& name, bool& value, const std::string& help) {
  DeclaredOption& declared = declared_->emplace_back();
  declared.option = app_->add_flag(name, value, help);
  return Option(declared);
}

Options Options::add_subcommand(const std::string& name, const std::string& summary) {
  app_->require_subcommand(1);
  return {*app_->add_subcommand(name, summary), *declared_};
}

Options Options::add_optional_subcommand(const std::string& name, const std::string& summary) {
  app_->require_subcommand(0, 1);
  return {*app_->add_subcommand(name, summary), *declared_};
}

bool Options::are_chosen() const {
  return app_->parsed();
}

}  // namespace goodput

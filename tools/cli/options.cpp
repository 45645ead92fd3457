#include "tools/cli/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace goodput {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::at_least(int values) {
  option_->expected(values, CLI::detail::expected_max_vector_size);
  return *this;
}

Option& Option::in_group(const std::string& name) {
  option_->group(name);
  return *this;
}

template <typename T>
Option Options::add(const std::string& name, T& value, const std::string& value_name,
                    const std::string& help) {
  CLI::Option* option = app_->add_option(name, value, help);
  option->option_text(value_name);
  return Option(*option);
}

template Option Options::add(const std::string&, std::string&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::vector<std::string>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::int64_t&, const std::string&, const std::string&);
template Option Options::add(const std::string&, double&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::optional<std::int64_t>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::optional<double>&, const std::string&,
                             const std::string&);

Option Options::add_flag(const std::string& name, bool& value, const std::string& help) {
  return Option(*app_->add_flag(name, value, help));
}

Options Options::add_subcommand(const std::string& name, const std::string& summary) {
  app_->require_subcommand(1);
  return Options(*app_->add_subcommand(name, summary));
}

bool Options::are_chosen() const {
  return app_->parsed();
}

}  // namespace goodput

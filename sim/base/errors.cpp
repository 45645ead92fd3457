#include "sim/base/errors.h"

#include <fmt/format.h>

namespace goodput {
namespace {

std::string text_of(const Position& position) {
  switch (position.unit) {
    case Position::Unit::kNone:
      return {};
    case Position::Unit::kLine:
      return position.column == 0 ? fmt::format(":{}", position.number)
                                  : fmt::format(":{}:{}", position.number, position.column);
    case Position::Unit::kRow:
      return fmt::format(":row {}", position.number);
    case Position::Unit::kEvent:
      return fmt::format(": event {}", position.number);
    case Position::Unit::kByte:
      return fmt::format(": byte {}", position.number);
  }
  return {};
}

}  // namespace

bool Where::empty() const {
  return *this == Where{};
}

std::string Where::text() const {
  std::string text = file + text_of(position);
  if (!text.empty() && !pointer.empty()) text += ' ';
  return text + pointer;
}

std::string Error::message() const {
  return message([](std::string_view key) { return std::string(key); });
}

std::string Error::message(OptionName name_of) const {
  std::string place = where.text();
  std::string said = what;
  if (!option.empty()) {
    if (const auto at = said.find(kOption); at != std::string::npos)
      said.replace(at, kOption.size(), name_of(option));
    else if (place.empty())
      place = name_of(option);
  }
  return place.empty() ? said : place + ": " + said;
}

Error Error::inside(std::string_view pointer) && {
  if (where.file.empty()) where.pointer.insert(0, pointer);
  return std::move(*this);
}

Error Error::inside(std::string_view pointer) const& {
  return Error(*this).inside(pointer);
}

Error Error::in_file(std::string_view file) && {
  if (where.file.empty()) where.file = file;
  return std::move(*this);
}

Error Error::in_file(std::string_view file) const& {
  return Error(*this).in_file(file);
}

Error Error::of_option(std::string_view key) && {
  option = key;
  return std::move(*this);
}

Error Error::of_option(std::string_view key) const& {
  return Error(*this).of_option(key);
}

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(fmt::format("{}:{}: {} ({})", file, line, message, condition));
}

}  // namespace goodput

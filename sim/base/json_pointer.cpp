#include "sim/base/json_pointer.h"

#include <algorithm>

#include "sim/base/json_text.h"

namespace goodput {
namespace {

std::string unescaped(std::string_view escaped) {
  std::string name;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '~') {
      name += escaped[i];
      continue;
    }
    ++i;
    if (i == escaped.size() || (escaped[i] != '0' && escaped[i] != '1'))
      throw JsonError("a ~ in a JSON pointer must be followed by 0 or 1");
    name += escaped[i] == '0' ? '~' : '/';
  }
  return name;
}

}  // namespace

JsonPointer::JsonPointer(std::string_view text) {
  if (text.empty()) return;
  if (text.front() != '/') throw JsonError("a JSON pointer must begin with a slash");
  for (std::size_t begin = 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    names_.push_back(unescaped(text.substr(begin, end - begin)));
    begin = end + 1;
  }
}

std::string JsonPointer::to_string() const {
  std::string text;
  for (const std::string& name : names_) {
    text += '/';
    for (const char c : name) {
      if (c == '~') {
        text += "~0";
      } else if (c == '/') {
        text += "~1";
      } else {
        text += c;
      }
    }
  }
  return text;
}

JsonPointer JsonPointer::parent_pointer() const {
  JsonPointer parent = *this;
  if (!parent.empty()) parent.pop_back();
  return parent;
}

}  // namespace goodput

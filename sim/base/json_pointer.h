// JSON pointers (RFC 6901): "/policies/ds/checkpoint".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

class JsonPointer {
 public:
  JsonPointer() = default;
  // Throws JsonError unless `text` is empty or begins with a slash, and if a ~ is not followed by 0 or 1.
  explicit JsonPointer(std::string_view text);

  [[nodiscard]] bool empty() const { return names_.empty(); }  // points to the whole document
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] JsonPointer parent_pointer() const;  // of the whole document: itself
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // REQUIRES: !empty().
  [[nodiscard]] const std::string& back() const { return names_.back(); }
  void pop_back() { names_.pop_back(); }

 private:
  std::vector<std::string> names_;
};

}  // namespace goodput

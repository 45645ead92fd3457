// JSON values. Parsing and the text of numbers and strings are nlohmann_json's, which json.cpp alone
// includes.
//
// Both classes are instantiated in json.cpp only: a source that uses them compiles no more than the small
// members defined here.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/json_fwd.h"
#include "sim/base/json_pointer.h"
#include "sim/base/json_text.h"

namespace goodput {

template <KeyOrder kOrder>
struct JsonMember;

template <KeyOrder kOrder>
class BasicJson {
 public:
  using Member = JsonMember<kOrder>;
  class Element;

  // The elements of an array, or the values of an object's members.
  template <typename Value>
  class Iterator {
   public:
    using MemberPointer = std::conditional_t<std::is_const_v<Value>, const Member*, Member*>;
    using iterator_category = std::forward_iterator_tag;
    using value_type = BasicJson;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;

    Iterator() = default;
    Iterator(Value* element, MemberPointer member) : element_(element), member_(member) {}
    [[nodiscard]] Value& value() const { return member_ != nullptr ? member_->value : *element_; }
    [[nodiscard]] const std::string& key() const { return member_->key; }  // REQUIRES: of an object
    Value& operator*() const { return value(); }
    Value* operator->() const { return &value(); }
    Iterator& operator++() {
      if (member_ != nullptr) {
        ++member_;
      } else {
        ++element_;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.element_ == b.element_ && a.member_ == b.member_;
    }

   private:
    Value* element_ = nullptr;
    MemberPointer member_ = nullptr;
  };
  using iterator = Iterator<BasicJson>;              // NOLINT(readability-identifier-naming): of containers
  using const_iterator = Iterator<const BasicJson>;  // NOLINT(readability-identifier-naming)

  // NOLINTBEGIN(google-explicit-constructor): values of these types are JSON
  BasicJson() = default;
  BasicJson(std::nullptr_t) {}
  template <std::same_as<bool> Bool>
  BasicJson(Bool value) : type_(Type::kBoolean) {
    payload_.boolean = value;
  }
  template <std::signed_integral Integer>
  BasicJson(Integer value) : type_(Type::kInteger) {
    payload_.integer = value;
  }
  template <std::unsigned_integral Integer>
  requires(!std::same_as<Integer, bool>) BasicJson(Integer value) : type_(Type::kUnsigned) {
    payload_.natural = value;
  }
  BasicJson(double value) : type_(Type::kFloat) { payload_.real = value; }
  template <typename Enum>
  requires std::is_enum_v<Enum> BasicJson(Enum value) : BasicJson(static_cast<std::int64_t>(value)) {}
  BasicJson(const char* text);
  BasicJson(std::string_view text);
  BasicJson(std::string text);
  BasicJson(std::vector<BasicJson> elements);
  // An object if every element is a pair of a text and a value, else an array.
  BasicJson(std::initializer_list<Element> elements);
  BasicJson(const BasicJson<kOrder == KeyOrder::kByName ? KeyOrder::kAsAdded : KeyOrder::kByName>& other);
  template <typename T>
  BasicJson(const std::vector<T>& values) : BasicJson(array()) {
    reserve(values.size());
    for (const T& value : values) push_back(BasicJson(value));
  }
  template <typename T, std::size_t kCount>
  BasicJson(const std::array<T, kCount>& values) : BasicJson(array()) {
    for (const T& value : values) push_back(BasicJson(value));
  }
  template <typename T>
  BasicJson(const std::map<std::string, T>& values) : BasicJson(object()) {
    for (const auto& [key, value] : values) (*this)[key] = BasicJson(value);
  }
  BasicJson(const BasicJson& other);
  BasicJson(BasicJson&& other) noexcept : type_(other.type_), payload_(other.payload_) {
    other.type_ = Type::kNull;
  }
  // NOLINTEND(google-explicit-constructor)
  BasicJson& operator=(BasicJson other) noexcept {
    std::swap(type_, other.type_);
    std::swap(payload_, other.payload_);
    return *this;
  }
  ~BasicJson() {
    if (type_ >= Type::kText) destroy();
  }

  [[nodiscard]] static BasicJson array() { return BasicJson(Type::kArray); }
  [[nodiscard]] static BasicJson array(std::initializer_list<Element> elements);
  [[nodiscard]] static BasicJson object() { return BasicJson(Type::kObject); }

  // Of a key that an object has twice, the later value counts. `seen` is told of every event first, and what
  // it returns false to is not kept. Throws JsonParseError if `text` is not JSON, JsonError if a number is
  // beyond the range of double, values are nested absurdly deep, or `seen` ended the parsing.
  [[nodiscard]] static BasicJson parse(std::string_view text, JsonEvents* seen = nullptr);
  // None where parse() throws.
  [[nodiscard]] static std::optional<BasicJson> try_parse(std::string_view text);
  [[nodiscard]] static bool accept(std::string_view text);

  // On one line, or with a line per value and `indent` spaces a level. Bytes that are not UTF-8 become
  // U+FFFD, numbers that are not finite null.
  [[nodiscard]] std::string dump(int indent = -1) const;

  [[nodiscard]] bool is_null() const { return type_ == Type::kNull; }
  [[nodiscard]] bool is_boolean() const { return type_ == Type::kBoolean; }
  [[nodiscard]] bool is_number() const { return is_number_integer() || is_number_float(); }
  [[nodiscard]] bool is_number_integer() const { return type_ == Type::kInteger || is_number_unsigned(); }
  [[nodiscard]] bool is_number_unsigned() const { return type_ == Type::kUnsigned; }  // as read: not negative
  [[nodiscard]] bool is_number_float() const { return type_ == Type::kFloat; }
  [[nodiscard]] bool is_string() const { return type_ == Type::kText; }
  [[nodiscard]] bool is_array() const { return type_ == Type::kArray; }
  [[nodiscard]] bool is_object() const { return type_ == Type::kObject; }
  [[nodiscard]] bool is_structured() const { return is_array() || is_object(); }

  // ---- The value as a T. Throws JsonError if it is of another kind; numbers become each other, as in C++.
  template <typename T>
  [[nodiscard]] T get() const {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
      return T(text());
    } else if constexpr (std::is_same_v<T, bool>) {
      return boolean();
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (is_number_float()) return static_cast<T>(payload_.real);
      if (is_number_unsigned()) return static_cast<T>(payload_.natural);
      return static_cast<T>(signed_number());
    } else if constexpr (std::is_same_v<T, BasicJson>) {
      return *this;
    } else {
      return range_as(std::type_identity<T>{});
    }
  }
  template <typename T>
  requires std::is_same_v<T, const std::string&>
  [[nodiscard]] const std::string& get_ref() const { return text(); }
  // The member's value as a T; `otherwise` if there is no such member. Throws JsonError unless this is an
  // object.
  template <typename T>
  [[nodiscard]] T value(std::string_view key, const T& otherwise) const {
    const BasicJson* member = member_value(key);
    return member != nullptr ? member->template get<T>() : otherwise;
  }
  [[nodiscard]] std::string value(std::string_view key, const char* otherwise) const {
    return value(key, std::string(otherwise));
  }

  // ---- Arrays and objects. What needs one or the other throws JsonError on anything else.
  [[nodiscard]] std::size_t size() const;  // of null 0, of a scalar 1
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] iterator begin();  // end() unless this is an array or object
  [[nodiscard]] iterator end();
  [[nodiscard]] const_iterator begin() const;
  [[nodiscard]] const_iterator end() const;
  [[nodiscard]] std::span<const Member> items() const;  // empty unless this is an object

  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != end(); }
  [[nodiscard]] bool contains(const JsonPointer& pointer) const;
  [[nodiscard]] std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }
  [[nodiscard]] iterator find(std::string_view key);  // end() unless this is an object
  [[nodiscard]] const_iterator find(std::string_view key) const;

  [[nodiscard]] BasicJson& at(std::string_view key);
  [[nodiscard]] const BasicJson& at(std::string_view key) const;
  [[nodiscard]] BasicJson& at(std::size_t index);
  [[nodiscard]] const BasicJson& at(std::size_t index) const;
  [[nodiscard]] BasicJson& at(const JsonPointer& pointer);
  [[nodiscard]] const BasicJson& at(const JsonPointer& pointer) const;
  // As at(), but a member that is not there is added as null, to null as well; so is the element one past the
  // end, by a pointer.
  [[nodiscard]] BasicJson& operator[](std::string_view key);
  [[nodiscard]] const BasicJson& operator[](std::string_view key) const { return at(key); }
  [[nodiscard]] BasicJson& operator[](const JsonPointer& pointer);
  [[nodiscard]] const BasicJson& operator[](const JsonPointer& pointer) const { return at(pointer); }
  template <std::integral Index>
  [[nodiscard]] BasicJson& operator[](Index index) {
    return at(static_cast<std::size_t>(index));
  }
  template <std::integral Index>
  [[nodiscard]] const BasicJson& operator[](Index index) const {
    return at(static_cast<std::size_t>(index));
  }
  template <std::integral Index>
  [[nodiscard]] BasicJson& at(Index index) {
    return at(static_cast<std::size_t>(index));
  }
  template <std::integral Index>
  [[nodiscard]] const BasicJson& at(Index index) const {
    return at(static_cast<std::size_t>(index));
  }
  // REQUIRES: an array that is not empty.
  [[nodiscard]] BasicJson& front() { return at(std::size_t{0}); }
  [[nodiscard]] const BasicJson& front() const { return at(std::size_t{0}); }
  [[nodiscard]] BasicJson& back() { return at(size() - 1); }
  [[nodiscard]] const BasicJson& back() const { return at(size() - 1); }

  // Null becomes an array.
  void push_back(BasicJson value);
  BasicJson& emplace_back(BasicJson value = {});
  // Adds a member without looking for the place of its name, in constant time. REQUIRES: an object of the
  // order kAsAdded that has no member of this name.
  void append(std::string key, BasicJson value);
  std::size_t erase(std::string_view key);  // how many there were
  void erase(std::size_t index);
  void clear();                         // of its elements or members
  void update(const BasicJson& other);  // adds the members of `other`, over those of the same names

  // Numbers are equal if their values are.
  friend bool operator==(const BasicJson& a, const BasicJson& b) { return a.equals(b); }
  friend std::ostream& operator<<(std::ostream& out, const BasicJson& json) { return json.print(out); }

 private:
  enum class Type : std::uint8_t { kNull, kBoolean, kInteger, kUnsigned, kFloat, kText, kArray, kObject };
  using Elements = std::vector<BasicJson>;
  using Members = std::vector<Member>;
  union Payload {
    bool boolean;
    std::int64_t integer;
    std::uint64_t natural;
    double real;
    std::string* text;
    Elements* elements;
    Members* members;
  };
  class Builder;
  class Writer;

  explicit BasicJson(Type type);
  void destroy() noexcept;
  void reserve(std::size_t count);
  void sort_members();
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t signed_number() const;  // of a boolean: 0 or 1
  [[nodiscard]] const BasicJson* member_value(std::string_view key) const;
  [[nodiscard]] bool equals(const BasicJson& other) const;
  std::ostream& print(std::ostream& out) const;
  [[nodiscard]] const char* type_name() const;
  [[noreturn]] void refuse(std::string_view wanted) const;

  // std::vector, std::set
  template <typename Range>
  [[nodiscard]] Range range_as(std::type_identity<Range>) const {
    if (!is_array()) refuse("an array");
    Range values;
    for (const BasicJson& value : *this)
      values.insert(values.end(), value.template get<typename Range::value_type>());
    return values;
  }
  template <typename T>
  [[nodiscard]] std::map<std::string, T> range_as(std::type_identity<std::map<std::string, T>>) const;

  Type type_ = Type::kNull;
  Payload payload_{};
};

template <KeyOrder kOrder>
struct JsonMember {
  std::string key;
  BasicJson<kOrder> value;
};

// An element of a list in braces, which is moved from.
template <KeyOrder kOrder>
class BasicJson<kOrder>::Element {
 public:
  template <typename T>
  requires std::is_constructible_v<BasicJson, T&&>
  // NOLINTNEXTLINE(google-explicit-constructor, bugprone-forwarding-reference-overload)
  Element(T&& value) : value_(std::forward<T>(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Element(std::initializer_list<Element> elements) : value_(elements) {}

  [[nodiscard]] const BasicJson& value() const { return value_; }
  [[nodiscard]] BasicJson take() const { return std::move(value_); }

 private:
  mutable BasicJson value_;
};

template <KeyOrder kOrder>
template <typename T>
std::map<std::string, T> BasicJson<kOrder>::range_as(std::type_identity<std::map<std::string, T>>) const {
  if (!is_object()) refuse("an object");
  std::map<std::string, T> values;
  for (const Member& member : items()) values.emplace(member.key, member.value.template get<T>());
  return values;
}

extern template class BasicJson<KeyOrder::kByName>;
extern template class BasicJson<KeyOrder::kAsAdded>;

}  // namespace goodput

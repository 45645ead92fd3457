#include "sim/base/json.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>

#include "sim/base/errors.h"

namespace goodput {
namespace {

// None: `name` is no index as JSON pointers write them.
std::optional<std::size_t> index_of(std::string_view name) {
  if (name.empty() || (name.size() > 1 && name.front() == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return index;
}

// The element or member of this name; null: there is none.
template <typename Value>
Value* step(Value& value, const std::string& name) {
  if (value.is_object()) {
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  const auto index = value.is_array() ? index_of(name) : std::nullopt;
  return index && *index < value.size() ? &value.at(*index) : nullptr;
}

template <typename Value>
Value* follow(Value& document, const JsonPointer& pointer) {
  Value* value = &document;
  for (const std::string& name : pointer.names()) {
    value = step(*value, name);
    if (value == nullptr) return nullptr;
  }
  return value;
}

// Where a member of this name is, or would be added.
template <typename Members>
auto member_place(Members& members, std::string_view key, bool is_sorted) {
  if (!is_sorted)
    return std::ranges::find(members, key, [](const auto& one) -> std::string_view { return one.key; });
  return std::lower_bound(members.begin(), members.end(), key,
                          [](const auto& member, std::string_view name) { return member.key < name; });
}

}  // namespace

// The members of an object that was parsed: in order, and of those with the same name the last value, at the
// place of the first.
template <KeyOrder kOrder>
void BasicJson<kOrder>::sort_members() {
  Members& members = *payload_.members;
  const auto by_name = [](const Member& a, const Member& b) { return a.key < b.key; };
  if (std::adjacent_find(members.begin(), members.end(), std::not_fn(by_name)) == members.end()) return;
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return by_name(members[a], members[b]); });
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && members[kept.back()].key == members[order[i]].key) {
      members[kept.back()].value = std::move(members[order[i]].value);
    } else {
      kept.push_back(order[i]);
    }
  }
  if (kOrder == KeyOrder::kAsAdded) std::sort(kept.begin(), kept.end());
  Members sorted;
  sorted.reserve(kept.size());
  for (const std::size_t i : kept) sorted.push_back(std::move(members[i]));
  members = std::move(sorted);
}

// ---- Making, copying and destroying.

template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(Type type) : type_(type) {
  if (type == Type::kText) payload_.text = new std::string;
  if (type == Type::kArray) payload_.elements = new Elements;
  if (type == Type::kObject) payload_.members = new Members;
}

template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(std::string text) : type_(Type::kText) {
  payload_.text = new std::string(std::move(text));
}
template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(const char* text) : BasicJson(std::string(text)) {}
template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(std::string_view text) : BasicJson(std::string(text)) {}

template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(std::vector<BasicJson> elements) : type_(Type::kArray) {
  payload_.elements = new Elements(std::move(elements));
}

template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(std::initializer_list<Element> elements) {
  const bool are_members = std::all_of(elements.begin(), elements.end(), [](const Element& element) {
    const BasicJson& pair = element.value();
    return pair.is_array() && pair.size() == 2 && pair.front().is_string();
  });
  if (!are_members) {
    *this = array(elements);
    return;
  }
  *this = object();
  for (const Element& element : elements) {
    BasicJson pair = element.take();
    BasicJson& value = (*this)[pair.front().text()];
    if (value.is_null()) value = std::move(pair.back());
  }
}

template <KeyOrder kOrder>
BasicJson<kOrder> BasicJson<kOrder>::array(std::initializer_list<Element> elements) {
  BasicJson result = array();
  result.reserve(elements.size());
  for (const Element& element : elements) result.push_back(element.take());
  return result;
}

template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(const BasicJson& other) : type_(other.type_), payload_(other.payload_) {
  if (type_ == Type::kText) payload_.text = new std::string(*other.payload_.text);
  if (type_ == Type::kArray) payload_.elements = new Elements(*other.payload_.elements);
  if (type_ == Type::kObject) payload_.members = new Members(*other.payload_.members);
}

template <KeyOrder kOrder>
BasicJson<kOrder>::BasicJson(
    const BasicJson<kOrder == KeyOrder::kByName ? KeyOrder::kAsAdded : KeyOrder::kByName>& other) {
  if (other.is_object()) {
    *this = object();
    for (const auto& [key, value] : other.items()) payload_.members->push_back({key, BasicJson(value)});
    if (kOrder == KeyOrder::kByName) sort_members();
  } else if (other.is_array()) {
    *this = array();
    reserve(other.size());
    for (const auto& value : other) push_back(BasicJson(value));
  } else if (other.is_string()) {
    *this = BasicJson(other.template get<std::string>());
  } else if (other.is_number_float()) {
    *this = BasicJson(other.template get<double>());
  } else if (other.is_number_unsigned()) {
    *this = BasicJson(other.template get<std::uint64_t>());
  } else if (other.is_number_integer()) {
    *this = BasicJson(other.template get<std::int64_t>());
  } else if (other.is_boolean()) {
    *this = BasicJson(other.template get<bool>());
  }
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::destroy() noexcept {
  if (type_ == Type::kText) delete payload_.text;
  if (type_ == Type::kArray) delete payload_.elements;
  if (type_ == Type::kObject) delete payload_.members;
}

// ---- Values.

template <KeyOrder kOrder>
const char* BasicJson<kOrder>::type_name() const {
  switch (type_) {
    case Type::kNull:
      return "null";
    case Type::kBoolean:
      return "a boolean";
    case Type::kInteger:
    case Type::kUnsigned:
    case Type::kFloat:
      return "a number";
    case Type::kText:
      return "a string";
    case Type::kArray:
      return "an array";
    case Type::kObject:
      return "an object";
  }
  return "";
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::refuse(std::string_view wanted) const {
  throw JsonError("is " + std::string(type_name()) + ", not " + std::string(wanted));
}

template <KeyOrder kOrder>
const std::string& BasicJson<kOrder>::text() const {
  if (!is_string()) refuse("a string");
  return *payload_.text;
}

template <KeyOrder kOrder>
bool BasicJson<kOrder>::boolean() const {
  if (!is_boolean()) refuse("a boolean");
  return payload_.boolean;
}

template <KeyOrder kOrder>
std::int64_t BasicJson<kOrder>::signed_number() const {
  if (is_boolean()) return payload_.boolean ? 1 : 0;
  if (type_ != Type::kInteger) refuse("a number");
  return payload_.integer;
}

template <KeyOrder kOrder>
bool BasicJson<kOrder>::equals(const BasicJson& other) const {
  if (is_number() && other.is_number()) {
    if (is_number_float() || other.is_number_float()) return get<double>() == other.get<double>();
    if (type_ == other.type_) return payload_.natural == other.payload_.natural;
    return is_number_unsigned() ? std::cmp_equal(payload_.natural, other.payload_.integer)
                                : std::cmp_equal(payload_.integer, other.payload_.natural);
  }
  if (type_ != other.type_) return false;
  switch (type_) {
    case Type::kBoolean:
      return payload_.boolean == other.payload_.boolean;
    case Type::kText:
      return *payload_.text == *other.payload_.text;
    case Type::kArray:
      return *payload_.elements == *other.payload_.elements;
    case Type::kObject:
      return std::ranges::equal(
          *payload_.members, *other.payload_.members,
          [](const Member& a, const Member& b) { return a.key == b.key && a.value == b.value; });
    default:
      return true;  // null
  }
}

// ---- Arrays and objects.

template <KeyOrder kOrder>
std::size_t BasicJson<kOrder>::size() const {
  if (is_array()) return payload_.elements->size();
  if (is_object()) return payload_.members->size();
  return is_null() ? 0 : 1;
}

template <KeyOrder kOrder>
auto BasicJson<kOrder>::begin() -> iterator {
  if (is_array()) return {payload_.elements->data(), nullptr};
  if (is_object()) return {nullptr, payload_.members->data()};
  return {};
}
template <KeyOrder kOrder>
auto BasicJson<kOrder>::end() -> iterator {
  if (is_array()) return {payload_.elements->data() + size(), nullptr};
  if (is_object()) return {nullptr, payload_.members->data() + size()};
  return {};
}
template <KeyOrder kOrder>
auto BasicJson<kOrder>::begin() const -> const_iterator {
  if (is_array()) return {payload_.elements->data(), nullptr};
  if (is_object()) return {nullptr, payload_.members->data()};
  return {};
}
template <KeyOrder kOrder>
auto BasicJson<kOrder>::end() const -> const_iterator {
  if (is_array()) return {payload_.elements->data() + size(), nullptr};
  if (is_object()) return {nullptr, payload_.members->data() + size()};
  return {};
}

template <KeyOrder kOrder>
auto BasicJson<kOrder>::items() const -> std::span<const Member> {
  if (is_object()) return *payload_.members;
  return {};
}

template <KeyOrder kOrder>
auto BasicJson<kOrder>::find(std::string_view key) -> iterator {
  if (!is_object()) return end();
  const auto place = member_place(*payload_.members, key, kOrder == KeyOrder::kByName);
  if (place == payload_.members->end() || place->key != key) return end();
  return {nullptr, &*place};
}
template <KeyOrder kOrder>
auto BasicJson<kOrder>::find(std::string_view key) const -> const_iterator {
  if (!is_object()) return end();
  const auto place = member_place(*payload_.members, key, kOrder == KeyOrder::kByName);
  if (place == payload_.members->end() || place->key != key) return end();
  return {nullptr, &*place};
}

template <KeyOrder kOrder>
const BasicJson<kOrder>* BasicJson<kOrder>::member_value(std::string_view key) const {
  if (!is_object()) refuse("an object");
  const auto found = find(key);
  return found == end() ? nullptr : &*found;
}

template <KeyOrder kOrder>
const BasicJson<kOrder>& BasicJson<kOrder>::at(std::string_view key) const {
  const BasicJson* value = member_value(key);
  if (value == nullptr) throw JsonError("has no member " + std::string(key));
  return *value;
}
template <KeyOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::at(std::string_view key) {
  return const_cast<BasicJson&>(std::as_const(*this).at(key));
}

template <KeyOrder kOrder>
const BasicJson<kOrder>& BasicJson<kOrder>::at(std::size_t index) const {
  if (!is_array()) refuse("an array");
  if (index >= size()) throw JsonError("has no element " + std::to_string(index));
  return (*payload_.elements)[index];
}
template <KeyOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::at(std::size_t index) {
  return const_cast<BasicJson&>(std::as_const(*this).at(index));
}

template <KeyOrder kOrder>
bool BasicJson<kOrder>::contains(const JsonPointer& pointer) const {
  return follow(*this, pointer) != nullptr;
}

template <KeyOrder kOrder>
const BasicJson<kOrder>& BasicJson<kOrder>::at(const JsonPointer& pointer) const {
  const BasicJson* value = follow(*this, pointer);
  if (value == nullptr) throw JsonError("has no value at " + pointer.to_string());
  return *value;
}
template <KeyOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::at(const JsonPointer& pointer) {
  return const_cast<BasicJson&>(std::as_const(*this).at(pointer));
}

template <KeyOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::operator[](const JsonPointer& pointer) {
  BasicJson* value = this;
  for (const std::string& name : pointer.names()) {
    if (!value->is_array()) {
      value = &(*value)[name];
      continue;
    }
    const auto index = name == "-" ? std::optional(value->size()) : index_of(name);
    if (!index) throw JsonError(name + " is not an array index");
    value = *index == value->size() ? &value->emplace_back() : &value->at(*index);
  }
  return *value;
}

template <KeyOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) refuse("an object");
  Members& members = *payload_.members;
  const auto place = member_place(members, key, kOrder == KeyOrder::kByName);
  if (place != members.end() && place->key == key) return place->value;
  return members.insert(place, Member{std::string(key), {}})->value;
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::reserve(std::size_t count) {
  payload_.elements->reserve(count);
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::push_back(BasicJson value) {
  emplace_back(std::move(value));
}

template <KeyOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::emplace_back(BasicJson value) {
  if (is_null()) *this = array();
  if (!is_array()) refuse("an array");
  return payload_.elements->emplace_back(std::move(value));
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::append(std::string key, BasicJson value) {
  GOODPUT_CHECK(is_object() && kOrder == KeyOrder::kAsAdded,
                "append() needs an object that keeps the order of its members");
  payload_.members->push_back({std::move(key), std::move(value)});
}

template <KeyOrder kOrder>
std::size_t BasicJson<kOrder>::erase(std::string_view key) {
  if (!is_object()) refuse("an object");
  return std::erase_if(*payload_.members, [key](const Member& member) { return member.key == key; });
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::erase(std::size_t index) {
  if (index >= size()) throw JsonError("has no element " + std::to_string(index));
  payload_.elements->erase(payload_.elements->begin() + static_cast<std::ptrdiff_t>(index));
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::clear() {
  if (is_array()) payload_.elements->clear();
  if (is_object()) payload_.members->clear();
}

template <KeyOrder kOrder>
void BasicJson<kOrder>::update(const BasicJson& other) {
  for (const Member& member : other.items()) (*this)[member.key] = member.value;
}

// All but what json_io.cpp defines.
template class BasicJson<KeyOrder::kByName>;
template class BasicJson<KeyOrder::kAsAdded>;

}  // namespace goodput

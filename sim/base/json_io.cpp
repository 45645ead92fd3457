// JSON values from text and to text.
#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>

#include "sim/base/json.h"

namespace goodput {
namespace {

template <typename Integer>
void append_integer(Integer number, std::string& to) {
  std::array<char, 24> digits;
  to.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

}  // namespace

template <KeyOrder kOrder>
class BasicJson<kOrder>::Builder final : public JsonEvents {
 public:
  // Null: nobody else wants to see.
  explicit Builder(JsonEvents* seen) : seen_(seen) {}

  bool null() override { return (seen_ == nullptr || seen_->null()) && add(nullptr); }
  bool boolean(bool value) override { return (seen_ == nullptr || seen_->boolean(value)) && add(value); }
  bool integer(std::int64_t value) override {
    return (seen_ == nullptr || seen_->integer(value)) && add(value);
  }
  bool natural(std::uint64_t value) override {
    return (seen_ == nullptr || seen_->natural(value)) && add(value);
  }
  bool real(double value, std::string_view written) override {
    return (seen_ == nullptr || seen_->real(value, written)) && add(value);
  }
  bool text(std::string_view text) override { return (seen_ == nullptr || seen_->text(text)) && add(text); }
  bool start_object() override { return (seen_ == nullptr || seen_->start_object()) && open(Type::kObject); }
  bool start_array() override { return (seen_ == nullptr || seen_->start_array()) && open(Type::kArray); }
  bool key(std::string_view name) override {
    name_ = name;
    return seen_ == nullptr || seen_->key(name);
  }
  bool end_object() override {
    open_.back()->sort_members();
    open_.pop_back();
    return seen_ == nullptr || seen_->end_object();
  }
  bool end_array() override {
    open_.pop_back();
    return seen_ == nullptr || seen_->end_array();
  }

  [[nodiscard]] BasicJson take() { return std::move(root_); }

 private:
  template <typename Value>
  bool add(Value value) {
    place() = BasicJson(value);
    return true;
  }
  bool open(Type type) {
    BasicJson& opened = place();
    opened = BasicJson(type);
    open_.push_back(&opened);
    return true;
  }
  // Where the next value goes. An array or object that is open stays where it is: its owner grows only after
  // it.
  BasicJson& place() {
    if (open_.empty()) return root_;
    BasicJson& owner = *open_.back();
    if (owner.is_array()) return owner.payload_.elements->emplace_back();
    return owner.payload_.members->emplace_back(Member{std::move(name_), {}}).value;
  }

  JsonEvents* seen_;
  BasicJson root_;
  std::vector<BasicJson*> open_;
  std::string name_;
};

template <KeyOrder kOrder>
BasicJson<kOrder> BasicJson<kOrder>::parse(std::string_view text, JsonEvents* seen) {
  Builder builder(seen);
  parse_events(text, builder);
  return builder.take();
}

template <KeyOrder kOrder>
std::optional<BasicJson<kOrder>> BasicJson<kOrder>::try_parse(std::string_view text) {
  try {
    return parse(text);
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

template <KeyOrder kOrder>
bool BasicJson<kOrder>::accept(std::string_view text) {
  return try_parse(text).has_value();
}

// ---- Writing.

template <KeyOrder kOrder>
class BasicJson<kOrder>::Writer {
 public:
  explicit Writer(int indent)
      : is_pretty_(indent >= 0), indent_(static_cast<std::size_t>(std::max(indent, 0))) {}

  void write(const BasicJson& json, std::size_t depth) {
    switch (json.type_) {
      case Type::kNull:
        text_ += "null";
        break;
      case Type::kBoolean:
        text_ += json.payload_.boolean ? "true" : "false";
        break;
      case Type::kInteger:
        append_integer(json.payload_.integer, text_);
        break;
      case Type::kUnsigned:
        append_integer(json.payload_.natural, text_);
        break;
      case Type::kFloat:
        append_json_number(json.payload_.real, text_);
        break;
      case Type::kText:
        append_json_string(*json.payload_.text, text_);
        break;
      case Type::kArray:
        write_all(*json.payload_.elements, '[', ']', depth,
                  [&](const BasicJson& element) { write(element, depth + 1); });
        break;
      case Type::kObject:
        write_all(*json.payload_.members, '{', '}', depth, [&](const Member& member) {
          append_json_string(member.key, text_);
          text_ += is_pretty_ ? ": " : ":";
          write(member.value, depth + 1);
        });
        break;
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  template <typename All, typename WriteOne>
  void write_all(const All& all, char begin, char end, std::size_t depth, const WriteOne& write_one) {
    text_ += begin;
    bool is_first = true;
    for (const auto& one : all) {
      if (!is_first) text_ += ',';
      is_first = false;
      begin_line(depth + 1);
      write_one(one);
    }
    if (!is_first) begin_line(depth);
    text_ += end;
  }
  void begin_line(std::size_t depth) {
    if (!is_pretty_) return;
    text_ += '\n';
    text_.append(indent_ * depth, ' ');
  }

  std::string text_;
  bool is_pretty_;
  std::size_t indent_;
};

template <KeyOrder kOrder>
std::string BasicJson<kOrder>::dump(int indent) const {
  Writer writer(indent);
  writer.write(*this, 0);
  return writer.take();
}

template <KeyOrder kOrder>
std::ostream& BasicJson<kOrder>::print(std::ostream& out) const {
  return out << dump();
}

template Json Json::parse(std::string_view, JsonEvents*);
template OrderedJson OrderedJson::parse(std::string_view, JsonEvents*);
template std::optional<Json> Json::try_parse(std::string_view);
template std::optional<OrderedJson> OrderedJson::try_parse(std::string_view);
template bool Json::accept(std::string_view);
template bool OrderedJson::accept(std::string_view);
template std::string Json::dump(int) const;
template std::string OrderedJson::dump(int) const;
template std::ostream& Json::print(std::ostream&) const;
template std::ostream& OrderedJson::print(std::ostream&) const;

}  // namespace goodput

// Plain structs to bytes and back: a type says once, by blob_fields(), what its fields are, and both
// directions go over them. Integers take as many bytes as they need, doubles all eight.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace goodput {

class BlobWriter {
 public:
  template <typename... Values>
  void operator()(const Values&... values) {
    (write(values), ...);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void write(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift);
  }
  template <std::integral Integer>
  void write(Integer value) {
    const auto wide = static_cast<std::int64_t>(value);
    auto rest = (static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes_ += static_cast<char>(rest | 0x80);
    bytes_ += static_cast<char>(rest);
  }
  void write(const std::string& text) {
    write(text.size());
    bytes_ += text;
  }
  template <typename Value>
  void write(const std::optional<Value>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <typename Value>
  void write(const std::vector<Value>& values) {
    write(values.size());
    for (const Value& value : values) write(value);
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void write(const Struct& object) { blob_fields(*this, object); }

  std::string bytes_;
};

// Of bytes that may be damaged: what is not there reads as nothing, and is_good() says so.
class BlobReader {
 public:
  explicit BlobReader(std::string_view bytes) : rest_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (read(values), ...);
  }
  // What was read makes no sense.
  void refuse() { is_good_ = false; }
  // All was there, and nothing is left.
  [[nodiscard]] bool is_good() const { return is_good_ && rest_.empty(); }

 private:
  unsigned char byte() {
    if (rest_.empty()) {
      is_good_ = false;
      return 0;
    }
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return static_cast<unsigned char>(first);
  }
  void read(double& value) {
    std::uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 8) bits |= static_cast<std::uint64_t>(byte()) << shift;
    value = std::bit_cast<double>(bits);
  }
  template <std::integral Integer>
  void read(Integer& value) {
    std::uint64_t code = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      code |= (next & 0x7f) << shift;
      if (next < 0x80) break;
    }
    value = static_cast<Integer>(static_cast<std::int64_t>(code >> 1) ^ -static_cast<std::int64_t>(code & 1));
  }
  // Of a list or text: each of its entries takes a byte at least.
  std::size_t count() {
    std::uint64_t entries = 0;
    read(entries);
    if (entries > rest_.size()) {
      is_good_ = false;
      return 0;
    }
    return static_cast<std::size_t>(entries);
  }
  void read(std::string& text) {
    const std::size_t size = count();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  template <typename Value>
  void read(std::optional<Value>& value) {
    bool has_value = false;
    read(has_value);
    value.reset();
    if (has_value) read(value.emplace());
  }
  template <typename Value>
  void read(std::vector<Value>& values) {
    values.resize(count());
    for (Value& value : values) read(value);
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void read(Struct& object) { blob_fields(*this, object); }

  std::string_view rest_;
  bool is_good_ = true;
};

// const Struct to be written, Struct to be read.
template <typename Given, typename Struct>
concept BlobOf = std::same_as<std::remove_const_t<Given>, Struct>;

}  // namespace goodput

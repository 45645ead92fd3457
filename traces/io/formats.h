// What the formats of op, routing and spot traces have in common: which one a file has, and which one is
// meant by a name or by the name of a file.
//
// A Format is a struct with at least `name`, `extensions`, `matches` and `write`, as in
// traces/op/op_trace_format.h. `kind` is what is in the files: "op trace".
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/registry.h"
#include "traces/io/byte_source.h"

namespace goodput {

// The first format whose files begin like this; null: none. Points into `formats`.
template <typename Format>
[[nodiscard]] const Format* matching_format(std::span<const Format> formats, std::string_view head) {
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const Format& one) { return one.matches(head); });
  return found == formats.end() ? nullptr : &*found;
}

// What text of UTF-16, or with lines that end with CR alone, has to become. Empty: it is neither.
[[nodiscard]] std::string fault_of_encoding(std::string_view head);

// `head` from the first line on that is neither blank nor begins with #.
[[nodiscard]] std::string_view without_leading_comments(std::string_view head);

// Why none of the formats can read text that begins like `head`, and what to do about it. Empty: nothing is
// known.
template <typename Format>
[[nodiscard]] std::string fault_of_text(std::span<const Format> formats, std::string_view head) {
  const std::string_view rest = without_leading_comments(head);
  const bool is_commented =
      rest.size() < head.size() && !rest.empty() && matching_format(formats, head) == nullptr;
  if (is_commented && matching_format(formats, rest) != nullptr)
    return "begins with a comment; remove the lines that begin with #";
  return fault_of_encoding(head);
}

// About a file at `path` that begins like `head` and has none of the `known` formats.
[[nodiscard]] Error no_known_format(std::string_view kind, std::span<const std::string_view> known,
                                    const std::string& path, std::string_view head);

// The format of a file: the one called `name`, or where that is empty the one its content has.
template <typename Format>
[[nodiscard]] Result<Format> format_of(std::span<const Format> formats, std::string_view kind,
                                       std::string_view name, ByteSource& source) {
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (head.empty()) return Error{"is empty", {.file = source.path()}};
  if (std::string fault = fault_of_text(formats, head); !fault.empty())
    return Error{std::move(fault), {.file = source.path()}};
  if (!name.empty()) return find_named(formats, std::string(kind) + " format", name);
  if (const Format* found = matching_format(formats, head)) return *found;
  return no_known_format(kind, names_of(formats), source.path(), head);
}

// Those that can be written too.
template <typename Format>
[[nodiscard]] std::vector<Format> writable_formats(std::span<const Format> formats) {
  std::vector<Format> writable;
  for (const Format& format : formats) {
    if (format.write != nullptr) writable.push_back(format);
  }
  return writable;
}

// The format of this name, to write.
template <typename Format>
[[nodiscard]] Result<Format> find_writable_format(std::span<const Format> formats, std::string_view kind,
                                                  std::string_view name) {
  const std::vector<Format> writable = writable_formats(formats);
  return find_named<Format>(writable, "writable " + std::string(kind) + " format", name);
}

// About a file name that says nothing about the format.
[[nodiscard]] Error no_known_extension(const std::string& path, std::span<const std::string_view> extensions);

// The format that the name of a file to be written stands for.
template <typename Format>
[[nodiscard]] Result<Format> format_of_extension(std::span<const Format> formats, const std::string& path) {
  std::vector<std::string_view> extensions;
  for (const Format& format : writable_formats(formats)) {
    for (const std::string_view extension : format.extensions) {
      if (path.ends_with(extension)) return format;
      extensions.push_back(extension);
    }
  }
  return no_known_extension(path, extensions);
}

}  // namespace goodput

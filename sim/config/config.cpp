#include "sim/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/json_file.h"

namespace goodput::config {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kAnnotations = {"source", "sources", "tier", kAliasesKey};

bool are_texts(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& entry) { return entry.is_string(); });
}

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  return value.dump();
}

std::vector<std::string_view> keys_of(const Fields& fields) {
  std::vector<std::string_view> keys;
  for (const Field& field : fields) keys.push_back(field.key);
  return keys;
}

Error unknown_key(const Place& place, std::string_view key, std::span<const std::string_view> known) {
  const std::string suggestion = did_you_mean(key, known);
  const std::string hint =
      suggestion.empty() ? fmt::format("; known keys: {}", fmt::join(known, ", ")) : suggestion;
  Place at = place.at(on_one_line(key));
  return at.error("unknown key" + hint);
}

Status check_keys(const Json& value, const Place& place, const Fields& fields) {
  const std::vector<std::string_view> known = keys_of(fields);
  const auto is_known = [&](std::string_view key) {
    return std::any_of(fields.begin(), fields.end(), [key](const Field& field) {
      return field.key == key || (!field.former_key.empty() && field.former_key == key);
    });
  };
  for (const auto& [key, member] : value.items()) {
    if (is_known(key)) continue;
    if (std::find(kAnnotations.begin(), kAnnotations.end(), key) == kAnnotations.end())
      return unknown_key(place, key, known);
    if (key == "source" && !member.is_string()) return place.at(key).not_wanted(member, "a string");
    if (key == kAliasesKey && !are_texts(member))
      return place.at(key).not_wanted(member, "an array of strings");
    if (key != "sources") continue;
    if (!member.is_object()) return place.at(key).not_wanted(member, "an object of strings");
    for (const auto& [name, source] : member.items()) {
      if (!is_known(name)) return unknown_key(place.at(key), name, known);
      if (!source.is_string()) return place.at(key).at(name).not_wanted(source, "a string");
    }
  }
  return Ok{};
}

void lower(std::optional<Tier>& tier, std::optional<Tier> other) {
  if (other) tier = lowest(tier.value_or(*other), *other);
}

Status read_tier(const Json& value, Place& place, const Fields& fields) {
  if (const auto named = value.find("tier"); named != value.end()) {
    Tier own{};
    Place at = place.at("tier");
    GOODPUT_TRY_STATUS(choice(own, kTierNames).read(*named, at));
    lower(place.tier, own);
  }
  const auto keeper =
      std::find_if(fields.begin(), fields.end(), [](const Field& field) { return field.key == "tier"; });
  if (keeper == fields.end() || !place.tier) return Ok{};
  GOODPUT_TRY_STATUS(keeper->value.read(Json(to_string(*place.tier)), place));
  place.tier.reset();
  return Ok{};
}

// Whether the value of `field` stands under its former key. A change replaces what the file has under the
// other name.
Result<bool> has_former_key(const Json& value, const Place& place, const Field& field) {
  if (field.former_key.empty() || !value.contains(field.former_key)) return false;
  if (!value.contains(field.key)) return true;
  const Place former = place.at(field.former_key);
  const auto is_changed = [&place](const Place& at) {
    return place.changes != nullptr && place.changes->behind(at.pointer) != nullptr;
  };
  if (is_changed(place.at(field.key)) != is_changed(former)) return is_changed(former);
  return former.error(fmt::format("is the former name of {}, which is also given; remove one of the two",
                                  in_quotes(field.key)));
}

Status read_members(const Json& value, Place& place, const ObjectAccess& access) {
  if (!value.is_object()) return place.not_wanted(value, "an object");
  const Fields fields = access.fields();
  GOODPUT_TRY_STATUS(check_keys(value, place, fields));
  for (const Field& field : fields) {
    if (field.key == "tier") continue;
    GOODPUT_TRY(const bool is_former, has_former_key(value, place, field));
    Place at = place.at(is_former ? field.former_key : field.key);
    const auto member = value.find(is_former ? field.former_key : field.key);
    if (member != value.end()) {
      if (place.given && is_former) place.given->push_back({at.file, at.pointer, {}, std::string(field.key)});
      if (place.given && field.idle) place.given->push_back({at.file, at.pointer, field.idle});
      GOODPUT_TRY_STATUS(field.value.read(*member, at));
      lower(place.tier, at.tier);
    } else if (field.need == Need::kRequired) {
      return at.error("is missing; it must be " + field.value.wanted);
    } else if (field.absent) {
      GOODPUT_TRY_STATUS(field.absent(at));
      lower(place.tier, at.tier);
    }
  }
  GOODPUT_TRY_STATUS(read_tier(value, place, fields));
  if (const Status finished = access.finish(); !finished) {
    return finished.error().inside(place.pointer).in_file(place.file);
  }
  return Ok{};
}

// ---- Files that a config names.

// `file`: where it stands; empty: nowhere.
Result<std::optional<Tier>> read_changed(Json value, const std::string& file, const ObjectAccess& access,
                                         const Library* library, Changes& changes,
                                         std::vector<GivenKey>* given) {
  GOODPUT_TRY_STATUS(changes.apply_to(value));
  Place place{file, {}, {}, library, &changes, given};
  GOODPUT_TRY_STATUS(read_members(value, place, access));
  GOODPUT_TRY_STATUS(changes.check_none_waits());
  return place.tier;
}

Result<std::optional<Tier>> read_whole_file(const std::string& file, const ObjectAccess& access,
                                            const Library* library, Changes& changes,
                                            std::vector<GivenKey>* given, const Kind* kind) {
  const Library none;
  const Library& seen = library ? *library : none;
  GOODPUT_TRY(Json value, kind ? parse_file(file, seen, *kind) : parse_file(file, seen.parsed));
  return read_changed(std::move(value), file, access, library, changes, given);
}

void write_into(OrderedJson& into, const Fields& fields) {
  into = OrderedJson::object();
  for (const Field& field : fields) {
    if (field.idle && !field.idle().empty()) continue;
    OrderedJson value;
    if (field.value.write) field.value.write(value);
    const std::string_view key = field.former_key.empty() ? field.key : field.former_key;
    if (!value.is_null()) into[std::string(key)] = std::move(value);
  }
}

}  // namespace

Error Place::error(std::string what) const {
  return {std::move(what), {.file = file, .pointer = pointer}};
}

Error Place::not_wanted(const Json& value, std::string_view wanted) const {
  Error unwanted = error(fmt::format("must be {1}, not {0}", shown(value), wanted));
  const Change* change = changes != nullptr ? changes->behind(pointer) : nullptr;
  return change != nullptr ? std::move(unwanted).of_option(change->option) : unwanted;
}

Place Place::at(std::string_view key) const {
  std::string below = pointer + '/';
  for (const char c : key) below += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return {file, std::move(below), {}, library, changes, given};
}

fs::path Place::folder() const {
  const Change* change = changes != nullptr ? changes->behind(pointer) : nullptr;
  return folder_of(change != nullptr ? change->file : file);
}

Field renamed(Field field, std::string_view former_key) {
  field.former_key = former_key;
  return field;
}

Field tier(Tier& value) {
  return {"tier", Need::kOptional, choice(value, kTierNames), "how reliable the numbers of this object are"};
}

Value object(const ObjectAccess& access) {
  const auto read = [access](const Json& from, Place& place) { return read_members(from, place, access); };
  const auto write = [access](OrderedJson& into) {
    if (access.is_present()) write_into(into, access.fields());
  };
  return {"an object", read, write, access.fields};
}

Value list(const ListAccess& access, std::string wanted) {
  const auto read = [access, wanted](const Json& from, Place& place) -> Status {
    if (!from.is_array()) return place.not_wanted(from, wanted);
    access.clear();
    for (std::size_t i = 0; i < from.size(); ++i) {
      Place at = place.at(std::to_string(i));
      GOODPUT_TRY_STATUS(access.value_at(i).read(from.at(i), at));
      lower(place.tier, at.tier);
    }
    return Ok{};
  };
  const auto write = [access](OrderedJson& into) {
    into = OrderedJson::array();
    for (std::size_t i = 0; i < access.size(); ++i) {
      OrderedJson element;
      access.value_at(i).write(element);
      into.push_back(std::move(element));
    }
  };
  return {std::move(wanted), read, write, {}};
}

Result<Source> source_named(const std::string& name, const Place& place, const Kind& kind) {
  if (is_name(name)) {
    const Library library = place.library ? *place.library : Library{};
    Result<Source> found =
        place.file.empty() ? find(library, kind, name) : find_from(place.file, library, kind, name);
    if (!found && found.error().where.file.empty()) return place.error(found.error().what);
    return found;
  }
  const fs::path file = place.folder() / name;
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    return place.error(fmt::format("no such file: {}", in_quotes(file.string())));
  return Source{file.string(), {}};
}

Value object_or_name(const ObjectAccess& access, const Kind& kind, std::vector<Source>& sources) {
  Value value = object(access);
  value.wanted = fmt::format("a file in {}/ or an object", kind.folder);
  value.fields = nullptr;  // described where the files are
  value.read = [access, kind, &sources, wanted = value.wanted](const Json& from, Place& place) -> Status {
    if (from.is_object()) return read_members(from, place, access);
    if (!from.is_string()) return place.not_wanted(from, wanted);
    GOODPUT_TRY(const Source source, source_named(from.get<std::string>(), place, kind));
    sources.push_back(source);
    Changes changes = place.changes ? place.changes->take(place.pointer) : Changes{};
    const bool is_changed = !changes.empty();
    auto tier = read_whole_file(source.file, access, place.library, changes, place.given, &kind);
    if (!tier) {
      Error error = std::move(tier).error();
      if (is_changed && !error.where.empty()) error.what += " (after the changes)";
      return error;
    }
    place.tier = *tier;
    return Ok{};
  };
  return value;
}

Value path_or_name(std::string& value, const Kind& kind) {
  Value result = path(value);
  result.wanted = fmt::format("a file in {}/", kind.folder);
  result.read = [&value, read = std::move(result.read), wanted = result.wanted](const Json& from,
                                                                                Place& place) -> Status {
    if (!from.is_string()) return place.not_wanted(from, wanted);
    value = from.get<std::string>();
    return is_name(value) ? Ok{} : read(from, place);
  };
  return result;
}

Result<KeyNotes> read_file(const std::string& file, const ObjectAccess& access, const Library& library,
                           Changes changes, const Kind* kind) {
  std::vector<GivenKey> given;
  GOODPUT_TRY_STATUS(read_whole_file(file, access, &library, changes, &given, kind));
  return key_notes(given);
}

Result<KeyNotes> read_changed_file(const std::string& file, const ObjectAccess& access,
                                   const Library& library, Changes& changes) {
  std::vector<GivenKey> given;
  GOODPUT_TRY_STATUS(read_whole_file(file, access, &library, changes, &given, nullptr));
  return key_notes(given);
}

Result<KeyNotes> read_object(const Json& object, const ObjectAccess& access, const Library& library,
                             Changes changes) {
  std::vector<GivenKey> given;
  GOODPUT_TRY_STATUS(read_changed(object, "", access, &library, changes, &given));
  return key_notes(given);
}

KeyNotes key_notes(std::span<const GivenKey> given) {
  KeyNotes notes;
  const auto is_within = [&notes](const GivenKey& key) {
    return std::any_of(notes.begin(), notes.end(), [&key](const KeyNote& above) {
      return above.file == key.file && key.pointer.starts_with(above.pointer + '/');
    });
  };
  for (const GivenKey& key : given) {
    std::string why = key.idle ? key.idle() : "";
    if ((!why.empty() || !key.new_name.empty()) && !is_within(key))
      notes.push_back({key.file, key.pointer, std::move(why), key.new_name});
  }
  return notes;
}

OrderedJson write(const Fields& fields) {
  OrderedJson result;
  write_into(result, fields);
  return result;
}

}  // namespace goodput::config

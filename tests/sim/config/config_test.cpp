// Strict JSON to structs: what is read, what is written back, and the text of every error.
#include "sim/config/config.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "sim/base/json.h"
#include "sim/config/json_file.h"
#include "tests/support/config_table.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using config::Need;
using namespace std::chrono_literals;

enum class Colour : std::uint8_t { kRed, kGreen };
constexpr std::array<std::string_view, 2> kColourNames = {"red", "green"};

struct Wheel {
  double radius = 0.5;
  SimDuration turn = 2us;
};
struct Cart {
  std::int32_t seats = 0;
  std::int64_t weight = 7;
  double load = 1;
  bool is_open = false;
  Colour colour = Colour::kRed;
  std::string name;
  std::string manual;
  std::vector<std::int32_t> gears;
  std::optional<Wheel> spare;
  Wheel wheel;
  FlopsPerSecond speed{1e12};
  std::optional<FlopsPerSecond> boost;
  Bytes memory{};
  Tier tier = Tier::kAssumed;
  std::vector<config::Source> sources{};  // that were read
};

constexpr config::Kind kWheelFiles{"wheels", "wheel"};

config::Fields config_fields(Wheel& wheel) {
  return {
      {"radius", Need::kOptional, config::number(wheel.radius, config::above(0)), "metres"},
      {"turn_us", Need::kOptional, config::number(wheel.turn, config::at_least(0), 1us), "of one turn",
       [&wheel] { return wheel.radius > 100 ? "radius is above 100" : ""; }},
  };
}

config::Fields config_fields(Cart& cart) {
  return {
      {"seats", Need::kRequired, config::integer(cart.seats, 1, 8), "to sit on"},
      {"weight", Need::kOptional, config::integer(cart.weight, 0, 1'000'000'000'000), "grams"},
      {"load", Need::kOptional, config::number(cart.load, config::kFraction), "of the most"},
      {"is_open", Need::kOptional, config::flag(cart.is_open), "no roof"},
      {"colour", Need::kOptional, config::choice(cart.colour, kColourNames), "of the outside"},
      {"name", Need::kOptional, config::text(cart.name), "painted on it"},
      {"manual", Need::kOptional, config::path(cart.manual), "to read"},
      {"gears", Need::kOptional, config::integers(cart.gears, 1, 99), "teeth"},
      {"spare", Need::kOptional, config::object(cart.spare), "a fifth wheel",
       [&cart] { return cart.is_open ? "is_open is true" : ""; }},
      {"wheel", Need::kOptional,
       config::object_or_name(config::access(cart.wheel), kWheelFiles, cart.sources), "each of four"},
      {"speed_tflops", Need::kOptional, config::number(cart.speed, config::between(0, 100), 1e12),
       "of its computer"},
      {"boost_tflops", Need::kOptional, config::number(cart.boost, config::above(0), 1e12), "downhill"},
      {"memory_gib", Need::kOptional, config::number(cart.memory, config::at_least(0), 1073741824.0),
       "of roads"},
      config::tier(cart.tier),
  };
}

Status config_finish(Cart& cart) {
  if (cart.name.empty()) cart.name = "cart";
  if (cart.gears.size() > 1 && cart.gears[1] < cart.gears[0])
    return Error{"is smaller than its neighbour", {.pointer = "/gears/1"}};
  return Ok{};
}

// The message for `text` without the path of its file, or "" where it is fine.
std::string problem(std::string_view text) {
  const TemporaryFile file("cart.json", text);
  const auto cart = config::read<Cart>(file.path());
  return cart ? "" : without_path(cart.error().message(), file);
}

Cart read_cart(std::string_view text) {
  const TemporaryFile file("cart.json", text);
  return config::read<Cart>(file.path()).value();
}

// A folder FOLDER/carts and FOLDER/wheels, to name files across.
class Garage {
 public:
  explicit Garage(std::string_view cart, std::string_view wheel) : marker_("garage", "-") {
    const std::filesystem::path folder = std::filesystem::path(marker_.path()).parent_path();
    put(folder / "carts" / "cart.json", cart);
    put(folder / "wheels" / "big.json", wheel);
    folder_ = folder.string();
    const std::string file = (folder / "carts" / "cart.json").string();
    cart_ = config::read<Cart>(file);
    Cart again;
    if (const auto unused = config::read_file(file, config::access(again))) unused_ = *unused;
  }
  [[nodiscard]] const Cart& cart() const { return cart_->value(); }
  [[nodiscard]] std::string unused() const {
    std::string text;
    for (const config::KeyNote& key : unused_)
      text += key.file + ' ' + key.pointer + " has no effect: " + key.why;
    return short_paths(text);
  }
  [[nodiscard]] std::string problem() const { return short_paths(cart_->error().message()); }

 private:
  [[nodiscard]] std::string short_paths(std::string message) const {
    for (auto at = message.find(folder_); at != std::string::npos; at = message.find(folder_))
      message.replace(at, folder_.size(), "G");
    return message;
  }
  static void put(const std::filesystem::path& path, std::string_view text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  TemporaryFile marker_;
  std::string folder_;
  std::optional<Result<Cart>> cart_;
  config::KeyNotes unused_;
};

}  // namespace

TEST_CASE("config: every kind of value is read, units by the suffix of the key") {
  const Cart cart =
      read_cart(R"({"seats": 4, "weight": 5000000000, "load": 0.25, "is_open": true, "colour": "green",
      "name": "x", "gears": [2, 3], "spare": {"radius": 1}, "wheel": {"turn_us": 1.5}, "speed_tflops": 2.5,
      "boost_tflops": 3, "memory_gib": 0.5})");
  CHECK(cart.seats == 4);
  CHECK(cart.weight == 5'000'000'000);
  CHECK(cart.load == 0.25);
  CHECK(cart.is_open);
  CHECK(cart.colour == Colour::kGreen);
  CHECK(cart.name == "x");
  CHECK(cart.gears == std::vector<std::int32_t>{2, 3});
  CHECK(cart.spare.value().radius == 1);
  CHECK(cart.wheel.turn == 1500ns);
  CHECK(cart.speed == FlopsPerSecond{2.5e12});
  CHECK(cart.boost == FlopsPerSecond{3e12});
  CHECK(cart.memory == Bytes{536870912});
}

TEST_CASE("config: an integer may be written as any number that is one") {
  const Cart cart = read_cart(R"({"seats": 4.0, "weight": 1e6, "gears": [2.0, 3e1]})");
  CHECK(cart.seats == 4);
  CHECK(cart.weight == 1'000'000);
  CHECK(cart.gears == std::vector<std::int32_t>{2, 30});
  CHECK(read_cart(R"({"seats": 1, "weight": 0.0})").weight == 0);
  CHECK(problem(R"({"seats": 1.5})") == " /seats: must be an integer from 1 to 8, not 1.5");
  CHECK(problem(R"({"seats": 1e300})") == " /seats: must be an integer from 1 to 8, not 1e+300");
  CHECK(problem(R"({"seats": -1e300})") == " /seats: must be an integer from 1 to 8, not -1e+300");
  CHECK(problem(R"({"seats": 1, "gears": [2, 2.5]})") ==
        " /gears/1: must be an integer from 1 to 99, not 2.5");
}

TEST_CASE("config: what is absent keeps the struct's default, or what finishing derives") {
  const Cart cart = read_cart(R"({"seats": 1})");
  CHECK(cart.weight == 7);
  CHECK_FALSE(cart.spare);
  CHECK_FALSE(cart.boost);
  CHECK(cart.wheel.turn == 2us);
  CHECK(cart.name == "cart");
}

TEST_CASE("config: paths are relative to the file that names them") {
  const TemporaryFile file("cart.json", R"({"seats": 1, "manual": "docs/../m.txt"})");
  const std::string folder = std::filesystem::path(file.path()).parent_path().string();
  CHECK(config::read<Cart>(file.path()).value().manual == folder + "/m.txt");
}

TEST_CASE("config: a wrong value is named with what it is and what is wanted") {
  CHECK(problem("[]") == ": must be an object, not an array");
  CHECK(problem(R"({})") == " /seats: is missing; it must be an integer from 1 to 8");
  CHECK(problem(R"({"seats": 0})") == " /seats: must be an integer from 1 to 8, not 0");
  CHECK(problem(R"({"seats": "4"})") == " /seats: must be an integer from 1 to 8, not \"4\"");
  CHECK(problem(R"({"seats": null})") == " /seats: must be an integer from 1 to 8, not null");
  CHECK(problem(R"({"seats": 4294967297})") == " /seats: must be an integer from 1 to 8, not 4294967297");
  CHECK(problem(R"({"seats": 18446744073709551615})") ==
        " /seats: must be an integer from 1 to 8, not 18446744073709551615");
  CHECK(problem(R"({"seats": 18446744073709551616})") ==
        " /seats: must be an integer from 1 to 8, not 1.8446744073709552e+19");
  CHECK(problem(R"({"seats": 1, "load": 0})") == " /load: must be a number above 0 and at most 1, not 0");
  CHECK(problem(R"({"seats": 1, "load": true})") ==
        " /load: must be a number above 0 and at most 1, not true");
  CHECK(problem(R"({"seats": 1, "speed_tflops": 101})") ==
        " /speed_tflops: must be a number from 0 to 100, not 101");
  CHECK(problem(R"({"seats": 1, "boost_tflops": 0})") == " /boost_tflops: must be a number above 0, not 0");
  CHECK(problem(R"({"seats": 1, "memory_gib": -1})") ==
        " /memory_gib: must be a number of at least 0, not -1");
  CHECK(problem(R"({"seats": 1, "is_open": 1})") == " /is_open: must be true or false, not 1");
  CHECK(problem(R"({"seats": 1, "name": 1})") == " /name: must be a string, not 1");
  CHECK(problem(R"({"seats": 1, "manual": {}})") == " /manual: must be a file path, not an object");
  CHECK(problem(R"({"seats": 1, "colour": "gren"})") ==
        " /colour: must be one of \"red\", \"green\", not \"gren\"; did you mean \"green\"?");
  CHECK(problem(R"({"seats": 1, "colour": 1})") == " /colour: must be one of \"red\", \"green\", not 1");
  CHECK(problem(R"({"seats": 1, "gears": 3})") ==
        " /gears: must be an array of integers from 1 to 99, not 3");
  CHECK(problem(R"({"seats": 1, "gears": [5, 100]})") ==
        " /gears/1: must be an integer from 1 to 99, not 100");
  CHECK(problem(R"({"seats": 1, "spare": 3})") == " /spare: must be an object, not 3");
  CHECK(problem(R"({"seats": 1, "spare": {"radius": 0}})") ==
        " /spare/radius: must be a number above 0, not 0");
  CHECK(problem(R"({"seats": 1, "wheel": 3})") == " /wheel: must be a file in wheels/ or an object, not 3");
}

TEST_CASE("config: a rule between fields is broken at its pointer") {
  CHECK(problem(R"({"seats": 1, "gears": [5, 4]})") == " /gears/1: is smaller than its neighbour");
}

TEST_CASE("config: unknown keys are errors that suggest the nearest, before keys that are missing") {
  CHECK(problem(R"({"seat": 1})") == " /seat: unknown key; did you mean \"seats\"?");
  CHECK(problem(R"({"seats": 1, "spare": {"rim/x": 1}})") ==
        " /spare/rim~1x: unknown key; known keys: radius, turn_us");
  CHECK(problem(R"({"seats": 1, "sources": {"spar": "here"}})") ==
        " /sources/spar: unknown key; did you mean \"spare\"?");
}

TEST_CASE("config: a key given twice is an error") {
  CHECK(problem(R"({"seats": 1, "seats": 2})") == " /seats: is given twice");
  CHECK(problem(R"({"gears": [1, {"a": 1, "b": {"a": 2}, "a": 3}], "seats": 1})") ==
        " /gears/1/a: is given twice");
  CHECK(problem(R"({"seats": 1, "spare": {"radius": 1}, "wheel": {"radius": 1}})").empty());
}

TEST_CASE("config: absurd nesting is refused, however deep") {
  CHECK(problem(std::string(1'000'000, '[')) == ": is nested too deeply for a config");
  CHECK(problem(std::string(65, '[') + std::string(65, ']')) == ": is nested too deeply for a config");
  CHECK(problem(std::string(64, '[') + std::string(64, ']')) == ": must be an object, not an array");
  std::string objects;
  for (int i = 0; i < 70; ++i) objects += R"({"a": 1, "b": )";
  CHECK(problem(objects + "1" + std::string(70, '}')) == ": is nested too deeply for a config");
}

TEST_CASE("config: what is no JSON is named with line and column") {
  CHECK(problem("{\n  \"seats\": 1,\n}") ==
        ":3:1: is not valid JSON: unexpected '}'; expected string literal");
  CHECK(problem("{\"seats\": tru}") == ":1:14: is not valid JSON: invalid literal");
  CHECK(problem("{ // four\n") == ":1:3: is not valid JSON: invalid literal; expected string literal");
  CHECK(problem("{\"seats\": 1} x") == ":1:14: is not valid JSON: invalid literal; expected end of input");
  CHECK(problem("[1, 2") == ":1:6: is not valid JSON: unexpected end of input; expected ']'");
  CHECK(problem("{\"name\": \"\xff\"}") == ":1:11: is not valid JSON: invalid string: ill-formed UTF-8 byte");
  CHECK(problem("") == ": no such file");
  CHECK(problem(" ") == ":1:2: is not valid JSON: unexpected end of input; expected '[', '{', or a literal");
  CHECK(problem("{\"load\": 1e999}") == ": is not valid JSON: number overflow parsing '1e999'");
}

TEST_CASE("config: files that cannot be read say so") {
  CHECK(config::read<Cart>("/nowhere/cart.json").error().message() == "/nowhere/cart.json: no such file");
  CHECK(config::read<Cart>("/tmp").error().message() == "/tmp: is a directory, not a JSON file");
  const TemporaryFile large("large.json", std::string((1 << 24) + 1, ' '));
  CHECK(without_path(config::read<Cart>(large.path()).error().message(), large) ==
        ": is larger than 16 MiB, the maximum for a config");
}

TEST_CASE("config: every object may say where its numbers come from") {
  CHECK(problem(R"({"seats": 1, "source": "counted", "sources": {"load": "guessed"}, "tier": "model",
                    "spare": {"source": "weighed", "tier": "measured"}})")
            .empty());
  CHECK(problem(R"({"seats": 1, "source": 1})") == " /source: must be a string, not 1");
  CHECK(problem(R"({"seats": 1, "sources": 1})") == " /sources: must be an object of strings, not 1");
  CHECK(problem(R"({"seats": 1, "sources": {"load": 1}})") == " /sources/load: must be a string, not 1");
  CHECK(problem(R"({"seats": 1, "tier": "assume"})") ==
        " /tier: must be one of \"measured\", \"literature\", \"datasheet\", \"model\", \"assumed\", not "
        "\"assume\"; did you mean \"assumed\"?");
}

TEST_CASE("config: an object is as well founded as the least of what is in it") {
  CHECK(read_cart(R"({"seats": 1})").tier == Tier::kAssumed);  // nobody says: the default
  CHECK(read_cart(R"({"seats": 1, "tier": "measured"})").tier == Tier::kMeasured);
  CHECK(read_cart(R"({"seats": 1, "tier": "measured", "spare": {"tier": "datasheet"}})").tier ==
        Tier::kDatasheet);
  CHECK(read_cart(R"({"seats": 1, "tier": "model", "spare": {"tier": "datasheet"}})").tier == Tier::kModel);
}

TEST_CASE("config: a named object is in the folder beside, or at the path given") {
  constexpr std::string_view kWheel = R"({"radius": 3, "tier": "literature"})";
  CHECK(Garage(R"({"seats": 1, "wheel": "big"})", kWheel).cart().wheel.radius == 3);
  CHECK(Garage(R"({"seats": 1, "wheel": "big"})", kWheel).cart().tier == Tier::kLiterature);
  CHECK(Garage(R"({"seats": 1, "wheel": "../wheels/big.json"})", kWheel).cart().wheel.radius == 3);
}

TEST_CASE("config: a name without a file suggests the nearest; errors in the file name that file") {
  CHECK(Garage(R"({"seats": 1, "wheel": "bgi"})", "{}").problem() ==
        "G/carts/cart.json /wheel: no wheel \"bgi\"; did you mean \"big\"?; looked in G/wheels");
  CHECK(Garage(R"({"seats": 1, "wheel": "x.json"})", "{}").problem() ==
        "G/carts/cart.json /wheel: no such file: \"G/carts/x.json\"");
  CHECK(Garage(R"({"seats": 1, "wheel": "big"})", R"({"radius": -1})").problem() ==
        "G/wheels/big.json /radius: must be a number above 0, not -1");
  CHECK(Garage(R"({"seats": 1, "wheel": "big"})", "{").problem() ==
        "G/wheels/big.json:1:2: is not valid JSON: unexpected end of input; expected string literal");
}

TEST_CASE("config: what is written reads back as the same, with defaults filled in and names resolved") {
  Cart cart = read_cart(
      R"({"seats": 4, "load": 0.1, "gears": [2], "wheel": {"turn_us": 1.5}, "speed_tflops": 19.5})");
  const OrderedJson written = config::write(config_fields(cart));
  CHECK(written.dump() ==
        R"({"seats":4,"weight":7,"load":0.1,"is_open":false,"colour":"red","name":"cart","gears":[2],)"
        R"("wheel":{"radius":0.5,"turn_us":1.5},"speed_tflops":19.5,"memory_gib":0.0,"tier":"assumed"})");
  Cart again = read_cart(written.dump());
  CHECK(config::write(config_fields(again)) == written);
}

TEST_CASE("config: keys that move nothing are named with their file, once all is read, and not written") {
  const auto unused = [](std::string_view text) {
    const TemporaryFile file("cart.json", text);
    Cart cart;
    std::string named;
    const auto read = config::read_file(file.path(), config::access(cart));
    for (const config::KeyNote& key : read.value()) {
      CHECK(key.file == file.path());
      named += key.pointer + ": " + key.why + "; ";
    }
    return named + config::write(config_fields(cart))["wheel"].dump();
  };
  CHECK(unused(R"({"seats": 1, "wheel": {"turn_us": 1}})") == R"({"radius":0.5,"turn_us":1.0})");
  CHECK(unused(R"({"seats": 1, "wheel": {"turn_us": 1, "radius": 101}})") ==
        R"(/wheel/turn_us: radius is above 100; {"radius":101.0})");
  // is_open is read before `spare`, which is named as a whole.
  CHECK(unused(R"({"seats": 1, "is_open": true, "spare": {"turn_us": 1, "radius": 101}})") ==
        R"(/spare: is_open is true; {"radius":0.5,"turn_us":2.0})");
  CHECK(unused(R"({"seats": 1, "is_open": true, "wheel": {"radius": 101}})") == R"({"radius":101.0})");
}

TEST_CASE("config: keys that move nothing are named in a file that is named, too") {
  const Garage garage(R"({"seats": 1, "wheel": "big"})", R"({"radius": 200, "turn_us": 1})");
  CHECK(garage.unused() == "G/wheels/big.json /turn_us has no effect: radius is above 100");
}

TEST_CASE("config: a renamed key is read by its former name, with a note, and still written by it") {
  const auto fields = [](double& pace) {
    return config::Fields{config::renamed(
        {"max_pace", config::Need::kRequired, config::number(pace, config::above(0)), "limit"}, "most_pace")};
  };
  // What was read, what is written, and the notes.
  const auto read = [&fields](std::string_view text, const std::vector<config::Change>& changes = {}) {
    double pace = 0;
    const TemporaryFile file("pace.json", text);
    const config::ObjectAccess access{[] { return true; }, [&] { return fields(pace); }, [] { return Ok{}; }};
    const auto notes = config::read_file(file.path(), access, {}, config::Changes(changes, "pace", "--set"));
    if (!notes) return without_path(notes.error().message(), file);
    std::string said = config::write(fields(pace)).dump();
    for (const config::KeyNote& note : *notes) said += ' ' + note.pointer + " -> " + note.new_name + note.why;
    return said;
  };
  CHECK(read(R"({"max_pace": 3})") == R"({"most_pace":3.0})");
  CHECK(read(R"({"most_pace": 3})") == R"({"most_pace":3.0} /most_pace -> max_pace)");
  CHECK(read(R"({})") == " /max_pace: is missing; it must be a number above 0");
  CHECK(read(R"({"most_pace": 0})") == " /most_pace: must be a number above 0, not 0");
  CHECK(read(R"({"most_pace": 3, "max_pace": 3})") ==
        " /most_pace: is the former name of \"max_pace\", which is also given; remove one of the two");
  // A change replaces the value whatever name the file has.
  CHECK(read(R"({"most_pace": 3})", {{"/max_pace", "5"}}) == R"({"most_pace":5.0})");
  CHECK(read(R"({"max_pace": 3})", {{"/most_pace", "5"}}) == R"({"most_pace":5.0} /most_pace -> max_pace)");
}

TEST_CASE("config: fields describe themselves, nested ones by their pointer") {
  Wheel wheel;
  CHECK(config::describe(config_fields(wheel)) ==
        "| key | value | default | meaning |\n|---|---|---|---|\n"
        "| `radius` | a number above 0 | 0.5 | metres |\n"
        "| `turn_us` | a number of at least 0 | 2.0 | of one turn |\n");
  Cart cart;
  const std::string table = config::describe(config_fields(cart));
  CHECK(table.find("| `seats` | an integer from 1 to 8 | required | to sit on |\n") != std::string::npos);
  CHECK(table.find("| `wheel` | a file in wheels/ or an object |  | each of four |\n") != std::string::npos);
  CHECK(table.find("| `spare/radius` | a number above 0 | 0.5 | metres |\n") != std::string::npos);
}

TEST_CASE("config: a file that is kept stays as it was, and so does what was wrong with it") {
  const TemporaryFile file("a.json", R"({"x": 1})");
  config::ParsedFiles kept;
  CHECK(kept.at(file.path()).value().at("x") == 1);
  std::ofstream(file.path()) << R"({"x": 2})";
  CHECK(kept.at(file.path()).value().at("x") == 1);
  CHECK(config::parse_file(file.path(), &kept).value().at("x") == 1);
  CHECK(config::parse_file(file.path(), nullptr).value().at("x") == 2);
  const TemporaryFile bad("b.json", "{");
  const std::string problem = kept.at(bad.path()).error().message();
  std::ofstream(bad.path()) << "{}";
  CHECK(kept.at(bad.path()).error().message() == problem);
  CHECK(config::parse_file(bad.path(), nullptr));
}

}  // namespace goodput

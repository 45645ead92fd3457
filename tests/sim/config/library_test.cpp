#include "sim/config/library.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/traces/io/temporary_file.h"

namespace goodput::config {
namespace {

namespace fs = std::filesystem;

constexpr Kind kWheels{"wheels", "wheel"};

// Folders T/own, T/mine, T/shipped, which are gone with this object.
class Folders {
 public:
  void put(const std::string& folder, const std::string& name, const std::string& content) const {
    const fs::path file = root() / folder / "wheels" / (name + ".json");
    fs::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  [[nodiscard]] fs::path root() const { return fs::path(marker_.path()).parent_path(); }
  [[nodiscard]] Library library() const {
    return {{(root() / "mine").string(), (root() / "shipped").string()}};
  }
  // T for the root.
  [[nodiscard]] std::string shown(std::string text) const {
    for (auto at = text.find(root().string()); at != std::string::npos; at = text.find(root().string()))
      text.replace(at, root().string().size(), "T");
    return text;
  }
  [[nodiscard]] std::string found(const std::string& name) const {
    const Result<Source> source = find(library(), kWheels, name);
    return shown(source ? source->file : source.error().message());
  }

 private:
  TemporaryFile marker_{"library", "-"};
};

}  // namespace

TEST_CASE("library: a name has no slash, does not end in .json and is not the one of stdin") {
  CHECK(is_name("llama3-70b"));
  CHECK(is_name("v1.5"));
  CHECK_FALSE(is_name(""));
  CHECK_FALSE(is_name("-"));
  CHECK_FALSE(is_name("x.json"));
  CHECK_FALSE(is_name("models/x"));
}

TEST_CASE("library: the first folder that has the file wins, and what it shadows is known") {
  const Folders folders;
  folders.put("shipped", "small", "1");
  folders.put("shipped", "big", "2");
  folders.put("mine", "big", "3");
  CHECK(folders.found("small") == "T/shipped/wheels/small.json");
  CHECK(folders.found("big") == "T/mine/wheels/big.json");
  CHECK(find(folders.library(), kWheels, "small")->shadowed.empty());
  const Source big = find(folders.library(), kWheels, "big").value();
  REQUIRE(big.shadowed.size() == 1);
  CHECK(folders.shown(big.shadowed[0]) == "T/shipped/wheels/big.json");
}

TEST_CASE("library: a file with the same content shadows nothing") {
  const Folders folders;
  folders.put("shipped", "big", "2");
  folders.put("mine", "big", "2");
  CHECK(find(folders.library(), kWheels, "big")->shadowed.empty());
}

TEST_CASE("library: a name that is nowhere gets the nearest one, and where it was looked for") {
  const Folders folders;
  folders.put("shipped", "big", "2");
  CHECK(
      folders.found("bgi") ==
      "no wheel \"bgi\"; did you mean \"big\"?; looked in T/mine/wheels (no such folder), T/shipped/wheels");
  folders.put("shipped", "bicycle", "2");
  folders.put("shipped", "train-big", "2");
  folders.put("mine", "bus", "2");
  folders.put("mine", "car", "2");
  CHECK(folders.found("b") ==
        "no wheel \"b\"; nearest: bicycle, big, bus; looked in T/mine/wheels, T/shipped/wheels");
  CHECK(folders.found("train") ==
        "no wheel \"train\"; nearest: train-big, bicycle, big; looked in T/mine/wheels, T/shipped/wheels");
  CHECK(find({}, kWheels, "big").error().message() == "no wheel \"big\"; there is no folder to look in");
}

TEST_CASE("library: a config file sees its own folder first, and that shadows nothing") {
  const Folders folders;
  folders.put("own", "big", "1");
  folders.put("shipped", "big", "2");
  folders.put("shipped", "small", "3");
  const std::string cart = (folders.root() / "own" / "carts" / "cart.json").string();
  const Source big = find_from(cart, folders.library(), kWheels, "big").value();
  CHECK(folders.shown(big.file) == "T/own/wheels/big.json");
  CHECK(big.shadowed.empty());
  CHECK(folders.shown(find_from(cart, folders.library(), kWheels, "small")->file) ==
        "T/shipped/wheels/small.json");
}

TEST_CASE("library: for a file of one of its folders the library's order holds") {
  const Folders folders;
  folders.put("mine", "big", "1");
  folders.put("shipped", "big", "2");
  folders.put("shipped", "small", "3");
  const std::string cart = (folders.root() / "shipped" / "wheels" / "cart.json").string();
  const Source big = find_from(cart, folders.library(), kWheels, "big").value();
  CHECK(folders.shown(big.file) == "T/mine/wheels/big.json");
  CHECK(big.shadowed.size() == 1);
}

}  // namespace goodput::config

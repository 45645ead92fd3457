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

TEST_CASE("library: a config goes by its aliases as well, where no file has the name") {
  const Folders folders;
  folders.put("shipped", "big", R"({"aliases": ["BIG-80", "large"]})");
  folders.put("shipped", "broken", "{");
  folders.put("shipped", "list", R"(["BIG-80"])");
  folders.put("shipped", "odd", R"({"aliases": "tiny"})");
  CHECK(folders.found("BIG-80") == "T/shipped/wheels/big.json");
  CHECK(folders.found("tiny").starts_with("no wheel \"tiny\""));
  // The first folder goes first, and what it shadows goes by no alias.
  folders.put("mine", "zz", R"({"aliases": ["BIG-80"]})");
  CHECK(folders.found("BIG-80") == "T/mine/wheels/zz.json");
  folders.put("shipped", "small", R"({"aliases": ["S"]})");
  folders.put("mine", "small", "{}");
  CHECK(folders.found("S").starts_with("no wheel"));
  folders.put("mine", "large", "1");
  CHECK(folders.found("large") == "T/mine/wheels/large.json");
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
  CHECK(find({}, kWheels, "big").error().message() == "no wheel \"big\"; there is no folder to search");
}

TEST_CASE("library: a config file sees its own folder first") {
  const Folders folders;
  folders.put("own", "big", "1");
  folders.put("shipped", "big", "2");
  folders.put("shipped", "small", "3");
  const std::string cart = (folders.root() / "own" / "carts" / "cart.json").string();
  const Source big = find_from(cart, folders.library(), kWheels, "big").value();
  CHECK(folders.shown(big.file) == "T/own/wheels/big.json");
  REQUIRE(big.shadowed.size() == 1);
  CHECK(folders.shown(big.shadowed[0]) == "T/shipped/wheels/big.json");
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

TEST_CASE("library: a folder of plans that is a link sees what lies beside where it leads") {
  const Folders folders;
  folders.put("own", "big", "1");
  folders.put("shipped", "big", "2");
  fs::create_directories(folders.root() / "own" / "carts");
  fs::create_directories(folders.root() / "elsewhere");
  fs::create_directory_symlink(folders.root() / "own" / "carts", folders.root() / "elsewhere" / "carts");
  const std::string cart = (folders.root() / "elsewhere" / "carts" / "cart.json").string();
  const Source big = find_from(cart, folders.library(), kWheels, "big").value();
  CHECK(fs::equivalent(big.file, folders.root() / "own" / "wheels" / "big.json"));
}

TEST_CASE("library: stdin stands in no folder") {
  const Folders folders;
  folders.put("shipped", "big", "2");
  CHECK(folders.shown(find_from(kStdinFile, folders.library(), kWheels, "big")->file) ==
        "T/shipped/wheels/big.json");
  CHECK(
      folders.shown(find_from(kStdinFile, folders.library(), kWheels, "bgi").error().message()) ==
      "no wheel \"bgi\"; did you mean \"big\"?; looked in T/mine/wheels (no such folder), T/shipped/wheels");
  CHECK(folder_of(kStdinFile).empty());
  CHECK(folder_of("a/b.json") == "a");
}

TEST_CASE("library: what is no file, or hidden, has no name; where a file is wanted it is an error") {
  const Folders folders;
  folders.put("mine", "bus", "1");
  folders.put("mine", ".#bus", "1");
  folders.put("shipped", "van", "2");
  const fs::path wheels = folders.root() / "mine" / "wheels";
  fs::create_directory(wheels / "folder.json");
  fs::create_symlink("/nonexistent", wheels / "van.json");
  fs::create_symlink("loop.json", wheels / "loop.json");
  CHECK(names_of(folders.library(), kWheels) == std::set<std::string>{"bus", "van"});
  CHECK(folders.found("folder") ==
        "T/mine/wheels/folder.json: is not a regular file, so it cannot be the wheel \"folder\"");
  CHECK(folders.found("van") ==
        "T/mine/wheels/van.json: is not a regular file, so it cannot be the wheel \"van\"");
  CHECK(folders.found("loop") ==
        "T/mine/wheels/loop.json: is not a regular file, so it cannot be the wheel \"loop\"");
  folders.put("mine", "mini", "3");
  fs::create_directories(folders.root() / "shipped" / "wheels" / "mini.json");
  CHECK(find(folders.library(), kWheels, "mini")->shadowed.empty());
}

}  // namespace goodput::config

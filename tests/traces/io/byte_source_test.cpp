#include "traces/io/byte_source.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <string>
#include <thread>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

std::string gzipped(const std::string& text) {
  const TemporaryFile file("t.gz");
  gzFile out = gzopen(file.path().c_str(), "wb");
  REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  REQUIRE(gzclose_w(out) == Z_OK);
  return file.content();
}

// Text that gzip cannot shrink much.
std::string noise(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < bytes) text += static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
  return text;
}

std::string read_whole(const std::string& content, std::size_t piece) {
  const TemporaryFile file("t", content);
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  std::string all;
  std::string buffer(piece, '\0');
  while (true) {
    const auto count = source->read(buffer);
    REQUIRE(count);
    all.append(buffer, 0, *count);
    if (*count < piece) return all;
  }
}

std::string open_error(const std::string& path) {
  const auto source = ByteSource::open(path);
  REQUIRE_FALSE(source);
  return source.error().message();
}

TEST_CASE("byte source: plain and gzipped files read alike, in pieces of any size") {
  const std::string text = noise(300'000);
  for (const std::size_t piece : {1000U, 65536U, 400'000U}) {
    CHECK(read_whole(text, piece) == text);
    CHECK(read_whole(gzipped(text), piece) == text);
  }
}

TEST_CASE("byte source: several gzip members in a file follow each other") {
  CHECK(read_whole(gzipped("one,") + gzipped("two"), 100) == "one,two");
}

TEST_CASE(
    "byte source: zeros may pad gzip data, anything else behind it is an error, for it may have been rows") {
  CHECK(read_whole(gzipped("rows") + std::string(1000, '\0'), 100) == "rows");
  for (const std::string& tail : {std::string("x"), std::string("\0x", 2), gzipped("more").substr(1)}) {
    const TemporaryFile file("t", gzipped("rows") + tail);
    auto source = ByteSource::open(file.path());
    REQUIRE(source);
    const auto text = read_all(*source, 100);
    REQUIRE_FALSE(text);
    CHECK(text.error().what == "the gzip data is damaged: something other than gzip follows its first part");
  }
}

TEST_CASE("byte source: peeking shows up to 64 KiB and consumes nothing") {
  const std::string text = noise(100'000);
  const TemporaryFile file("t", gzipped(text));
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  CHECK(*source->peek() == text.substr(0, 65536));
  CHECK(*source->peek() == text.substr(0, 65536));
  std::size_t consumed = 0;
  source->report_progress([&](std::size_t bytes) { consumed = bytes; });
  CHECK(*read_all(*source, 200'000) == text);
  CHECK(consumed == gzipped(text).size());
}

TEST_CASE("byte source: what cannot be read is refused by name") {
  const TemporaryFile file("t", "x");
  const std::string folder = file.path().substr(0, file.path().rfind('/'));
  CHECK(open_error(file.path() + "x") == file.path() + "x: cannot open: No such file or directory");
  CHECK(open_error(folder) == folder + ": is a directory; name its files, for example " + folder + "/*");
  CHECK(open_error(folder + "/") ==
        folder + "/: is a directory; name its files, for example " + folder + "/*");
  std::ofstream(file.path(), std::ios::trunc).close();
  CHECK(open_error(file.path()) == file.path() + ": is empty");
}

TEST_CASE("byte source: truncated and damaged gzip data are errors") {
  const std::string whole = gzipped(noise(100'000));
  const TemporaryFile truncated("t.gz", whole.substr(0, whole.size() - 100));
  auto source = ByteSource::open(truncated.path());
  REQUIRE(source);
  const auto text = read_all(*source, 200'000);
  REQUIRE_FALSE(text);
  CHECK(text.error().message() == truncated.path() + ": gzip data ends early: the file is truncated");

  std::string damaged_bytes = whole;
  damaged_bytes[damaged_bytes.size() - 6] ^= 1;  // in the checksum
  const TemporaryFile damaged("t.gz", damaged_bytes);
  auto damaged_source = ByteSource::open(damaged.path());
  REQUIRE(damaged_source);
  const auto damaged_text = read_all(*damaged_source, 200'000);
  REQUIRE_FALSE(damaged_text);
  CHECK(damaged_text.error().what.starts_with("gzip data is damaged: "));
}

std::string zstd_compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  REQUIRE(ZSTD_isError(size) == 0);
  return out.substr(0, size);
}

TEST_CASE("byte source: zstd is decompressed, several frames and those to skip too") {
  const std::string text = noise(300'000);
  CHECK(read_whole(zstd_compressed(text), 400'000) == text);
  const std::string to_skip = std::string("\x50\x2a\x4d\x18\x03\0\0\0", 8) + "abc";
  CHECK(read_whole(zstd_compressed("one,") + to_skip + zstd_compressed("two"), 100) == "one,two");
}

TEST_CASE("byte source: truncated and damaged zstd data are errors") {
  const std::string whole = zstd_compressed(noise(300'000));
  const auto error_of = [](const std::string& bytes) {
    const TemporaryFile file("t.zst", bytes);
    auto source = ByteSource::open(file.path());
    REQUIRE(source);
    const auto text = read_all(*source, 400'000);
    REQUIRE_FALSE(text);
    return without_path(text.error().message(), file);
  };
  CHECK(error_of(whole.substr(0, whole.size() - 100)) == ": zstd data ends early: the file is truncated");
  CHECK(error_of(whole + "x") ==
        ": the zstd data is damaged: something other than zstd follows its first part");
  std::string damaged = whole;
  damaged[6] ^= 0x7f;
  CHECK(error_of(damaged).starts_with(": zstd data is damaged: "));
}

TEST_CASE("byte source: where truncation is accepted, what stands before it is read") {
  const std::string text = noise(300'000);
  for (const std::string& whole : {gzipped(text), zstd_compressed(text)}) {
    const TemporaryFile file("t", whole.substr(0, whole.size() / 2));
    auto source = ByteSource::open(file.path());
    REQUIRE(source);
    source->accept_truncation();
    const auto read = read_all(*source, 400'000);
    REQUIRE(read);
    CHECK(read->size() > 100'000);
    CHECK(text.starts_with(*read));
    CHECK(source->is_compressed());
    CHECK(source->truncation().ends_with(" data ends early"));
  }
}

TEST_CASE("byte source: peeking shows what follows white space, which is read all the same") {
  const std::string text = std::string(200'000, '\n') + "x y\n";
  const TemporaryFile file("t", text);
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  CHECK(*source->peek() == "x y\n");
  CHECK(*read_all(*source, 400'000) == text);
}

TEST_CASE("byte source: a file larger than the limit is refused") {
  const TemporaryFile file("t", "12345");
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  const auto text = read_all(*source, 4);
  REQUIRE_FALSE(text);
  CHECK(text.error().message() == file.path() + ": is larger than 4 bytes; is it the right file?");
}

TEST_CASE("byte source: a pipe is read like a file") {
  const TemporaryFile file("pipe");
  REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  const std::string text = noise(200'000);
  std::thread writer([&] { std::ofstream(file.path(), std::ios::binary) << text; });
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  const bool peeked = source->peek()->size() == 65536;
  const auto read = read_all(*source, 300'000);
  writer.join();
  CHECK(peeked);
  CHECK(*read == text);
}

}  // namespace
}  // namespace goodput

// The text of a config file as JSON: what a JSON parser accepts in silence is an error here.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "sim/config/library.h"

namespace goodput::config {

// Fails on what is not readable, no JSON ("FILE:LINE:COLUMN: ..."), nested absurdly, or has a key twice in an
// object ("FILE /json/pointer: ...").
Result<Json> parse_file(const std::string& file);

// The same of text that is in memory; `file`: what messages call it.
Result<Json> parse_text(const std::string& text, const std::string& file);

// Files that were parsed, each once, for whoever reads them many times with other changes. They stay as they
// were then. For any number of threads.
class ParsedFiles {
 public:
  ParsedFiles();
  ~ParsedFiles();

  // parse_file(), or what that was the first time.
  Result<Json> at(const std::string& file);

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const Result<Json>>> files_;
};

// As `parsed` has it, if that is given.
Result<Json> parse_file(const std::string& file, ParsedFiles* parsed);

// A config of this kind as the library reads it: also from a file of another program.
Result<Json> parse_file(const std::string& file, const Library& library, const Kind& kind);

}  // namespace goodput::config

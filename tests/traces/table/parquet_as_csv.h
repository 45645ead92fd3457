// A Parquet file as the text that the same rows make as CSV, for tests. Defined only when built with Parquet.
#pragma once

#include <string>

namespace goodput::testing {

[[nodiscard]] std::string parquet_as_csv(const std::string& path);

// "i: int64\nr: double"
[[nodiscard]] std::string parquet_schema(const std::string& path);

}  // namespace goodput::testing

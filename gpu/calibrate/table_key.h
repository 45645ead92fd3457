// What a calibration file calls things (docs/formats/calibration.md): a table is an op with params, a point
// of it has a size. Host only.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace goodput::gpu::calibrate {

struct Param {
  std::string name;
  std::variant<std::int64_t, bool, std::string> value;

  friend bool operator==(const Param& a, const Param& b) { return a.name == b.name && a.value == b.value; }
};

struct TableKey {
  std::string op;
  std::vector<Param> params;

  friend bool operator==(const TableKey& a, const TableKey& b) {
    return a.op == b.op && a.params == b.params;
  }
};
// "gemm n=4096 k=14336 dtype=bf16 sustained"; what is false is left out.
[[nodiscard]] std::string text_of(const TableKey& table);

struct PointKey {
  TableKey table;
  std::string size_name;  // "bytes", "tokens", "m"; "" for the only point of a table
  std::int64_t size = 0;

  friend bool operator==(const PointKey& a, const PointKey& b) {
    return a.table == b.table && a.size_name == b.size_name && a.size == b.size;
  }
};
// "gemm n=4096 k=14336 dtype=bf16 m=16": a point's name, which no other has.
[[nodiscard]] std::string text_of(const PointKey& point);

}  // namespace goodput::gpu::calibrate

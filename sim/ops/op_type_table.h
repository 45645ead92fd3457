// The types of the ops of a recording: NDTimeline's, and those that its trace brings along.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/ops/op_type.h"

namespace goodput {

class OpTypeTable {
 public:
  // As OpTypeInfo, with texts of its own.
  struct Row {
    std::string name;
    std::string label;
    OpClass op_class = OpClass::kOther;
    IdealStatistic ideal = IdealStatistic::kMean;
  };

  // NDTimeline's types.
  OpTypeTable();

  // REQUIRES: no type has this name yet, and there are fewer than kMostTypes.
  static constexpr std::size_t kMostTypes = 256;
  OpType add(Row row);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const Row& operator[](OpType type) const { return rows_[index_of(type)]; }
  [[nodiscard]] auto begin() const { return rows_.begin(); }
  [[nodiscard]] auto end() const { return rows_.end(); }

 private:
  std::vector<Row> rows_;
};

}  // namespace goodput

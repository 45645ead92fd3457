#include "sim/ops/op_type_table.h"

#include <algorithm>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {

OpTypeTable::OpTypeTable() {
  for (const OpTypeInfo& type : kNdtimelineTypes) {
    rows_.push_back({std::string(type.name), std::string(type.label), type.op_class, type.ideal});
  }
}

OpType OpTypeTable::add(Row row) {
  GOODPUT_CHECK(rows_.size() < kMostTypes, "too many op types");
  GOODPUT_CHECK(std::ranges::find(rows_, row.name, &Row::name) == rows_.end(),
                "two op types have the same name");
  rows_.push_back(std::move(row));
  return static_cast<OpType>(rows_.size() - 1);
}

}  // namespace goodput

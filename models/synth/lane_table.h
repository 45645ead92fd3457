// What every op of a synthetic trace takes in every lane, and how late it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/timing.h"
#include "sim/ops/op_graph.h"

namespace goodput {

class LaneTable final : public OpValues {
 public:
  LaneTable(std::size_t ops, LaneShape shape) : shape_(shape), values_s_(ops * shape_.stride()) {}

  [[nodiscard]] LaneShape shape() const { return shape_; }
  [[nodiscard]] std::span<double> values(OpId op) { return row(values_s_, op); }
  [[nodiscard]] std::span<double> delays(OpId op) {
    delays_s_.resize(values_s_.size());
    return row(delays_s_, op);
  }
  [[nodiscard]] double at(OpId op, std::size_t lane) const { return values_s_[op * shape_.stride() + lane]; }

  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    return {values_s_.data() + op * shape_.stride(), 0};
  }
  [[nodiscard]] lanes::Values delay(OpId op, std::span<double> /*scratch*/) const override {
    if (delays_s_.empty()) return {};
    return {delays_s_.data() + op * shape_.stride(), 0};
  }

 private:
  std::span<double> row(std::vector<double>& table, OpId op) const {
    return std::span(table).subspan(op * shape_.stride(), shape_.lanes());
  }

  LaneShape shape_;
  std::vector<double> values_s_;
  std::vector<double> delays_s_;  // empty: none
};

// Key of a lane's random stream: draws of one lane do not move those of another.
[[nodiscard]] inline std::uint64_t lane_key(std::size_t step, std::size_t replica) {
  return static_cast<std::uint64_t>(step) << 32 | replica;
}

}  // namespace goodput

// The slow, obvious reference of the dispatch of models/dispatch/dispatch.h: one token, one replica at a
// time. Linked into tests only; it shares nothing with the production code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goodput::reference {

// One expert over all ranks.
struct ExpertCase {
  std::vector<std::int64_t> tokens;    // of every rank
  std::vector<std::int64_t> replicas;  // on every rank
  std::int64_t rotation = 0;           // the replica that gets the first odd token
  std::int64_t multiplier = 1;         // surplus token t goes to residual place multiplier * t mod S
};

struct ExpertDispatch {
  std::vector<std::int64_t> capacity;             // of every rank
  std::vector<std::vector<std::int64_t>> counts;  // [source][destination]
};

// Deals the tokens out to replicas, lists surplus tokens and residual places one by one, and sends them.
ExpertDispatch dispatch_one_by_one(const ExpertCase& expert);

// What every rank receives when every source rounds its own row: it cuts its surplus up in proportion to the
// residuals by largest remainders (of equal ones the lowest rank), and no one looks at the columns.
std::vector<std::int64_t> received_when_sources_round_alone(const ExpertCase& expert);

// Rows of `width` numbers, the reference of the kernels that move activations. `positions` has top_k entries
// a token; -1: dropped.
struct RowCopies {
  std::span<const std::int64_t> positions;
  std::size_t top_k = 1;
  std::size_t width = 1;
};
// out[positions[slot]] = rows[slot / top_k]
std::vector<float> scatter(const RowCopies& copies, std::span<const float> rows);
// out[token] = sum over its slots of weights[slot] * rows[positions[slot]]
std::vector<float> combine(const RowCopies& copies, std::span<const float> rows,
                           std::span<const float> weights);

}  // namespace goodput::reference

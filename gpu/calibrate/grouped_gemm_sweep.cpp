#include "gpu/calibrate/grouped_gemm_sweep.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "gpu/bench/payload.h"
#include "gpu/bench/traffic.h"
#include "gpu/calibrate/gemm_case.h"
#include "gpu/calibrate/gemm_families.h"
#include "gpu/graph.h"

namespace goodput::gpu::calibrate {
namespace {

// Operands and results of several sets. Runs rotate over so many that none finds its own in the L2 cache.
class GroupedData {
 public:
  GroupedData(const GroupedShape& shape, int sets)
      : x_elements_(shape.all_rows() * shape.k),
        w_elements_(static_cast<std::int64_t>(shape.rows.size()) * shape.n * shape.k),
        y_elements_(shape.all_rows() * shape.n) {
    for (int set = 0; set < sets; ++set) {
      x_.emplace_back(static_cast<std::size_t>(x_elements_));
      w_.emplace_back(static_cast<std::size_t>(w_elements_));
      y_.emplace_back(static_cast<std::size_t>(y_elements_));
    }
  }

  [[nodiscard]] std::vector<GroupedOperands> operands() {
    std::vector<GroupedOperands> sets;
    for (std::size_t set = 0; set < x_.size(); ++set)
      sets.push_back({x_[set].data(), w_[set].data(), y_[set].data()});
    return sets;
  }
  // Set 0 with `seed`, the others with ones behind it.
  void fill(std::size_t sets, MatrixFill fill, std::uint64_t seed, cudaStream_t stream) {
    for (std::size_t set = 0; set < sets; ++set, seed += 2) {
      fill_matrix(x_[set].data(), MatrixType::kBf16, x_elements_, fill, seed, stream);
      fill_matrix(w_[set].data(), MatrixType::kBf16, w_elements_, fill, seed + 1, stream);
    }
  }
  void fill_all(cudaStream_t stream) { fill(x_.size(), MatrixFill::kDense, 0, stream); }
  void poison(cudaStream_t stream) {
    GOODPUT_CUDA(cudaMemsetAsync(y_[0].data(), bench::kPoisonByte, y_[0].size() * sizeof(Bf16), stream));
  }
  [[nodiscard]] const Bf16* result() const { return y_[0].data(); }

 private:
  std::int64_t x_elements_;
  std::int64_t w_elements_;
  std::int64_t y_elements_;
  std::vector<DeviceBuffer<Bf16>> x_;
  std::vector<DeviceBuffer<Bf16>> w_;
  std::vector<DeviceBuffer<Bf16>> y_;
};

std::uint64_t count_wrong_groups(const GroupedShape& shape, std::uint64_t seed, const Bf16* y,
                                 const Stream& stream) {
  std::uint64_t wrong = 0;
  std::int64_t begin = 0;
  for (std::size_t expert = 0; expert < shape.rows.size(); ++expert) {
    const std::int64_t rows = shape.rows[expert];
    if (rows == 0) continue;
    const ExactProduct product{{rows, shape.n, shape.k},
                               seed,
                               seed + 1,
                               begin * shape.k,
                               static_cast<std::int64_t>(expert) * shape.n * shape.k};
    wrong += count_wrong_products(product, y + begin * shape.n, stream);
    begin += rows;
  }
  return wrong;
}

Visit visit_grouped(const GroupedShape& shape, PointMeasurer& measurer, Checking checking) {
  constexpr std::uint64_t kCheckSeed = 1000;
  const int sets = bench::sets_for(shape.bytes());
  const Stream& stream = measurer.stream();
  GroupedData data(shape, sets);
  const GroupedGemm gemm(shape, data.operands());
  if (checking == Checking::kYes) {
    data.fill(1, MatrixFill::kExact, kCheckSeed, stream.get());
  }
  gemm.run(0, stream.get());  // whatever the first call alone does, handles for example, is none of a capture
  stream.synchronize();
  if (checking == Checking::kYes) data.poison(stream.get());
  const bool captured = run_as_graph([&](cudaStream_t queue) { gemm.run(0, queue); }, stream);
  std::optional<std::uint64_t> nwrong;
  if (checking == Checking::kYes) nwrong = count_wrong_groups(shape, kCheckSeed, data.result(), stream);
  data.fill_all(stream.get());
  int turn = 0;
  Visit visit =
      captured ? measurer.measure(
                     {[&](int set, cudaStream_t queue) { gemm.run(set, queue); }, sets, shape.bytes()})
               : measurer.measure_uncaptured([&](cudaStream_t queue) { gemm.run(turn++ % sets, queue); });
  visit.nwrong = nwrong;
  visit.source = gemm.source() + (captured ? "" : ", launched one by one");
  return visit;
}

SweepPoint grouped_point(GroupedShape shape, bool by_load) {
  TableKey table{"grouped_gemm",
                 {{"n", shape.n},
                  {"k", shape.k},
                  {"experts", static_cast<std::int64_t>(shape.rows.size())},
                  {"dtype", std::string(name_of(MatrixType::kBf16))}}};
  if (by_load) table.params.push_back({"loads", std::string("smartmoe-like")});
  const double estimate_s = product_visit_estimate_s(shape.flops(), shape.bytes(), MatrixType::kBf16);
  return {{std::move(table), "m", shape.all_rows()},
          estimate_s,
          [shape = std::move(shape)](PointMeasurer& measurer, Checking checking) {
            return visit_grouped(shape, measurer, checking);
          },
          {}};
}

void add_family(Sweep& sweep, const GroupedFamily& family, const std::vector<std::int64_t>& sizes,
                const std::vector<int>& experts) {
  for (const std::int64_t rows : sizes) {
    for (const int count : experts) {
      const std::vector<std::int64_t> each(static_cast<std::size_t>(count), rows / count);
      sweep.points.push_back(grouped_point({family.n, family.k, each}, false));
    }
    const std::vector<int> of_8(std::begin(kSmartmoeLoads8), std::end(kSmartmoeLoads8));
    const std::vector<int> of_32(std::begin(kSmartmoeLoads32), std::end(kSmartmoeLoads32));
    for (const std::vector<int>& loads : {of_8, of_32})
      sweep.points.push_back(grouped_point({family.n, family.k, rows_by_load(loads, rows)}, true));
  }
}

}  // namespace

std::vector<std::int64_t> rows_by_load(const std::vector<int>& loads, std::int64_t rows) {
  std::vector<std::int64_t> parts;
  std::int64_t left = rows;
  for (const int load : loads) {
    parts.push_back(rows * load / kLoadParts);
    left -= parts.back();
  }
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rows * loads[a] % kLoadParts > rows * loads[b] % kLoadParts;
  });
  for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++parts[order[i]];
  return parts;
}

bool run_as_graph(const std::function<void(cudaStream_t)>& run, const Stream& stream) {
  try {
    const Graph graph(stream.get(), [&] { run(stream.get()); });
    for (int replay = 0; replay < 2; ++replay) graph.launch(stream.get());
    stream.synchronize();
    return true;
  } catch (const CudaError&) {
  } catch (const MatmulError&) {
  }
  run(stream.get());
  stream.synchronize();
  return false;
}

Sweep grouped_gemm_sweep(Sizes sizes) {
  Sweep sweep{"grouped_gemm", {}, {}};
  if (sizes == Sizes::kQuick) {
    add_family(sweep, {32, 48}, {64}, {1, 8});
    return sweep;
  }
  for (const GroupedFamily& family : kGroupedFamilies)
    add_family(sweep, family, {256, 1024, 4096, 16'384, 65'536}, {1, 2, 4, 8, 32});
  return sweep;
}

}  // namespace goodput::gpu::calibrate

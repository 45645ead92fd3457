#include "gpu/calibrate/grouped_gemm_sweep.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "gpu/bench/traffic.h"
#include "gpu/calibrate/gemm_case.h"
#include "gpu/calibrate/gemm_families.h"
#include "gpu/calibrate/grouped_check.h"
#include "gpu/graph.h"

namespace goodput::gpu::calibrate {
namespace {

// Operands and results of several sets. Runs rotate over so many that none finds its own in the L2 cache.
class GroupedData {
 public:
  GroupedData(const GroupedShape& shape, int sets) : shape_(shape) {
    for (int set = 0; set < sets; ++set) {
      a_.emplace_back(static_cast<std::size_t>(shape.a_elements()));
      b_.emplace_back(static_cast<std::size_t>(shape.b_elements()));
      y_.emplace_back(static_cast<std::size_t>(shape.y_elements()));
    }
  }

  [[nodiscard]] std::vector<GroupedOperands> operands() {
    std::vector<GroupedOperands> sets;
    for (std::size_t set = 0; set < a_.size(); ++set)
      sets.push_back({a_[set].data(), b_[set].data(), y_[set].data()});
    return sets;
  }
  void fill_all(cudaStream_t stream) {
    std::uint64_t seed = 0;
    for (const GroupedOperands& set : operands()) {
      fill_groups(shape_, set, MatrixFill::kDense, seed, stream);
      seed += 2;
    }
  }

 private:
  GroupedShape shape_;
  std::vector<DeviceBuffer<Bf16>> a_;
  std::vector<DeviceBuffer<Bf16>> b_;
  std::vector<DeviceBuffer<Bf16>> y_;
};

Visit visit_grouped(const GroupedShape& shape, PointMeasurer& measurer, Checking checking) {
  constexpr std::uint64_t kCheckSeed = 1000;
  const int sets = bench::sets_for(shape.bytes());
  const Stream& stream = measurer.stream();
  GroupedData data(shape, sets);
  const GroupedOperands first = data.operands().front();
  const GroupedGemm gemm(shape, data.operands());
  if (checking == Checking::kYes) fill_groups(shape, first, MatrixFill::kExact, kCheckSeed, stream.get());
  gemm.run(0, stream.get());  // whatever the first call alone does, handles for example, is none of a capture
  stream.synchronize();
  if (checking == Checking::kYes) poison_groups(shape, first, stream.get());
  const bool captured = run_as_graph([&](cudaStream_t queue) { gemm.run(0, queue); }, stream);
  std::optional<std::uint64_t> nwrong;
  if (checking == Checking::kYes) nwrong = count_wrong_groups(shape, kCheckSeed, first.y, stream);
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
  const std::int64_t all = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  std::vector<std::int64_t> parts;
  std::int64_t left = rows;
  for (const int load : loads) {
    parts.push_back(rows * load / all);
    left -= parts.back();
  }
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rows * loads[a] % all > rows * loads[b] % all;
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

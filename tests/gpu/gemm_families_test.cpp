// The shapes that are measured are those that the steps of four plans ask for.
#include "gpu/calibrate/gemm_families.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "models/plan/training_plan.h"
#include "models/routing/job_routing.h"
#include "models/routing/synthetic_routing.h"
#include "models/step/layer_work.h"
#include "sim/base/apportion.h"
#include "sim/config/config.h"

namespace goodput::gpu::calibrate {
namespace {

const std::string kPlans[] = {"llama3-8b-h100", "llama3-70b-h100", "mixtral-8x7b-h100",
                              "deepseek-v3-2048-h800"};

using Extents = std::pair<std::int64_t, std::int64_t>;  // n, k

// The products of a micro-batch's forward pass on one GPU, all layers and the head.
std::vector<Kernel> forward_products(const std::string& plan_name) {
  const auto plan = read_training_plan(GOODPUT_CONFIGS "/plans/" + plan_name + ".json");
  REQUIRE(plan);
  const LayerWork work(plan->model, plan->parallel, plan->cluster.gpus_per_node);
  std::vector<Kernel> products;
  const auto add = [&](const std::vector<PartWork>& parts) {
    for (const PartWork& part : parts) {
      for (const Kernel& kernel : part.kernels) {
        if (kernel.kind == Kernel::Kind::kGemm) products.push_back(kernel);
      }
    }
  };
  for (std::int32_t layer = 0; layer < plan->model.layers + plan->model.mtp_layers; ++layer)
    add(work.forward(layer, work.has_experts(layer) ? work.balanced_share() : goodput::ExpertShare{}));
  add(work.head_forward());
  return products;
}

TEST_CASE("gemm families: they are the products that four plans ask for, and no others") {
  std::map<Extents, bool> asked;  // whether in fp8, too
  for (const std::string& plan : kPlans) {
    for (const Kernel& kernel : forward_products(plan)) {
      if (kernel.batch != 1) continue;
      asked[{kernel.n, kernel.k}] |= kernel.precision == Precision::kFp8;
    }
  }
  std::map<Extents, bool> measured;
  for (const GemmFamily& family : kGemmFamilies) {
    CHECK(measured.emplace(Extents{family.n, family.k}, family.fp8).second);
  }
  const auto text = [](const std::map<Extents, bool>& families) {
    std::string lines;
    for (const auto& [extents, fp8] : families) {
      lines += std::to_string(extents.first) + " " + std::to_string(extents.second) + (fp8 ? " fp8\n" : "\n");
    }
    return lines;
  };
  CHECK(text(measured) == text(asked));
}

// A plan may hold one expert a GPU: the product of it is one of the families above then.
TEST_CASE("gemm families: grouped ones are the experts' of the two models that have some") {
  std::set<Extents> asked;
  for (const std::string& name : kPlans) {
    const auto plan = read_training_plan(GOODPUT_CONFIGS "/plans/" + name + ".json");
    REQUIRE(plan);
    if (!plan->model.moe) continue;
    const LayerWork work(plan->model, plan->parallel, plan->cluster.gpus_per_node);
    for (const PartWork& part : work.forward_by_rank(work.balanced_share())) {
      for (const Kernel& kernel : part.kernels) {
        if (kernel.kind == Kernel::Kind::kGemm) asked.insert({kernel.n, kernel.k});
      }
    }
  }
  std::set<Extents> measured;
  for (const GroupedFamily& family : kGroupedFamilies) measured.insert({family.n, family.k});
  CHECK(measured == asked);
}

TEST_CASE("gemm families: those of other layouts are among the families") {
  for (const GroupedFamily& family : kGradientFamilies) {
    const auto same = [&](const GemmFamily& f) { return f.n == family.n && f.k == family.k; };
    CHECK(std::any_of(std::begin(kGemmFamilies), std::end(kGemmFamilies), same));
  }
}

// The last iteration of the model, seed 1, of the layer whose busiest expert is in the middle of all layers.
std::vector<std::int64_t> loads_of(std::int32_t experts, std::int64_t parts) {
  const auto model = config::read<RoutingModel>(GOODPUT_CONFIGS "/routing/smartmoe-like.json");
  REQUIRE(model);
  const RoutingTrace trace = synthesize_routing(*model, 1);
  std::vector<std::pair<std::int64_t, std::size_t>> busiest;
  for (std::size_t layer = 0; layer < trace.layers().size(); ++layer) {
    const auto loads = trace.loads(trace.iterations().size() - 1, layer);
    busiest.emplace_back(*std::max_element(loads.begin(), loads.end()), layer);
  }
  std::sort(busiest.begin(), busiest.end());
  const auto routing = JobRouting::from_trace(
      trace, {{busiest[busiest.size() / 2].second}, experts, trace.iterations().back()});
  REQUIRE(routing);
  return apportion(routing->loads(routing->windows() - 1)[0], parts);
}

TEST_CASE("gemm families: loads are those of the routing model") {
  const auto text = [](const auto& numbers) {
    std::string line;
    for (const auto number : numbers) line += std::to_string(number) + " ";
    return line;
  };
  CHECK(text(kSmartmoeLoads32) == text(loads_of(32, kLoadParts)));
  CHECK(text(kSmartmoeLoads8) == text(loads_of(8, kLoadParts)));
}

}  // namespace
}  // namespace goodput::gpu::calibrate

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "tools/calibration/calibration_info.h"
#include "tools/calibration/table_text.h"
#include "tools/cli/text_table.h"

namespace goodput {
namespace {

// Joins what is there.
std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return on_one_line(text);
}
std::string stated_number(double value, std::string_view before, std::string_view unit) {
  return value > 0 ? fmt::format("{}{:.6g} {}", before, value, unit) : "";
}
std::string stated_text(const std::string& value, std::string_view before) {
  return value.empty() ? "" : fmt::format("{}{}", before, value);
}
std::string stated_flag(std::optional<bool> value, std::string_view name) {
  return value ? fmt::format("{} {}", name, *value ? "on" : "off") : "";
}

std::string machine_line(const MeasuredMachine& machine) {
  return listed({machine.gpus > 0 ? fmt::format("{} GPUs per node", machine.gpus) : "",
                 machine.multiprocessors > 0 ? fmt::format("{} SMs", machine.multiprocessors) : "",
                 stated_number(machine.memory_gib, "", "GiB"), stated_number(machine.sm_mhz, "", "MHz"),
                 stated_number(machine.memory_mhz, "memory at ", "MHz"),
                 stated_number(machine.power_w, "up to ", "W"), stated_flag(machine.ecc, "ECC"),
                 stated_flag(machine.mig, "MIG"), stated_text(machine.driver, "driver "),
                 stated_text(machine.cuda, "CUDA "), stated_text(machine.nccl, "NCCL ")});
}

std::string head(const Calibration& calibration, const std::string& file) {
  std::size_t points = 0;
  for (const Measurement& table : calibration.ops) points += table.points.size();
  const MeasuredMachine& machine = calibration.machine;
  std::string text = fmt::format("{}: {}, {} with {}", on_one_line(file), on_one_line(machine.gpu),
                                 counted(calibration.ops.size(), "table"), counted(points, "point"));
  if (!calibration.checks.empty()) text += ", " + counted(calibration.checks.size(), "check");
  text += "\n";
  bool is_first = true;
  const auto line = [&](std::string_view label, const std::string& value) {
    if (value.empty()) return;
    text += fmt::format("{}{:<11} {}\n", std::exchange(is_first, false) ? "\n" : "", label, value);
  };
  line("machine", machine_line(machine));
  line("also for", listed(machine.stands_for));
  line("source", on_one_line(calibration.source));
  line("measured", listed({calibration.run.utc, stated_text(calibration.run.git, "revision ")}));
  const MeasuredCeilings& best = calibration.ceilings;
  line("ceilings", listed({stated_number(best.copy_1r1w_gb_per_s, "copy ", "GB/s"),
                           stated_number(best.copy_1r8w_gb_per_s, "1-to-8 copy ", "GB/s"),
                           stated_number(best.gemm_bf16_tflops, "bf16 GEMM ", "TFLOP/s")}));
  return text;
}

std::string tables_text(const std::vector<TableInfo>& infos) {
  std::vector<TextRow> rows = {
      {"table", "sizes", "points", "unsteady", "tier", "interpolation error", "max error"}};
  for (const TableInfo& info : infos) {
    rows.push_back({table_name(info.table), sizes_text(info.table),
                    fmt::format("{}", info.table.points.size()), fmt::format("{}", info.unsteady),
                    std::string(to_string(info.table.tier))});
    if (!info.left_out) continue;
    rows.back().push_back(percent_text(info.left_out->mean));
    rows.back().push_back(percent_text(info.left_out->largest));
  }
  return aligned(rows);
}

std::string rate_text(const TableInfo& info, const FittedSegment& segment) {
  const std::string_view key = size_key(info.table.op);
  if (key != "bytes") return fmt::format("{:.4g} us per {}", segment.beta, key == "m" ? "row" : "token");
  const std::optional<double> rate = info.bus_gb_per_s(segment);
  if (!rate) return "-";
  return fmt::format("{:.4g} GB/s{}", *rate, is_collective(info.table.op) ? " bus" : "");
}

std::string fits_text(const std::vector<TableInfo>& infos) {
  std::vector<TextRow> rows = {{"fitted line", "from", "to", "alpha", "rate", "max error"}};
  for (const TableInfo& info : infos) {
    std::string name = table_name(info.table);
    for (const FittedSegment& segment : info.fit) {
      rows.push_back({std::exchange(name, ""), size_text(info.table.op, segment.lo),
                      size_text(info.table.op, segment.hi), fmt::format("{:.4g} us", segment.alpha),
                      rate_text(info, segment), percent_text(segment.max_error)});
    }
  }
  return rows.size() == 1 ? "" : "\n" + aligned(rows);
}

}  // namespace

std::string calibration_info_text(const Calibration& calibration, const std::string& file) {
  const std::vector<TableInfo> infos = table_infos(calibration);
  std::string text = head(calibration, file);
  if (infos.empty()) return text + "\nNo tables.\n";
  text += "\n" + tables_text(infos) + fits_text(infos);
  text += fmt::format("\nLowest tier: {}\n", to_string(lowest_tier_of(calibration)));
  return text;
}

}  // namespace goodput

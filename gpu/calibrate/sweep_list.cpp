#include "gpu/calibrate/sweep_list.h"

#include <algorithm>
#include <cstdio>

#include "gpu/calibrate/ceiling_sweep.h"
#include "gpu/calibrate/check_sweep.h"
#include "gpu/calibrate/copy_sweep.h"
#include "gpu/calibrate/dispatch_sweep.h"
#include "gpu/calibrate/gemm_sweep.h"
#include "gpu/calibrate/grouped_gemm_sweep.h"
#include "gpu/calibrate/launch_sweep.h"
#include "gpu/calibrate/norm_sweep.h"
#include "gpu/calibrate/sustained_sweep.h"

namespace goodput::gpu::calibrate {
namespace {

double visits_s(const Sweep& sweep) {
  double seconds = 0;
  for (const SweepPoint& point : sweep.points) seconds += point.estimate_s;
  return seconds;
}

struct TableLine {
  std::string table;
  int points = 0;
  double estimate_s = 0;  // of one round
};

std::vector<TableLine> tables_in(const Sweep& sweep) {
  std::vector<TableLine> lines;
  for (const SweepPoint& point : sweep.points) {
    const std::string table = text_of(point.key.table);
    auto line =
        std::find_if(lines.begin(), lines.end(), [&](const TableLine& one) { return one.table == table; });
    if (line == lines.end()) line = lines.insert(line, {table});
    ++line->points;
    line->estimate_s += point.estimate_s;
  }
  return lines;
}

std::string row(const std::string& sweep, const std::string& table, int points, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%5d %8.1f  ", points, seconds);
  std::string name = sweep;
  name.resize(std::max<std::size_t>(14, name.size() + 1), ' ');
  return text + name + table + "\n";
}

}  // namespace

std::vector<Sweep> all_sweeps(const SweepRequest& request) {
  Sweep ceilings = ceiling_sweep(request.sizes, request.device);
  for (SweepPoint& point : gemm_ceiling_points(request.sizes)) ceilings.points.push_back(std::move(point));
  return {std::move(ceilings),
          gemm_sweep(request.sizes),
          sustained_sweep(request.sizes, request.power_w),
          grouped_gemm_sweep(request.sizes),
          copy_sweep(request.sizes),
          dispatch_sweep(request.sizes),
          launch_sweep(),
          host_copy_sweep(request.sizes),
          norm_sweep(request.sizes),
          check_sweep(request.sizes),
          sustained_check_sweep(request.sizes, request.power_w)};
}

std::vector<Sweep> only_with(const std::string& substring, std::vector<Sweep> sweeps) {
  for (Sweep& sweep : sweeps) {
    const auto left_out = [&](const SweepPoint& point) {
      return (sweep.name + " " + text_of(point.key)).find(substring) == std::string::npos;
    };
    sweep.points.erase(std::remove_if(sweep.points.begin(), sweep.points.end(), left_out),
                       sweep.points.end());
  }
  sweeps.erase(
      std::remove_if(sweeps.begin(), sweeps.end(), [](const Sweep& sweep) { return sweep.points.empty(); }),
      sweeps.end());
  return sweeps;
}

double estimate_s(const std::vector<Sweep>& sweeps, int rounds) {
  constexpr double kWarmUpS = 0.15;
  constexpr double kDecidedAgain = 0.05;  // of the points, by a round more
  constexpr double kSentinels = 0.01;     // of the time
  double seconds = 0;
  for (const Sweep& sweep : sweeps)
    seconds += kWarmUpS + (sweep.rounds(rounds) + kDecidedAgain) * visits_s(sweep);
  return (1 + kSentinels) * seconds;
}

std::string list_text(const std::vector<Sweep>& sweeps, int rounds) {
  std::string text = "points  about s  sweep         table\n";
  int points = 0;
  int tables = 0;
  for (const Sweep& sweep : sweeps) {
    for (const TableLine& line : tables_in(sweep)) {
      text += row(sweep.name, line.table, line.points, sweep.rounds(rounds) * line.estimate_s);
      points += line.points;
      ++tables;
    }
  }
  char sum[200];
  std::snprintf(
      sum, sizeof sum,
      "%5d %8.1f  all %d tables in %d rounds, including sentinels and a third round of some points\n", points,
      estimate_s(sweeps, rounds), tables, rounds);
  return text + sum;
}

}  // namespace goodput::gpu::calibrate

// A calibration file as goodput-calibrate writes it: every key that there is, in small.
#pragma once

#include <string_view>

namespace goodput::testing {

inline constexpr std::string_view kCalibrateFile = R"({
"schema": "goodput.calibration/1",
"source": "goodput-calibrate",
"machine": {"gpu": "NVIDIA H200", "gpus": 1, "sm": 132, "hbm_gib": 139.8, "driver": "570.1", "cuda": "13.0",
            "nccl": "2.28.9", "sm_mhz": 1980, "memory_mhz": 3201, "power_w": 700, "ecc": true, "mig": false,
            "bf16_tflops": 989.4, "memory_gb_per_s": 4800},
"run": {"git": "abc", "utc": "2026-01-01T00:00:00Z", "argv": ["goodput-calibrate", "--out", "h200.json"]},
"method": {"warm_up": 20, "samples": 50, "timer": "events", "caches": "rotated", "stop": "rounds", "notes": "-"},
"ceilings": {"copy_1r1w_gb_per_s": 4300, "copy_1r8w_gb_per_s": 4400, "gemm_bf16_tflops": 812},
"ops": [
{"op": "gemm", "params": {"n": 4096, "k": 4096, "dtype": "bf16"}, "tier": "measured", "source": "cublasLt",
 "points": [{"m": 1024, "median_us": 50, "p05_us": 49, "p95_us": 52, "min_us": 48.5, "n": 100, "cv": 0.01,
             "nwrong": 0, "sm_mhz": 1980},
            {"m": 2048, "median_us": 90, "unsteady": true}, {"m": 4096, "median_us": 170},
            {"m": 8192, "median_us": 330}]},
{"op": "gemm", "params": {"n": 4096, "k": 4096, "dtype": "bf16", "sustained": true}, "tier": "measured",
 "points": [{"m": 8192, "median_us": 410, "sm_mhz": 1500, "power_w": 690}]},
{"op": "gemm", "params": {"n": 4096, "k": 4096, "dtype": "bf16", "layout": "dgrad"}, "tier": "measured",
 "points": [{"m": 8192, "median_us": 340}]},
{"op": "gemm", "params": {"n": 4096, "k": 4096, "dtype": "bf16", "layout": "wgrad"}, "tier": "measured",
 "points": [{"m": 8192, "median_us": 380}]},
{"op": "gemm", "params": {"n": 4096, "k": 4096, "dtype": "bf16", "beside_copy": "d2h"}, "tier": "measured",
 "points": [{"m": 8192, "median_us": 350}]},
{"op": "gemm", "params": {"n": 4096, "k": 4096, "dtype": "fp8"}, "tier": "measured",
 "points": [{"m": 8192, "median_us": 190}]},
{"op": "grouped_gemm", "params": {"n": 4096, "k": 14336, "experts": 8, "dtype": "bf16"}, "tier": "measured",
 "points": [{"m": 8192, "median_us": 1200}]},
{"op": "grouped_gemm", "params": {"n": 4096, "k": 14336, "experts": 8, "dtype": "bf16", "loads": "smartmoe-like"},
 "tier": "measured", "points": [{"m": 8192, "median_us": 1500}]},
{"op": "copy", "tier": "measured",
 "points": [{"bytes": 65536, "median_us": 4}, {"bytes": 1073741824, "median_us": 500}]},
{"op": "schedule", "params": {"ranks": 8, "experts": 64, "policy": "proportional"}, "tier": "measured",
 "points": [{"tokens": 4096, "median_us": 12}]},
{"op": "schedule", "params": {"ranks": 8, "experts": 64, "policy": "packed"}, "tier": "measured",
 "points": [{"tokens": 4096, "median_us": 14}]},
{"op": "permute", "params": {"hidden": 4096, "top_k": 2, "backward": true}, "tier": "measured",
 "points": [{"tokens": 4096, "median_us": 30}]},
{"op": "regroup", "params": {"hidden": 4096}, "tier": "measured", "points": [{"tokens": 4096, "median_us": 25}]},
{"op": "combine", "params": {"hidden": 4096, "top_k": 2}, "tier": "measured",
 "points": [{"tokens": 4096, "median_us": 31}]},
{"op": "empty_kernel", "tier": "measured", "points": [{"median_us": 1.5}]},
{"op": "launch_gap", "tier": "measured", "points": [{"median_us": 2.5}]},
{"op": "d2h", "params": {"pinned": true, "beside_gemm": true}, "tier": "measured",
 "points": [{"bytes": 65536, "median_us": 9}, {"bytes": 1073741824, "median_us": 20000}]},
{"op": "h2d", "tier": "measured", "points": [{"bytes": 65536, "median_us": 12}]},
{"op": "norm", "params": {"hidden": 4096, "dtype": "bf16", "kind": "rms"}, "tier": "measured",
 "points": [{"tokens": 4096, "median_us": 20}]},
{"op": "norm", "params": {"hidden": 4096, "dtype": "bf16", "kind": "layer", "backward": true}, "tier": "measured",
 "points": [{"tokens": 4096, "median_us": 45}]},
{"op": "attention", "params": {"heads": 32, "kv_heads": 8, "head_dim": 128, "dtype": "bf16", "causal": true},
 "tier": "measured", "source": "torch 2.9: flash", "points": [{"tokens": 8192, "median_us": 600}]},
{"op": "all_reduce", "params": {"ranks": 2, "per_node": 2, "dtype": "fp32"}, "tier": "measured",
 "points": [{"bytes": 512, "median_us": 6}, {"bytes": 1073741824, "median_us": 4000}]}
],
"checks": [{"name": "llama3-8b, one layer", "source": "torch 2.9", "median_us": 9000, "p05_us": 8900,
            "p95_us": 9200, "min_us": 8800, "n": 20, "cv": 0.01, "tier": "measured"}],
"assumed": [{"name": "all_to_all_peer_us", "value": 1, "range": [0.5, 2], "tier": "assumed", "cite": "gpu.md"}]
})";

}  // namespace goodput::testing

// Which matrix products are measured: those that steps of four plans of configs/plans ask for
// (llama3-8b-h100, llama3-70b-h100, mixtral-8x7b-h100, deepseek-v3-2048-h800), on one GPU as these cut them
// up. A test derives all of it from the configs.
#pragma once

#include <cstdint>

namespace goodput::gpu::calibrate {

// y = x W^T, W (n,k), with any number of rows of x.
struct GemmFamily {
  std::int64_t n;
  std::int64_t k;
  bool fp8 = false;  // a plan that computes in fp8 asks for it in fp8
};
inline constexpr GemmFamily kGemmFamilies[] = {
    // Llama 3 8B: projections in front of attention and behind it, FFN up (gate and up in one) and down,
    // head.
    {6144, 4096},
    {4096, 4096},
    {28672, 4096},
    {4096, 14336},
    {128256, 4096},
    // Llama 3 70B, a quarter of each.
    {2560, 8192},
    {8192, 2048},
    {14336, 8192},
    {8192, 7168},
    {32128, 8192},
    // Mixtral 8x7B where it differs from Llama 3 8B: router, head.
    {8, 4096},
    {32000, 4096},
    // DeepSeek-V3: down and up projections of the latent attention, and the one behind it.
    {1536, 7168, true},
    {576, 7168, true},
    {24576, 1536, true},
    {32768, 512, true},
    {7168, 16384, true},
    // Its dense FFN, its shared expert, the projection of multi-token prediction; router and head are in
    // bf16.
    {36864, 7168, true},
    {7168, 18432, true},
    {4096, 7168, true},
    {7168, 2048, true},
    {7168, 14336, true},
    {256, 7168},
    {129280, 7168},
};

struct GroupedFamily {
  std::int64_t n;
  std::int64_t k;
};
// The up and down projections of Mixtral's experts and of DeepSeek-V3's.
inline constexpr GroupedFamily kGroupedFamilies[] = {
    {28672, 4096}, {4096, 14336}, {4096, 7168}, {7168, 2048}};

// Measured in the layouts of gradients, too: wide, square, long.
inline constexpr GroupedFamily kGradientFamilies[] = {{28672, 4096}, {4096, 4096}, {4096, 14336}};

// What experts get of kLoadParts under configs/routing/smartmoe-like.json: at its last iteration, seed 1, in
// the layer whose busiest expert is in the middle of all layers. Of 8: the eight most loaded of these, as the
// simulator takes them for a model of fewer experts.
inline constexpr int kLoadParts = 10'000;
inline constexpr int kSmartmoeLoads32[] = {141, 1, 1,    235, 0,   1, 1258, 0, 493, 1, 4,
                                           0,   0, 0,    0,   0,   0, 761,  0, 2,   0, 2,
                                           90,  1, 2602, 48,  433, 0, 3813, 0, 21,  92};
inline constexpr int kSmartmoeLoads8[] = {145, 241, 1292, 507, 782, 2673, 444, 3916};

}  // namespace goodput::gpu::calibrate

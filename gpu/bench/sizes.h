// How large what is measured is.
#pragma once

namespace goodput::gpu::bench {

enum class Sizes {
  kFull,
  kQuick,  // every kind of point, as small as an emulator runs it: no figures
};

}  // namespace goodput::gpu::bench

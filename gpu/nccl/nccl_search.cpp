#include "gpu/nccl/nccl_library.h"

namespace goodput::gpu {
namespace {

// The oldest that gpu/ is meant for; that of the header is checked in nccl_library.cpp.
constexpr int kOldestNccl = 21900;
constexpr const char* kOtherNccl = " or later, or add its folder to LD_LIBRARY_PATH";

}  // namespace

NcclSearch find_nccl() {
  return usable_nccl(load_nccl());
}

NcclSearch usable_nccl(const NcclSearch& loaded) {
  const std::string oldest =
      std::to_string(kOldestNccl / 10000) + "." + std::to_string(kOldestNccl % 10000 / 100);
  const std::string remedy = "; install NCCL " + oldest + kOtherNccl;
  if (loaded.version != 0 && loaded.version < kOldestNccl) {
    return {0, "NCCL " + nccl_version_text(loaded.version) + " is older than " + oldest + remedy};
  }
  if (!loaded.why_none.empty()) return {0, "no NCCL: " + loaded.why_none + remedy};
  return loaded;
}

std::string nccl_version_text(int version) {
  const int major = version < 10'000 ? 1000 : 10'000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace goodput::gpu

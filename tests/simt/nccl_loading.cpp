// What stands in for NCCL is linked, so there is nothing to load.
#include <nccl.h>

#include "gpu/nccl/nccl_library.h"

namespace goodput::gpu {

NcclSearch load_nccl() {
  NcclSearch loaded;
  ncclGetVersion(&loaded.version);
  return loaded;
}

}  // namespace goodput::gpu

#include <doctest/doctest.h>

#include "gpu/nccl/nccl_library.h"

namespace goodput::gpu {
namespace {

TEST_CASE("nccl_search: versions as NCCL writes them, before 2.9 and since") {
  CHECK(nccl_version_text(22809) == "2.28.9");
  CHECK(nccl_version_text(21900) == "2.19.0");
  CHECK(nccl_version_text(20900) == "2.9.0");
  CHECK(nccl_version_text(2804) == "2.8.4");
  CHECK(nccl_version_text(30102) == "3.1.2");
}

TEST_CASE("nccl_search: 2.19 is old enough, and what is older says so whatever else is wrong with it") {
  CHECK(usable_nccl({21900, ""}).why_none.empty());
  CHECK(usable_nccl({21900, ""}).version == 21900);
  const NcclSearch old = usable_nccl({21899, ""});
  CHECK(old.version == 0);
  CHECK(old.why_none ==
        "NCCL 2.18.99 is older than 2.19; install NCCL 2.19 or later, or add its folder to LD_LIBRARY_PATH");
  CHECK(usable_nccl({2804, "libnccl.so.2: undefined symbol: ncclCommFinalize"}).why_none ==
        "NCCL 2.8.4 is older than 2.19; install NCCL 2.19 or later, or add its folder to LD_LIBRARY_PATH");
}

TEST_CASE("nccl_search: what the loader says is passed on, with what to do") {
  const NcclSearch none = usable_nccl({0, "libnccl.so.2: cannot open shared object file"});
  CHECK(none.version == 0);
  CHECK(none.why_none ==
        "no NCCL: libnccl.so.2: cannot open shared object file; install NCCL 2.19 or later, or add its "
        "folder to "
        "LD_LIBRARY_PATH");
  const NcclSearch incomplete = usable_nccl({22809, "libnccl.so.2: undefined symbol: ncclSend"});
  CHECK(incomplete.version == 0);
  CHECK(incomplete.why_none ==
        "no NCCL: libnccl.so.2: undefined symbol: ncclSend; install NCCL 2.19 or later, or add its folder to "
        "LD_LIBRARY_PATH");
}

TEST_CASE("nccl_search: what stands in for NCCL is found") {
  CHECK(find_nccl().version == 22809);
  CHECK(find_nccl().why_none.empty());
}

}  // namespace
}  // namespace goodput::gpu

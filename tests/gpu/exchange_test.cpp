// What exchange.h does for a process without local ranks.
#include "gpu/exchange.h"

#include <doctest/doctest.h>

#include "gpu/virtual_transport.h"

namespace goodput::gpu {
namespace {

TEST_CASE("exchange: without dispatchers there are no counts to gather, and none to wait for") {
  std::vector<Dispatcher> none;
  VirtualTransport transport(1);  // refuses no parts for its one rank
  CHECK_NOTHROW(gather_counts(none, transport, nullptr));
  CHECK(wait_host_counts(none, transport).empty());
}

}  // namespace
}  // namespace goodput::gpu

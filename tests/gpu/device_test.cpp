#include "gpu/device.h"

#include <doctest/doctest.h>

namespace goodput::gpu {
namespace {

TEST_CASE("device: a driver that does not fit is said, with both versions") {
  CHECK(why_no_device(cudaErrorInsufficientDriver, 12020, 13000) ==
        "the CUDA driver supports CUDA 12.2, but this program needs 13.0: update the driver, or build with "
        "an older toolkit");
}

TEST_CASE("device: no driver, no device and whatever else are different things") {
  CHECK(why_no_device(cudaErrorInsufficientDriver, 0, 13000) == "no CUDA driver");
  CHECK(why_no_device(cudaErrorNoDevice, 13000, 13000) == "no GPU");
  CHECK(why_no_device(cudaSuccess, 13000, 13000) == "no GPU");
  CHECK(why_no_device(cudaErrorSystemNotReady, 13000, 13000) ==
        "CUDA cannot be used: system not yet initialized (cudaErrorSystemNotReady)");
}

TEST_CASE("device: versions as people write them") {
  CHECK(version_text(13000) == "13.0");
  CHECK(version_text(12080) == "12.8");
  CHECK(version_text(11070) == "11.7");
}

// The driver that the emulator pretends to have; the usual one again afterwards.
class PretendedDriver {
 public:
  explicit PretendedDriver(const simt::DriverAnswers& answers) { simt::set_driver_answers(answers); }
  ~PretendedDriver() { simt::set_driver_answers({}); }
  PretendedDriver(const PretendedDriver&) = delete;
  PretendedDriver& operator=(const PretendedDriver&) = delete;
};

TEST_CASE("device: the search says what CUDA answers, and leaves no error behind") {
  const DeviceSearch found = find_devices();
  CHECK(found.count == 1);
  CHECK(found.why_none.empty());
  {
    const PretendedDriver old({cudaErrorInsufficientDriver, 1, 12020});
    const DeviceSearch search = find_devices();
    CHECK(search.count == 0);
    CHECK(search.why_none.find("the CUDA driver supports CUDA 12.2, but this program needs 13.0: ") == 0);
    CHECK(cudaGetLastError() == cudaSuccess);
  }
  const PretendedDriver no_device({cudaSuccess, 0, 13000});
  CHECK(find_devices().count == 0);
  CHECK(find_devices().why_none == "no GPU");
}

}  // namespace
}  // namespace goodput::gpu

// Measures a machine, and writes the calibration file that the simulator reads. See --help.
#include "goodput_revision.h"
#include "gpu/calibrate/calibrate_program.h"

int main(int argc, char** argv) {
  return goodput::gpu::calibrate::run_calibrate_program({argv + 1, argv + argc}, GOODPUT_REVISION);
}

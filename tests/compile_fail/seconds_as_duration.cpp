// Floating-point seconds become simulated time only through from_seconds(), which says how they are rounded.
// expected error: conversion from .* to .*SimDuration
#include "sim/base/units.h"

namespace goodput {

#ifdef MUST_NOT_COMPILE
const SimDuration taken = 0.5;
#else
const SimDuration taken = from_seconds(0.5);
#endif

}  // namespace goodput

// The CPU reference of the CUDA dispatcher, as plain loops: what every kernel's output is compared with, bit
// for bit. It is built on GPU machines too, so it needs the standard library and nothing else (C++17).
#pragma once

#include "gpu/reference_cluster.h"
#include "gpu/reference_layout.h"
#include "gpu/reference_rows.h"
#include "gpu/reference_schedule.h"

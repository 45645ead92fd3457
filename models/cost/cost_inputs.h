// What a cost model is made from.
#pragma once

#include <string>

#include "models/cost/roofline.h"
#include "sim/machine/cluster.h"

namespace goodput {

struct CostInputs {
  std::string model;            // a name of models/cost/cost_models.def
  ClusterSpec cluster;          // that is to be priced
  RooflineParameters roofline;  // what software reaches of it
  std::string calibration;      // path of the calibration file; empty: the default one
  std::string where;            // the file that says all this: for messages, and to find the default
};

}  // namespace goodput

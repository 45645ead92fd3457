// What a cost model is made from.
#pragma once

#include <string>

#include "models/cost/roofline.h"
#include "sim/config/library.h"
#include "sim/machine/cluster.h"

namespace goodput {

struct CostInputs {
  std::string model;            // a name of models/cost/cost_models.def
  ClusterSpec cluster;          // that is to be priced
  RooflineParameters roofline;  // what software reaches of it
  std::string calibration;      // path or name of the calibration; empty: the default one
  std::string file;             // that says all this: for messages, and names are looked up from there
  std::string pointer;          // of the plan in it
  config::Library library;      // where names are looked up besides
  double slowdown = 1;          // every price is so many times what the model says
};

}  // namespace goodput

// Job scripts for Slurm.
#include "tools/sweep/sbatch_script.h"

#include <doctest/doctest.h>

#include <string>

namespace goodput {

TEST_CASE("sbatch script: an array, and words as the shell reads them") {
  const std::string script = sbatch_script(
      {"/opt/good put/goodput", {"sweep", "s.json", "--set", "/x={\"a\": 'b'}"}, "/home/a b", 4});
  CHECK(script.starts_with("#!/bin/bash\n"));
  CHECK(script.find("#SBATCH --array=0-3\n") != std::string::npos);
  CHECK(script.find("#SBATCH --requeue\n") != std::string::npos);
  CHECK(script.find("\ncd '/home/a b' || exit 1\n") != std::string::npos);
  CHECK(script.find("'/opt/good put/goodput' sweep s.json --set '/x={\"a\": '\\''b'\\''}' --jobs ") !=
        std::string::npos);
}

TEST_CASE("sbatch script: as many tasks as points want, and as sites allow") {
  CHECK(sbatch_tasks(1) == 1);
  CHECK(sbatch_tasks(501) == 2);
  CHECK(sbatch_tasks(1'000'000) == 1000);
}

}  // namespace goodput

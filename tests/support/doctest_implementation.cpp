// In the library: its sources check with doctest, and benchmarks, which have another main(), take them too.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

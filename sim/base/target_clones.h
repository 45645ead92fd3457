// Functions that are compiled for several kinds of processors and chosen when the program starts, where the
// compiler can: GOODPUT_TARGET_CLONES("popcnt", "default") before the definition. The choice runs before the
// sanitizers are ready, so sanitized builds take the plain body.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define GOODPUT_TARGET_CLONES(...)
#elif defined(__x86_64__) && defined(__GNUC__)
#define GOODPUT_TARGET_CLONES(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define GOODPUT_TARGET_CLONES(...)
#endif

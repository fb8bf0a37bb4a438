// The sanitizer of this build, under either compiler.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define SIM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#elif __has_feature(thread_sanitizer)
#define SIM_TSAN 1
#endif
#endif

#ifdef SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/// The sanitizer of this build, under either compiler: IRPVERBS_ADDRESS_SANITIZER or
/// IRPVERBS_THREAD_SANITIZER is 1, the other 0.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define IRPVERBS_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define IRPVERBS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IRPVERBS_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define IRPVERBS_THREAD_SANITIZER 1
#endif
#endif

#ifndef IRPVERBS_ADDRESS_SANITIZER
#define IRPVERBS_ADDRESS_SANITIZER 0
#endif
#ifndef IRPVERBS_THREAD_SANITIZER
#define IRPVERBS_THREAD_SANITIZER 0
#endif

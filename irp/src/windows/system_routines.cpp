// Routines that a driver looks up by name, and the processor's features.
#include "standard.hpp"

#include <dlfcn.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/rtl.h>

namespace {

/* PF_ numbers of what each x86-64 processor has: CMPXCHG8B, MMX, SSE, RDTSC, PAE, SSE2, NX. */
constexpr std::array<ULONG, 7> features{2, 3, 6, 8, 9, 10, 12};

} // namespace

extern "C" {

PVOID MmGetSystemRoutineAddress(PUNICODE_STRING SystemRoutineName) {
    std::string name;
    for (USHORT i = 0; i < SystemRoutineName->Length / sizeof(WCHAR); ++i)
        name += static_cast<char>(SystemRoutineName->Buffer[i]);
    return dlsym(RTLD_DEFAULT, name.c_str());
}

BOOLEAN ExIsProcessorFeaturePresent(ULONG ProcessorFeature) {
    return std::ranges::find(features, ProcessorFeature) != features.end();
}

} // extern "C"

#include <dispatch/ntstatus.h>

extern "C" const char* NtStatusName(NTSTATUS Status) noexcept {
    switch (static_cast<ULONG>(Status)) {
#define IRPVERBS_X_STATUS(name, value, meaning)                                                    \
    case value##u:                                                                                 \
        return #name;
#include <dispatch/ntstatus.def>
#undef IRPVERBS_X_STATUS
    default:
        return nullptr;
    }
}

extern "C" const char* NtStatusMeaning(NTSTATUS Status) noexcept {
    switch (static_cast<ULONG>(Status)) {
#define IRPVERBS_X_STATUS(name, value, meaning)                                                    \
    case value##u:                                                                                 \
        return meaning;
#include <dispatch/ntstatus.def>
#undef IRPVERBS_X_STATUS
    default:
        return nullptr;
    }
}

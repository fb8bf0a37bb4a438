// Security identifiers, as the functions for lists and descriptors see them.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_SIDS_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_SIDS_HPP

#include <windows/wdk/security.h>

namespace irpverbs::windows {

inline SID& sid_at(PSID sid) { return *static_cast<SID*>(sid); }

inline ULONG length_of_sid(ULONG parts) {
    return static_cast<ULONG>(offsetof(SID, SubAuthority) + parts * sizeof(ULONG));
}

/// Whether a valid SID lies within this many bytes.
bool is_sid_within(const void* sid, SIZE_T bytes);

/// "S-1-5-32-544", of a valid SID.
std::u16string text_of_sid(const SID& sid);

} // namespace irpverbs::windows

#endif

// Access control lists, as the functions for descriptors and access checks see them.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_ACCESS_LISTS_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_ACCESS_LISTS_HPP

#include <windows/wdk/security.h>

namespace irpverbs::windows {

/// Whether a valid list lies within this many bytes: its entries lie within the list, and those
/// that allow or deny have valid SIDs.
bool is_list_within(const void* list, SIZE_T bytes);

/// The entry at the offset; the list is valid.
inline const ACE_HEADER& entry_at(const ACL& list, SIZE_T offset) {
    return *reinterpret_cast<const ACE_HEADER*>(reinterpret_cast<const UCHAR*>(&list) + offset);
}

} // namespace irpverbs::windows

#endif

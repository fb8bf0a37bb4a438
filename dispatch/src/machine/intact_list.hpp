// Walks over lists of a program's objects at the end of their machine.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::dispatch::detail {

/// Calls `visit` for each entry until it returns true, and returns whether it did. `visit` may
/// write to the entry. The walk ends at an inconsistent link, such as one in an object whose memory
/// was freed too early.
template <class Visit>
bool visit_intact(const LIST_ENTRY& head, Visit visit) {
    const LIST_ENTRY* before = &head;
    for (LIST_ENTRY* each = head.Flink; each != &head && each->Blink == before;) {
        LIST_ENTRY* const next = each->Flink;
        if (visit(*each)) return true;
        before = each;
        each = next;
    }
    return false;
}

} // namespace irpverbs::dispatch::detail

// A LIST_ENTRY link for objects without standard layout, which offsetof does not support.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::saa {

template <class Container>
struct list_link {
    explicit list_link(Container& its_container) : container(&its_container) {}
    list_link(const list_link&) = delete;
    list_link& operator=(const list_link&) = delete;

    static Container& of(const LIST_ENTRY* entry) {
        return *CONTAINING_RECORD(const_cast<LIST_ENTRY*>(entry), list_link, entry)->container;
    }

    LIST_ENTRY entry{};
    Container* const container;
};

} // namespace irpverbs::saa

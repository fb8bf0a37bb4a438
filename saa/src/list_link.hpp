// A LIST_ENTRY link for objects without standard layout, which offsetof does not support.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::saa {

template <class Whole>
struct list_link {
    explicit list_link(Whole& its_whole) : whole(&its_whole) {}
    list_link(const list_link&) = delete;
    list_link& operator=(const list_link&) = delete;

    static Whole& of(const LIST_ENTRY* entry) {
        return *CONTAINING_RECORD(const_cast<LIST_ENTRY*>(entry), list_link, entry)->whole;
    }

    LIST_ENTRY entry{};
    Whole* const whole;
};

} // namespace irpverbs::saa

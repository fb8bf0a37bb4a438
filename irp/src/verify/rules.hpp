// The rules by name, and the report of a broken rule.
#pragma once

#include <dispatch/bugcheck.h>

#include <cstdint>

namespace irpverbs::irp::verify {

enum class rule : std::uint8_t {
#define X(name, code, id, meaning, blind) name,
#include "rules.def"
#undef X
};

struct rule_entry {
    const char* name;
    ULONG code;
    ULONG_PTR id;
    const char* meaning;
};

inline constexpr rule_entry rule_table[] = {
#define X(name, code, id, meaning, blind) {#name, code, id, meaning},
#include "rules.def"
#undef X
};

constexpr const rule_entry& entry_of(rule which) {
    return rule_table[static_cast<std::size_t>(which)];
}

} // namespace irpverbs::irp::verify

// How each verb crosses to another process: made of its row in ci/verbs.def.
#pragma once

#include "verbs/verb.hpp"

#include <ci/support/crossing.hpp>

namespace irpverbs::ci::crossing {

/// The pointers to objects in the value that a verb reads or writes. On the wire they are handles.
struct value_codec {
    std::size_t size = 0; // 0: the verb has no such value
    /// False: `names` lacks an object. Both remove the pointers that mean something to one end
    /// only.
    bool (*to_handles)(void* value, directory& names) = nullptr;
    bool (*to_objects)(void* value, directory& names) = nullptr;
};

/// The place of a verb's CI_UDATA in its stack location.
enum class user_data_place : UCHAR { none, buffer, last_word };

struct row : traits {
    bool crosses = false;
    user_data_place user_data = user_data_place::none;
    value_codec value;
    /// Clears the bytes that belong to no member in what the verb has written; null: it writes
    /// nothing.
    void (*clear_gaps)(void* block, std::size_t size) = nullptr;
    /// The attributes in the new object; null for a verb that does not create.
    const void* (*attributes_in)(const void* object) = nullptr;
};

const row& row_of(UCHAR code);

/// The members of an object that the HCA sets: written to `bytes`, whose size is the result, and
/// read from it. Import returns false if the size is wrong.
struct object_codec {
    std::size_t (*export_granted)(const void* object, void* bytes) = nullptr;
    bool (*import_granted)(void* object, const void* bytes, std::size_t size) = nullptr;
    HCA_CA* (*ca)(void* object) = nullptr;
    void* (*parent)(void* object) = nullptr;
    void* (*extension)(void* object) = nullptr;
};

/// Null functions: there is no such type.
const object_codec& codec_of(object_type type);

/// True if the reply of a verb holds the members that the HCA sets.
inline bool grants(const row& of) {
    if (of.does == action::creates) return true;
    const buffer_use::kind how = verb_of_code(of.code).buffer.how;
    return of.does == action::submits &&
           (how == buffer_use::kind::none || how == buffer_use::kind::in);
}

inline void* pointer_of(std::uint64_t handle) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle));
}

} // namespace irpverbs::ci::crossing

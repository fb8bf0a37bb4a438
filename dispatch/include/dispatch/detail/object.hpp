// The types of objects that are kept by references, and references as C++ values.
#pragma once

#include <dispatch/object.h>

#include <boost/smart_ptr/intrusive_ptr.hpp>

/// How objects of one type end.
struct _OBJECT_TYPE {
    const char* name;
    /// Object.Dispatcher.Type of each.
    UCHAR dispatcher_type;
    /// Called with the last reference. False: that reference is not the caller's to drop, and the
    /// object is untouched.
    bool (*destroy)(OBJECT_HEADER& object);
    /// Called by ObDereferenceObject while anything is instrumented, before the reference goes; or
    /// null.
    void (*dereferenced)(OBJECT_HEADER& object);
};

namespace irpverbs::dispatch::detail {

/// Dispatcher types of objects that can't be waited for; those that can are in waiting.hpp.
inline constexpr UCHAR device_object_type = 0x40;
inline constexpr UCHAR driver_object_type = 0x41;

/// The object begins with one reference, the caller's.
NT_API void initialize_object(OBJECT_HEADER& object, const OBJECT_TYPE& type);

/// As ObReferenceObject and ObDereferenceObject, at any level, by the library itself.
NT_API void reference_object(OBJECT_HEADER& object);
NT_API void dereference_object(OBJECT_HEADER& object);

/// A reference that the holder drops.
using object_reference = boost::intrusive_ptr<OBJECT_HEADER>;

} // namespace irpverbs::dispatch::detail

inline void intrusive_ptr_add_ref(OBJECT_HEADER* object) {
    irpverbs::dispatch::detail::reference_object(*object);
}
inline void intrusive_ptr_release(OBJECT_HEADER* object) {
    irpverbs::dispatch::detail::dereference_object(*object);
}

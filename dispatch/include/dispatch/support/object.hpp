// The types of reference-counted objects, and references as C++ values.
#pragma once

#include <dispatch/object.h>

#include <boost/smart_ptr/intrusive_ptr.hpp>

/// The destruction of the objects of one type.
struct _OBJECT_TYPE {
    const char* name;
    /// Value of Object.Dispatcher.Type in each object.
    UCHAR dispatcher_type;
    /// Called with the last reference. False: the caller does not own that reference, and the
    /// object is unchanged.
    bool (*destroy)(OBJECT_HEADER& object);
    /// Called by ObDereferenceObject while anything is instrumented, before the reference is
    /// dropped; may be null.
    void (*dereferenced)(OBJECT_HEADER& object);
};

namespace irpverbs::dispatch::detail {

/// Dispatcher types of objects that are not waitable; waiting.hpp has those of waitable objects.
inline constexpr UCHAR device_object_type = 0x40;
inline constexpr UCHAR driver_object_type = 0x41;

/// Initializes the object with one reference, which is the caller's.
NT_API void initialize_object(OBJECT_HEADER& object, const OBJECT_TYPE& type);

/// ObReferenceObject and ObDereferenceObject for the library itself, at any level.
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

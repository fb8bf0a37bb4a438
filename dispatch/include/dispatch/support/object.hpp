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
    /// Called when a handle of the object was closed, with the handle's reference still held.
    /// `machine_ends`: the machine closes the handles that were left open. Null: nothing to do.
    void (*handle_closed)(OBJECT_HEADER& object, bool machine_ends) = nullptr;
    /// Returns the part of the object that a thread may wait for. Null: no thread may.
    DISPATCHER_HEADER* (*waitable)(OBJECT_HEADER& object) = nullptr;
    /// Whether the access was granted when the object was opened. Null: every access is.
    bool (*grants)(const OBJECT_HEADER& object, ACCESS_MASK access) = nullptr;
};

namespace irpverbs::dispatch::detail {

/// Dispatcher types of objects that are not waitable; waiting.hpp has those of waitable objects.
inline constexpr UCHAR device_object_type = 0x40;
inline constexpr UCHAR driver_object_type = 0x41;
inline constexpr UCHAR file_object_type = 0x42;
inline constexpr UCHAR key_object_type = 0x43;
inline constexpr UCHAR process_object_type = 0x44;
inline constexpr UCHAR named_object_type = 0x45; // folders, symbolic links and their like

/// Initializes the object with one reference, which is the caller's.
NT_API void initialize_object(OBJECT_HEADER& object, const OBJECT_TYPE& type);

/// ObReferenceObject and ObDereferenceObject for the library itself, at any level.
NT_API void reference_object(OBJECT_HEADER& object);
NT_API void dereference_object(OBJECT_HEADER& object);

/// Drops a reference. True: it was the last one, and the caller ends the object.
NT_API bool drop_reference(OBJECT_HEADER& object);

/// A reference that the holder drops.
using object_reference = boost::intrusive_ptr<OBJECT_HEADER>;

/// Returns a new handle of the object, which owns the given reference; null without memory: the
/// reference is dropped. IRQL: PASSIVE_LEVEL.
NT_API HANDLE new_handle(object_reference object);

} // namespace irpverbs::dispatch::detail

inline void intrusive_ptr_add_ref(OBJECT_HEADER* object) {
    irpverbs::dispatch::detail::reference_object(*object);
}
inline void intrusive_ptr_release(OBJECT_HEADER* object) {
    irpverbs::dispatch::detail::dereference_object(*object);
}

#include "irql/irql_rules.hpp"
#include "machine/machine_state.hpp"
#include "verify/hooks.hpp"
#include "wait/waiting.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/object.hpp>

namespace irpverbs::dispatch::detail {
namespace {

constexpr ULONG object_signature = 0x6A624F23;

bool is_event(const DISPATCHER_HEADER& header) {
    return header.Type == notification_event || header.Type == synchronization_event;
}

bool is_counted(const DISPATCHER_HEADER& header) {
    return header.Type == thread_object || header.Type == device_object_type ||
           header.Type == driver_object_type || header.Type == file_object_type ||
           header.Type == key_object_type || header.Type == process_object_type ||
           header.Type == named_object_type || (is_event(header) && header.Counted != 0);
}

// Drivers and the process live on without references; so do threads but those of
// PsCreateSystemThread, which records its own.
bool ends_with_its_references(UCHAR type) {
    return type != driver_object_type && type != process_object_type && type != thread_object;
}

bool is_of_its_type(const OBJECT_HEADER& header) {
    return is_event(header.Dispatcher) ||
           header.ObjectType->dispatcher_type == header.Dispatcher.Type;
}

[[noreturn, gnu::cold, gnu::noinline]] void bug_check_reference(const char* text,
                                                                const void* object, UCHAR type) {
    bug_check(REFERENCE_BY_POINTER, text, type, reinterpret_cast<ULONG_PTR>(object));
}

// Tests the type first: it lies where every structure that might be mistaken for an object has
// memory of its own.
OBJECT_HEADER& header_of(void* object, const char* message) {
    auto* header = static_cast<OBJECT_HEADER*>(object);
    if (header == nullptr) bug_check_reference(message, object, 0);
    if (!is_counted(header->Dispatcher) || header->Signature != object_signature ||
        !is_of_its_type(*header))
        bug_check_reference(message, object, header->Dispatcher.Type);
    return *header;
}

handle_table<object_reference>& handles() { return this_processor().owner->state().handles; }

void notify_closed(OBJECT_HEADER& object, bool machine_ends) {
    if (object.ObjectType->handle_closed != nullptr)
        object.ObjectType->handle_closed(object, machine_ends);
}

} // namespace

void initialize_object(OBJECT_HEADER& object, const OBJECT_TYPE& type) {
    object = {};
    object.Dispatcher.Type = type.dispatcher_type;
    InitializeListHead(&object.Dispatcher.WaitListHead);
    object.ReferenceCount = 1;
    object.Signature = object_signature;
    object.ObjectType = &type;
    if (verifying() && ends_with_its_references(type.dispatcher_type))
        object_made(this_processor(), object);
}

void reference_object(OBJECT_HEADER& object) {
    if (__atomic_fetch_add(&object.ReferenceCount, 1, __ATOMIC_RELAXED) <= 0)
        bug_check_reference("an object is referenced that has no reference any more", &object,
                            object.Dispatcher.Type);
}

object_reference object_of(HANDLE handle) {
    return handles().find(reinterpret_cast<std::uint64_t>(handle));
}

bool drop_reference(OBJECT_HEADER& object) {
    if (__atomic_sub_fetch(&object.ReferenceCount, 1, __ATOMIC_ACQ_REL) != 0) return false;
    object_ended(object);
    return true;
}

HANDLE new_handle(object_reference object) {
    const OBJECT_HEADER* const named = object.get();
    auto* const made = reinterpret_cast<HANDLE>(handles().insert(std::move(object)));
    if (verifying() && made != nullptr) handle_opened(this_processor(), made, named);
    return made;
}

void close_all_handles() {
    for (const object_reference& each : handles().remove_all())
        notify_closed(*each, true);
}

void dereference_object(OBJECT_HEADER& object) {
    const LONG left = __atomic_sub_fetch(&object.ReferenceCount, 1, __ATOMIC_ACQ_REL);
    if (left == 0) object_ended(object);
    if (left > 0 || (left == 0 && object.ObjectType->destroy(object))) return;
    __atomic_add_fetch(&object.ReferenceCount, 1, __ATOMIC_RELAXED);
    bug_check_reference("ObDereferenceObject: the reference is not the caller's", &object,
                        object.Dispatcher.Type);
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

extern "C" {

void ObReferenceObject(PVOID Object) {
    VERIFY_IRQL(ObReferenceObject);
    OBJECT_HEADER& object = header_of(Object, "ObReferenceObject: this is no counted object");
    reference_object(object);
    if (verifying()) object_referenced(object);
}

void ObDereferenceObject(PVOID Object) {
    VERIFY_IRQL(ObDereferenceObject);
    OBJECT_HEADER& object = header_of(Object, "ObDereferenceObject: this is no counted object");
    if (instrumented() && object.ObjectType->dereferenced != nullptr)
        object.ObjectType->dereferenced(object);
    dereference_object(object);
}

NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess, PVOID ObjectType,
                                   KPROCESSOR_MODE AccessMode, PVOID* Object, PVOID) {
    VERIFY_IRQL(ObReferenceObjectByHandle);
    object_reference found = object_of(Handle);
    if (found == nullptr) return STATUS_INVALID_HANDLE;
    const OBJECT_TYPE& type = *found->ObjectType;
    if (ObjectType != nullptr && ObjectType != &type) return STATUS_OBJECT_TYPE_MISMATCH;
    if (AccessMode == UserMode && type.grants != nullptr && !type.grants(*found, DesiredAccess))
        return STATUS_ACCESS_DENIED;
    // The library itself refers to files, keys and events by their handles.
    if (verifying() && type.dispatcher_type == thread_object) object_referenced(*found);
    *Object = found.detach();
    return STATUS_SUCCESS;
}

NTSTATUS ZwClose(HANDLE Handle) {
    VERIFY_IRQL(ZwClose);
    const object_reference closed = handles().remove(reinterpret_cast<std::uint64_t>(Handle));
    if (closed == nullptr) return STATUS_INVALID_HANDLE;
    handle_closed(this_processor(), Handle);
    notify_closed(*closed, false);
    return STATUS_SUCCESS;
}

NTSTATUS ZwWaitForSingleObject(HANDLE Handle, BOOLEAN, PLARGE_INTEGER Timeout) {
    VERIFY_IRQL(ZwWaitForSingleObject);
    const object_reference found = object_of(Handle);
    if (found == nullptr) return STATUS_INVALID_HANDLE;
    if (found->ObjectType->waitable == nullptr) return STATUS_OBJECT_TYPE_MISMATCH;
    return KeWaitForSingleObject(found->ObjectType->waitable(*found), UserRequest, UserMode, FALSE,
                                 Timeout);
}

} // extern "C"

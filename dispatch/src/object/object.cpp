#include "irql/irql_rules.hpp"
#include "machine/machine_state.hpp"
#include "wait/waiting.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/object.hpp>

namespace irpverbs::dispatch::detail {
namespace {

constexpr ULONG object_signature = 0x6A624F23;

bool is_counted(UCHAR type) {
    return type == thread_object || type == device_object_type || type == driver_object_type;
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
    if (!is_counted(header->Dispatcher.Type) || header->Signature != object_signature ||
        header->ObjectType->dispatcher_type != header->Dispatcher.Type)
        bug_check_reference(message, object, header->Dispatcher.Type);
    return *header;
}

object_reference object_of(HANDLE handle) {
    return this_processor().owner->state().handles.find(reinterpret_cast<std::uint64_t>(handle));
}

} // namespace

void initialize_object(OBJECT_HEADER& object, const OBJECT_TYPE& type) {
    object = {};
    object.Dispatcher.Type = type.dispatcher_type;
    InitializeListHead(&object.Dispatcher.WaitListHead);
    object.ReferenceCount = 1;
    object.Signature = object_signature;
    object.ObjectType = &type;
}

void reference_object(OBJECT_HEADER& object) {
    if (__atomic_fetch_add(&object.ReferenceCount, 1, __ATOMIC_RELAXED) <= 0)
        bug_check_reference("an object is referenced that has no reference any more", &object,
                            object.Dispatcher.Type);
}

void dereference_object(OBJECT_HEADER& object) {
    const LONG left = __atomic_sub_fetch(&object.ReferenceCount, 1, __ATOMIC_ACQ_REL);
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
    reference_object(header_of(Object, "ObReferenceObject: this is no thread, device or driver"));
}

void ObDereferenceObject(PVOID Object) {
    VERIFY_IRQL(ObDereferenceObject);
    OBJECT_HEADER& object =
        header_of(Object, "ObDereferenceObject: this is no thread, device or driver");
    if (instrumented() && object.ObjectType->dereferenced != nullptr)
        object.ObjectType->dereferenced(object);
    dereference_object(object);
}

NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK, PVOID, KPROCESSOR_MODE,
                                   PVOID* Object, PVOID) {
    VERIFY_IRQL(ObReferenceObjectByHandle);
    object_reference found = object_of(Handle);
    if (found == nullptr) return STATUS_INVALID_HANDLE;
    *Object = found.detach();
    return STATUS_SUCCESS;
}

NTSTATUS ZwClose(HANDLE Handle) {
    VERIFY_IRQL(ZwClose);
    const object_reference closed =
        this_processor().owner->state().handles.remove(reinterpret_cast<std::uint64_t>(Handle));
    return closed != nullptr ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
}

} // extern "C"

// Events that have handles: the object header begins with the event.
#include "irql/irql_rules.hpp"
#include "machine/machine_state.hpp"
#include "wait/waiting.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/object.hpp>

#include <new>

namespace irpverbs::dispatch::detail {
namespace {

static_assert(sizeof(KEVENT) == sizeof(DISPATCHER_HEADER));

bool destroy_event(OBJECT_HEADER& object) {
    delete &object;
    return true;
}

DISPATCHER_HEADER* dispatcher_of(OBJECT_HEADER& object) { return &object.Dispatcher; }

constexpr OBJECT_TYPE event_type{"event", notification_event, destroy_event, nullptr,
                                 nullptr, dispatcher_of};
POBJECT_TYPE event_type_pointer = const_cast<POBJECT_TYPE>(&event_type);

OBJECT_HEADER* make_event(EVENT_TYPE type, BOOLEAN state) {
    auto* object = fault_point("event.create") ? nullptr : new (std::nothrow) OBJECT_HEADER;
    if (object == nullptr) return nullptr;
    initialize_object(*object, event_type);
    KeInitializeEvent(reinterpret_cast<PKEVENT>(&object->Dispatcher), type, state);
    object->Dispatcher.Counted = 1;
    return object;
}

// Calls `change(event)` for the event of a handle.
template <class Change>
NTSTATUS change_event(HANDLE handle, PLONG previous, const Change& change) {
    const object_reference object = object_of(handle);
    if (object == nullptr) return STATUS_INVALID_HANDLE;
    if (object->ObjectType != &event_type) return STATUS_OBJECT_TYPE_MISMATCH;
    const LONG before = change(reinterpret_cast<PKEVENT>(&object->Dispatcher));
    if (previous != nullptr) *previous = before;
    return STATUS_SUCCESS;
}

} // namespace
} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

extern "C" {

POBJECT_TYPE* ExEventObjectType = &event_type_pointer;

NTSTATUS ZwCreateEvent(PHANDLE EventHandle, ACCESS_MASK, POBJECT_ATTRIBUTES, EVENT_TYPE EventType,
                       BOOLEAN InitialState) {
    VERIFY_IRQL(ZwCreateEvent);
    const object_reference object(make_event(EventType, InitialState), false);
    if (object == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    *EventHandle = new_handle(object);
    return *EventHandle != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS ZwSetEvent(HANDLE EventHandle, PLONG PreviousState) {
    VERIFY_IRQL(ZwSetEvent);
    return change_event(EventHandle, PreviousState,
                        [](PKEVENT event) { return KeSetEvent(event, IO_NO_INCREMENT, FALSE); });
}

NTSTATUS ZwResetEvent(HANDLE EventHandle, PLONG PreviousState) {
    VERIFY_IRQL(ZwSetEvent);
    return change_event(EventHandle, PreviousState, KeResetEvent);
}

NTSTATUS ZwClearEvent(HANDLE EventHandle) {
    VERIFY_IRQL(ZwSetEvent);
    return change_event(EventHandle, nullptr, KeResetEvent);
}

} // extern "C"

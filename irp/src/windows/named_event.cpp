// Events with a name, which drivers share with each other and with user mode.
#include "standard.hpp"

#include "object_paths.hpp"

#include <dispatch/support/faults.hpp>
#include <irp/support/named_object.hpp>
#include <new>
#include <windows/wdk/objects.h>
#include <windows/wdk/status_codes.h>

using namespace irpverbs::dispatch::detail;
using namespace irpverbs::irp;

namespace {

struct named_event : named_object {
    KEVENT event;
};

named_event& event_of(OBJECT_HEADER& object) { return static_cast<named_event&>(object); }

bool destroy_named_event(OBJECT_HEADER& object) {
    delete &event_of(object);
    return true;
}
DISPATCHER_HEADER* dispatcher_of_event(OBJECT_HEADER& object) {
    return &event_of(object).event.Header;
}
const OBJECT_TYPE named_event_type{"event", named_object_type,   destroy_named_event,
                                   nullptr, named_handle_closed, dispatcher_of_event};

object_reference make_named_event(EVENT_TYPE type) {
    auto* made = fault_point("windows.named_event") ? nullptr : new (std::nothrow) named_event;
    if (made == nullptr) return nullptr;
    initialize_object(*made, named_event_type);
    KeInitializeEvent(&made->event, type, TRUE);
    return {made, false};
}

NTSTATUS find_or_create(UNICODE_STRING* name, EVENT_TYPE type, object_reference& found) {
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, name, OBJ_CASE_INSENSITIVE, nullptr, nullptr);
    std::u16string path;
    NTSTATUS status = irpverbs::windows::path_of(&attributes, path);
    if (!NT_SUCCESS(status)) return status;
    status = find_named_object(path, named_event_type, found);
    if (status != STATUS_OBJECT_NAME_NOT_FOUND) return status;
    found = make_named_event(type);
    return found == nullptr ? NTSTATUS{STATUS_INSUFFICIENT_RESOURCES}
                            : insert_named_object(path, event_of(*found));
}

PKEVENT named_event_of(UNICODE_STRING* name, HANDLE* handle, EVENT_TYPE type) try {
    object_reference found;
    if (!NT_SUCCESS(find_or_create(name, type, found))) return nullptr;
    *handle = new_handle(found);
    if (*handle == nullptr) {
        named_handle_closed(*found, false);
        return nullptr;
    }
    return &event_of(*found).event;
} catch (const std::bad_alloc&) {
    return nullptr;
}

} // namespace

extern "C" {

PKEVENT IoCreateNotificationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle) {
    return named_event_of(EventName, EventHandle, NotificationEvent);
}
PKEVENT IoCreateSynchronizationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle) {
    return named_event_of(EventName, EventHandle, SynchronizationEvent);
}

} // extern "C"

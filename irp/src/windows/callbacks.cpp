// Callback objects: routines that are called, in the order of their registration, when a driver
// notifies them.
#include "standard.hpp"

#include "object_paths.hpp"

#include <new>
#include <windows/wdk/executive.h>
#include <windows/wdk/objects.h>
#include <windows/wdk/status_codes.h>

using namespace irpverbs::dispatch::detail;
using namespace irpverbs::irp;

struct _CALLBACK_OBJECT : named_object {
    KSPIN_LOCK lock;
    LIST_ENTRY registrations; // guarded by lock
    bool allows_many;
};

namespace {

struct registration {
    LIST_ENTRY entry;
    object_reference object;
    PCALLBACK_FUNCTION routine;
    PVOID context;
    ULONG calls = 0;      // that run
    bool leaving = false; // no call begins any more
    KEVENT unused{};      // signaled with the last call that runs when it leaves
};

bool destroy_callback(OBJECT_HEADER& object) {
    delete static_cast<_CALLBACK_OBJECT*>(&object);
    return true;
}
const OBJECT_TYPE callback_type{"callback object", named_object_type, destroy_callback, nullptr,
                                named_handle_closed};

class callback_guard {
public:
    explicit callback_guard(_CALLBACK_OBJECT& object) : object_(object) {
        KeAcquireSpinLock(&object_.lock, &old_);
    }
    ~callback_guard() { KeReleaseSpinLock(&object_.lock, old_); }
    callback_guard(const callback_guard&) = delete;
    callback_guard& operator=(const callback_guard&) = delete;

private:
    _CALLBACK_OBJECT& object_;
    KIRQL old_ = 0;
};

registration& registration_at(LIST_ENTRY* entry) {
    return *CONTAINING_RECORD(entry, registration, entry);
}

// Under the guard: the registration at or behind the entry whose routine is to be called next.
registration* next_called(_CALLBACK_OBJECT& object, LIST_ENTRY* entry) {
    while (entry != &object.registrations && registration_at(entry).leaving)
        entry = entry->Flink;
    if (entry == &object.registrations) return nullptr;
    ++registration_at(entry).calls;
    return &registration_at(entry);
}

// Under the guard: a call of the registration has ended.
void end_call(registration& ended) {
    if (--ended.calls == 0 && ended.leaving) KeSetEvent(&ended.unused, IO_NO_INCREMENT, FALSE);
}

object_reference make_callback(bool allows_many) {
    auto* made = new (std::nothrow) _CALLBACK_OBJECT;
    if (made == nullptr) return nullptr;
    initialize_object(*made, callback_type);
    KeInitializeSpinLock(&made->lock);
    InitializeListHead(&made->registrations);
    made->allows_many = allows_many;
    return {made, false};
}

NTSTATUS open_or_create(const OBJECT_ATTRIBUTES& attributes, bool create, bool allows_many,
                        object_reference& found) {
    std::u16string path;
    NTSTATUS status = irpverbs::windows::path_of(&attributes, path);
    if (!NT_SUCCESS(status)) return status;
    status = find_named_object(path, callback_type, found);
    if (status != STATUS_OBJECT_NAME_NOT_FOUND || !create) return status;
    found = make_callback(allows_many);
    if (found == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    auto& named = static_cast<named_object&>(*found);
    named.permanent = (attributes.Attributes & OBJ_PERMANENT) != 0;
    return insert_named_object(path, named);
}

} // namespace

extern "C" {

NTSTATUS ExCreateCallback(PCALLBACK_OBJECT* CallbackObject, POBJECT_ATTRIBUTES ObjectAttributes,
                          BOOLEAN Create, BOOLEAN AllowMultipleCallbacks) try {
    if (ObjectAttributes == nullptr || ObjectAttributes->ObjectName == nullptr)
        return STATUS_UNSUCCESSFUL;
    object_reference found;
    const NTSTATUS status =
        open_or_create(*ObjectAttributes, Create, AllowMultipleCallbacks, found);
    if (!NT_SUCCESS(status)) return status;
    named_handle_closed(*found, false); // the caller receives no handle
    *CallbackObject = static_cast<_CALLBACK_OBJECT*>(found.detach());
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

PVOID ExRegisterCallback(PCALLBACK_OBJECT CallbackObject, PCALLBACK_FUNCTION CallbackFunction,
                         PVOID CallbackContext) {
    auto* made = new (std::nothrow)
        registration{{}, object_reference(CallbackObject), CallbackFunction, CallbackContext};
    if (made == nullptr) return nullptr;
    KeInitializeEvent(&made->unused, NotificationEvent, FALSE);
    {
        const callback_guard guard(*CallbackObject);
        if (CallbackObject->allows_many || IsListEmpty(&CallbackObject->registrations)) {
            InsertTailList(&CallbackObject->registrations, &made->entry);
            return made;
        }
    }
    delete made;
    return nullptr;
}

void ExUnregisterCallback(PVOID CallbackRegistration) {
    auto* gone = static_cast<registration*>(CallbackRegistration);
    auto& object = static_cast<_CALLBACK_OBJECT&>(*gone->object);
    bool runs = false;
    {
        const callback_guard guard(object);
        gone->leaving = true;
        runs = gone->calls != 0;
    }
    if (runs) KeWaitForSingleObject(&gone->unused, Executive, KernelMode, FALSE, nullptr);
    {
        const callback_guard guard(object); // also the end of the call that signaled
        RemoveEntryList(&gone->entry);
    }
    delete gone;
}

void ExNotifyCallback(PVOID CallbackObject, PVOID Argument1, PVOID Argument2) {
    auto& object = *static_cast<_CALLBACK_OBJECT*>(CallbackObject);
    registration* each = nullptr;
    {
        const callback_guard guard(object);
        each = next_called(object, object.registrations.Flink);
    }
    while (each != nullptr) {
        each->routine(each->context, Argument1, Argument2);
        const callback_guard guard(object);
        registration* const next = next_called(object, each->entry.Flink);
        end_call(*each);
        each = next;
    }
}

} // extern "C"

/* Reference-counted objects and their handles. */
#ifndef IRPVERBS_DISPATCH_OBJECT_H
#define IRPVERBS_DISPATCH_OBJECT_H

#include <dispatch/object_attributes.h>
#include <dispatch/wait.h>

NT_EXTERN_C_BEGIN

struct _OBJECT_TYPE; /* opaque */
typedef struct _OBJECT_TYPE OBJECT_TYPE, *POBJECT_TYPE;

/* First member of each reference-counted object: KTHREAD, DEVICE_OBJECT, DRIVER_OBJECT,
   FILE_OBJECT. The fields are the library's; drivers do not access them. */
typedef struct _OBJECT_HEADER {
    DISPATCHER_HEADER Dispatcher; /* waits for a thread or event use it; the other objects are not
                                     waitable */
    LONG ReferenceCount;
    ULONG Signature;
    const struct _OBJECT_TYPE* ObjectType;
} OBJECT_HEADER, *POBJECT_HEADER;

/* ObReferenceObject adds a reference to a thread, event of ZwCreateEvent, device, driver or file;
   ObDereferenceObject drops one. The object ends with its last reference. A thread keeps a
   reference to itself while it runs, a device until IoDeleteDevice, a driver for ever. Bug check
   0x18 for any other object, and for a reference that the caller does not have. IRQL: <=
   DISPATCH_LEVEL. Source: WDK ObReferenceObject, ObDereferenceObject. */
NT_API void ObReferenceObject(PVOID Object);
NT_API void ObDereferenceObject(PVOID Object);

/* Stores the object of a handle in *Object. Ownership: the caller receives a reference, which
   ObDereferenceObject drops. ObjectType: NULL, or the type that the object must have
   (*ExEventObjectType, *PsThreadType, *IoFileObjectType). HandleInformation is ignored. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_HANDLE for a value that is no handle, a closed
   handle, or a handle of another machine; STATUS_OBJECT_TYPE_MISMATCH for an object of another
   type; STATUS_ACCESS_DENIED when AccessMode is UserMode and the file of the handle was opened
   without DesiredAccess. Source: WDK ObReferenceObjectByHandle. */
NT_API NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess,
                                          PVOID ObjectType, KPROCESSOR_MODE AccessMode,
                                          PVOID* Object, PVOID HandleInformation);

/* Types of objects, for ObReferenceObjectByHandle. */
NT_API extern POBJECT_TYPE* ExEventObjectType;
NT_API extern POBJECT_TYPE* PsThreadType;

/* Closes a handle and drops its reference. A closed handle is never valid again. A machine closes
   its open handles when it ends. The last handle of a file sends its device IRP_MJ_CLEANUP. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_HANDLE as for ObReferenceObjectByHandle. Source:
   WDK ZwClose. */
NT_API NTSTATUS ZwClose(HANDLE Handle);
#define NtClose ZwClose

/* Creates an event and a handle of it. Its object, which ObReferenceObjectByHandle returns, is a
   KEVENT. Ownership: ZwClose closes *EventHandle; the event ends with its last reference.
   DesiredAccess and ObjectAttributes are ignored: the event has no name. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS; STATUS_INSUFFICIENT_RESOURCES. Source: WDK ZwCreateEvent. */
NT_API NTSTATUS ZwCreateEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess,
                              POBJECT_ATTRIBUTES ObjectAttributes, EVENT_TYPE EventType,
                              BOOLEAN InitialState);
#define NtCreateEvent ZwCreateEvent

/* KeSetEvent, KeResetEvent and KeClearEvent for the event of a handle. PreviousState: NULL, or
   receives the old state. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_HANDLE and
   STATUS_OBJECT_TYPE_MISMATCH as for ObReferenceObjectByHandle. Source: WDK ZwSetEvent,
   NtResetEvent, NtClearEvent. */
NT_API NTSTATUS ZwSetEvent(HANDLE EventHandle, PLONG PreviousState);
NT_API NTSTATUS ZwResetEvent(HANDLE EventHandle, PLONG PreviousState);
NT_API NTSTATUS ZwClearEvent(HANDLE EventHandle);
#define NtSetEvent ZwSetEvent
#define NtResetEvent ZwResetEvent
#define NtClearEvent ZwClearEvent

/* Waits for the object of a handle: an event, the end of a thread, or the completion of a file's
   last request. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_TIMEOUT; STATUS_INVALID_HANDLE;
   STATUS_OBJECT_TYPE_MISMATCH: a thread can't wait for that object. Alertable is ignored. Timeout:
   units of 100 ns, negative relative to now; NULL: no limit. Source: WDK ZwWaitForSingleObject. */
NT_API NTSTATUS ZwWaitForSingleObject(HANDLE Handle, BOOLEAN Alertable, PLARGE_INTEGER Timeout);
#define NtWaitForSingleObject ZwWaitForSingleObject

NT_EXTERN_C_END

#endif

/* Objects that are kept by references, and handles of them. */
#ifndef IRPVERBS_DISPATCH_OBJECT_H
#define IRPVERBS_DISPATCH_OBJECT_H

#include <dispatch/wait.h>

NT_EXTERN_C_BEGIN

struct _OBJECT_TYPE; /* opaque */
typedef struct _OBJECT_TYPE OBJECT_TYPE, *POBJECT_TYPE;

/* First member of each object that is kept by references: KTHREAD, DEVICE_OBJECT, DRIVER_OBJECT.
   The library's; drivers leave it alone. */
typedef struct _OBJECT_HEADER {
    DISPATCHER_HEADER Dispatcher; /* a thread is waited for by it, a device or driver never */
    LONG ReferenceCount;
    ULONG Signature;
    const struct _OBJECT_TYPE* ObjectType;
} OBJECT_HEADER, *POBJECT_HEADER;

/* Adds a reference to a thread, device or driver, or drops one. The object ends with its last
   reference. Bug check 0x18 for anything else, and for a reference that the caller does not have: a
   thread keeps one while it runs, a device until IoDeleteDevice, a driver for ever. IRQL: <=
   DISPATCH_LEVEL. Source: WDK ObReferenceObject, ObDereferenceObject. */
NT_API void ObReferenceObject(PVOID Object);
NT_API void ObDereferenceObject(PVOID Object);

/* Stores the object of a handle in *Object, with a reference for the caller (ObDereferenceObject).
   DesiredAccess, ObjectType, AccessMode and HandleInformation are ignored. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS; STATUS_INVALID_HANDLE for a handle that is closed, of another machine, or none.
   Source: WDK ObReferenceObjectByHandle. */
NT_API NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess,
                                          PVOID ObjectType, KPROCESSOR_MODE AccessMode,
                                          PVOID* Object, PVOID HandleInformation);

/* Closes a handle and drops its reference. A closed handle is never valid again; those that are
   open are closed with their machine. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_HANDLE as
   above. Source: WDK ZwClose. */
NT_API NTSTATUS ZwClose(HANDLE Handle);

NT_EXTERN_C_END

#endif

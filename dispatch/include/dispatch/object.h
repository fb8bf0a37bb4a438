/* Reference-counted objects and their handles. */
#ifndef IRPVERBS_DISPATCH_OBJECT_H
#define IRPVERBS_DISPATCH_OBJECT_H

#include <dispatch/wait.h>

NT_EXTERN_C_BEGIN

struct _OBJECT_TYPE; /* opaque */
typedef struct _OBJECT_TYPE OBJECT_TYPE, *POBJECT_TYPE;

/* First member of each reference-counted object: KTHREAD, DEVICE_OBJECT, DRIVER_OBJECT. The fields
   are the library's; drivers do not access them. */
typedef struct _OBJECT_HEADER {
    DISPATCHER_HEADER Dispatcher; /* waits for a thread use it; devices and drivers are not
                                     waitable */
    LONG ReferenceCount;
    ULONG Signature;
    const struct _OBJECT_TYPE* ObjectType;
} OBJECT_HEADER, *POBJECT_HEADER;

/* ObReferenceObject adds a reference to a thread, device or driver; ObDereferenceObject drops one.
   The object ends with its last reference. A thread keeps a reference to itself while it runs, a
   device until IoDeleteDevice, a driver for ever. Bug check 0x18 for any other object, and for a
   reference that the caller does not have. IRQL: <= DISPATCH_LEVEL. Source: WDK ObReferenceObject,
   ObDereferenceObject. */
NT_API void ObReferenceObject(PVOID Object);
NT_API void ObDereferenceObject(PVOID Object);

/* Stores the object of a handle in *Object. Ownership: the caller receives a reference, which
   ObDereferenceObject drops. DesiredAccess, ObjectType, AccessMode and HandleInformation are
   ignored. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_HANDLE for a value that is no
   handle, a closed handle, or a handle of another machine. Source: WDK
   ObReferenceObjectByHandle. */
NT_API NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess,
                                          PVOID ObjectType, KPROCESSOR_MODE AccessMode,
                                          PVOID* Object, PVOID HandleInformation);

/* Closes a handle and drops its reference. A closed handle is never valid again. A machine closes
   its open handles when it ends. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_HANDLE as for
   ObReferenceObjectByHandle. Source: WDK ZwClose. */
NT_API NTSTATUS ZwClose(HANDLE Handle);

NT_EXTERN_C_END

#endif

/* The file object: one open of a device. */
#ifndef IRPVERBS_IRP_FILE_OBJECT_H
#define IRPVERBS_IRP_FILE_OBJECT_H

#include <irp/device.h>
#include <irp/security_types.h>

struct _SECTION_OBJECT_POINTERS;

#define IO_TYPE_FILE 5 /* FILE_OBJECT.Type */

/* FILE_OBJECT.Flags */
#define FO_FILE_OPEN 0x1
#define FO_SYNCHRONOUS_IO 0x2
#define FO_ALERTABLE_IO 0x4
#define FO_NO_INTERMEDIATE_BUFFERING 0x8
#define FO_WRITE_THROUGH 0x10
#define FO_SEQUENTIAL_ONLY 0x20
#define FO_CACHE_SUPPORTED 0x40
#define FO_NAMED_PIPE 0x80
#define FO_STREAM_FILE 0x100
#define FO_MAILSLOT 0x200
#define FO_GENERATE_AUDIT_ON_CLOSE 0x400
#define FO_QUEUE_IRP_TO_THREAD 0x400
#define FO_DIRECT_DEVICE_OPEN 0x800
#define FO_FILE_MODIFIED 0x1000
#define FO_FILE_SIZE_CHANGED 0x2000
#define FO_CLEANUP_COMPLETE 0x4000
#define FO_TEMPORARY_FILE 0x8000
#define FO_DELETE_ON_CLOSE 0x10000
#define FO_OPENED_CASE_SENSITIVE 0x20000
#define FO_HANDLE_CREATED 0x40000
#define FO_FILE_FAST_IO_READ 0x80000
#define FO_RANDOM_ACCESS 0x100000
#define FO_FILE_OPEN_CANCELLED 0x200000
#define FO_VOLUME_OPEN 0x400000
#define FO_BYPASS_IO_ENABLED 0x800000
#define FO_REMOTE_ORIGIN 0x1000000
#define FO_DISALLOW_EXCLUSIVE 0x2000000
#define FO_SKIP_COMPLETION_PORT 0x2000000
#define FO_SKIP_SET_EVENT 0x4000000
#define FO_SKIP_SET_FAST_IO 0x8000000
#define FO_INDIRECT_WAIT_OBJECT 0x10000000
#define FO_SECTION_MINSTORE_TREATMENT 0x20000000

/* An open file. The library opens it and owns the fields, except FsContext, FsContext2 and
   PrivateCacheMap, which are the driver's. */
typedef struct _FILE_OBJECT {
    OBJECT_HEADER Header;
    CSHORT Type;
    CSHORT Size;
    PDEVICE_OBJECT DeviceObject; /* as named; its stack serves the requests */
    struct _VPB* Vpb;
    PVOID FsContext;
    PVOID FsContext2;
    struct _SECTION_OBJECT_POINTERS* SectionObjectPointer;
    PVOID PrivateCacheMap;
    NTSTATUS FinalStatus;
    struct _FILE_OBJECT* RelatedFileObject;
    BOOLEAN LockOperation;
    BOOLEAN DeletePending;
    BOOLEAN ReadAccess;
    BOOLEAN WriteAccess;
    BOOLEAN DeleteAccess;
    BOOLEAN SharedRead;
    BOOLEAN SharedWrite;
    BOOLEAN SharedDelete;
    ULONG Flags;
    UNICODE_STRING FileName; /* the rest of the path behind the device's name */
    LARGE_INTEGER CurrentByteOffset;
    ULONG Waiters;
    ULONG Busy;
    PVOID LastLock;
    KEVENT Lock;  /* held during a request of FO_SYNCHRONOUS_IO */
    KEVENT Event; /* set when a request completes that names no event */
    struct _IO_COMPLETION_CONTEXT* CompletionContext;
    KSPIN_LOCK IrpListLock;
    LIST_ENTRY IrpList; /* the outstanding requests */
    PVOID FileObjectExtension;
} FILE_OBJECT, *PFILE_OBJECT;

#endif

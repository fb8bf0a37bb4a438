/* Files: the interface of user mode to drivers. A file is opened by the name of a device; reads,
   writes and control codes become IRPs to the device's stack, and the close of the last handle ends
   the use.

   Each function has two names: Nt... is user mode's (RequestorMode is UserMode, and the access that
   the file was opened with is checked), Zw... is a driver's (KernelMode, not checked). Handles are
   numbers of their machine with a generation; a handle that was closed is STATUS_INVALID_HANDLE.

   Requests on a file of FILE_SYNCHRONOUS_IO_ALERT or FILE_SYNCHRONOUS_IO_NONALERT are made one at a
   time, and each call returns after its request has completed. On other files a call may return
   STATUS_PENDING; *IoStatusBlock is then written when the request completes. A request that fails
   before its call returns, without having pended, leaves *IoStatusBlock, event and port alone. */
#ifndef IRPVERBS_IRP_FILE_H
#define IRPVERBS_IRP_FILE_H

#include <irp/access.h>
#include <irp/completion_port.h>
#include <irp/file_object.h>
#include <irp/file_types.h>
#include <irp/ioctl.h>

NT_EXTERN_C_BEGIN

/* Share access. */
#define FILE_SHARE_READ 0x1
#define FILE_SHARE_WRITE 0x2
#define FILE_SHARE_DELETE 0x4
#define FILE_SHARE_VALID_FLAGS 0x7

/* Create dispositions, and the results that Information reports. */
#define FILE_SUPERSEDE 0
#define FILE_OPEN 1
#define FILE_CREATE 2
#define FILE_OPEN_IF 3
#define FILE_OVERWRITE 4
#define FILE_OVERWRITE_IF 5
#define FILE_MAXIMUM_DISPOSITION 5
#define FILE_SUPERSEDED 0
#define FILE_OPENED 1
#define FILE_CREATED 2
#define FILE_OVERWRITTEN 3
#define FILE_EXISTS 4
#define FILE_DOES_NOT_EXIST 5

/* Create options. */
#define FILE_DIRECTORY_FILE 0x1
#define FILE_WRITE_THROUGH 0x2
#define FILE_SEQUENTIAL_ONLY 0x4
#define FILE_NO_INTERMEDIATE_BUFFERING 0x8
#define FILE_SYNCHRONOUS_IO_ALERT 0x10
#define FILE_SYNCHRONOUS_IO_NONALERT 0x20
#define FILE_NON_DIRECTORY_FILE 0x40
#define FILE_CREATE_TREE_CONNECTION 0x80
#define FILE_COMPLETE_IF_OPLOCKED 0x100
#define FILE_NO_EA_KNOWLEDGE 0x200
#define FILE_OPEN_REMOTE_INSTANCE 0x400
#define FILE_RANDOM_ACCESS 0x800
#define FILE_DELETE_ON_CLOSE 0x1000
#define FILE_OPEN_BY_FILE_ID 0x2000
#define FILE_OPEN_FOR_BACKUP_INTENT 0x4000
#define FILE_NO_COMPRESSION 0x8000
#define FILE_OPEN_REQUIRING_OPLOCK 0x10000
#define FILE_DISALLOW_EXCLUSIVE 0x20000
#define FILE_SESSION_AWARE 0x40000
#define FILE_RESERVE_OPFILTER 0x100000
#define FILE_OPEN_REPARSE_POINT 0x200000
#define FILE_OPEN_NO_RECALL 0x400000
#define FILE_OPEN_FOR_FREE_SPACE_QUERY 0x800000
#define FILE_VALID_OPTION_FLAGS 0xffffff

/* ByteOffset.LowPart, with HighPart -1. */
#define FILE_WRITE_TO_END_OF_FILE 0xffffffff
#define FILE_USE_FILE_POINTER_POSITION 0xfffffffe

typedef void IO_APC_ROUTINE(PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, ULONG Reserved);
typedef IO_APC_ROUTINE* PIO_APC_ROUTINE;

/* FileCompletionInformation of NtSetInformationFile. */
typedef struct _FILE_COMPLETION_INFORMATION {
    HANDLE Port; /* of IoCreateIoCompletion */
    PVOID Key;
} FILE_COMPLETION_INFORMATION, *PFILE_COMPLETION_INFORMATION;

/* Types of objects, for ObReferenceObjectByHandle. */
NT_API extern POBJECT_TYPE* IoFileObjectType;
NT_API extern POBJECT_TYPE* IoDeviceObjectType;
NT_API extern POBJECT_TYPE* IoDriverObjectType;

/* Creates and deletes a symbolic link of the machine: a path through SymbolicLinkName continues at
   DeviceName. \DosDevices and \?? are the folder \GLOBAL??. Ownership: the strings are copied.
   IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_OBJECT_NAME_COLLISION: the name exists;
   STATUS_OBJECT_NAME_NOT_FOUND: it does not, or is a device (delete); STATUS_OBJECT_PATH_NOT_FOUND:
   its folder does not exist; STATUS_OBJECT_PATH_SYNTAX_BAD: it does not begin with a backslash;
   STATUS_OBJECT_NAME_INVALID: it has an empty part; STATUS_INSUFFICIENT_RESOURCES. Source: WDK
   IoCreateSymbolicLink, IoDeleteSymbolicLink. */
NT_API NTSTATUS IoCreateSymbolicLink(PUNICODE_STRING SymbolicLinkName, PUNICODE_STRING DeviceName);
NT_API NTSTATUS IoDeleteSymbolicLink(PUNICODE_STRING SymbolicLinkName);

/* Returns the top of the stack that serves the file's requests; no reference is added. IRQL: <=
   DISPATCH_LEVEL. Source: WDK IoGetRelatedDeviceObject. */
NT_API PDEVICE_OBJECT IoGetRelatedDeviceObject(PFILE_OBJECT FileObject);

/* Opens a device by name for a driver: IRP_MJ_CREATE, then IRP_MJ_CLEANUP are sent to it.
   *DeviceObject is the top of its stack. Ownership: the caller's reference to *FileObject keeps
   both; ObDereferenceObject(FileObject) drops it and sends IRP_MJ_CLOSE. IRQL: PASSIVE_LEVEL.
   Statuses: those of ZwCreateFile. Source: WDK IoGetDeviceObjectPointer. */
NT_API NTSTATUS IoGetDeviceObjectPointer(PUNICODE_STRING ObjectName, ACCESS_MASK DesiredAccess,
                                         PFILE_OBJECT* FileObject, PDEVICE_OBJECT* DeviceObject);

/* Opens a device: sends IRP_MJ_CREATE to the top of its stack and waits for its completion. The
   path behind the device's name becomes FILE_OBJECT.FileName. With a RootDirectory, the handle of a
   file, ObjectName is relative to that file, which becomes RelatedFileObject. ...OpenFile opens
   with the disposition FILE_OPEN. Ownership: the caller's, until NtClose. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS, with the driver's Information (FILE_OPENED, ...) in *IoStatusBlock;
   STATUS_OBJECT_NAME_NOT_FOUND, STATUS_OBJECT_PATH_NOT_FOUND, STATUS_OBJECT_PATH_SYNTAX_BAD,
   STATUS_OBJECT_NAME_INVALID: the path names nothing; STATUS_OBJECT_TYPE_MISMATCH: it names a
   folder; STATUS_NO_SUCH_DEVICE: the device is being created or deleted; STATUS_ACCESS_DENIED: the
   device is exclusive and open, or its descriptor does not grant the rights (device_security.h);
   STATUS_INVALID_PARAMETER: wrong options, among them synchronous I/O without SYNCHRONIZE;
   STATUS_INVALID_HANDLE: RootDirectory; STATUS_INSUFFICIENT_RESOURCES; or the driver's own failure,
   after which there is no file. Cancellation: none; a driver that never completes the request
   blocks the caller. Source: WDK ZwCreateFile, ZwOpenFile. */
NT_API NTSTATUS NtCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                             POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                             PLARGE_INTEGER AllocationSize, ULONG FileAttributes, ULONG ShareAccess,
                             ULONG CreateDisposition, ULONG CreateOptions, PVOID EaBuffer,
                             ULONG EaLength);
NT_API NTSTATUS ZwCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                             POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                             PLARGE_INTEGER AllocationSize, ULONG FileAttributes, ULONG ShareAccess,
                             ULONG CreateDisposition, ULONG CreateOptions, PVOID EaBuffer,
                             ULONG EaLength);
NT_API NTSTATUS NtOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                           POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                           ULONG ShareAccess, ULONG OpenOptions);
NT_API NTSTATUS ZwOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                           POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                           ULONG ShareAccess, ULONG OpenOptions);

/* Read and write a file. The buffer is passed as the Flags of the top device demand: DO_BUFFERED_IO
   by system buffer, DO_DIRECT_IO by MDL, otherwise as UserBuffer. Event: NULL, or an event that is
   reset now and set at completion; without one the file's own event is. ApcContext: the packet's
   context where the file has a completion port; NULL: no packet. ByteOffset: in bytes; on a
   synchronous file NULL and FILE_USE_FILE_POINTER_POSITION mean the file's CurrentByteOffset. Key:
   NULL, or the value of Parameters.Read.Key. Ownership: the buffer is the driver's until the
   completion, *IoStatusBlock the library's. IRQL: PASSIVE_LEVEL. The driver's status, with
   Information in *IoStatusBlock; STATUS_PENDING; STATUS_INVALID_HANDLE;
   STATUS_OBJECT_TYPE_MISMATCH: a handle of something else; STATUS_ACCESS_DENIED: the file was
   opened without FILE_READ_DATA, or FILE_WRITE_DATA and FILE_APPEND_DATA; STATUS_INVALID_PARAMETER:
   an offset that is negative, or missing on an asynchronous file; STATUS_ACCESS_VIOLATION: user
   mode's Buffer is NULL and Length is not 0; STATUS_NOT_SUPPORTED: an ApcRoutine (there are no
   APCs); STATUS_INSUFFICIENT_RESOURCES. Cancellation: NtCancelIoFileEx. Source: WDK ZwReadFile,
   ZwWriteFile. */
NT_API NTSTATUS NtReadFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                           PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                           ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key);
NT_API NTSTATUS ZwReadFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                           PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                           ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key);
NT_API NTSTATUS NtWriteFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                            PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                            ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key);
NT_API NTSTATUS ZwWriteFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                            PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer,
                            ULONG Length, PLARGE_INTEGER ByteOffset, PULONG Key);

/* Sends a control code, with its buffers as the code's METHOD_ demands (see
   IoBuildDeviceIoControlRequest). The access bits of the code ask for FILE_READ_DATA and
   FILE_WRITE_DATA: STATUS_ACCESS_DENIED without them. Parameters, ownership, IRQL, statuses and
   cancellation: as NtReadFile. Source: WDK ZwDeviceIoControlFile. */
NT_API NTSTATUS NtDeviceIoControlFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                                      PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                                      ULONG IoControlCode, PVOID InputBuffer,
                                      ULONG InputBufferLength, PVOID OutputBuffer,
                                      ULONG OutputBufferLength);
NT_API NTSTATUS ZwDeviceIoControlFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                                      PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                                      ULONG IoControlCode, PVOID InputBuffer,
                                      ULONG InputBufferLength, PVOID OutputBuffer,
                                      ULONG OutputBufferLength);

/* Sends IRP_MJ_FLUSH_BUFFERS and waits for its completion. IRQL: PASSIVE_LEVEL. The driver's
   status; STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH; STATUS_ACCESS_DENIED: the file was
   opened without FILE_WRITE_DATA and FILE_APPEND_DATA; STATUS_INSUFFICIENT_RESOURCES. Source: WDK
   ZwFlushBuffersFile. */
NT_API NTSTATUS NtFlushBuffersFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock);
NT_API NTSTATUS ZwFlushBuffersFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock);

/* Sets FileCompletionInformation: from now on, requests on the file with an ApcContext are posted
   to the port when they complete. Other classes are sent to the driver as IRP_MJ_SET_INFORMATION,
   with a copy of the information as SystemBuffer. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS or the
   driver's status; STATUS_INVALID_PARAMETER: the file has a port already, or is synchronous;
   STATUS_INFO_LENGTH_MISMATCH: Length is less than the structure; STATUS_INVALID_HANDLE: the file
   or the port; STATUS_INSUFFICIENT_RESOURCES. Source: WDK ZwSetInformationFile. */
NT_API NTSTATUS NtSetInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                     PVOID FileInformation, ULONG Length,
                                     FILE_INFORMATION_CLASS FileInformationClass);
NT_API NTSTATUS ZwSetInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                     PVOID FileInformation, ULONG Length,
                                     FILE_INFORMATION_CLASS FileInformationClass);

/* Sends IRP_MJ_QUERY_INFORMATION, whose SystemBuffer is copied to FileInformation, and waits for
   its completion. IRQL: PASSIVE_LEVEL. The driver's status; STATUS_INVALID_HANDLE,
   STATUS_OBJECT_TYPE_MISMATCH; STATUS_INSUFFICIENT_RESOURCES. Source: WDK
   ZwQueryInformationFile. */
NT_API NTSTATUS NtQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                       PVOID FileInformation, ULONG Length,
                                       FILE_INFORMATION_CLASS FileInformationClass);
NT_API NTSTATUS ZwQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                       PVOID FileInformation, ULONG Length,
                                       FILE_INFORMATION_CLASS FileInformationClass);

/* Requests the cancellation of outstanding requests on the file: ...Ex those of
   IoRequestToCancel, or with NULL all; the other those of the calling thread. Neither waits for the
   completions. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS, also in *IoStatusBlock; STATUS_NOT_FOUND
   (...Ex): no such request is outstanding; STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH.
   Source: Win32 CancelIoEx, CancelIo. */
NT_API NTSTATUS NtCancelIoFileEx(HANDLE FileHandle, PIO_STATUS_BLOCK IoRequestToCancel,
                                 PIO_STATUS_BLOCK IoStatusBlock);
NT_API NTSTATUS NtCancelIoFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock);
#define ZwCancelIoFileEx NtCancelIoFileEx
#define ZwCancelIoFile NtCancelIoFile

NT_EXTERN_C_END

#endif

/* Objects, their names and handles, and access rights. Source: WDK wdm.h and ntifs.h reference. */
#ifndef IRPVERBS_WINDOWS_OBJECTS_H
#define IRPVERBS_WINDOWS_OBJECTS_H

#include <irp/access.h>
#include <irp/file.h>
#include <irp/security_types.h>
#include <irp/wdm.h>
#include <windows/wdk/types.h>

#define DELETE 0x00010000L
#define WRITE_DAC 0x00040000L
#define WRITE_OWNER 0x00080000L
#define SPECIFIC_RIGHTS_ALL 0x0000FFFFL
#define ACCESS_SYSTEM_SECURITY 0x01000000L

#define EVENT_QUERY_STATE 0x0001
#define EVENT_MODIFY_STATE 0x0002
#define EVENT_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0x3)
#define MUTANT_QUERY_STATE 0x0001
#define MUTANT_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0x1)
#define SEMAPHORE_MODIFY_STATE 0x0002
#define SEMAPHORE_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0x3)
#define TIMER_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0x3)
#define THREAD_TERMINATE 0x0001
#define THREAD_SUSPEND_RESUME 0x0002
#define THREAD_ALERT 0x0004
#define THREAD_GET_CONTEXT 0x0008
#define THREAD_SET_CONTEXT 0x0010
#define THREAD_SET_INFORMATION 0x0020
#define THREAD_QUERY_INFORMATION 0x0040
#define THREAD_SET_LIMITED_INFORMATION 0x0400
#define THREAD_QUERY_LIMITED_INFORMATION 0x0800
#define THREAD_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0xFFFF)
#define PROCESS_TERMINATE 0x0001
#define PROCESS_CREATE_THREAD 0x0002
#define PROCESS_SET_SESSIONID 0x0004
#define PROCESS_VM_OPERATION 0x0008
#define PROCESS_VM_READ 0x0010
#define PROCESS_VM_WRITE 0x0020
#define PROCESS_DUP_HANDLE 0x0040
#define PROCESS_CREATE_PROCESS 0x0080
#define PROCESS_SET_QUOTA 0x0100
#define PROCESS_SET_INFORMATION 0x0200
#define PROCESS_QUERY_INFORMATION 0x0400
#define PROCESS_SUSPEND_RESUME 0x0800
#define PROCESS_QUERY_LIMITED_INFORMATION 0x1000
#define PROCESS_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | 0xFFFF)
#define DIRECTORY_QUERY 0x0001
#define DIRECTORY_TRAVERSE 0x0002
#define DIRECTORY_CREATE_OBJECT 0x0004
#define DIRECTORY_CREATE_SUBDIRECTORY 0x0008
#define DIRECTORY_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0xF)
#define SYMBOLIC_LINK_QUERY 0x0001
#define SYMBOLIC_LINK_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0x1)
#define SECTION_QUERY 0x0001
#define SECTION_MAP_WRITE 0x0002
#define SECTION_MAP_READ 0x0004
#define SECTION_MAP_EXECUTE 0x0008
#define SECTION_EXTEND_SIZE 0x0010
#define SECTION_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0x1F)

typedef struct _GENERIC_MAPPING {
    ACCESS_MASK GenericRead;
    ACCESS_MASK GenericWrite;
    ACCESS_MASK GenericExecute;
    ACCESS_MASK GenericAll;
} GENERIC_MAPPING, *PGENERIC_MAPPING;

typedef struct _OBJECT_HANDLE_INFORMATION {
    ULONG HandleAttributes;
    ACCESS_MASK GrantedAccess;
} OBJECT_HANDLE_INFORMATION, *POBJECT_HANDLE_INFORMATION;

typedef struct _OBJECT_NAME_INFORMATION {
    UNICODE_STRING Name;
} OBJECT_NAME_INFORMATION, *POBJECT_NAME_INFORMATION;

typedef enum _OBJECT_INFORMATION_CLASS {
    ObjectBasicInformation = 0,
    ObjectTypeInformation = 2
} OBJECT_INFORMATION_CLASS;

typedef struct _EPROCESS *PEPROCESS, *PKPROCESS, *PRKPROCESS, EPROCESS, KPROCESS;
typedef KTHREAD ETHREAD;
typedef struct _EJOB* PEJOB;
typedef ULONG SECURITY_INFORMATION, *PSECURITY_INFORMATION;
typedef PVOID PSID;

NT_EXTERN_C_BEGIN

NT_API extern POBJECT_TYPE* ExSemaphoreObjectType;
NT_API extern POBJECT_TYPE* PsProcessType;
NT_API extern POBJECT_TYPE* PsJobType;
NT_API extern POBJECT_TYPE* SeTokenObjectType;
NT_API extern POBJECT_TYPE* MmSectionObjectType;
NT_API extern POBJECT_TYPE* TmResourceManagerObjectType;
NT_API extern POBJECT_TYPE* TmEnlistmentObjectType;
NT_API extern POBJECT_TYPE* TmTransactionManagerObjectType;
NT_API extern POBJECT_TYPE* TmTransactionObjectType;

/* References an object that the caller has a pointer to; the access is not checked. IRQL: <=
   DISPATCH_LEVEL. STATUS_SUCCESS. Source: WDK ObReferenceObjectByPointer. */
NT_API NTSTATUS ObReferenceObjectByPointer(PVOID Object, ACCESS_MASK DesiredAccess,
                                           POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode);
NT_API NTSTATUS ObReferenceObjectByPointerWithTag(PVOID Object, ACCESS_MASK DesiredAccess,
                                                  POBJECT_TYPE ObjectType,
                                                  KPROCESSOR_MODE AccessMode, ULONG Tag);
NT_API NTSTATUS ObReferenceObjectByHandleWithTag(HANDLE Handle, ACCESS_MASK DesiredAccess,
                                                 POBJECT_TYPE ObjectType,
                                                 KPROCESSOR_MODE AccessMode, ULONG Tag,
                                                 PVOID* Object,
                                                 POBJECT_HANDLE_INFORMATION Information);
NT_API NTSTATUS ObReferenceObjectByName(PUNICODE_STRING Name, ULONG Attributes,
                                        PACCESS_STATE AccessState, ACCESS_MASK DesiredAccess,
                                        POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
                                        PVOID ParseContext, PVOID* Object);
NT_API NTSTATUS ObOpenObjectByPointer(PVOID Object, ULONG HandleAttributes,
                                      PACCESS_STATE AccessState, ACCESS_MASK DesiredAccess,
                                      POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
                                      PHANDLE Handle);
NT_API NTSTATUS ObOpenObjectByName(POBJECT_ATTRIBUTES ObjectAttributes, POBJECT_TYPE ObjectType,
                                   KPROCESSOR_MODE AccessMode, PACCESS_STATE AccessState,
                                   ACCESS_MASK DesiredAccess, PVOID ParseContext, PHANDLE Handle);

/* Stores the path of a device, file, driver, folder, symbolic link or callback object, and behind
   *Information its text, which ends with a zero that Length does not count; an object without a
   name has an empty one. *ReturnLength: bytes, also when they are too many. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS; STATUS_INFO_LENGTH_MISMATCH: Length is too small; STATUS_INSUFFICIENT_RESOURCES.
   Source: WDK ObQueryNameString. */
NT_API NTSTATUS ObQueryNameString(PVOID Object, POBJECT_NAME_INFORMATION Information, ULONG Length,
                                  PULONG ReturnLength);

NT_API NTSTATUS ObQueryObjectAuditingByHandle(HANDLE Handle, PBOOLEAN GenerateOnClose);
NT_API NTSTATUS ObCloseHandle(HANDLE Handle, KPROCESSOR_MODE PreviousMode);
NT_API NTSTATUS ObGetObjectSecurity(PVOID Object, PSECURITY_DESCRIPTOR* SecurityDescriptor,
                                    PBOOLEAN MemoryAllocated);
NT_API void ObReleaseObjectSecurity(PSECURITY_DESCRIPTOR SecurityDescriptor,
                                    BOOLEAN MemoryAllocated);
NT_API NTSTATUS ObInsertObject(PVOID Object, PACCESS_STATE PassedAccessState,
                               ACCESS_MASK DesiredAccess, ULONG ObjectPointerBias, PVOID* NewObject,
                               PHANDLE Handle);
NT_API BOOLEAN ObIsKernelHandle(HANDLE Handle);
NT_API void ObDereferenceObjectDeferDelete(PVOID Object);
#define ObfReferenceObject ObReferenceObject
#define ObfDereferenceObject ObDereferenceObject
#define ObReferenceObjectWithTag(object, tag) ObReferenceObject(object)
#define ObDereferenceObjectWithTag(object, tag) ObDereferenceObject(object)
#define ObfReferenceObjectWithTag(object, tag) ObReferenceObject(object)
#define ObfDereferenceObjectWithTag(object, tag) ObDereferenceObject(object)
#define ObDereferenceObjectDeferDeleteWithTag(object, tag) ObDereferenceObject(object)
#define ObReferenceObjectByHandle(handle, access, type, mode, object, information)                 \
    ObReferenceObjectByHandle((handle), (access), (PVOID)(type), (mode), (PVOID*)(object),         \
                              (information))

NT_API NTSTATUS ZwDuplicateObject(HANDLE SourceProcessHandle, HANDLE SourceHandle,
                                  HANDLE TargetProcessHandle, PHANDLE TargetHandle,
                                  ACCESS_MASK DesiredAccess, ULONG HandleAttributes, ULONG Options);
NT_API NTSTATUS ZwQueryObject(HANDLE Handle, OBJECT_INFORMATION_CLASS InformationClass,
                              PVOID Information, ULONG Length, PULONG ReturnLength);

/* Folders and symbolic links of the object namespace, which IoCreateSymbolicLink makes too. A name
   goes with the last handle, unless OBJ_PERMANENT was set; ZwMakeTemporaryObject and
   ObMakeTemporaryObject withdraw that. DesiredAccess and the descriptor are not used.
   RootDirectory: NULL, or the handle of a folder. ZwQuerySymbolicLinkObject: *ReturnedLength, which
   may be NULL, receives the bytes of the target. Ownership: ZwClose closes the handle. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_OBJECT_NAME_EXISTS: it was there and is opened, with
   OBJ_OPENIF; STATUS_OBJECT_NAME_COLLISION: it was there (create); STATUS_OBJECT_NAME_NOT_FOUND
   (open); STATUS_OBJECT_TYPE_MISMATCH: an object of another type has the name, or is RootDirectory
   or Handle; STATUS_OBJECT_PATH_NOT_FOUND, STATUS_OBJECT_PATH_SYNTAX_BAD,
   STATUS_OBJECT_NAME_INVALID as IoCreateSymbolicLink; STATUS_INVALID_PARAMETER: there is no name;
   STATUS_BUFFER_TOO_SMALL (query); STATUS_INVALID_HANDLE; STATUS_INSUFFICIENT_RESOURCES. Source:
   WDK ZwCreateDirectoryObject, ZwOpenSymbolicLinkObject, ZwQuerySymbolicLinkObject,
   ZwMakeTemporaryObject. */
NT_API NTSTATUS ZwCreateDirectoryObject(PHANDLE Handle, ACCESS_MASK DesiredAccess,
                                        POBJECT_ATTRIBUTES ObjectAttributes);
NT_API NTSTATUS ZwOpenDirectoryObject(PHANDLE Handle, ACCESS_MASK DesiredAccess,
                                      POBJECT_ATTRIBUTES ObjectAttributes);
NT_API NTSTATUS ZwCreateSymbolicLinkObject(PHANDLE Handle, ACCESS_MASK DesiredAccess,
                                           POBJECT_ATTRIBUTES ObjectAttributes,
                                           PUNICODE_STRING LinkTarget);
NT_API NTSTATUS ZwOpenSymbolicLinkObject(PHANDLE Handle, ACCESS_MASK DesiredAccess,
                                         POBJECT_ATTRIBUTES ObjectAttributes);
NT_API NTSTATUS ZwQuerySymbolicLinkObject(HANDLE Handle, PUNICODE_STRING LinkTarget,
                                          PULONG ReturnedLength);
NT_API NTSTATUS ZwMakeTemporaryObject(HANDLE Handle);
NT_API void ObMakeTemporaryObject(PVOID Object);

NT_API NTSTATUS ZwOpenEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess,
                            POBJECT_ATTRIBUTES ObjectAttributes);
NT_API NTSTATUS ZwWaitForMultipleObjects(ULONG Count, HANDLE Handles[], WAIT_TYPE WaitType,
                                         BOOLEAN Alertable, PLARGE_INTEGER Timeout);
NT_API PKEVENT IoCreateNotificationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle);
NT_API PKEVENT IoCreateSynchronizationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle);

/* Object callbacks. Source: WDK ObRegisterCallbacks. */
#define OB_FLT_REGISTRATION_VERSION_0100 0x0100
#define OB_FLT_REGISTRATION_VERSION OB_FLT_REGISTRATION_VERSION_0100
typedef ULONG OB_OPERATION;
#define OB_OPERATION_HANDLE_CREATE 0x00000001
#define OB_OPERATION_HANDLE_DUPLICATE 0x00000002

typedef struct _OB_PRE_CREATE_HANDLE_INFORMATION {
    ACCESS_MASK DesiredAccess;
    ACCESS_MASK OriginalDesiredAccess;
} OB_PRE_CREATE_HANDLE_INFORMATION, *POB_PRE_CREATE_HANDLE_INFORMATION;
typedef struct _OB_PRE_DUPLICATE_HANDLE_INFORMATION {
    ACCESS_MASK DesiredAccess;
    ACCESS_MASK OriginalDesiredAccess;
    PVOID SourceProcess;
    PVOID TargetProcess;
} OB_PRE_DUPLICATE_HANDLE_INFORMATION, *POB_PRE_DUPLICATE_HANDLE_INFORMATION;
typedef union _OB_PRE_OPERATION_PARAMETERS {
    OB_PRE_CREATE_HANDLE_INFORMATION CreateHandleInformation;
    OB_PRE_DUPLICATE_HANDLE_INFORMATION DuplicateHandleInformation;
} OB_PRE_OPERATION_PARAMETERS, *POB_PRE_OPERATION_PARAMETERS;
typedef struct _OB_PRE_OPERATION_INFORMATION {
    OB_OPERATION Operation;
    union {
        ULONG Flags;
        struct {
            ULONG KernelHandle : 1;
            ULONG Reserved : 31;
        };
    };
    PVOID Object;
    POBJECT_TYPE ObjectType;
    PVOID CallContext;
    POB_PRE_OPERATION_PARAMETERS Parameters;
} OB_PRE_OPERATION_INFORMATION, *POB_PRE_OPERATION_INFORMATION;
typedef struct _OB_POST_CREATE_HANDLE_INFORMATION {
    ACCESS_MASK GrantedAccess;
} OB_POST_CREATE_HANDLE_INFORMATION, *POB_POST_CREATE_HANDLE_INFORMATION,
    OB_POST_DUPLICATE_HANDLE_INFORMATION, *POB_POST_DUPLICATE_HANDLE_INFORMATION;
typedef union _OB_POST_OPERATION_PARAMETERS {
    OB_POST_CREATE_HANDLE_INFORMATION CreateHandleInformation;
    OB_POST_DUPLICATE_HANDLE_INFORMATION DuplicateHandleInformation;
} OB_POST_OPERATION_PARAMETERS, *POB_POST_OPERATION_PARAMETERS;
typedef struct _OB_POST_OPERATION_INFORMATION {
    OB_OPERATION Operation;
    union {
        ULONG Flags;
        struct {
            ULONG KernelHandle : 1;
            ULONG Reserved : 31;
        };
    };
    PVOID Object;
    POBJECT_TYPE ObjectType;
    PVOID CallContext;
    NTSTATUS ReturnStatus;
    POB_POST_OPERATION_PARAMETERS Parameters;
} OB_POST_OPERATION_INFORMATION, *POB_POST_OPERATION_INFORMATION;
typedef enum _OB_PREOP_CALLBACK_STATUS {
    OB_PREOP_SUCCESS
} OB_PREOP_CALLBACK_STATUS,
    *POB_PREOP_CALLBACK_STATUS;
typedef OB_PREOP_CALLBACK_STATUS (*POB_PRE_OPERATION_CALLBACK)(
    PVOID RegistrationContext, POB_PRE_OPERATION_INFORMATION OperationInformation);
typedef void (*POB_POST_OPERATION_CALLBACK)(PVOID RegistrationContext,
                                            POB_POST_OPERATION_INFORMATION OperationInformation);
typedef struct _OB_OPERATION_REGISTRATION {
    POBJECT_TYPE* ObjectType;
    OB_OPERATION Operations;
    POB_PRE_OPERATION_CALLBACK PreOperation;
    POB_POST_OPERATION_CALLBACK PostOperation;
} OB_OPERATION_REGISTRATION, *POB_OPERATION_REGISTRATION;
typedef struct _OB_CALLBACK_REGISTRATION {
    USHORT Version;
    USHORT OperationRegistrationCount;
    UNICODE_STRING Altitude;
    PVOID RegistrationContext;
    OB_OPERATION_REGISTRATION* OperationRegistration;
} OB_CALLBACK_REGISTRATION, *POB_CALLBACK_REGISTRATION;
NT_API NTSTATUS ObRegisterCallbacks(POB_CALLBACK_REGISTRATION CallbackRegistration,
                                    PVOID* RegistrationHandle);
NT_API void ObUnRegisterCallbacks(PVOID RegistrationHandle);
NT_API USHORT ObGetFilterVersion(void);

NT_EXTERN_C_END

#endif

/* The rest of the registry, beyond irp/registry.h. Source: WDK wdm.h reference, "Registry
 * routines". */
#ifndef IRPVERBS_WINDOWS_REGISTRY_H
#define IRPVERBS_WINDOWS_REGISTRY_H

#include <irp/registry.h>
#include <windows/wdk/objects.h>
#include <windows/wdk/rtl.h>

/* Callbacks before and after each operation on the registry. */
typedef enum _REG_NOTIFY_CLASS {
    RegNtDeleteKey,
    RegNtPreDeleteKey = RegNtDeleteKey,
    RegNtSetValueKey,
    RegNtPreSetValueKey = RegNtSetValueKey,
    RegNtDeleteValueKey,
    RegNtPreDeleteValueKey = RegNtDeleteValueKey,
    RegNtSetInformationKey,
    RegNtPreSetInformationKey = RegNtSetInformationKey,
    RegNtRenameKey,
    RegNtPreRenameKey = RegNtRenameKey,
    RegNtEnumerateKey,
    RegNtPreEnumerateKey = RegNtEnumerateKey,
    RegNtEnumerateValueKey,
    RegNtPreEnumerateValueKey = RegNtEnumerateValueKey,
    RegNtQueryKey,
    RegNtPreQueryKey = RegNtQueryKey,
    RegNtQueryValueKey,
    RegNtPreQueryValueKey = RegNtQueryValueKey,
    RegNtQueryMultipleValueKey,
    RegNtPreQueryMultipleValueKey = RegNtQueryMultipleValueKey,
    RegNtPreCreateKey,
    RegNtPostCreateKey,
    RegNtPreOpenKey,
    RegNtPostOpenKey,
    RegNtKeyHandleClose,
    RegNtPreKeyHandleClose = RegNtKeyHandleClose,
    RegNtPostDeleteKey,
    RegNtPostSetValueKey,
    RegNtPostDeleteValueKey,
    RegNtPostSetInformationKey,
    RegNtPostRenameKey,
    RegNtPostEnumerateKey,
    RegNtPostEnumerateValueKey,
    RegNtPostQueryKey,
    RegNtPostQueryValueKey,
    RegNtPostQueryMultipleValueKey,
    RegNtPostKeyHandleClose,
    RegNtPreCreateKeyEx,
    RegNtPostCreateKeyEx,
    RegNtPreOpenKeyEx,
    RegNtPostOpenKeyEx,
    RegNtPreFlushKey,
    RegNtPostFlushKey,
    RegNtPreLoadKey,
    RegNtPostLoadKey,
    RegNtPreUnLoadKey,
    RegNtPostUnLoadKey,
    RegNtPreQueryKeySecurity,
    RegNtPostQueryKeySecurity,
    RegNtPreSetKeySecurity,
    RegNtPostSetKeySecurity,
    RegNtCallbackObjectContextCleanup,
    RegNtPreRestoreKey,
    RegNtPostRestoreKey,
    RegNtPreSaveKey,
    RegNtPostSaveKey,
    RegNtPreReplaceKey,
    RegNtPostReplaceKey,
    RegNtPreQueryKeyName,
    RegNtPostQueryKeyName,
    RegNtPreSaveMergedKey,
    RegNtPostSaveMergedKey,
    MaxRegNtNotifyClass
} REG_NOTIFY_CLASS;
typedef struct _REG_DELETE_KEY_INFORMATION {
    PVOID Object;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_DELETE_KEY_INFORMATION, *PREG_DELETE_KEY_INFORMATION, REG_FLUSH_KEY_INFORMATION,
    *PREG_FLUSH_KEY_INFORMATION, REG_KEY_HANDLE_CLOSE_INFORMATION,
    *PREG_KEY_HANDLE_CLOSE_INFORMATION;
typedef struct _REG_SET_VALUE_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING ValueName;
    ULONG TitleIndex;
    ULONG Type;
    PVOID Data;
    ULONG DataSize;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_SET_VALUE_KEY_INFORMATION, *PREG_SET_VALUE_KEY_INFORMATION;
typedef struct _REG_DELETE_VALUE_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING ValueName;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_DELETE_VALUE_KEY_INFORMATION, *PREG_DELETE_VALUE_KEY_INFORMATION;
typedef struct _REG_SET_INFORMATION_KEY_INFORMATION {
    PVOID Object;
    KEY_SET_INFORMATION_CLASS KeySetInformationClass;
    PVOID KeySetInformation;
    ULONG KeySetInformationLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_SET_INFORMATION_KEY_INFORMATION, *PREG_SET_INFORMATION_KEY_INFORMATION;
typedef struct _REG_RENAME_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING NewName;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_RENAME_KEY_INFORMATION, *PREG_RENAME_KEY_INFORMATION;
typedef struct _REG_ENUMERATE_KEY_INFORMATION {
    PVOID Object;
    ULONG Index;
    KEY_INFORMATION_CLASS KeyInformationClass;
    PVOID KeyInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_ENUMERATE_KEY_INFORMATION, *PREG_ENUMERATE_KEY_INFORMATION;
typedef struct _REG_ENUMERATE_VALUE_KEY_INFORMATION {
    PVOID Object;
    ULONG Index;
    KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass;
    PVOID KeyValueInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_ENUMERATE_VALUE_KEY_INFORMATION, *PREG_ENUMERATE_VALUE_KEY_INFORMATION;
typedef struct _REG_QUERY_KEY_INFORMATION {
    PVOID Object;
    KEY_INFORMATION_CLASS KeyInformationClass;
    PVOID KeyInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_QUERY_KEY_INFORMATION, *PREG_QUERY_KEY_INFORMATION;
typedef struct _REG_QUERY_VALUE_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING ValueName;
    KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass;
    PVOID KeyValueInformation;
    ULONG Length;
    PULONG ResultLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_QUERY_VALUE_KEY_INFORMATION, *PREG_QUERY_VALUE_KEY_INFORMATION;
typedef struct _REG_QUERY_MULTIPLE_VALUE_KEY_INFORMATION {
    PVOID Object;
    PKEY_VALUE_ENTRY ValueEntries;
    ULONG EntryCount;
    PVOID ValueBuffer;
    PULONG BufferLength;
    PULONG RequiredBufferLength;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_QUERY_MULTIPLE_VALUE_KEY_INFORMATION, *PREG_QUERY_MULTIPLE_VALUE_KEY_INFORMATION;
typedef struct _REG_CREATE_KEY_INFORMATION {
    PUNICODE_STRING CompleteName;
    PVOID RootObject;
    PVOID ObjectType;
    ULONG CreateOptions;
    PUNICODE_STRING Class;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
    ACCESS_MASK DesiredAccess;
    ACCESS_MASK GrantedAccess;
    PULONG Disposition;
    PVOID* ResultObject;
    PVOID CallContext;
    PVOID RootObjectContext;
    PVOID Transaction;
    PVOID Reserved;
} REG_CREATE_KEY_INFORMATION, *PREG_CREATE_KEY_INFORMATION, REG_OPEN_KEY_INFORMATION,
    *PREG_OPEN_KEY_INFORMATION;
typedef struct _REG_CREATE_KEY_INFORMATION_V1 {
    PUNICODE_STRING CompleteName;
    PVOID RootObject;
    PVOID ObjectType;
    ULONG Options;
    PUNICODE_STRING Class;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
    ACCESS_MASK DesiredAccess;
    ACCESS_MASK GrantedAccess;
    PULONG Disposition;
    PVOID* ResultObject;
    PVOID CallContext;
    PVOID RootObjectContext;
    PVOID Transaction;
    ULONG_PTR Version;
    PUNICODE_STRING RemainingName;
    ULONG Wow64Flags;
    ULONG Attributes;
    KPROCESSOR_MODE CheckAccessMode;
} REG_CREATE_KEY_INFORMATION_V1, *PREG_CREATE_KEY_INFORMATION_V1, REG_OPEN_KEY_INFORMATION_V1,
    *PREG_OPEN_KEY_INFORMATION_V1;
typedef struct _REG_PRE_CREATE_KEY_INFORMATION {
    PUNICODE_STRING CompleteName;
} REG_PRE_CREATE_KEY_INFORMATION, *PREG_PRE_CREATE_KEY_INFORMATION;
typedef struct _REG_POST_CREATE_KEY_INFORMATION {
    PUNICODE_STRING CompleteName;
    PVOID Object;
    NTSTATUS Status;
} REG_POST_CREATE_KEY_INFORMATION, *PREG_POST_CREATE_KEY_INFORMATION;
typedef struct _REG_POST_OPERATION_INFORMATION {
    PVOID Object;
    NTSTATUS Status;
    PVOID PreInformation;
    NTSTATUS ReturnStatus;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_POST_OPERATION_INFORMATION, *PREG_POST_OPERATION_INFORMATION;
typedef struct _REG_CALLBACK_CONTEXT_CLEANUP_INFORMATION {
    PVOID Object;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_CALLBACK_CONTEXT_CLEANUP_INFORMATION, *PREG_CALLBACK_CONTEXT_CLEANUP_INFORMATION;
typedef struct _REG_LOAD_KEY_INFORMATION {
    PVOID Object;
    PUNICODE_STRING KeyName;
    PUNICODE_STRING SourceFile;
    ULONG Flags;
    PVOID TrustClassObject;
    PVOID UserEvent;
    ACCESS_MASK DesiredAccess;
    PHANDLE RootHandle;
    PVOID CallContext;
    PVOID ObjectContext;
    PVOID Reserved;
} REG_LOAD_KEY_INFORMATION, *PREG_LOAD_KEY_INFORMATION;
typedef NTSTATUS EX_CALLBACK_FUNCTION(PVOID CallbackContext, PVOID Argument1, PVOID Argument2);
typedef EX_CALLBACK_FUNCTION* PEX_CALLBACK_FUNCTION;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS ZwCreateKeyTransacted(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
                                      POBJECT_ATTRIBUTES ObjectAttributes, ULONG TitleIndex,
                                      PUNICODE_STRING Class, ULONG CreateOptions,
                                      HANDLE TransactionHandle, PULONG Disposition);
NT_API NTSTATUS ZwOpenKeyTransacted(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
                                    POBJECT_ATTRIBUTES ObjectAttributes, HANDLE TransactionHandle);
NT_API NTSTATUS ZwRenameKey(HANDLE KeyHandle, PUNICODE_STRING NewName);
NT_API NTSTATUS ZwSetInformationKey(HANDLE KeyHandle, KEY_SET_INFORMATION_CLASS InformationClass,
                                    PVOID Information, ULONG Length);
typedef enum _DRIVER_REGKEY_TYPE {
    DriverRegKeyParameters,
    DriverRegKeyPersistentState
} DRIVER_REGKEY_TYPE;
NT_API NTSTATUS IoOpenDriverRegistryKey(PDRIVER_OBJECT DriverObject, DRIVER_REGKEY_TYPE RegKeyType,
                                        ACCESS_MASK DesiredAccess, ULONG Flags,
                                        PHANDLE DriverRegKey);
NT_API NTSTATUS CmRegisterCallback(PEX_CALLBACK_FUNCTION Function, PVOID Context,
                                   PLARGE_INTEGER Cookie);
NT_API NTSTATUS CmRegisterCallbackEx(PEX_CALLBACK_FUNCTION Function, PCUNICODE_STRING Altitude,
                                     PVOID Driver, PVOID Context, PLARGE_INTEGER Cookie,
                                     PVOID Reserved);
NT_API NTSTATUS CmUnRegisterCallback(LARGE_INTEGER Cookie);
NT_API void CmGetCallbackVersion(PULONG Major, PULONG Minor);
NT_API NTSTATUS CmSetCallbackObjectContext(PVOID Object, PLARGE_INTEGER Cookie, PVOID NewContext,
                                           PVOID* OldContext);
NT_API NTSTATUS CmCallbackGetKeyObjectID(PLARGE_INTEGER Cookie, PVOID Object, PULONG_PTR ObjectID,
                                         PCUNICODE_STRING* ObjectName);
NT_API NTSTATUS CmCallbackGetKeyObjectIDEx(PLARGE_INTEGER Cookie, PVOID Object, PULONG_PTR ObjectID,
                                           PCUNICODE_STRING* ObjectName, ULONG Flags);
NT_API void CmCallbackReleaseKeyObjectIDEx(PCUNICODE_STRING ObjectName);
NT_API PVOID CmGetBoundTransaction(PLARGE_INTEGER Cookie, PVOID Object);

/* Transactions. */
#define TRANSACTION_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0x3F)
#define TRANSACTIONMANAGER_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0x3F)
#define RESOURCEMANAGER_ALL_ACCESS (STANDARD_RIGHTS_ALL | 0x7F)
#define ENLISTMENT_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | 0x1F)
#define TRANSACTION_MANAGER_VOLATILE 0x00000001
#define TRANSACTION_MANAGER_COMMIT_DEFAULT 0x00000000
#define RESOURCE_MANAGER_VOLATILE 0x00000001
#define RESOURCE_MANAGER_COMMUNICATION 0x00000002
#define TRANSACTION_NOTIFY_PREPREPARE 0x00000001
#define TRANSACTION_NOTIFY_PREPARE 0x00000002
#define TRANSACTION_NOTIFY_COMMIT 0x00000004
#define TRANSACTION_NOTIFY_ROLLBACK 0x00000008
#define TRANSACTION_NOTIFY_PREPREPARE_COMPLETE 0x00000010
#define TRANSACTION_NOTIFY_PREPARE_COMPLETE 0x00000020
#define TRANSACTION_NOTIFY_COMMIT_COMPLETE 0x00000040
#define TRANSACTION_NOTIFY_ROLLBACK_COMPLETE 0x00000080
#define TRANSACTION_NOTIFY_COMMIT_FINALIZE 0x40000000
#define ENLISTMENT_SUBORDINATE_RIGHTS 0x8
#define ENLISTMENT_SUPERIOR_RIGHTS 0x10
typedef ULONG NOTIFICATION_MASK;
typedef struct _KTM_OPAQUE *PKRESOURCEMANAGER, *PKENLISTMENT, *PKTRANSACTION, *PKTM;
typedef NTSTATUS TM_RM_NOTIFICATION(PKENLISTMENT EnlistmentObject, PVOID RMContext,
                                    PVOID TransactionContext, ULONG TransactionNotification,
                                    PLARGE_INTEGER TmVirtualClock, ULONG ArgumentLength,
                                    PVOID Argument);
typedef TM_RM_NOTIFICATION* PTM_RM_NOTIFICATION;
NT_API NTSTATUS ZwCreateTransaction(PHANDLE TransactionHandle, ACCESS_MASK DesiredAccess,
                                    POBJECT_ATTRIBUTES ObjectAttributes, GUID* Uow, HANDLE TmHandle,
                                    ULONG CreateOptions, ULONG IsolationLevel, ULONG IsolationFlags,
                                    PLARGE_INTEGER Timeout, PUNICODE_STRING Description);
NT_API NTSTATUS ZwCommitTransaction(HANDLE TransactionHandle, BOOLEAN Wait);
NT_API NTSTATUS ZwRollbackTransaction(HANDLE TransactionHandle, BOOLEAN Wait);
NT_API NTSTATUS ZwCreateTransactionManager(PHANDLE TmHandle, ACCESS_MASK DesiredAccess,
                                           POBJECT_ATTRIBUTES ObjectAttributes,
                                           PUNICODE_STRING LogFileName, ULONG CreateOptions,
                                           ULONG CommitStrength);
NT_API NTSTATUS ZwRecoverTransactionManager(HANDLE TransactionManagerHandle);
NT_API NTSTATUS ZwCreateResourceManager(PHANDLE ResourceManagerHandle, ACCESS_MASK DesiredAccess,
                                        HANDLE TmHandle, GUID* ResourceManagerGuid,
                                        POBJECT_ATTRIBUTES ObjectAttributes, ULONG CreateOptions,
                                        PUNICODE_STRING Description);
NT_API NTSTATUS ZwRecoverResourceManager(HANDLE ResourceManagerHandle);
NT_API NTSTATUS ZwCreateEnlistment(PHANDLE EnlistmentHandle, ACCESS_MASK DesiredAccess,
                                   HANDLE ResourceManagerHandle, HANDLE TransactionHandle,
                                   POBJECT_ATTRIBUTES ObjectAttributes, ULONG CreateOptions,
                                   NOTIFICATION_MASK NotificationMask, PVOID EnlistmentKey);
NT_API NTSTATUS TmEnableCallbacks(PKRESOURCEMANAGER ResourceManager,
                                  PTM_RM_NOTIFICATION CallbackRoutine, PVOID RMKey);
NT_API NTSTATUS TmCommitComplete(PKENLISTMENT Enlistment, PLARGE_INTEGER TmVirtualClock);
NT_API NTSTATUS TmPrepareComplete(PKENLISTMENT Enlistment, PLARGE_INTEGER TmVirtualClock);
NT_API NTSTATUS TmPrePrepareComplete(PKENLISTMENT Enlistment, PLARGE_INTEGER TmVirtualClock);
NT_API NTSTATUS TmRollbackComplete(PKENLISTMENT Enlistment, PLARGE_INTEGER TmVirtualClock);
NT_API NTSTATUS ZwCommitComplete(HANDLE EnlistmentHandle, PLARGE_INTEGER TmVirtualClock);
NT_API NTSTATUS ZwPrepareComplete(HANDLE EnlistmentHandle, PLARGE_INTEGER TmVirtualClock);
NT_API NTSTATUS ZwPrePrepareComplete(HANDLE EnlistmentHandle, PLARGE_INTEGER TmVirtualClock);
NT_API NTSTATUS ZwRollbackComplete(HANDLE EnlistmentHandle, PLARGE_INTEGER TmVirtualClock);
NT_EXTERN_C_END

#endif

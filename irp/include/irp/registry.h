/* The registry: keys in a tree, each with named values. Every machine has a registry of its own,
   which begins with the keys below and ends with the machine:

       \Registry\Machine\Hardware\DeviceMap
       \Registry\Machine\Software\Microsoft\Windows NT\CurrentVersion
       \Registry\Machine\System\CurrentControlSet\{Control, Enum, Services}
       \Registry\User\.Default

   A driver's RegistryPath is a key below Services from its load on (testing/driver.h). Names are
   compared without regard to the case of ASCII letters. Access is granted as asked for, and not
   checked: the functions are a driver's. Handles are those of their machine; ZwClose closes them.

   Statuses of every function that takes a KeyHandle: STATUS_INVALID_HANDLE;
   STATUS_OBJECT_TYPE_MISMATCH: a handle of something else; STATUS_KEY_DELETED: the key was deleted;
   STATUS_INSUFFICIENT_RESOURCES. Cancellation: none, no function waits. */
#ifndef IRPVERBS_IRP_REGISTRY_H
#define IRPVERBS_IRP_REGISTRY_H

#include <dispatch/object.h>
#include <irp/access.h>
#include <irp/device.h>

#define REG_NONE 0
#define REG_SZ 1
#define REG_EXPAND_SZ 2
#define REG_BINARY 3
#define REG_DWORD 4
#define REG_DWORD_LITTLE_ENDIAN 4
#define REG_DWORD_BIG_ENDIAN 5
#define REG_LINK 6
#define REG_MULTI_SZ 7
#define REG_RESOURCE_LIST 8
#define REG_FULL_RESOURCE_DESCRIPTOR 9
#define REG_RESOURCE_REQUIREMENTS_LIST 10
#define REG_QWORD 11
#define REG_QWORD_LITTLE_ENDIAN 11
#define REG_OPTION_NON_VOLATILE 0x00000000L
#define REG_OPTION_VOLATILE 0x00000001L
#define REG_OPTION_CREATE_LINK 0x00000002L
#define REG_OPTION_BACKUP_RESTORE 0x00000004L
#define REG_OPTION_OPEN_LINK 0x00000008L
#define REG_CREATED_NEW_KEY 0x00000001L
#define REG_OPENED_EXISTING_KEY 0x00000002L
#define KEY_QUERY_VALUE 0x0001
#define KEY_SET_VALUE 0x0002
#define KEY_CREATE_SUB_KEY 0x0004
#define KEY_ENUMERATE_SUB_KEYS 0x0008
#define KEY_NOTIFY 0x0010
#define KEY_CREATE_LINK 0x0020
#define KEY_WOW64_64KEY 0x0100
#define KEY_WOW64_32KEY 0x0200
#define KEY_READ ((STANDARD_RIGHTS_READ | 0x19) & ~SYNCHRONIZE)
#define KEY_WRITE ((STANDARD_RIGHTS_WRITE | 0x06) & ~SYNCHRONIZE)
#define KEY_EXECUTE (KEY_READ & ~SYNCHRONIZE)
#define KEY_ALL_ACCESS ((STANDARD_RIGHTS_ALL | 0x3F) & ~SYNCHRONIZE)

typedef enum _KEY_INFORMATION_CLASS {
    KeyBasicInformation,
    KeyNodeInformation,
    KeyFullInformation,
    KeyNameInformation,
    KeyCachedInformation,
    KeyFlagsInformation,
    KeyVirtualizationInformation,
    KeyHandleTagsInformation,
    KeyTrustInformation,
    KeyLayerInformation,
    MaxKeyInfoClass
} KEY_INFORMATION_CLASS;
typedef enum _KEY_SET_INFORMATION_CLASS {
    KeyWriteTimeInformation,
    KeyWow64FlagsInformation,
    KeyControlFlagsInformation,
    KeySetVirtualizationInformation,
    KeySetDebugInformation,
    KeySetHandleTagsInformation,
    KeySetLayerInformation,
    MaxKeySetInfoClass
} KEY_SET_INFORMATION_CLASS;
typedef enum _KEY_VALUE_INFORMATION_CLASS {
    KeyValueBasicInformation,
    KeyValueFullInformation,
    KeyValuePartialInformation,
    KeyValueFullInformationAlign64,
    KeyValuePartialInformationAlign64,
    KeyValueLayerInformation,
    MaxKeyValueInfoClass
} KEY_VALUE_INFORMATION_CLASS;
typedef struct _KEY_BASIC_INFORMATION {
    LARGE_INTEGER LastWriteTime;
    ULONG TitleIndex;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_BASIC_INFORMATION, *PKEY_BASIC_INFORMATION;
typedef struct _KEY_NODE_INFORMATION {
    LARGE_INTEGER LastWriteTime;
    ULONG TitleIndex;
    ULONG ClassOffset;
    ULONG ClassLength;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_NODE_INFORMATION, *PKEY_NODE_INFORMATION;
typedef struct _KEY_FULL_INFORMATION {
    LARGE_INTEGER LastWriteTime;
    ULONG TitleIndex;
    ULONG ClassOffset;
    ULONG ClassLength;
    ULONG SubKeys;
    ULONG MaxNameLen;
    ULONG MaxClassLen;
    ULONG Values;
    ULONG MaxValueNameLen;
    ULONG MaxValueDataLen;
    WCHAR Class[1];
} KEY_FULL_INFORMATION, *PKEY_FULL_INFORMATION;
typedef struct _KEY_NAME_INFORMATION {
    ULONG NameLength;
    WCHAR Name[1];
} KEY_NAME_INFORMATION, *PKEY_NAME_INFORMATION;
typedef struct _KEY_WRITE_TIME_INFORMATION {
    LARGE_INTEGER LastWriteTime;
} KEY_WRITE_TIME_INFORMATION, *PKEY_WRITE_TIME_INFORMATION;
typedef struct _KEY_VALUE_BASIC_INFORMATION {
    ULONG TitleIndex;
    ULONG Type;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_VALUE_BASIC_INFORMATION, *PKEY_VALUE_BASIC_INFORMATION;
typedef struct _KEY_VALUE_FULL_INFORMATION {
    ULONG TitleIndex;
    ULONG Type;
    ULONG DataOffset;
    ULONG DataLength;
    ULONG NameLength;
    WCHAR Name[1];
} KEY_VALUE_FULL_INFORMATION, *PKEY_VALUE_FULL_INFORMATION;
typedef struct _KEY_VALUE_PARTIAL_INFORMATION {
    ULONG TitleIndex;
    ULONG Type;
    ULONG DataLength;
    UCHAR Data[1];
} KEY_VALUE_PARTIAL_INFORMATION, *PKEY_VALUE_PARTIAL_INFORMATION;
typedef struct _KEY_VALUE_ENTRY {
    PUNICODE_STRING ValueName;
    ULONG DataLength;
    ULONG DataOffset;
    ULONG Type;
} KEY_VALUE_ENTRY, *PKEY_VALUE_ENTRY;

/* Called with each value that RtlQueryRegistryValues found, or with the default of a missing one.
   ValueData of a text ends in a terminator. A failure ends the query, which returns it. IRQL:
   PASSIVE_LEVEL. */
typedef NTSTATUS RTL_QUERY_REGISTRY_ROUTINE(PWSTR ValueName, ULONG ValueType, PVOID ValueData,
                                            ULONG ValueLength, PVOID Context, PVOID EntryContext);
typedef RTL_QUERY_REGISTRY_ROUTINE* PRTL_QUERY_REGISTRY_ROUTINE;
typedef struct _RTL_QUERY_REGISTRY_TABLE {
    PRTL_QUERY_REGISTRY_ROUTINE QueryRoutine;
    ULONG Flags;
    PWSTR Name;
    PVOID EntryContext;
    ULONG DefaultType;
    PVOID DefaultData;
    ULONG DefaultLength;
} RTL_QUERY_REGISTRY_TABLE, *PRTL_QUERY_REGISTRY_TABLE;
#define RTL_QUERY_REGISTRY_SUBKEY 0x00000001
#define RTL_QUERY_REGISTRY_TOPKEY 0x00000002
#define RTL_QUERY_REGISTRY_REQUIRED 0x00000004
#define RTL_QUERY_REGISTRY_NOVALUE 0x00000008
#define RTL_QUERY_REGISTRY_NOEXPAND 0x00000010
#define RTL_QUERY_REGISTRY_DIRECT 0x00000020
#define RTL_QUERY_REGISTRY_DELETE 0x00000040
#define RTL_QUERY_REGISTRY_NOSTRING 0x00000080
#define RTL_QUERY_REGISTRY_TYPECHECK 0x00000100
#define RTL_QUERY_REGISTRY_TYPECHECK_SHIFT 24
#define RTL_REGISTRY_ABSOLUTE 0
#define RTL_REGISTRY_SERVICES 1
#define RTL_REGISTRY_CONTROL 2
#define RTL_REGISTRY_WINDOWS_NT 3
#define RTL_REGISTRY_DEVICEMAP 4
#define RTL_REGISTRY_USER 5
#define RTL_REGISTRY_MAXIMUM 6
#define RTL_REGISTRY_HANDLE 0x40000000
#define RTL_REGISTRY_OPTIONAL 0x80000000

NT_EXTERN_C_BEGIN

/* Type of keys, for ObReferenceObjectByHandle. */
NT_API extern POBJECT_TYPE* CmKeyObjectType;

/* Open the key that ObjectAttributes names: from the root, or with a RootDirectory, the handle of a
   key, below that one. ...Create creates its last part when it does not exist, and stores
   REG_CREATED_NEW_KEY or REG_OPENED_EXISTING_KEY in *Disposition unless that is NULL. TitleIndex,
   Class and OpenOptions are ignored; of CreateOptions REG_OPTION_VOLATILE counts. Ownership:
   ZwClose closes *KeyHandle. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_OBJECT_NAME_NOT_FOUND: the
   key, or for ...Create the key above it, does not exist; STATUS_OBJECT_PATH_SYNTAX_BAD: a path
   from the root that does not begin with a backslash, or one below a key that does;
   STATUS_OBJECT_NAME_INVALID: an empty part; STATUS_INVALID_PARAMETER: no name;
   STATUS_CHILD_MUST_BE_VOLATILE: a key that is not volatile below a volatile one;
   STATUS_NOT_SUPPORTED: REG_OPTION_CREATE_LINK. Source: WDK ZwCreateKey, ZwOpenKey, ZwOpenKeyEx. */
NT_API NTSTATUS ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
                            POBJECT_ATTRIBUTES ObjectAttributes, ULONG TitleIndex,
                            PUNICODE_STRING Class, ULONG CreateOptions, PULONG Disposition);
NT_API NTSTATUS ZwOpenKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
                          POBJECT_ATTRIBUTES ObjectAttributes);
NT_API NTSTATUS ZwOpenKeyEx(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
                            POBJECT_ATTRIBUTES ObjectAttributes, ULONG OpenOptions);

/* Deletes the key, which must have no keys below it. Its handles stay open. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS; STATUS_CANNOT_DELETE: it has keys below, or is the root. Source: WDK
   ZwDeleteKey. */
NT_API NTSTATUS ZwDeleteKey(HANDLE KeyHandle);

/* Sets a value, which is created if it does not exist; a ValueName without characters is the key's
   own value. Data: of DataSize bytes, copied; NULL with 0. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS.
   Source: WDK ZwSetValueKey. */
NT_API NTSTATUS ZwSetValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName, ULONG TitleIndex,
                              ULONG Type, PVOID Data, ULONG DataSize);

/* Deletes a value. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_OBJECT_NAME_NOT_FOUND. Source: WDK
   ZwDeleteValueKey. */
NT_API NTSTATUS ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName);

/* Succeeds: there is no disk behind a registry. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS. Source: WDK
   ZwFlushKey. */
NT_API NTSTATUS ZwFlushKey(HANDLE KeyHandle);

/* Describe a value by its name, or by its number, which counts from 0 in the order of creation.
   Classes: KeyValueBasicInformation, KeyValueFullInformation, KeyValuePartialInformation.
   *ResultLength: the bytes of the whole description, also when it does not fit. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_BUFFER_TOO_SMALL: Length is less than the fixed fields, and
   nothing was written; STATUS_BUFFER_OVERFLOW: the first Length bytes were written;
   STATUS_OBJECT_NAME_NOT_FOUND: there is no such value; STATUS_NO_MORE_ENTRIES: no value has that
   number; STATUS_INVALID_PARAMETER: another class. Source: WDK ZwQueryValueKey,
   ZwEnumerateValueKey. */
NT_API NTSTATUS ZwQueryValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
                                KEY_VALUE_INFORMATION_CLASS InformationClass, PVOID Information,
                                ULONG Length, PULONG ResultLength);
NT_API NTSTATUS ZwEnumerateValueKey(HANDLE KeyHandle, ULONG Index,
                                    KEY_VALUE_INFORMATION_CLASS InformationClass, PVOID Information,
                                    ULONG Length, PULONG ResultLength);

/* Describe the key, or the key below it with a number, which counts from 0 in the order of names.
   Classes: KeyBasicInformation, KeyNodeInformation, KeyFullInformation, KeyNameInformation (the
   path from the root). *ResultLength and IRQL: as above. STATUS_SUCCESS; STATUS_BUFFER_TOO_SMALL,
   STATUS_BUFFER_OVERFLOW, STATUS_NO_MORE_ENTRIES, STATUS_INVALID_PARAMETER: as above. Source: WDK
   ZwQueryKey, ZwEnumerateKey. */
NT_API NTSTATUS ZwQueryKey(HANDLE KeyHandle, KEY_INFORMATION_CLASS InformationClass,
                           PVOID Information, ULONG Length, PULONG ResultLength);
NT_API NTSTATUS ZwEnumerateKey(HANDLE KeyHandle, ULONG Index,
                               KEY_INFORMATION_CLASS InformationClass, PVOID Information,
                               ULONG Length, PULONG ResultLength);

/* Queries the values that QueryTable lists, entry by entry until one with neither QueryRoutine nor
   RTL_QUERY_REGISTRY_SUBKEY nor ..._DIRECT. RelativeTo: the key that Path begins at; Path may be
   NULL. Environment is ignored: a REG_EXPAND_SZ is passed as it is. A missing value is replaced by
   DefaultData, if DefaultType names a type, or passed over. With ..._DIRECT EntryContext receives
   the value: a text in its UNICODE_STRING, whose Buffer is allocated (the caller's to free by
   ExFreePool) when it is NULL; other data of up to 4 bytes in place; longer data where the LONG
   there is the size of the space, behind length and type when that is positive, alone when it is
   negative. Without ..._DIRECT and ..._NOEXPAND each text of a REG_MULTI_SZ is passed by a call of
   its own. ..._TYPECHECK: the type in the high byte of DefaultType must be the value's. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_OBJECT_NAME_NOT_FOUND: the key, a key of ..._SUBKEY, or a
   value of ..._REQUIRED does not exist; STATUS_INVALID_PARAMETER: ..._DIRECT with a QueryRoutine,
   without a Name or with ..._SUBKEY, ..._SUBKEY without a Name, or RelativeTo;
   STATUS_BUFFER_TOO_SMALL: the space of ..._DIRECT; STATUS_OBJECT_TYPE_MISMATCH: ..._TYPECHECK;
   STATUS_INSUFFICIENT_RESOURCES; or a QueryRoutine's failure. Source: WDK
   RtlQueryRegistryValues. */
NT_API NTSTATUS RtlQueryRegistryValues(ULONG RelativeTo, PCWSTR Path,
                                       PRTL_QUERY_REGISTRY_TABLE QueryTable, PVOID Context,
                                       PVOID Environment);

/* Set a value; delete one; create a key; test whether one exists. ...Write creates the last part of
   Path. RelativeTo and Path: as above. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS;
   STATUS_OBJECT_NAME_NOT_FOUND; statuses of ZwCreateKey. Source: WDK RtlWriteRegistryValue,
   RtlDeleteRegistryValue, RtlCreateRegistryKey, RtlCheckRegistryKey. */
NT_API NTSTATUS RtlWriteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName,
                                      ULONG ValueType, PVOID ValueData, ULONG ValueLength);
NT_API NTSTATUS RtlDeleteRegistryValue(ULONG RelativeTo, PCWSTR Path, PCWSTR ValueName);
NT_API NTSTATUS RtlCreateRegistryKey(ULONG RelativeTo, PWSTR Path);
NT_API NTSTATUS RtlCheckRegistryKey(ULONG RelativeTo, PWSTR Path);

NT_EXTERN_C_END

#endif

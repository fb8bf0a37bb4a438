/* Security descriptors, tokens and access checks. Source: WDK wdm.h and ntifs.h reference. */
#ifndef IRPVERBS_WINDOWS_SECURITY_H
#define IRPVERBS_WINDOWS_SECURITY_H

#include <irp/security_types.h>
#include <windows/wdk/objects.h>

#define SECURITY_DESCRIPTOR_REVISION 1
#define SECURITY_DESCRIPTOR_MIN_LENGTH (sizeof(SECURITY_DESCRIPTOR))
#define ACL_REVISION 2
#define ACL_REVISION_DS 4
#define SID_REVISION 1
#define SID_MAX_SUB_AUTHORITIES 15
#define SECURITY_MAX_SID_SIZE 68
#define OWNER_SECURITY_INFORMATION 0x00000001L
#define GROUP_SECURITY_INFORMATION 0x00000002L
#define DACL_SECURITY_INFORMATION 0x00000004L
#define SACL_SECURITY_INFORMATION 0x00000008L
#define LABEL_SECURITY_INFORMATION 0x00000010L
#define SE_OWNER_DEFAULTED 0x0001
#define SE_GROUP_DEFAULTED 0x0002
#define SE_DACL_PRESENT 0x0004
#define SE_DACL_DEFAULTED 0x0008
#define SE_SACL_PRESENT 0x0010
#define SE_SACL_DEFAULTED 0x0020
#define SE_SELF_RELATIVE 0x8000
#define ACCESS_ALLOWED_ACE_TYPE 0x0
#define ACCESS_DENIED_ACE_TYPE 0x1
#define OBJECT_INHERIT_ACE 0x1
#define CONTAINER_INHERIT_ACE 0x2
#define INHERIT_ONLY_ACE 0x8
#define SE_PRIVILEGE_ENABLED_BY_DEFAULT 0x00000001L
#define SE_PRIVILEGE_ENABLED 0x00000002L
#define SE_PRIVILEGE_USED_FOR_ACCESS 0x80000000L
#define PRIVILEGE_SET_ALL_NECESSARY 1
#define SE_CREATE_TOKEN_PRIVILEGE 2L
#define SE_ASSIGNPRIMARYTOKEN_PRIVILEGE 3L
#define SE_INCREASE_QUOTA_PRIVILEGE 5L
#define SE_MACHINE_ACCOUNT_PRIVILEGE 6L
#define SE_SYSTEM_PROFILE_PRIVILEGE 11L
#define SE_SYSTEMTIME_PRIVILEGE 12L
#define SE_PROF_SINGLE_PROCESS_PRIVILEGE 13L
#define SE_INC_BASE_PRIORITY_PRIVILEGE 14L
#define SE_CREATE_PAGEFILE_PRIVILEGE 15L
#define SE_CREATE_PERMANENT_PRIVILEGE 16L
#define SE_AUDIT_PRIVILEGE 21L
#define SE_SYSTEM_ENVIRONMENT_PRIVILEGE 22L
#define SE_REMOTE_SHUTDOWN_PRIVILEGE 24L
#define SE_UNDOCK_PRIVILEGE 25L
#define SE_SYNC_AGENT_PRIVILEGE 26L
#define SE_ENABLE_DELEGATION_PRIVILEGE 27L
#define SE_IMPERSONATE_PRIVILEGE 29L
#define SE_CREATE_GLOBAL_PRIVILEGE 30L
#define SE_LOCK_MEMORY_PRIVILEGE 4L
#define SE_TCB_PRIVILEGE 7L
#define SE_SECURITY_PRIVILEGE 8L
#define SE_TAKE_OWNERSHIP_PRIVILEGE 9L
#define SE_LOAD_DRIVER_PRIVILEGE 10L
#define SE_BACKUP_PRIVILEGE 17L
#define SE_RESTORE_PRIVILEGE 18L
#define SE_SHUTDOWN_PRIVILEGE 19L
#define SE_DEBUG_PRIVILEGE 20L
#define SE_CHANGE_NOTIFY_PRIVILEGE 23L
#define SE_MANAGE_VOLUME_PRIVILEGE 28L
#define SECURITY_WORLD_RID 0
#define SECURITY_LOCAL_SYSTEM_RID 18
#define SECURITY_BUILTIN_DOMAIN_RID 32
#define DOMAIN_ALIAS_RID_ADMINS 0x220
#define SECURITY_NT_AUTHORITY                                                                      \
    { 0, 0, 0, 0, 0, 5 }
#define SECURITY_WORLD_SID_AUTHORITY                                                               \
    { 0, 0, 0, 0, 0, 1 }

typedef USHORT SECURITY_DESCRIPTOR_CONTROL, *PSECURITY_DESCRIPTOR_CONTROL;
typedef struct _SID_IDENTIFIER_AUTHORITY {
    UCHAR Value[6];
} SID_IDENTIFIER_AUTHORITY, *PSID_IDENTIFIER_AUTHORITY;
typedef struct _SID {
    UCHAR Revision;
    UCHAR SubAuthorityCount;
    SID_IDENTIFIER_AUTHORITY IdentifierAuthority;
    ULONG SubAuthority[1];
} SID, *PISID;
typedef struct _ACL {
    UCHAR AclRevision;
    UCHAR Sbz1;
    USHORT AclSize;
    USHORT AceCount;
    USHORT Sbz2;
} ACL, *PACL;
typedef struct _ACE_HEADER {
    UCHAR AceType;
    UCHAR AceFlags;
    USHORT AceSize;
} ACE_HEADER, *PACE_HEADER;
typedef struct _ACCESS_ALLOWED_ACE {
    ACE_HEADER Header;
    ACCESS_MASK Mask;
    ULONG SidStart;
} ACCESS_ALLOWED_ACE, *PACCESS_ALLOWED_ACE, ACCESS_DENIED_ACE, *PACCESS_DENIED_ACE;
typedef struct _SECURITY_DESCRIPTOR {
    UCHAR Revision;
    UCHAR Sbz1;
    SECURITY_DESCRIPTOR_CONTROL Control;
    PSID Owner;
    PSID Group;
    PACL Sacl;
    PACL Dacl;
} SECURITY_DESCRIPTOR, *PISECURITY_DESCRIPTOR;
typedef struct _SECURITY_DESCRIPTOR_RELATIVE { /* offsets from its start; 0: there is none */
    UCHAR Revision;
    UCHAR Sbz1;
    SECURITY_DESCRIPTOR_CONTROL Control;
    ULONG Owner;
    ULONG Group;
    ULONG Sacl;
    ULONG Dacl;
} SECURITY_DESCRIPTOR_RELATIVE, *PISECURITY_DESCRIPTOR_RELATIVE;
typedef struct _SECURITY_CLIENT_CONTEXT {
    SECURITY_QUALITY_OF_SERVICE SecurityQos;
    PACCESS_TOKEN ClientToken;
    BOOLEAN DirectlyAccessClientToken;
    BOOLEAN DirectAccessEffectiveOnly;
    BOOLEAN ServerIsRemote;
} SECURITY_CLIENT_CONTEXT, *PSECURITY_CLIENT_CONTEXT;
typedef enum _TOKEN_TYPE { TokenPrimary = 1, TokenImpersonation } TOKEN_TYPE;
typedef enum _TOKEN_INFORMATION_CLASS {
    TokenUser = 1,
    TokenGroups,
    TokenPrivileges,
    TokenOwner,
    TokenPrimaryGroup,
    TokenDefaultDacl,
    TokenSource,
    TokenType,
    TokenImpersonationLevel,
    TokenStatistics,
    TokenRestrictedSids,
    TokenSessionId
} TOKEN_INFORMATION_CLASS;
typedef struct _SID_AND_ATTRIBUTES {
    PSID Sid;
    ULONG Attributes;
} SID_AND_ATTRIBUTES, *PSID_AND_ATTRIBUTES;
typedef struct _TOKEN_GROUPS {
    ULONG GroupCount;
    SID_AND_ATTRIBUTES Groups[ANYSIZE_ARRAY];
} TOKEN_GROUPS, *PTOKEN_GROUPS;
typedef struct _TOKEN_PRIVILEGES {
    ULONG PrivilegeCount;
    LUID_AND_ATTRIBUTES Privileges[ANYSIZE_ARRAY];
} TOKEN_PRIVILEGES, *PTOKEN_PRIVILEGES;
typedef struct _TOKEN_OWNER {
    PSID Owner;
} TOKEN_OWNER, *PTOKEN_OWNER;
typedef struct _TOKEN_PRIMARY_GROUP {
    PSID PrimaryGroup;
} TOKEN_PRIMARY_GROUP, *PTOKEN_PRIMARY_GROUP;
typedef struct _TOKEN_DEFAULT_DACL {
    PACL DefaultDacl;
} TOKEN_DEFAULT_DACL, *PTOKEN_DEFAULT_DACL;
typedef struct _TOKEN_STATISTICS {
    LUID TokenId;
    LUID AuthenticationId;
    LARGE_INTEGER ExpirationTime;
    TOKEN_TYPE TokenType;
    SECURITY_IMPERSONATION_LEVEL ImpersonationLevel;
    ULONG DynamicCharged;
    ULONG DynamicAvailable;
    ULONG GroupCount;
    ULONG PrivilegeCount;
    LUID ModifiedId;
} TOKEN_STATISTICS, *PTOKEN_STATISTICS;
typedef struct _TOKEN_USER {
    SID_AND_ATTRIBUTES User;
} TOKEN_USER, *PTOKEN_USER;
typedef struct _SE_EXPORTS {
    LUID SeCreateTokenPrivilege;
    LUID SeTcbPrivilege;
    LUID SeLoadDriverPrivilege;
    LUID SeSecurityPrivilege;
    LUID SeBackupPrivilege;
    LUID SeRestorePrivilege;
    PSID SeNullSid;
    PSID SeWorldSid;
    PSID SeLocalSid;
    PSID SeLocalSystemSid;
    PSID SeAliasAdminsSid;
    PSID SeAliasUsersSid;
    PSID SeAuthenticatedUsersSid;
} SE_EXPORTS, *PSE_EXPORTS;
#define TOKEN_QUERY 0x0008
#define TOKEN_ADJUST_PRIVILEGES 0x0020

NT_EXTERN_C_BEGIN
NT_API extern PSE_EXPORTS SeExports;

/* Security identifiers. Length functions: bytes. RtlInitializeSid leaves the subauthorities for the
   caller to set. RtlConvertSidToUnicodeString: "S-1-5-18"; with AllocateDestinationString,
   RtlFreeUnicodeString frees the text. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS;
   STATUS_INVALID_PARAMETER: more than SID_MAX_SUB_AUTHORITIES (initialize);
   STATUS_BUFFER_TOO_SMALL: the copy does not fit (copy); STATUS_INVALID_SID,
   STATUS_BUFFER_OVERFLOW: the caller's buffer is too small, STATUS_NO_MEMORY (convert). Source: WDK
   RtlInitializeSid, RtlCopySid, RtlConvertSidToUnicodeString and so on. */
NT_API ULONG RtlLengthSid(PSID Sid);
NT_API ULONG RtlLengthRequiredSid(ULONG SubAuthorityCount);
NT_API BOOLEAN RtlValidSid(PSID Sid);
NT_API BOOLEAN RtlEqualSid(PSID Sid1, PSID Sid2);
NT_API NTSTATUS RtlCopySid(ULONG DestinationSidLength, PSID DestinationSid, PSID SourceSid);
NT_API NTSTATUS RtlInitializeSid(PSID Sid, PSID_IDENTIFIER_AUTHORITY Authority, UCHAR Count);
NT_API PULONG RtlSubAuthoritySid(PSID Sid, ULONG SubAuthority);
NT_API NTSTATUS RtlConvertSidToUnicodeString(PUNICODE_STRING UnicodeString, PSID Sid,
                                             BOOLEAN AllocateDestinationString);

/* Access control lists, of revision ACL_REVISION to ACL_REVISION_DS. AclLength: bytes, for the list
   and its entries. RtlGetAce: *Ace points into the list. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS;
   STATUS_BUFFER_TOO_SMALL: AclLength is less than the head's (create); STATUS_INVALID_PARAMETER:
   the revision, or a length above 65,532 bytes (create), flags that are not of inheritance (add),
   the index or the list (get); STATUS_INVALID_SID, STATUS_INVALID_ACL, STATUS_REVISION_MISMATCH:
   newer than known, STATUS_ALLOTTED_SPACE_EXCEEDED: no room for the entry (add). Source: WDK
   RtlCreateAcl, RtlAddAccessAllowedAce, RtlAddAccessAllowedAceEx, RtlGetAce. */
NT_API NTSTATUS RtlCreateAcl(PACL Acl, ULONG AclLength, ULONG AclRevision);
NT_API NTSTATUS RtlAddAccessAllowedAce(PACL Acl, ULONG AceRevision, ACCESS_MASK AccessMask,
                                       PSID Sid);
NT_API NTSTATUS RtlAddAccessAllowedAceEx(PACL Acl, ULONG AceRevision, ULONG AceFlags,
                                         ACCESS_MASK AccessMask, PSID Sid);
NT_API NTSTATUS RtlGetAce(PACL Acl, ULONG AceIndex, PVOID* Ace);

/* Security descriptors. The absolute form keeps pointers to the caller's SIDs and lists, which the
   set functions do not copy; the self-relative form is one block. RtlGetDacl... leaves *Dacl and
   *DaclDefaulted alone when there is none; a list that is present and NULL grants all. Length: of
   SelfRelative in bytes; receives what is needed when that is more. RtlValidRelative... also wants
   each part that Required names. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_UNKNOWN_REVISION;
   STATUS_INVALID_SECURITY_DESCR: it is self-relative (set); STATUS_BAD_DESCRIPTOR_FORMAT: it is
   self-relative, STATUS_BUFFER_TOO_SMALL (RtlAbsoluteToSelfRelativeSD). Source: WDK
   RtlCreateSecurityDescriptor, RtlSetDaclSecurityDescriptor, RtlAbsoluteToSelfRelativeSD,
   RtlValidRelativeSecurityDescriptor, SeValidSecurityDescriptor and so on. */
NT_API NTSTATUS RtlCreateSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor,
                                            ULONG Revision);
NT_API NTSTATUS RtlSetDaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor,
                                             BOOLEAN DaclPresent, PACL Dacl, BOOLEAN DaclDefaulted);
NT_API NTSTATUS RtlSetOwnerSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID Owner,
                                              BOOLEAN OwnerDefaulted);
NT_API NTSTATUS RtlGetDaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor,
                                             PBOOLEAN DaclPresent, PACL* Dacl,
                                             PBOOLEAN DaclDefaulted);
NT_API NTSTATUS RtlAbsoluteToSelfRelativeSD(PSECURITY_DESCRIPTOR Absolute,
                                            PSECURITY_DESCRIPTOR SelfRelative, PULONG Length);
NT_API ULONG RtlLengthSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor);
NT_API BOOLEAN RtlValidSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor);
NT_API BOOLEAN RtlValidRelativeSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor,
                                                  ULONG Length, SECURITY_INFORMATION Required);
NT_API BOOLEAN SeValidSecurityDescriptor(ULONG Length, PSECURITY_DESCRIPTOR SecurityDescriptor);

#define RtlEqualLuid(a, b) ((a)->LowPart == (b)->LowPart && (a)->HighPart == (b)->HighPart)
static inline LUID RtlConvertLongToLuid(LONG value) NT_NOEXCEPT {
    LUID luid = {(ULONG)value, value < 0 ? -1 : 0};
    return luid;
}
static inline LUID RtlConvertUlongToLuid(ULONG value) NT_NOEXCEPT {
    LUID luid = {value, 0};
    return luid;
}

/* Replaces generic rights by those of the mapping. IRQL: any. Source: WDK RtlMapGenericMask. */
NT_API void RtlMapGenericMask(PACCESS_MASK AccessMask, const GENERIC_MAPPING* GenericMapping);

/* A subject context has the account of the thread that captured it (irp/device_security.h), or of
   the thread that opens the file (ACCESS_STATE). Tokens have no references. IRQL: PASSIVE_LEVEL.
   Source: WDK SeCaptureSubjectContext. */
NT_API void SeCaptureSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext);
NT_API void SeLockSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext);
NT_API void SeUnlockSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext);
NT_API void SeReleaseSubjectContext(PSECURITY_SUBJECT_CONTEXT SubjectContext);
/* Whether the account is of the group Administrators; the others are the same for each token. */
NT_API BOOLEAN SeTokenIsAdmin(PACCESS_TOKEN Token);
NT_API BOOLEAN SeTokenIsRestricted(PACCESS_TOKEN Token);
NT_API TOKEN_TYPE SeTokenType(PACCESS_TOKEN Token);

/* Whether the context's account has the rights by the descriptor; with MAXIMUM_ALLOWED,
   *GrantedAccess receives all that it has of GenericMapping's GenericAll. KernelMode: each right is
   granted. Entries that allow and deny are used, in their order; the owner may read and change the
   list; the privileges SE_SECURITY and SE_TAKE_OWNERSHIP give ACCESS_SYSTEM_SECURITY and
   WRITE_OWNER, and then *Privileges is a set for SeFreePrivileges, else NULL. SubjectContextLocked
   is not used. IRQL: PASSIVE_LEVEL. *AccessStatus, when FALSE is returned: STATUS_ACCESS_DENIED: a
   right is not granted, none is asked for, or there is no descriptor; STATUS_PRIVILEGE_NOT_HELD:
   ACCESS_SYSTEM_SECURITY; STATUS_NO_TOKEN: the context is not captured;
   STATUS_INSUFFICIENT_RESOURCES. Source: WDK SeAccessCheck. */
NT_API BOOLEAN SeAccessCheck(PSECURITY_DESCRIPTOR SecurityDescriptor,
                             PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext,
                             BOOLEAN SubjectContextLocked, ACCESS_MASK DesiredAccess,
                             ACCESS_MASK PreviouslyGrantedAccess, PPRIVILEGE_SET* Privileges,
                             PGENERIC_MAPPING GenericMapping, KPROCESSOR_MODE AccessMode,
                             PACCESS_MASK GrantedAccess, PNTSTATUS AccessStatus);

/* Whether the calling thread's account, or the context's, has the privileges: those of Windows'
   default user rights, all of them enabled. KernelMode has each. SePrivilegeCheck marks those that
   it finds by SE_PRIVILEGE_USED_FOR_ACCESS; any of them suffices without
   PRIVILEGE_SET_ALL_NECESSARY. IRQL: PASSIVE_LEVEL. Source: WDK SeSinglePrivilegeCheck,
   SePrivilegeCheck. */
NT_API BOOLEAN SeSinglePrivilegeCheck(LUID PrivilegeValue, KPROCESSOR_MODE PreviousMode);
NT_API BOOLEAN SePrivilegeCheck(PPRIVILEGE_SET RequiredPrivileges,
                                PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext,
                                KPROCESSOR_MODE AccessMode);
/* Frees a set of SeAccessCheck; adds it to the state's. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS;
   STATUS_INSUFFICIENT_RESOURCES: more than three privileges. Source: WDK SeFreePrivileges,
   SeAppendPrivileges. */
NT_API void SeFreePrivileges(PPRIVILEGE_SET Privileges);
NT_API NTSTATUS SeAppendPrivileges(PACCESS_STATE AccessState, PPRIVILEGE_SET Privileges);

NT_API NTSTATUS SeQueryInformationToken(PACCESS_TOKEN Token, TOKEN_INFORMATION_CLASS Class,
                                        PVOID* TokenInformation);
NT_API NTSTATUS SeQueryAuthenticationIdToken(PACCESS_TOKEN Token, PLUID AuthenticationId);
NT_API NTSTATUS SeQuerySessionIdToken(PACCESS_TOKEN Token, PULONG SessionId);
NT_API NTSTATUS SeCreateClientSecurity(PETHREAD ClientThread,
                                       PSECURITY_QUALITY_OF_SERVICE ClientSecurityQos,
                                       BOOLEAN RemoteSession,
                                       PSECURITY_CLIENT_CONTEXT ClientContext);
NT_API NTSTATUS SeImpersonateClientEx(PSECURITY_CLIENT_CONTEXT ClientContext,
                                      PETHREAD ServerThread);
#define SeDeleteClientSecurity(context) PsDereferenceImpersonationToken((context)->ClientToken)
NT_API PACCESS_TOKEN PsReferencePrimaryToken(PEPROCESS Process);
NT_API PACCESS_TOKEN PsReferenceImpersonationToken(PETHREAD Thread, PBOOLEAN CopyOnOpen,
                                                   PBOOLEAN EffectiveOnly,
                                                   PSECURITY_IMPERSONATION_LEVEL Level);
NT_API void PsDereferencePrimaryToken(PACCESS_TOKEN PrimaryToken);
NT_API void PsDereferenceImpersonationToken(PACCESS_TOKEN ImpersonationToken);
NT_API void PsRevertToSelf(void);
#define SeQuerySubjectContextToken(context)                                                        \
    ((context)->ClientToken != NULL ? (context)->ClientToken : (context)->PrimaryToken)
NT_API NTSTATUS SeAssignSecurity(PSECURITY_DESCRIPTOR ParentDescriptor,
                                 PSECURITY_DESCRIPTOR ExplicitDescriptor,
                                 PSECURITY_DESCRIPTOR* NewDescriptor, BOOLEAN IsDirectoryObject,
                                 PSECURITY_SUBJECT_CONTEXT SubjectContext,
                                 PGENERIC_MAPPING GenericMapping, POOL_TYPE PoolType);
NT_API NTSTATUS SeDeassignSecurity(PSECURITY_DESCRIPTOR* SecurityDescriptor);
NT_API NTSTATUS SeQuerySecurityDescriptorInfo(PSECURITY_INFORMATION SecurityInformation,
                                              PSECURITY_DESCRIPTOR SecurityDescriptor,
                                              PULONG Length,
                                              PSECURITY_DESCRIPTOR* ObjectsSecurityDescriptor);
NT_API NTSTATUS SeSetSecurityDescriptorInfo(PVOID Object, PSECURITY_INFORMATION Information,
                                            PSECURITY_DESCRIPTOR ModificationDescriptor,
                                            PSECURITY_DESCRIPTOR* ObjectsSecurityDescriptor,
                                            POOL_TYPE PoolType, PGENERIC_MAPPING GenericMapping);
NT_API void SeOpenObjectAuditAlarm(PUNICODE_STRING ObjectTypeName, PVOID Object,
                                   PUNICODE_STRING AbsoluteObjectName,
                                   PSECURITY_DESCRIPTOR SecurityDescriptor,
                                   PACCESS_STATE AccessState, BOOLEAN ObjectCreated,
                                   BOOLEAN AccessGranted, KPROCESSOR_MODE AccessMode,
                                   PBOOLEAN GenerateOnClose);
NT_API void SeOpenObjectForDeleteAuditAlarm(PUNICODE_STRING ObjectTypeName, PVOID Object,
                                            PUNICODE_STRING AbsoluteObjectName,
                                            PSECURITY_DESCRIPTOR SecurityDescriptor,
                                            PACCESS_STATE AccessState, BOOLEAN ObjectCreated,
                                            BOOLEAN AccessGranted, KPROCESSOR_MODE AccessMode,
                                            PBOOLEAN GenerateOnClose);
NT_API BOOLEAN SeAuditingFileEvents(BOOLEAN AccessGranted, PSECURITY_DESCRIPTOR Descriptor);
NT_API BOOLEAN SeAuditingFileOrGlobalEvents(BOOLEAN AccessGranted, PSECURITY_DESCRIPTOR Descriptor,
                                            PSECURITY_SUBJECT_CONTEXT SubjectContext);
NT_API BOOLEAN SeAuditingHardLinkEvents(BOOLEAN AccessGranted, PSECURITY_DESCRIPTOR Descriptor);
NT_API NTSTATUS ZwSetSecurityObject(HANDLE Handle, SECURITY_INFORMATION SecurityInformation,
                                    PSECURITY_DESCRIPTOR SecurityDescriptor);
NT_API NTSTATUS ZwQuerySecurityObject(HANDLE Handle, SECURITY_INFORMATION SecurityInformation,
                                      PSECURITY_DESCRIPTOR SecurityDescriptor, ULONG Length,
                                      PULONG LengthNeeded);
NT_API NTSTATUS ZwOpenProcessTokenEx(HANDLE ProcessHandle, ACCESS_MASK DesiredAccess,
                                     ULONG HandleAttributes, PHANDLE TokenHandle);
NT_API NTSTATUS ZwOpenThreadTokenEx(HANDLE ThreadHandle, ACCESS_MASK DesiredAccess,
                                    BOOLEAN OpenAsSelf, ULONG HandleAttributes,
                                    PHANDLE TokenHandle);
NT_API NTSTATUS ZwQueryInformationToken(HANDLE TokenHandle, TOKEN_INFORMATION_CLASS Class,
                                        PVOID Information, ULONG Length, PULONG ReturnLength);
NT_EXTERN_C_END

#endif

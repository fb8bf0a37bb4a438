// The SIDs and privileges that the kernel keeps for drivers.
#include "standard.hpp"

#include <windows/wdk/security.h>

namespace {

struct known_sid {
    UCHAR revision = SID_REVISION;
    UCHAR count;
    SID_IDENTIFIER_AUTHORITY authority;
    ULONG parts[2];
};
known_sid null_sid{.count = 1, .authority = {{0, 0, 0, 0, 0, 0}}, .parts = {0}};
known_sid world{.count = 1, .authority = {SECURITY_WORLD_SID_AUTHORITY}, .parts = {0}};
known_sid local{.count = 1, .authority = {{0, 0, 0, 0, 0, 2}}, .parts = {0}};
known_sid authenticated{.count = 1, .authority = {SECURITY_NT_AUTHORITY}, .parts = {11}};
known_sid local_system{
    .count = 1, .authority = {SECURITY_NT_AUTHORITY}, .parts = {SECURITY_LOCAL_SYSTEM_RID}};
known_sid administrators{.count = 2,
                         .authority = {SECURITY_NT_AUTHORITY},
                         .parts = {SECURITY_BUILTIN_DOMAIN_RID, DOMAIN_ALIAS_RID_ADMINS}};
known_sid users{
    .count = 2, .authority = {SECURITY_NT_AUTHORITY}, .parts = {SECURITY_BUILTIN_DOMAIN_RID, 545}};

SE_EXPORTS exports{.SeCreateTokenPrivilege = {SE_CREATE_TOKEN_PRIVILEGE, 0},
                   .SeTcbPrivilege = {SE_TCB_PRIVILEGE, 0},
                   .SeLoadDriverPrivilege = {SE_LOAD_DRIVER_PRIVILEGE, 0},
                   .SeSecurityPrivilege = {SE_SECURITY_PRIVILEGE, 0},
                   .SeBackupPrivilege = {SE_BACKUP_PRIVILEGE, 0},
                   .SeRestorePrivilege = {SE_RESTORE_PRIVILEGE, 0},
                   .SeNullSid = &null_sid,
                   .SeWorldSid = &world,
                   .SeLocalSid = &local,
                   .SeLocalSystemSid = &local_system,
                   .SeAliasAdminsSid = &administrators,
                   .SeAliasUsersSid = &users,
                   .SeAuthenticatedUsersSid = &authenticated};

} // namespace

extern "C" {
PSE_EXPORTS SeExports = &exports;
}

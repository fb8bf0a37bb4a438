#include "standard.hpp"

#include "privileges.hpp"

#include <irp/support/account_rights.hpp>
#include <windows/wdk/executive.h>
#include <windows/wdk/status_codes.h>

namespace {

using irpverbs::windows::has_privilege;

constexpr ULONG all_accounts = 0xff;

constexpr ULONG bit(IRP_ACCOUNT account) { return 1u << account; }
constexpr ULONG system_only = bit(IrpAccountSystem);
constexpr ULONG services = system_only | bit(IrpAccountService);
constexpr ULONG administrators = system_only | bit(IrpAccountAdministrator);
constexpr ULONG users = administrators | bit(IrpAccountUser);

struct holders {
    ULONG privilege;
    ULONG accounts;
};
// Windows' default user rights of a workstation.
constexpr std::array<holders, 24> held{{{SE_CREATE_TOKEN_PRIVILEGE, system_only},
                                        {SE_ASSIGNPRIMARYTOKEN_PRIVILEGE, services},
                                        {SE_LOCK_MEMORY_PRIVILEGE, system_only},
                                        {SE_INCREASE_QUOTA_PRIVILEGE, administrators | services},
                                        {SE_TCB_PRIVILEGE, system_only},
                                        {SE_SECURITY_PRIVILEGE, administrators},
                                        {SE_TAKE_OWNERSHIP_PRIVILEGE, administrators},
                                        {SE_LOAD_DRIVER_PRIVILEGE, administrators},
                                        {SE_SYSTEM_PROFILE_PRIVILEGE, administrators},
                                        {SE_SYSTEMTIME_PRIVILEGE, administrators | services},
                                        {SE_PROF_SINGLE_PROCESS_PRIVILEGE, administrators},
                                        {SE_INC_BASE_PRIORITY_PRIVILEGE, administrators},
                                        {SE_CREATE_PAGEFILE_PRIVILEGE, administrators},
                                        {SE_CREATE_PERMANENT_PRIVILEGE, system_only},
                                        {SE_BACKUP_PRIVILEGE, administrators},
                                        {SE_RESTORE_PRIVILEGE, administrators},
                                        {SE_SHUTDOWN_PRIVILEGE, users},
                                        {SE_DEBUG_PRIVILEGE, administrators},
                                        {SE_AUDIT_PRIVILEGE, services},
                                        {SE_SYSTEM_ENVIRONMENT_PRIVILEGE, administrators},
                                        {SE_CHANGE_NOTIFY_PRIVILEGE, all_accounts},
                                        {SE_MANAGE_VOLUME_PRIVILEGE, administrators},
                                        {SE_IMPERSONATE_PRIVILEGE, administrators | services},
                                        {SE_CREATE_GLOBAL_PRIVILEGE, administrators | services}}};

constexpr ULONG room_in_place = std::size(INITIAL_PRIVILEGE_SET{}.Privilege);

} // namespace

bool irpverbs::windows::has_privilege(IRP_ACCOUNT account, const LUID& privilege) {
    return privilege.HighPart == 0 &&
           std::any_of(held.begin(), held.end(), [&](const holders& each) {
               return each.privilege == privilege.LowPart && (each.accounts & bit(account)) != 0;
           });
}

extern "C" {

BOOLEAN SeSinglePrivilegeCheck(LUID PrivilegeValue, KPROCESSOR_MODE PreviousMode) {
    return PreviousMode == KernelMode || has_privilege(IrpGetAccount(), PrivilegeValue);
}

BOOLEAN SePrivilegeCheck(PPRIVILEGE_SET RequiredPrivileges,
                         PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext,
                         KPROCESSOR_MODE AccessMode) {
    if (AccessMode == KernelMode) return TRUE;
    const auto account =
        irpverbs::irp::account_of(SeQuerySubjectContextToken(SubjectSecurityContext));
    LUID_AND_ATTRIBUTES* const first = RequiredPrivileges->Privilege;
    LUID_AND_ATTRIBUTES* const end = first + RequiredPrivileges->PrivilegeCount;
    ULONG found = 0;
    for (LUID_AND_ATTRIBUTES* each = first; each != end; ++each)
        if (account && has_privilege(*account, each->Luid)) {
            each->Attributes |= SE_PRIVILEGE_USED_FOR_ACCESS;
            ++found;
        }
    const bool all = (RequiredPrivileges->Control & PRIVILEGE_SET_ALL_NECESSARY) != 0;
    return all ? account && found == RequiredPrivileges->PrivilegeCount : found != 0;
}

void SeFreePrivileges(PPRIVILEGE_SET Privileges) { ExFreePool(Privileges); }

NTSTATUS SeAppendPrivileges(PACCESS_STATE AccessState, PPRIVILEGE_SET Privileges) {
    INITIAL_PRIVILEGE_SET& set = AccessState->Privileges.InitialPrivilegeSet;
    if (Privileges->PrivilegeCount > room_in_place - set.PrivilegeCount)
        return STATUS_INSUFFICIENT_RESOURCES;
    std::copy_n(static_cast<const LUID_AND_ATTRIBUTES*>(Privileges->Privilege),
                Privileges->PrivilegeCount,
                static_cast<LUID_AND_ATTRIBUTES*>(set.Privilege) + set.PrivilegeCount);
    set.PrivilegeCount += Privileges->PrivilegeCount;
    return STATUS_SUCCESS;
}

} // extern "C"

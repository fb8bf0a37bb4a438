#include "standard.hpp"

#include "access_lists.hpp"
#include "privileges.hpp"
#include "security_descriptors.hpp"
#include "sids.hpp"

#include <irp/support/account_rights.hpp>
#include <new>
#include <windows/wdk/executive.h>
#include <windows/wdk/io.h>
#include <windows/wdk/status_codes.h>

using namespace irpverbs::irp;
using namespace irpverbs::windows;

namespace {

constexpr ULONG privileges_tag = 0x76506553; // "SePv"
constexpr auto all_rights = static_cast<ACCESS_MASK>(~ACCESS_SYSTEM_SECURITY);
constexpr auto rights_of_owner = static_cast<ACCESS_MASK>(READ_CONTROL | WRITE_DAC);
constexpr auto maximum = static_cast<ACCESS_MASK>(MAXIMUM_ALLOWED);

ACCESS_MASK mapped(ACCESS_MASK rights, const GENERIC_MAPPING& mapping) {
    RtlMapGenericMask(&rights, &mapping);
    return rights;
}

// Adds an entry of a list that grants or denies.
void add(std::vector<access_entry>& entries, void* place, const GENERIC_MAPPING& mapping) {
    auto& entry = *static_cast<ACCESS_ALLOWED_ACE*>(place);
    const bool denies = entry.Header.AceType == ACCESS_DENIED_ACE_TYPE;
    if ((!denies && entry.Header.AceType != ACCESS_ALLOWED_ACE_TYPE) ||
        (entry.Header.AceFlags & INHERIT_ONLY_ACE) != 0)
        return;
    entries.push_back({group_of_sid(text_of_sid(sid_at(&entry.SidStart))),
                       mapped(entry.Mask, mapping) & all_rights, denies});
}

ACCESS_MASK rights_by(PSECURITY_DESCRIPTOR descriptor, IRP_ACCOUNT account,
                      const GENERIC_MAPPING& mapping) {
    const descriptor_parts parts = parts_of(descriptor);
    if (parts.permitted == nullptr) return all_rights;
    std::vector<access_entry> entries;
    if (parts.owner != nullptr)
        entries.push_back({group_of_sid(text_of_sid(sid_at(parts.owner))), rights_of_owner});
    void* each = nullptr;
    for (ULONG i = 0; NT_SUCCESS(RtlGetAce(parts.permitted, i, &each)); ++i)
        add(entries, each, mapping);
    return granted_rights(account, entries);
}

struct access_request {
    ACCESS_MASK wanted; // without generic rights
    ACCESS_MASK before; // granted before
    std::vector<ULONG> used_privileges;

    // Adds the right if it is still wanted and the account's privilege gives it.
    void add_by_privilege(ACCESS_MASK& rights, long right, ULONG privilege, IRP_ACCOUNT account) {
        const auto bit = static_cast<ACCESS_MASK>(right);
        if ((wanted & bit & ~(rights | before)) == 0) return;
        if (!has_privilege(account, RtlConvertUlongToLuid(privilege))) return;
        rights |= bit;
        used_privileges.push_back(privilege);
    }
};

// STATUS_SUCCESS: *result has the rights that are granted.
NTSTATUS check(access_request& request, PSECURITY_DESCRIPTOR descriptor, IRP_ACCOUNT account,
               const GENERIC_MAPPING& mapping, ACCESS_MASK& result) {
    ACCESS_MASK rights = rights_by(descriptor, account, mapping);
    request.add_by_privilege(rights, ACCESS_SYSTEM_SECURITY, SE_SECURITY_PRIVILEGE, account);
    request.add_by_privilege(rights, WRITE_OWNER, SE_TAKE_OWNERSHIP_PRIVILEGE, account);
    const ACCESS_MASK missing = request.wanted & ~(rights | request.before | maximum);
    if ((missing & static_cast<ACCESS_MASK>(ACCESS_SYSTEM_SECURITY)) != 0)
        return STATUS_PRIVILEGE_NOT_HELD;
    if (missing != 0) return STATUS_ACCESS_DENIED;
    result = (request.wanted & ~maximum) | request.before;
    if ((request.wanted & maximum) != 0) result |= rights & mapping.GenericAll;
    return result != 0 ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;
}

NTSTATUS report(const std::vector<ULONG>& used, PPRIVILEGE_SET* privileges) {
    if (privileges == nullptr || used.empty()) return STATUS_SUCCESS;
    const SIZE_T size =
        offsetof(PRIVILEGE_SET, Privilege) + used.size() * sizeof(LUID_AND_ATTRIBUTES);
    auto* const made =
        static_cast<PRIVILEGE_SET*>(ExAllocatePoolWithTag(PagedPool, size, privileges_tag));
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    made->PrivilegeCount = static_cast<ULONG>(used.size());
    made->Control = 0;
    LUID_AND_ATTRIBUTES* place = made->Privilege;
    for (const ULONG each : used)
        *place++ = {RtlConvertUlongToLuid(each), static_cast<ULONG>(SE_PRIVILEGE_USED_FOR_ACCESS)};
    *privileges = made;
    return STATUS_SUCCESS;
}

} // namespace

extern "C" {

void RtlMapGenericMask(PACCESS_MASK AccessMask, const GENERIC_MAPPING* GenericMapping) {
    ACCESS_MASK rights = *AccessMask;
    const auto replace = [&](long generic, ACCESS_MASK specific) {
        const auto bit = static_cast<ACCESS_MASK>(generic);
        if ((*AccessMask & bit) != 0) rights = (rights & ~bit) | specific;
    };
    replace(GENERIC_READ, GenericMapping->GenericRead);
    replace(GENERIC_WRITE, GenericMapping->GenericWrite);
    replace(GENERIC_EXECUTE, GenericMapping->GenericExecute);
    replace(GENERIC_ALL, GenericMapping->GenericAll);
    *AccessMask = rights;
}

PGENERIC_MAPPING IoGetFileObjectGenericMapping(void) {
    static GENERIC_MAPPING mapping{FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE,
                                   FILE_ALL_ACCESS};
    return &mapping;
}

BOOLEAN SeAccessCheck(PSECURITY_DESCRIPTOR SecurityDescriptor,
                      PSECURITY_SUBJECT_CONTEXT SubjectSecurityContext, BOOLEAN,
                      ACCESS_MASK DesiredAccess, ACCESS_MASK PreviouslyGrantedAccess,
                      PPRIVILEGE_SET* Privileges, PGENERIC_MAPPING GenericMapping,
                      KPROCESSOR_MODE AccessMode, PACCESS_MASK GrantedAccess,
                      PNTSTATUS AccessStatus) try {
    if (Privileges != nullptr) *Privileges = nullptr;
    *GrantedAccess = 0;
    access_request request{mapped(DesiredAccess, *GenericMapping), PreviouslyGrantedAccess, {}};
    if (AccessMode == KernelMode) {
        const bool all = (request.wanted & maximum) != 0;
        *GrantedAccess = (request.wanted & ~maximum) | PreviouslyGrantedAccess |
                         (all ? GenericMapping->GenericAll : 0);
        *AccessStatus = STATUS_SUCCESS;
        return TRUE;
    }
    const auto account = account_of(SeQuerySubjectContextToken(SubjectSecurityContext));
    ACCESS_MASK granted = 0;
    if (SecurityDescriptor == nullptr)
        *AccessStatus = STATUS_ACCESS_DENIED;
    else if (!account)
        *AccessStatus = STATUS_NO_TOKEN;
    else
        *AccessStatus = check(request, SecurityDescriptor, *account, *GenericMapping, granted);
    if (NT_SUCCESS(*AccessStatus)) *AccessStatus = report(request.used_privileges, Privileges);
    if (!NT_SUCCESS(*AccessStatus)) return FALSE;
    *GrantedAccess = granted;
    return TRUE;
} catch (const std::bad_alloc&) {
    *AccessStatus = STATUS_INSUFFICIENT_RESOURCES;
    return FALSE;
}

} // extern "C"

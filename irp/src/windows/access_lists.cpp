#include "standard.hpp"

#include "access_lists.hpp"
#include "sids.hpp"

#include <windows/wdk/file_systems.h>
#include <windows/wdk/status_codes.h>

using namespace irpverbs::windows;

namespace {

constexpr UCHAR oldest_revision = ACL_REVISION;
constexpr UCHAR newest_revision = ACL_REVISION_DS;
constexpr ULONG longest_list = 0xfffc;
constexpr ULONG inheritance_flags = 0x1f;
constexpr SIZE_T to_sid = offsetof(ACCESS_ALLOWED_ACE, SidStart);

bool is_revision(ULONG revision) {
    return revision >= oldest_revision && revision <= newest_revision;
}

bool is_entry_valid(const ACE_HEADER& entry) {
    const bool has_sid =
        entry.AceType == ACCESS_ALLOWED_ACE_TYPE || entry.AceType == ACCESS_DENIED_ACE_TYPE;
    if (entry.AceSize % sizeof(ULONG) != 0 || entry.AceSize < sizeof(ACE_HEADER)) return false;
    return !has_sid ||
           (entry.AceSize >= to_sid &&
            is_sid_within(reinterpret_cast<const UCHAR*>(&entry) + to_sid, entry.AceSize - to_sid));
}

// The offset of an entry, or of the free space behind the last one; 0: the entries before it do not
// lie within the list.
SIZE_T offset_of(const ACL& list, ULONG index) {
    SIZE_T at = sizeof(ACL);
    for (ULONG i = 0; i < index; ++i) {
        if (at + sizeof(ACE_HEADER) > list.AclSize) return 0;
        const USHORT size = entry_at(list, at).AceSize;
        if (size < sizeof(ACE_HEADER) || at + size > list.AclSize) return 0;
        at += size;
    }
    return at;
}

} // namespace

namespace irpverbs::windows {

bool is_list_within(const void* list, SIZE_T bytes) {
    if (bytes < sizeof(ACL)) return false;
    const ACL& seen = *static_cast<const ACL*>(list);
    if (!is_revision(seen.AclRevision) || seen.AclSize < sizeof(ACL) || seen.AclSize > bytes)
        return false;
    for (ULONG i = 0; i < seen.AceCount; ++i)
        if (offset_of(seen, i + 1) == 0 || !is_entry_valid(entry_at(seen, offset_of(seen, i))))
            return false;
    return true;
}

} // namespace irpverbs::windows

extern "C" {

NTSTATUS RtlCreateAcl(PACL Acl, ULONG AclLength, ULONG AclRevision) {
    if (AclLength < sizeof(ACL)) return STATUS_BUFFER_TOO_SMALL;
    if (!is_revision(AclRevision) || AclLength > longest_list) return STATUS_INVALID_PARAMETER;
    *Acl = {static_cast<UCHAR>(AclRevision), 0, static_cast<USHORT>(AclLength & ~3u), 0, 0};
    return STATUS_SUCCESS;
}

BOOLEAN RtlValidAcl(PACL Acl) { return Acl != nullptr && is_list_within(Acl, Acl->AclSize); }

NTSTATUS RtlAddAccessAllowedAceEx(PACL Acl, ULONG AceRevision, ULONG AceFlags,
                                  ACCESS_MASK AccessMask, PSID Sid) {
    if (!RtlValidSid(Sid)) return STATUS_INVALID_SID;
    if (Acl->AclRevision > newest_revision || AceRevision > newest_revision)
        return STATUS_REVISION_MISMATCH;
    if ((AceFlags & ~inheritance_flags) != 0) return STATUS_INVALID_PARAMETER;
    if (!RtlValidAcl(Acl)) return STATUS_INVALID_ACL;
    const SIZE_T at = offset_of(*Acl, Acl->AceCount);
    const SIZE_T size = to_sid + RtlLengthSid(Sid);
    if (at + size > Acl->AclSize) return STATUS_ALLOTTED_SPACE_EXCEEDED;
    UCHAR* const place = reinterpret_cast<UCHAR*>(Acl) + at;
    const ACCESS_ALLOWED_ACE entry{
        {ACCESS_ALLOWED_ACE_TYPE, static_cast<UCHAR>(AceFlags), static_cast<USHORT>(size)},
        AccessMask,
        0};
    memcpy(place, &entry, to_sid);
    memcpy(place + to_sid, Sid, size - to_sid);
    ++Acl->AceCount;
    Acl->AclRevision = std::max(Acl->AclRevision, static_cast<UCHAR>(AceRevision));
    return STATUS_SUCCESS;
}

NTSTATUS RtlAddAccessAllowedAce(PACL Acl, ULONG AceRevision, ACCESS_MASK AccessMask, PSID Sid) {
    return RtlAddAccessAllowedAceEx(Acl, AceRevision, 0, AccessMask, Sid);
}

NTSTATUS RtlGetAce(PACL Acl, ULONG AceIndex, PVOID* Ace) {
    if (!is_revision(Acl->AclRevision) || AceIndex >= Acl->AceCount)
        return STATUS_INVALID_PARAMETER;
    if (offset_of(*Acl, AceIndex + 1) == 0) return STATUS_INVALID_PARAMETER;
    *Ace = reinterpret_cast<UCHAR*>(Acl) + offset_of(*Acl, AceIndex);
    return STATUS_SUCCESS;
}

} // extern "C"

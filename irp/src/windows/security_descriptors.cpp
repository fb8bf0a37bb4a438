#include "standard.hpp"

#include "access_lists.hpp"
#include "security_descriptors.hpp"
#include "sids.hpp"

#include <windows/wdk/file_systems.h>
#include <windows/wdk/status_codes.h>

namespace irpverbs::windows {

descriptor_parts parts_of(PSECURITY_DESCRIPTOR descriptor) {
    const SECURITY_DESCRIPTOR_CONTROL control = control_of(descriptor);
    const auto list_if = [=](unsigned present, void* list) {
        return (control & present) != 0 ? static_cast<ACL*>(list) : nullptr;
    };
    if ((control & SE_SELF_RELATIVE) == 0) {
        const auto& absolute = *static_cast<SECURITY_DESCRIPTOR*>(descriptor);
        return {absolute.Owner, absolute.Group, list_if(SE_SACL_PRESENT, absolute.Sacl),
                list_if(SE_DACL_PRESENT, absolute.Dacl)};
    }
    const auto& relative = *static_cast<SECURITY_DESCRIPTOR_RELATIVE*>(descriptor);
    const auto at = [=](ULONG offset) -> void* {
        return offset != 0 ? static_cast<UCHAR*>(descriptor) + offset : nullptr;
    };
    return {at(relative.Owner), at(relative.Group), list_if(SE_SACL_PRESENT, at(relative.Sacl)),
            list_if(SE_DACL_PRESENT, at(relative.Dacl))};
}

} // namespace irpverbs::windows

using namespace irpverbs::windows;

namespace {

constexpr ULONG rounded(ULONG length) { return (length + 3) & ~3u; }
ULONG length_of(PSID sid) { return sid != nullptr ? rounded(RtlLengthSid(sid)) : 0; }
ULONG length_of(const ACL* list) { return list != nullptr ? rounded(list->AclSize) : 0; }

ULONG length_of(const descriptor_parts& parts) {
    return length_of(parts.owner) + length_of(parts.group) + length_of(parts.audited) +
           length_of(parts.permitted);
}

// STATUS_SUCCESS: it may be changed.
NTSTATUS check_absolute(PSECURITY_DESCRIPTOR descriptor) {
    if (revision_of(descriptor) != SECURITY_DESCRIPTOR_REVISION) return STATUS_UNKNOWN_REVISION;
    return (control_of(descriptor) & SE_SELF_RELATIVE) != 0 ? STATUS_INVALID_SECURITY_DESCR
                                                            : STATUS_SUCCESS;
}

void set_control(SECURITY_DESCRIPTOR& descriptor, unsigned bit, bool value) {
    descriptor.Control =
        static_cast<USHORT>(value ? descriptor.Control | bit : descriptor.Control & ~bit);
}

struct list_bits {
    unsigned present;
    unsigned defaulted;
};
constexpr list_bits permitted_bits{SE_DACL_PRESENT, SE_DACL_DEFAULTED};
constexpr list_bits audited_bits{SE_SACL_PRESENT, SE_SACL_DEFAULTED};

NTSTATUS set_list(PSECURITY_DESCRIPTOR descriptor, PACL SECURITY_DESCRIPTOR::*member,
                  list_bits bits, bool present, PACL list, bool defaulted) {
    if (const NTSTATUS status = check_absolute(descriptor); !NT_SUCCESS(status)) return status;
    auto& absolute = *static_cast<SECURITY_DESCRIPTOR*>(descriptor);
    set_control(absolute, bits.present, present);
    set_control(absolute, bits.defaulted, present && defaulted);
    absolute.*member = present ? list : nullptr;
    return STATUS_SUCCESS;
}

NTSTATUS get_list(PSECURITY_DESCRIPTOR descriptor, PACL descriptor_parts::*member, list_bits bits,
                  PBOOLEAN present, PACL* list, PBOOLEAN defaulted) {
    if (revision_of(descriptor) != SECURITY_DESCRIPTOR_REVISION) return STATUS_UNKNOWN_REVISION;
    *present = (control_of(descriptor) & bits.present) != 0;
    if (*present) {
        *list = parts_of(descriptor).*member;
        *defaulted = (control_of(descriptor) & bits.defaulted) != 0;
    }
    return STATUS_SUCCESS;
}

NTSTATUS set_sid(PSECURITY_DESCRIPTOR descriptor, PSID SECURITY_DESCRIPTOR::*member, unsigned bit,
                 PSID sid, bool defaulted) {
    if (const NTSTATUS status = check_absolute(descriptor); !NT_SUCCESS(status)) return status;
    auto& absolute = *static_cast<SECURITY_DESCRIPTOR*>(descriptor);
    absolute.*member = sid;
    set_control(absolute, bit, defaulted);
    return STATUS_SUCCESS;
}

NTSTATUS get_sid(PSECURITY_DESCRIPTOR descriptor, PSID descriptor_parts::*member, unsigned bit,
                 PSID* sid, PBOOLEAN defaulted) {
    if (revision_of(descriptor) != SECURITY_DESCRIPTOR_REVISION) return STATUS_UNKNOWN_REVISION;
    *sid = parts_of(descriptor).*member;
    *defaulted = (control_of(descriptor) & bit) != 0;
    return STATUS_SUCCESS;
}

// Copies a part behind the others, and returns its offset; 0: there is none.
ULONG put(UCHAR* to, ULONG& end, const void* part, ULONG bytes, ULONG room) {
    if (part == nullptr) return 0;
    const ULONG offset = end;
    memcpy(to + offset, part, bytes);
    memset(to + offset + bytes, 0, room - bytes);
    end += room;
    return offset;
}

// Whether there is a valid part at the offset; none is valid when it is not required.
template <typename IsValid>
bool is_part(const void* start, ULONG length, ULONG offset, bool required, IsValid is_within) {
    if (offset == 0) return !required;
    return offset % sizeof(ULONG) == 0 && offset < length &&
           offset >= sizeof(SECURITY_DESCRIPTOR_RELATIVE) &&
           is_within(static_cast<const UCHAR*>(start) + offset, length - offset);
}

} // namespace

extern "C" {

NTSTATUS RtlCreateSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, ULONG Revision) {
    if (Revision != SECURITY_DESCRIPTOR_REVISION) return STATUS_UNKNOWN_REVISION;
    auto& made = *static_cast<SECURITY_DESCRIPTOR*>(SecurityDescriptor);
    made = {};
    made.Revision = SECURITY_DESCRIPTOR_REVISION;
    return STATUS_SUCCESS;
}

NTSTATUS RtlSetDaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, BOOLEAN DaclPresent,
                                      PACL Dacl, BOOLEAN DaclDefaulted) {
    return set_list(SecurityDescriptor, &SECURITY_DESCRIPTOR::Dacl, permitted_bits, DaclPresent,
                    Dacl, DaclDefaulted);
}
NTSTATUS RtlSetSaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, BOOLEAN SaclPresent,
                                      PACL Sacl, BOOLEAN SaclDefaulted) {
    return set_list(SecurityDescriptor, &SECURITY_DESCRIPTOR::Sacl, audited_bits, SaclPresent, Sacl,
                    SaclDefaulted);
}
NTSTATUS RtlGetDaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PBOOLEAN DaclPresent,
                                      PACL* Dacl, PBOOLEAN DaclDefaulted) {
    return get_list(SecurityDescriptor, &descriptor_parts::permitted, permitted_bits, DaclPresent,
                    Dacl, DaclDefaulted);
}
NTSTATUS RtlGetSaclSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PBOOLEAN SaclPresent,
                                      PACL* Sacl, PBOOLEAN SaclDefaulted) {
    return get_list(SecurityDescriptor, &descriptor_parts::audited, audited_bits, SaclPresent, Sacl,
                    SaclDefaulted);
}

NTSTATUS RtlSetOwnerSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID Owner,
                                       BOOLEAN OwnerDefaulted) {
    return set_sid(SecurityDescriptor, &SECURITY_DESCRIPTOR::Owner, SE_OWNER_DEFAULTED, Owner,
                   OwnerDefaulted);
}
NTSTATUS RtlSetGroupSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID Group,
                                       BOOLEAN GroupDefaulted) {
    return set_sid(SecurityDescriptor, &SECURITY_DESCRIPTOR::Group, SE_GROUP_DEFAULTED, Group,
                   GroupDefaulted);
}
NTSTATUS RtlGetOwnerSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID* Owner,
                                       PBOOLEAN OwnerDefaulted) {
    return get_sid(SecurityDescriptor, &descriptor_parts::owner, SE_OWNER_DEFAULTED, Owner,
                   OwnerDefaulted);
}
NTSTATUS RtlGetGroupSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, PSID* Group,
                                       PBOOLEAN GroupDefaulted) {
    return get_sid(SecurityDescriptor, &descriptor_parts::group, SE_GROUP_DEFAULTED, Group,
                   GroupDefaulted);
}

ULONG RtlLengthSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor) {
    const bool relative = (control_of(SecurityDescriptor) & SE_SELF_RELATIVE) != 0;
    const std::size_t head =
        relative ? sizeof(SECURITY_DESCRIPTOR_RELATIVE) : sizeof(SECURITY_DESCRIPTOR);
    return static_cast<ULONG>(head) + length_of(parts_of(SecurityDescriptor));
}

NTSTATUS RtlAbsoluteToSelfRelativeSD(PSECURITY_DESCRIPTOR Absolute,
                                     PSECURITY_DESCRIPTOR SelfRelative, PULONG Length) {
    if ((control_of(Absolute) & SE_SELF_RELATIVE) != 0) return STATUS_BAD_DESCRIPTOR_FORMAT;
    const descriptor_parts parts = parts_of(Absolute);
    ULONG end = sizeof(SECURITY_DESCRIPTOR_RELATIVE);
    const ULONG needed = end + length_of(parts);
    if (*Length < needed) {
        *Length = needed;
        return STATUS_BUFFER_TOO_SMALL;
    }
    auto* const bytes = static_cast<UCHAR*>(SelfRelative);
    const auto put_sid = [&](PSID sid) {
        return put(bytes, end, sid, sid != nullptr ? RtlLengthSid(sid) : 0, length_of(sid));
    };
    const auto put_list = [&](const ACL* list) {
        return put(bytes, end, list, list != nullptr ? list->AclSize : 0, length_of(list));
    };
    SECURITY_DESCRIPTOR_RELATIVE head{};
    head.Revision = revision_of(Absolute);
    head.Control = static_cast<USHORT>(control_of(Absolute) | SE_SELF_RELATIVE);
    head.Sacl = put_list(parts.audited);
    head.Dacl = put_list(parts.permitted);
    head.Owner = put_sid(parts.owner);
    head.Group = put_sid(parts.group);
    memcpy(bytes, &head, sizeof head);
    return STATUS_SUCCESS;
}

BOOLEAN RtlValidSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor) {
    if (SecurityDescriptor == nullptr ||
        revision_of(SecurityDescriptor) != SECURITY_DESCRIPTOR_REVISION)
        return FALSE;
    const descriptor_parts parts = parts_of(SecurityDescriptor);
    return (parts.owner == nullptr || RtlValidSid(parts.owner)) &&
           (parts.group == nullptr || RtlValidSid(parts.group)) &&
           (parts.audited == nullptr || RtlValidAcl(parts.audited)) &&
           (parts.permitted == nullptr || RtlValidAcl(parts.permitted));
}

BOOLEAN RtlValidRelativeSecurityDescriptor(PSECURITY_DESCRIPTOR SecurityDescriptor, ULONG Length,
                                           SECURITY_INFORMATION Required) {
    if (SecurityDescriptor == nullptr || Length < sizeof(SECURITY_DESCRIPTOR_RELATIVE))
        return FALSE;
    const auto& head = *static_cast<SECURITY_DESCRIPTOR_RELATIVE*>(SecurityDescriptor);
    if (head.Revision != SECURITY_DESCRIPTOR_REVISION || (head.Control & SE_SELF_RELATIVE) == 0)
        return FALSE;
    const auto is_sid = [&](ULONG offset, SECURITY_INFORMATION bit) {
        return is_part(&head, Length, offset, (Required & bit) != 0, is_sid_within);
    };
    const auto is_list = [&](ULONG offset, unsigned present, SECURITY_INFORMATION bit) {
        if ((head.Control & present) == 0) return (Required & bit) == 0;
        return is_part(&head, Length, offset, false, is_list_within);
    };
    return is_sid(head.Owner, OWNER_SECURITY_INFORMATION) &&
           is_sid(head.Group, GROUP_SECURITY_INFORMATION) &&
           is_list(head.Sacl, SE_SACL_PRESENT, SACL_SECURITY_INFORMATION) &&
           is_list(head.Dacl, SE_DACL_PRESENT, DACL_SECURITY_INFORMATION);
}

BOOLEAN SeValidSecurityDescriptor(ULONG Length, PSECURITY_DESCRIPTOR SecurityDescriptor) {
    return RtlValidRelativeSecurityDescriptor(SecurityDescriptor, Length, 0);
}

} // extern "C"

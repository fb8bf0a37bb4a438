#include "standard.hpp"

#include "sids.hpp"

#include <windows/wdk/executive.h>
#include <windows/wdk/file_systems.h>
#include <windows/wdk/status_codes.h>

namespace irpverbs::windows {

bool is_sid_within(const void* sid, SIZE_T bytes) {
    if (bytes < length_of_sid(0)) return false;
    const SID& seen = *static_cast<const SID*>(sid);
    return seen.Revision == SID_REVISION && seen.SubAuthorityCount <= SID_MAX_SUB_AUTHORITIES &&
           bytes >= length_of_sid(seen.SubAuthorityCount);
}

std::u16string text_of_sid(const SID& sid) {
    unsigned long long authority = 0;
    for (const UCHAR each : sid.IdentifierAuthority.Value)
        authority = authority << 8 | each;
    char number[24];
    std::snprintf(number, sizeof number, authority <= 0xffffffff ? "%llu" : "0x%llX", authority);
    std::string text = std::string("S-1-") + static_cast<const char*>(number);
    for (ULONG i = 0; i < sid.SubAuthorityCount; ++i)
        text += '-' + std::to_string(sid.SubAuthority[i]);
    return {text.begin(), text.end()};
}

} // namespace irpverbs::windows

using namespace irpverbs::windows;

namespace {

constexpr ULONG text_tag = 0x53747452; // "RttS"

} // namespace

extern "C" {

ULONG RtlLengthRequiredSid(ULONG SubAuthorityCount) { return length_of_sid(SubAuthorityCount); }

ULONG RtlLengthSid(PSID Sid) { return length_of_sid(sid_at(Sid).SubAuthorityCount); }

BOOLEAN RtlValidSid(PSID Sid) {
    return Sid != nullptr && is_sid_within(Sid, length_of_sid(SID_MAX_SUB_AUTHORITIES));
}

NTSTATUS RtlInitializeSid(PSID Sid, PSID_IDENTIFIER_AUTHORITY Authority, UCHAR Count) {
    if (Count > SID_MAX_SUB_AUTHORITIES) return STATUS_INVALID_PARAMETER;
    SID& sid = sid_at(Sid);
    sid.Revision = SID_REVISION;
    sid.SubAuthorityCount = Count;
    sid.IdentifierAuthority = *Authority;
    return STATUS_SUCCESS;
}

PULONG RtlSubAuthoritySid(PSID Sid, ULONG SubAuthority) {
    return static_cast<ULONG*>(sid_at(Sid).SubAuthority) + SubAuthority;
}

PUCHAR RtlSubAuthorityCountSid(PSID Sid) { return &sid_at(Sid).SubAuthorityCount; }

PSID_IDENTIFIER_AUTHORITY RtlIdentifierAuthoritySid(PSID Sid) {
    return &sid_at(Sid).IdentifierAuthority;
}

BOOLEAN RtlEqualSid(PSID Sid1, PSID Sid2) {
    const ULONG length = RtlLengthSid(Sid1);
    return length == RtlLengthSid(Sid2) && memcmp(Sid1, Sid2, length) == 0;
}

NTSTATUS RtlCopySid(ULONG DestinationSidLength, PSID DestinationSid, PSID SourceSid) {
    const ULONG length = RtlLengthSid(SourceSid);
    if (length > DestinationSidLength) return STATUS_BUFFER_TOO_SMALL;
    memmove(DestinationSid, SourceSid, length);
    return STATUS_SUCCESS;
}

NTSTATUS RtlConvertSidToUnicodeString(PUNICODE_STRING UnicodeString, PSID Sid,
                                      BOOLEAN AllocateDestinationString) {
    if (!RtlValidSid(Sid)) return STATUS_INVALID_SID;
    const std::u16string text = text_of_sid(sid_at(Sid));
    const auto length = static_cast<USHORT>(text.size() * sizeof(WCHAR));
    if (AllocateDestinationString) {
        const auto room = static_cast<USHORT>(length + sizeof(WCHAR));
        void* const memory = ExAllocatePoolWithTag(PagedPool, room, text_tag);
        if (memory == nullptr) return STATUS_NO_MEMORY;
        *UnicodeString = {0, room, static_cast<PWSTR>(memory)};
    }
    if (length > UnicodeString->MaximumLength) return STATUS_BUFFER_OVERFLOW;
    memcpy(UnicodeString->Buffer, text.data(), length);
    UnicodeString->Length = length;
    if (length < UnicodeString->MaximumLength) UnicodeString->Buffer[text.size()] = 0;
    return STATUS_SUCCESS;
}

} // extern "C"

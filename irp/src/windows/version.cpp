// The version of the interface: Windows 10.0, as of its release of May 2020.
#include "standard.hpp"

#include <windows/wdk/rtl.h>
#include <windows/wdk/status_codes.h>

namespace {

constexpr ULONG major = 10;
constexpr ULONG minor = 0;
constexpr ULONG build = 19041;
constexpr ULONG platform_nt = 2; // VER_PLATFORM_WIN32_NT

constexpr unsigned bits_of_condition = 3;
constexpr ULONG suite_all = 6; // VER_AND
constexpr ULONG suite_any = 7; // VER_OR

// Parts of an NTDDI value: the version, and the service pack.
constexpr ULONG mask_of_version = 0xffff0000;
constexpr ULONG mask_of_service_pack = 0x0000ff00;
constexpr ULONG ntddi_version = 0x0a000000;

ULONG condition_of(ULONGLONG mask, ULONG type) {
    const auto place = static_cast<unsigned>(std::countr_zero(type)) * bits_of_condition;
    return static_cast<ULONG>(mask >> place) & 7;
}

bool holds(ULONG condition, ULONG ours, ULONG wanted) {
    switch (condition) {
    case VER_EQUAL:
        return ours == wanted;
    case VER_GREATER:
        return ours > wanted;
    case VER_GREATER_EQUAL:
        return ours >= wanted;
    case VER_LESS:
        return ours < wanted;
    case VER_LESS_EQUAL:
        return ours <= wanted;
    default:
        return false;
    }
}

// No suite is installed.
bool suites_hold(ULONG condition, ULONG wanted) {
    return (condition == suite_all || condition == suite_any) && wanted == 0;
}

struct part {
    ULONG type;
    ULONG ours;
    ULONG wanted;
};

/* Versions are compared from the major number on: the first part that differs decides, by the
   condition of the first part that is asked for. */
bool versions_hold(const RTL_OSVERSIONINFOEXW& wanted, ULONG types, ULONGLONG conditions) {
    const std::array<part, 4> parts{{{VER_MAJORVERSION, major, wanted.dwMajorVersion},
                                     {VER_MINORVERSION, minor, wanted.dwMinorVersion},
                                     {VER_SERVICEPACKMAJOR, 0, wanted.wServicePackMajor},
                                     {VER_SERVICEPACKMINOR, 0, wanted.wServicePackMinor}}};
    bool equal = true;
    ULONG condition = 0;
    for (const part& each : parts) {
        if ((types & each.type) == 0) continue;
        if (condition == 0) condition = condition_of(conditions, each.type);
        equal = each.ours == each.wanted;
        if (!equal) return holds(condition, each.ours, each.wanted);
    }
    return condition == 0 || holds(condition, 0, 0);
}

} // namespace

extern "C" {

NTSTATUS RtlGetVersion(PRTL_OSVERSIONINFOW VersionInformation) {
    VersionInformation->dwMajorVersion = major;
    VersionInformation->dwMinorVersion = minor;
    VersionInformation->dwBuildNumber = build;
    VersionInformation->dwPlatformId = platform_nt;
    VersionInformation->szCSDVersion[0] = 0;
    if (VersionInformation->dwOSVersionInfoSize < sizeof(RTL_OSVERSIONINFOEXW))
        return STATUS_SUCCESS;
    auto* const extended = reinterpret_cast<RTL_OSVERSIONINFOEXW*>(VersionInformation);
    extended->wServicePackMajor = extended->wServicePackMinor = 0;
    extended->wSuiteMask = 0;
    extended->wProductType = VER_NT_WORKSTATION;
    extended->wReserved = 0;
    return STATUS_SUCCESS;
}

BOOLEAN PsGetVersion(PULONG MajorVersion, PULONG MinorVersion, PULONG BuildNumber,
                     PUNICODE_STRING CSDVersion) {
    if (MajorVersion != nullptr) *MajorVersion = major;
    if (MinorVersion != nullptr) *MinorVersion = minor;
    if (BuildNumber != nullptr) *BuildNumber = build;
    if (CSDVersion != nullptr) *CSDVersion = {};
    return FALSE; // a free build
}

ULONGLONG VerSetConditionMask(ULONGLONG ConditionMask, ULONG TypeMask, UCHAR Condition) {
    for (ULONG rest = TypeMask; rest != 0; rest &= rest - 1) {
        const auto place = static_cast<unsigned>(std::countr_zero(rest)) * bits_of_condition;
        ConditionMask |= ULONGLONG{Condition} << place;
    }
    return ConditionMask;
}

NTSTATUS RtlVerifyVersionInfo(PRTL_OSVERSIONINFOEXW VersionInfo, ULONG TypeMask,
                              ULONGLONG ConditionMask) {
    if (TypeMask == 0 || ConditionMask == 0) return STATUS_INVALID_PARAMETER;
    const std::array<part, 3> parts{
        {{VER_BUILDNUMBER, build, VersionInfo->dwBuildNumber},
         {VER_PLATFORMID, platform_nt, VersionInfo->dwPlatformId},
         {VER_PRODUCT_TYPE, VER_NT_WORKSTATION, VersionInfo->wProductType}}};
    for (const part& each : parts)
        if ((TypeMask & each.type) != 0 &&
            !holds(condition_of(ConditionMask, each.type), each.ours, each.wanted))
            return STATUS_REVISION_MISMATCH;
    if ((TypeMask & VER_SUITENAME) != 0 &&
        !suites_hold(condition_of(ConditionMask, VER_SUITENAME), VersionInfo->wSuiteMask))
        return STATUS_REVISION_MISMATCH;
    return versions_hold(*VersionInfo, TypeMask, ConditionMask) ? STATUS_SUCCESS
                                                                : STATUS_REVISION_MISMATCH;
}

BOOLEAN RtlIsNtDdiVersionAvailable(ULONG Version) {
    return (Version & ~mask_of_version) == 0 && Version <= ntddi_version;
}

BOOLEAN RtlIsServicePackVersionInstalled(ULONG Version) {
    return (Version & mask_of_version) == ntddi_version && (Version & mask_of_service_pack) == 0;
}

} // extern "C"

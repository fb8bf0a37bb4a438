// The parts of a security descriptor of either form.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_SECURITY_DESCRIPTORS_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_SECURITY_DESCRIPTORS_HPP

#include <windows/wdk/security.h>

namespace irpverbs::windows {

struct descriptor_parts {
    PSID owner;
    PSID group;
    PACL audited;   // SACL
    PACL permitted; // DACL
};
descriptor_parts parts_of(PSECURITY_DESCRIPTOR descriptor);

/// Both forms begin alike.
inline SECURITY_DESCRIPTOR_CONTROL& control_of(PSECURITY_DESCRIPTOR descriptor) {
    return static_cast<SECURITY_DESCRIPTOR_RELATIVE*>(descriptor)->Control;
}
inline UCHAR revision_of(PSECURITY_DESCRIPTOR descriptor) {
    return static_cast<SECURITY_DESCRIPTOR_RELATIVE*>(descriptor)->Revision;
}

} // namespace irpverbs::windows

#endif

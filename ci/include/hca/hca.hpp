/// The registry of HCAs in C++.
#pragma once

#include <hca/hca.h>

#include <string>
#include <vector>

namespace irpverbs::hca {

/// Keeps the HCAs of a URI attached during its lifetime. IRQL: PASSIVE_LEVEL.
class NT_API attachment {
public:
    /// Throws dispatch::status_error with the message of HcaAttachEx.
    explicit attachment(std::string uri);
    /// Waits for the ends of objects whose C++ handles were destroyed, as HcaDetach does. While one
    /// of its HCAs is open, the URI stays attached, until the machine ends.
    ~attachment();
    attachment(attachment&& other) noexcept;
    attachment& operator=(attachment&&) = delete;

    const std::string& uri() const noexcept { return uri_; }

private:
    std::string uri_; // empty: nothing is attached
};

/// The node GUIDs of all HCAs, in the order of attaching. IRQL: <= DISPATCH_LEVEL.
NT_API std::vector<ib_guid_t> guids();

/// Throws dispatch::status_error(STATUS_OBJECT_NAME_NOT_FOUND). IRQL: <= DISPATCH_LEVEL.
NT_API std::string name(ib_guid_t guid);

} // namespace irpverbs::hca

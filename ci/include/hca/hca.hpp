/// The registry of HCAs in C++.
#pragma once

#include <hca/hca.h>

#include <string>
#include <vector>

namespace irpverbs::hca {

/// What a URI names, attached for the life of this. IRQL: PASSIVE_LEVEL.
class NT_API attachment {
public:
    /// Throws dispatch::status_error, whose text is HcaAttachTelling's.
    explicit attachment(std::string uri);
    /// One of its HCAs still open: it stays attached until the machine ends.
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

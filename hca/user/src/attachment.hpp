// The HCAs of one "user:SOCKET".
#pragma once

#include "adapter.hpp"

#include <memory>
#include <vector>

namespace irpverbs::hca_user {

/// Lists the HCAs that an attachment of the location would have. A failure has the reason in
/// `problem`. IRQL: PASSIVE_LEVEL.
NTSTATUS list_location(const std::string& location, std::vector<ci::wire::hca>& served,
                       std::string& problem);

class attachment {
public:
    /// `location`: the text behind the scheme. Null: `status` and `problem` have the reason.
    static std::unique_ptr<attachment> make(const std::string& location, NTSTATUS& status,
                                            std::string& problem);

    ULONG count() const { return static_cast<ULONG>(adapters_.size()); }
    /// STATUS_SUCCESS: no adapter can be opened from now on. STATUS_DEVICE_BUSY: nothing has
    /// changed.
    NTSTATUS refuse_opens();

private:
    std::vector<std::unique_ptr<adapter>> adapters_;
};

} // namespace irpverbs::hca_user

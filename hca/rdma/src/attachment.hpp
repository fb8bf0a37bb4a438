// The HCAs of one "rdma:" or "rdma:NAME".
#pragma once

#include "os_interface.hpp"

#include <ci/driver.h>

#include <vector>

namespace irpverbs::hca_rdma {

class adapter;

class attachment {
public:
    /// Makes the adapter of that name, or all adapters if the name is empty. Null: `status` and
    /// `problem` have the reason.
    static std::unique_ptr<attachment> make(const os_interface& os, const std::string& name,
                                            NTSTATUS& status, std::string& problem);
    ~attachment();
    attachment(const attachment&) = delete;
    attachment& operator=(const attachment&) = delete;

    ULONG count() const { return static_cast<ULONG>(adapters_.size()); }
    /// STATUS_SUCCESS: no adapter can be opened from now on. STATUS_DEVICE_BUSY: nothing has
    /// changed.
    NTSTATUS refuse_opens();

private:
    attachment();
    NTSTATUS add(const os_interface& os, const std::string& name, std::string& problem);

    std::vector<std::unique_ptr<adapter>> adapters_;
};

} // namespace irpverbs::hca_rdma

// What "rdma:" or "rdma:NAME" stands for.
#pragma once

#include "outside.hpp"

#include <ci/driver.h>

#include <vector>

namespace irpverbs::hca_rdma {

class adapter;

class attachment {
public:
    /// The adapter of that name, or with no name every one. Null: `status` and `problem` say why.
    static std::unique_ptr<attachment> make(const outside& world, const std::string& name,
                                            NTSTATUS& status, std::string& problem);
    ~attachment();
    attachment(const attachment&) = delete;
    attachment& operator=(const attachment&) = delete;

    ULONG count() const { return static_cast<ULONG>(adapters_.size()); }
    /// STATUS_DEVICE_BUSY, and nothing changed; or none can be opened any more.
    NTSTATUS refuse_opens();

private:
    attachment();
    NTSTATUS add(const outside& world, const std::string& name, std::string& problem);

    std::vector<std::unique_ptr<adapter>> adapters_;
};

} // namespace irpverbs::hca_rdma

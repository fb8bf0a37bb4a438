// The attributes of a port, as CiQueryPort gives them back.
#pragma once

#include "fabric.hpp"

namespace irpverbs::hca_software {

IB_PORT_ATTR attributes_of(const port& from);
HCA_PORT_TABLES tables_of(const port& from);

/// A port's block of attributes, kept until the fabric changes.
class kept_attributes {
public:
    explicit kept_attributes(const port& its_port) : port_(its_port) {}

    /// Under the fabric's lock; `changes`: how often it has changed so far, never 0. `irp`: a
    /// query, whose Information is overwritten.
    const IB_PORT_ATTR& get(ULONGLONG changes, IRP* irp) {
        if (made_after_ != changes) make(changes, irp);
        return block_.attr;
    }

private:
    void make(ULONGLONG changes, IRP* irp);

    const port& port_;
    ULONGLONG made_after_ = 0;
    struct {
        IB_PORT_ATTR attr;
        ib_gid_t gids[port::most_gids];
        ib_pkey_t pkeys[port::most_pkeys];
    } block_{};
};

} // namespace irpverbs::hca_software

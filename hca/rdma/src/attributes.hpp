// Attributes of a channel adapter and its ports.
#pragma once

#include "os_interface.hpp"

#include <ci/driver.h>

#include <iterator>
#include <vector>

namespace irpverbs::hca_rdma {

/// libibumad's data of a channel adapter at one moment.
class ca_snapshot {
public:
    ca_snapshot(const os_interface& os, const std::string& name)
        : os_(os), error_(-os.get_ca(name.c_str(), &ca_)) {}
    ~ca_snapshot() {
        if (error_ == 0) os_.release_ca(&ca_);
    }
    ca_snapshot(const ca_snapshot&) = delete;
    ca_snapshot& operator=(const ca_snapshot&) = delete;

    /// An errno; 0: the data are valid.
    int error() const { return error_; }
    /// True if the adapter has been removed.
    bool gone() const { return error_ == ENOENT || error_ == ENODEV; }
    const umad_ca_t& operator*() const { return ca_; }
    const umad_ca_t* operator->() const { return &ca_; }
    /// The number of ports from 1 on. libibumad returns the highest port number, and null for the
    /// ports that sysfs does not list; ports behind such a gap do not count.
    unsigned port_count() const {
        unsigned count = 0;
        while (count + 1 < std::size(ca_.ports) && ca_.ports[count + 1] != nullptr)
            ++count;
        return count;
    }
    const umad_port_t& port(unsigned number) const { return *ca_.ports[number]; }

private:
    const os_interface& os_;
    umad_ca_t ca_{};
    int error_;
};

/// A port's attributes and tables.
struct port_attributes {
    IB_PORT_ATTR fixed{};
    std::vector<ib_gid_t> gids;
    std::vector<ib_pkey_t> pkeys;

    HCA_PORT_TABLES tables() const { return {gids.data(), pkeys.data()}; }
};

port_attributes attributes_of(const os_interface& os, const umad_port_t& port);
IB_CA_ATTR attributes_of(const umad_ca_t& ca);

/// "/sys/class/infiniband/NAME/"
std::string folder_of(const std::string& ca_name);
/// True for iWARP. libibumad would print an error about it on standard error.
bool is_rnic(const os_interface& os, const std::string& ca_name);
/// Reads the node description, which is in sysfs only.
void read_description(const os_interface& os, const std::string& ca_name, IB_CA_ATTR& attr);

bool is_infiniband(const umad_port_t& port);
std::vector<ib_pkey_t> pkeys_of(const umad_port_t& port);

} // namespace irpverbs::hca_rdma

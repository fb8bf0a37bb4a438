// The attributes of a port, and addresses that depend on them.
#ifndef IRPVERBS_IBMF_ENGINE_PORT_ATTRIBUTES_HPP
#define IRPVERBS_IBMF_ENGINE_PORT_ATTRIBUTES_HPP

#include <ci/ci.h>
#include <ibmf/ibmf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace irpverbs::ibmf {

class port_attributes {
public:
    void set(const IB_PORT_ATTR& attr);
    void set_state(UCHAR state) { state_ = state; }

    /// True if the port can send datagrams of a class.
    bool can_send(std::uint8_t mgmt_class) const;
    bool has_mad_qps() const { return has_mad_qps_; }
    /// The maximum content of a datagram, in bytes.
    std::size_t mtu() const { return std::size_t{128} << mtu_; }
    /// Nothing: the port does not have that P_Key.
    std::optional<IB_MAD_ADDRESS> address_to(const ibmf_msg_t& message,
                                             std::uint8_t mgmt_class) const;
    /// Writes the address for a response to the sender; the global route stays as received.
    void fill_from(ibmf_msg_t& message, const IB_MAD_ADDRESS& from, std::uint8_t mgmt_class) const;
    /// Full and limited membership of a partition match; an exact match is preferred.
    std::optional<USHORT> index_of(ib_pkey_t key) const;

private:
    std::optional<UCHAR> index_of(const ib_gid_t& gid) const;
    void route(IB_MAD_ADDRESS& address, const ibmf_global_addr_info_t& global) const;

    UCHAR state_ = IB_PORT_DOWN;
    UCHAR lmc_ = 0;
    UCHAR mtu_ = IB_MTU_256;
    bool has_mad_qps_ = false;
    ib_lid_t lid_ = 0;
    std::vector<ib_pkey_t> keys_;
    std::vector<ib_gid_t> gids_;
};

} // namespace irpverbs::ibmf

#endif

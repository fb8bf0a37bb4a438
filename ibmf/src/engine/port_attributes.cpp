#include <engine/port_attributes.hpp>

#include <engine/class_mapping.hpp>

#include <algorithm>
#include <climits>

namespace irpverbs::ibmf {

namespace {

constexpr ib_pkey_t partition_bits = 0x7FFF;
constexpr UCHAR max_lmc = 7;

} // namespace

void port_attributes::set(const IB_PORT_ATTR& attr) {
    state_ = attr.State;
    lmc_ = std::min(attr.Lmc, max_lmc); // a driver's numbers are no shift counts
    lid_ = attr.Lid;
    mtu_ = std::min<UCHAR>(attr.ActiveMtu, IB_MTU_4096);
    has_mad_qps_ = (attr.Flags & IB_PORT_MAD_QPS) != 0;
    keys_.clear();
    for (ULONG i = 0; i < attr.PKeyCount; ++i)
        keys_.push_back(IbPortPKey(&attr, i));
    gids_.assign(IbPortGid(&attr, 0), IbPortGid(&attr, 0) + attr.GidCount);
}

// SMPs configure the port, so they need no active one; a directed route of no hops does not leave
// the port.
bool port_attributes::can_send(std::uint8_t mgmt_class) const {
    return is_smp(mgmt_class) || state_ == IB_PORT_ACTIVE;
}

std::optional<USHORT> port_attributes::index_of(ib_pkey_t key) const {
    if ((key & partition_bits) == 0) return std::nullopt;
    const auto index = [&](auto slot) { return static_cast<USHORT>(slot - keys_.begin()); };
    const auto exact = std::ranges::find(keys_, key);
    if (exact != keys_.end()) return index(exact);
    const auto same = std::ranges::find_if(
        keys_, [&](ib_pkey_t each) { return ((each ^ key) & partition_bits) == 0; });
    if (same != keys_.end()) return index(same);
    return std::nullopt;
}

std::optional<IB_MAD_ADDRESS> port_attributes::address_to(const ibmf_msg_t& message,
                                                          std::uint8_t mgmt_class) const {
    const ibmf_addr_info_t& local = message.im_local_addr;
    IB_MAD_ADDRESS address{};
    address.Lid = local.ia_remote_lid;
    address.ServiceLevel = local.ia_service_level;
    address.PathBits = static_cast<UCHAR>((local.ia_local_lid - lid_) & ((1u << lmc_) - 1));
    if (is_smp(mgmt_class)) return address; // QP0: no keys and no global route
    const std::optional<USHORT> key = index_of(local.ia_p_key);
    if (!key) return std::nullopt;
    address.PKeyIndex = *key;
    address.Qp = local.ia_remote_qno;
    address.QKey = local.ia_q_key;
    if ((message.im_msg_flags & IBMF_MSG_FLAGS_GLOBAL_ADDRESS) == 0) return address;
    route(address, message.im_global_addr);
    return address;
}

// The empty entries of the table are 0. An address has no room for an index above 255, so the GIDs
// behind it are no sources.
std::optional<UCHAR> port_attributes::index_of(const ib_gid_t& gid) const {
    if (gid.gid_guid == 0) return std::nullopt;
    const auto own = std::ranges::find(gids_, gid);
    const auto index = static_cast<std::size_t>(own - gids_.begin());
    if (own == gids_.end() || index > UCHAR_MAX) return std::nullopt;
    return static_cast<UCHAR>(index);
}

// The port's own GID of the two is the source, so the route of a received message leads back to its
// sender.
void port_attributes::route(IB_MAD_ADDRESS& address, const ibmf_global_addr_info_t& global) const {
    std::optional<UCHAR> own = index_of(global.ig_sender_gid);
    const bool received = !own && global.ig_sender_gid.gid_guid != 0;
    const auto own_receiver = received ? index_of(global.ig_recver_gid) : std::nullopt;
    if (own_receiver) own = own_receiver;
    address.Flags = IB_MAD_GRH;
    address.Gid = own_receiver ? global.ig_sender_gid : global.ig_recver_gid;
    address.GidIndex = own.value_or(0);
    address.FlowLabel = global.ig_flow_label;
    address.HopLimit = global.ig_hop_limit;
    address.TrafficClass = global.ig_tclass;
}

void port_attributes::fill_from(ibmf_msg_t& message, const IB_MAD_ADDRESS& from,
                                std::uint8_t mgmt_class) const {
    ibmf_addr_info_t& local = message.im_local_addr;
    local.ia_local_lid = static_cast<ib_lid_t>(lid_ + from.PathBits);
    local.ia_remote_lid = from.Lid;
    local.ia_remote_qno = from.Qp;
    local.ia_service_level = from.ServiceLevel & 0xF;
    if (is_smp(mgmt_class)) return;
    local.ia_q_key = from.QKey != 0 ? from.QKey : IB_QP1_QKEY;
    local.ia_p_key =
        from.PKeyIndex < keys_.size() ? keys_[from.PKeyIndex] : IB_PKEY_DEFAULT_LIMITED;
    if ((from.Flags & IB_MAD_GRH) == 0) return;
    message.im_msg_flags |= IBMF_MSG_FLAGS_GLOBAL_ADDRESS;
    ibmf_global_addr_info_t& global = message.im_global_addr;
    global.ig_sender_gid = from.Gid;
    if (from.GidIndex < gids_.size()) global.ig_recver_gid = gids_[from.GidIndex];
    global.ig_flow_label = from.FlowLabel;
    global.ig_hop_limit = from.HopLimit;
    global.ig_tclass = from.TrafficClass;
}

} // namespace irpverbs::ibmf

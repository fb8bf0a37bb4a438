#include "address.hpp"

#include <cstring>
#include <endian.h>

namespace irpverbs::umad {

IB_MAD_ADDRESS address_of(const ib_mad_addr_t& from) {
    IB_MAD_ADDRESS to{};
    to.Lid = be16toh(from.lid);
    to.ServiceLevel = from.sl;
    to.PathBits = from.path_bits;
    to.PKeyIndex = from.pkey_index;
    to.Qp = be32toh(from.qpn);
    to.QKey = be32toh(from.qkey);
    if (from.grh_present == 0) return to;
    to.Flags = IB_MAD_GRH;
    to.Gid = {be64toh(from.ib_gid.global.subnet_prefix), be64toh(from.ib_gid.global.interface_id)};
    to.FlowLabel = be32toh(from.flow_label);
    to.GidIndex = from.gid_index;
    to.HopLimit = from.hop_limit;
    to.TrafficClass = from.traffic_class;
    return to;
}

ib_mad_addr_t address_of(const IB_MAD_ADDRESS& from) {
    ib_mad_addr_t to;
    std::memset(&to, 0, sizeof to);
    to.lid = htobe16(from.Lid);
    to.sl = from.ServiceLevel;
    to.path_bits = from.PathBits;
    to.pkey_index = from.PKeyIndex;
    to.qpn = htobe32(from.Qp);
    to.qkey = htobe32(from.QKey);
    if ((from.Flags & IB_MAD_GRH) == 0) return to;
    to.grh_present = 1;
    to.ib_gid.global.subnet_prefix = htobe64(from.Gid.gid_prefix);
    to.ib_gid.global.interface_id = htobe64(from.Gid.gid_guid);
    to.flow_label = htobe32(from.FlowLabel);
    to.gid_index = from.GidIndex;
    to.hop_limit = from.HopLimit;
    to.traffic_class = from.TrafficClass;
    return to;
}

} // namespace irpverbs::umad

#include "datagrams.hpp"

#include <cstring>

namespace irpverbs::conformance {

namespace {
constexpr UCHAR vendor_class = 0x0A;
constexpr UCHAR method_send = 3;
constexpr std::size_t method_offset = 3;
constexpr std::size_t number_offset = 64; // in the data

IB_MAD_ADDRESS address_of(const IB_PORT_ATTR& port) {
    IB_MAD_ADDRESS to{};
    to.Lid = port.Lid;
    to.Qp = 1;
    to.QKey = IB_QP1_QKEY;
    if (port.LinkLayer != IB_LINK_LAYER_ETHERNET || port.GidCount == 0) return to;
    to.Flags = IB_MAD_GRH;
    to.Gid = *IbPortGid(&port, 0);
    to.HopLimit = 1;
    return to;
}
} // namespace

IB_MAD_AGENT_ATTR agent_attr(bool receives, UCHAR port) {
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = port;
    attr.ManagementClass = vendor_class;
    attr.ClassVersion = 1;
    if (receives) attr.MethodMask[0] = 1u << method_send;
    return attr;
}

datagram::datagram(IB_CA* by, ULONG number) {
    data_[0] = 1; // base version
    data_[1] = vendor_class;
    data_[2] = 1; // class version
    data_[method_offset] = method_send;
    std::memcpy(&data_[number_offset], &number, sizeof(number));
    send_.To = address_of(whole_port(by).as<IB_PORT_ATTR>());
    send_.Data = data_.data();
    send_.Length = IB_MAD_SIZE;
}

void send(IB_CA* by, IB_MAD_AGENT* from, ULONG number) {
    const datagram made(by, number);
    must(send_mad(from, made.get()));
}

ULONG reception::number() {
    EXPECT_STATUS(call.status(), STATUS_SUCCESS);
    ULONG number = 0;
    std::memcpy(&number, &data[number_offset], sizeof(number));
    return number;
}

} // namespace irpverbs::conformance

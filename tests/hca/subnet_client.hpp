// SMPs as tests of a subnet manager send them.
#pragma once

#include "mad_client.hpp"

#include <initializer_list>

namespace irpverbs::testing {

inline constexpr UCHAR subnet_class = 0x01;
inline constexpr UCHAR directed_class = 0x81;

enum sm_attribute : USHORT {
    sm_notice = 0x02,
    sm_node_description = 0x10,
    sm_node_info = 0x11,
    sm_switch_info = 0x12,
    sm_guid_info = 0x14,
    sm_port_info = 0x15,
    sm_pkey_table = 0x16,
    sm_sl_to_vl = 0x17,
    sm_vl_arbitration = 0x18,
    sm_linear_table = 0x19,
    sm_random_table = 0x1A,
    sm_multicast_table = 0x1B,
    sm_info = 0x20,
    sm_vendor_diagnostics = 0x30,
    sm_led_info = 0x31,
};

inline constexpr std::size_t smp_mkey = 24;
inline constexpr std::size_t smp_data = 64;

/// The output ports of a directed route in order.
using route = std::initializer_list<UCHAR>;

inline mad directed_smp(UCHAR method, USHORT attribute, ULONG modifier,
                        const std::vector<UCHAR>& way) {
    mad smp(directed_class, method, attribute, modifier);
    smp[7] = static_cast<UCHAR>(way.size());
    smp.put<2>(32, IB_LID_PERMISSIVE).put<2>(34, IB_LID_PERMISSIVE);
    std::copy(way.begin(), way.end(), smp.begin() + 129);
    return smp;
}

/// An agent of class 0x81 and its requests.
class subnet_client {
public:
    explicit subnet_client(IB_CA* ca) : directed_(ca, agent_of(directed_class)) {}

    std::uint64_t mkey = 0;

    mad get(route way, USHORT attribute, ULONG modifier = 0) {
        return ask(directed_smp(get_method, attribute, modifier, way));
    }
    mad set(route way, USHORT attribute, ULONG modifier, const mad& data) {
        mad smp = directed_smp(set_method, attribute, modifier, way);
        std::copy_n(data.begin() + smp_data, 64, smp.begin() + smp_data);
        return ask(smp);
    }
    mad ask(mad smp) {
        smp.put<8>(smp_mkey, mkey);
        return directed_.ask(to_subnet(), smp).data;
    }
    mad_client& agent() { return directed_; }

    /// Reads the attribute, applies `change(mad&)` and writes it.
    template <class Change>
    mad modify(route way, USHORT attribute, ULONG modifier, const Change& change) {
        mad now = get(way, attribute, modifier);
        now[smp_data + 32] &= 0xF0; // in PortInfo: no change of the state,
        now[smp_data + 33] &= 0x0F; // nor of the physical state
        change(now);
        return set(way, attribute, modifier, now);
    }
    void bring_up(route way, ULONG port) {
        for (const UCHAR state : {IB_PORT_ARMED, IB_PORT_ACTIVE}) {
            const mad done = modify(way, sm_port_info, port, [&](mad& info) {
                info[smp_data + 32] = static_cast<UCHAR>(info[smp_data + 32] | state);
            });
            EXPECT_EQ(done.status(), 0);
        }
    }

private:
    mad_client directed_;
};

} // namespace irpverbs::testing

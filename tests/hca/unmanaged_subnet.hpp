// A fabric without any configuration, and the directed routes that configure a subnet of it.
#pragma once

#include "subnet_client.hpp"

#include <support/both_machines.hpp>

namespace irpverbs::testing {

// host1[1]-[1]switch1[7]-[7]switch2[1]-[1]host3; switch2[5]-[2]host1
class unmanaged_subnet : public BothMachines {
protected:
    attached hcas{"software:?unmanaged"};
    open_hca one{hcas.fdo(0)};
    open_hca three{hcas.fdo(2)};
    subnet_client manager{one};

    static constexpr ib_guid_t first_switch = 0x0200000000000000 + (5 << 8);
    static constexpr ib_guid_t second_switch = 0x0200000000000000 + (6 << 8);
    static constexpr route itself{};
    static constexpr route switch1{1};
    static constexpr route switch2{1, 7};
    static constexpr route host3{1, 7, 1};
    static constexpr route host1_again{1, 7, 5};

    // Configures as much as datagrams between host1 and host3 need; LIDs 1 and 3, and 11 and 12 of
    // the switches.
    void configure() {
        const auto lids = [&](route way, ULONG port, ib_lid_t lid) {
            EXPECT_EQ(manager
                          .modify(way, sm_port_info, port,
                                  [&](mad& info) {
                                      info.put<2>(smp_data + 16, lid).put<2>(smp_data + 18, 1);
                                  })
                          .status(),
                      0);
        };
        lids(itself, 1, 1);
        lids(switch1, 0, 11);
        lids(switch2, 0, 12);
        lids(host3, 1, 3);
        route_of(switch1, {{1, 1}, {3, 7}, {11, 0}, {12, 7}});
        route_of(switch2, {{1, 7}, {3, 1}, {11, 7}, {12, 0}});
        manager.bring_up(host3, 1);
        manager.bring_up(switch2, 1);
        manager.bring_up(switch2, 7);
        manager.bring_up(switch1, 7);
        manager.bring_up(switch1, 1);
        manager.bring_up(itself, 1);
    }
    void route_of(route sw, std::initializer_list<std::pair<std::size_t, int>> ways) {
        mad table;
        std::fill_n(table.begin() + smp_data, 64, UCHAR{255});
        for (const auto& [lid, port] : ways)
            table[smp_data + lid] = static_cast<UCHAR>(port);
        EXPECT_EQ(manager.set(sw, sm_linear_table, 0, table).status(), 0);
        EXPECT_EQ(
            manager.modify(sw, sm_switch_info, 0, [](mad& info) { info.put<2>(smp_data + 6, 63); })
                .status(),
            0);
    }
};

} // namespace irpverbs::testing

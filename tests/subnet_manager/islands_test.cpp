// Parts of a fabric that no cable connects to the subnet manager's port.
#include "managed_fabric.hpp"

#include <saa/ibmf_saa.h>
#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

// H1 and the first port of H2 are at S1; the second port of H2 and H3 are back to back; H4 and H5
// are at S2.
constexpr char topology[] = R"(Hca 1 "H1"
[1] "S1"[1]

Hca 2 "H2"
[1] "S1"[2]
[2] "H3"[1]

Hca 1 "H3"
[1] "H2"[2]

Switch 4 "S1"
[1] "H1"[1]
[2] "H2"[1]

Hca 1 "H4"
[1] "S2"[1]

Hca 1 "H5"
[1] "S2"[2]

Switch 4 "S2"
[1] "H4"[1]
[2] "H5"[1]
)";

class Islands : public BothMachines {
protected:
    IB_PORT_ATTR port(std::size_t hca, std::uint8_t number = 1) const {
        return *port_block(open_hca(hcas.fdo(hca)), number);
    }
    int session_at(std::size_t hca) const {
        ibmf_saa_handle_t session = nullptr;
        const int code =
            ibmf_sa_session_open(port(hca).PortGuid, 0, nullptr, IBMF_VERSION, 0, &session);
        if (code == IBMF_SUCCESS) {
            EXPECT_EQ(ibmf_sa_session_close(&session, 0), IBMF_SUCCESS);
        }
        return code;
    }
    void expect_untouched(const IB_PORT_ATTR& is) const {
        EXPECT_EQ(is.State, IB_PORT_INIT);
        EXPECT_EQ(is.Lid, 0);
        EXPECT_EQ(is.SmLid, 0);
    }

    topology_file file{topology};
    attached hcas{file.uri()};
    running_manager manager{{.hca = hcas.guid(0)}};
    NTSTATUS up = manager.wait_until_up();
};

TEST_P(Islands, PortThatNoSubnetManagerReaches_StaysInInit) {
    expect_untouched(port(1, 2));
    for (const std::size_t hca : {2u, 3u, 4u}) {
        expect_untouched(port(hca));
        EXPECT_EQ(session_at(hca), IBMF_BAD_PORT_STATE);
    }
    for (const std::size_t hca : {0u, 1u}) {
        EXPECT_EQ(port(hca).State, IB_PORT_ACTIVE);
        EXPECT_EQ(port(hca).SmLid, port(0).Lid);
        EXPECT_EQ(session_at(hca), IBMF_SUCCESS);
    }
}

TEST_P(Islands, CableOfAnIslandThatComesBack_LeavesItsPortsInInit) {
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(3), 1, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(3), 1, TRUE), STATUS_SUCCESS);
    expect_untouched(port(3));
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(1), 1, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(1), 1, TRUE), STATUS_SUCCESS);
    EXPECT_TRUE(eventually([&] { return port(1).State == IB_PORT_ACTIVE; }));
}

IRPVERBS_ON_BOTH_MACHINES(Islands);

} // namespace

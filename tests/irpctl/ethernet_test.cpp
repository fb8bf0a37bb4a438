// irpctl on a port of Ethernet: connections to IP addresses.
#include "../hca/roce/loopback_address.hpp"
#include "program.hpp"

#include <gmock/gmock.h>

namespace {

using namespace irpverbs::testing;
using ::testing::HasSubstr;

class IrpctlOnEthernet : public ::testing::Test {
protected:
    ended connect(std::vector<std::string> more) const {
        std::vector<std::string> words{"--hca", address.uri(), "cm", "connect"};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    }

    const loopback_address address{1};
};

TEST_F(IrpctlOnEthernet, Connection_ShowsTheAddressOfThePeer) {
    for (const char* service : {"0x1000000000000c3d", "0x1061d2f"}) {
        const ended how = connect({"--service", service});
        EXPECT_EQ(how.status, 0) << how.err;
        EXPECT_THAT(how.out, HasSubstr(" connected to " + address.text() + ": service "));
        EXPECT_THAT(how.out, HasSubstr(" accepted " + address.text() + ": service "));
        EXPECT_THAT(how.out, HasSubstr(", \"hello\"\n"));
    }
}

TEST_F(IrpctlOnEthernet, AddressWithoutListener_RejectsTheRequest) {
    const ended how = connect({"--to", address.text()});
    EXPECT_EQ(how.status, 1);
    EXPECT_THAT(how.err, HasSubstr("the peer rejected the request: it has no such service"));
}

TEST_F(IrpctlOnEthernet, AddressOfAnotherKind_IsUnreachable) {
    const ended how = connect({"--to", "fd78::1"});
    EXPECT_EQ(how.status, 1);
    EXPECT_THAT(how.err, HasSubstr("The remote node can't be reached."));
}

TEST_F(IrpctlOnEthernet, TextBehindAddresses_IsShorter) {
    const ended how = connect({"--service", "0x1061d2f", "--text", std::string(57, 'x')});
    EXPECT_EQ(how.status, 2);
    EXPECT_THAT(how.err, HasSubstr("--text: at most 56 bytes"));
}

} // namespace

// Buffers of users, at addresses that no user has.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <cstdint>

namespace {

using namespace irpverbs::testing;

class UserBuffers : public BothMachines {};

// The end of the buffer, or of its last page, is an address that wraps around to 0.
TEST_P(UserBuffers, OutputInHighestPage_ReturnsAccessViolation) {
    constexpr std::uintptr_t highest_page = UINTPTR_MAX - 4095;
    fake_hca hca;
    int queries = 0;
    hca.on_query = [&](IRP*) {
        ++queries;
        return STATUS_SUCCESS;
    };
    IB_CA* ca = open_ca(hca.fdo);
    for (const SIZE_T size : {SIZE_T{512}, SIZE_T{4095}, SIZE_T{4096}, SIZE_T{8192}}) {
        verb_call query([&](IRP* irp) {
            irp->RequestorMode = UserMode;
            return CiQueryPort(ca, 1, size, reinterpret_cast<IB_PORT_ATTR*>(highest_page), irp);
        });
        EXPECT_STREQ(name_of(query.status()), "STATUS_ACCESS_VIOLATION") << size;
    }
    EXPECT_EQ(queries, 0);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(UserBuffers);

} // namespace

// "user:SOCKET?checked": a page that is unmapped while it is lent fails the work request, also
// where small messages have arrived before.
#include "../unmapped_transfers.hpp"
#include "child_program.hpp"
#include "client.hpp"

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

void expect_all_errors() {
    DEVICE_OBJECT* const hca = first_hca();
    expect_local_errors(hca, hca);
    expect_remote_errors(hca, hca);
    expect_receive_errors(hca, hca);
}

TEST(UserCheckedMemory, DaemonOnAnotherMachine_EachUseFails) {
    const test_daemon serving;
    const client here(serving.uri() + "?checked");
    expect_all_errors();
}

TEST(UserCheckedMemory, DaemonInAnotherProcess_EachUseFails) {
    const private_directory directory;
    const std::string socket = directory.file("socket");
    child_program daemon({SERVED_DAEMON, socket});
    daemon.start();
    ASSERT_EQ(daemon.read_line(), "listens");
    {
        const client here("user:" + socket + "?checked?static");
        expect_all_errors();
    }
    daemon.send_signal(SIGKILL);
    daemon.wait();
}

} // namespace

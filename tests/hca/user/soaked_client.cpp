// soaked_client URI LID QPN ADDRESS KEY: a client that transfers without end from its first byte of
// input on. Later bytes are commands: f: it forks a child, which sleeps until it is killed, and
// prints its number; x: it begins anew by execve(2); c: it destroys its objects and ends.
#include "client_program.hpp"

#include <poll.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

char next_command() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char command = 0;
    if (poll(&input, 1, 0) == 1 && read(STDIN_FILENO, &command, 1) != 1) std::exit(7);
    return command;
}

void fork_child() {
    const pid_t child = fork();
    if (child == 0) alarm(600); // a test that crashes does not kill it
    while (child == 0)
        pause();
    std::printf("%d\n", static_cast<int>(child));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    begin_machine();
    if (!NT_SUCCESS(HcaAttach(argv[1], nullptr))) return 2;
    const client_end own(end_point_of(argv + 2));
    own.connect();
    own.meet();
    constexpr std::array<ib_wr_type_t, 3> kinds{WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD};
    for (char command = 0; command != 'c'; command = next_command()) {
        if (command == 'f') fork_child();
        if (command == 'x') execv(argv[0], argv);
        own.post(kinds);
        own.await(kinds.size());
    }
    own.destroy();
    if (!NT_SUCCESS(HcaDetach(argv[1]))) return 8;
    std::_Exit(0);
}

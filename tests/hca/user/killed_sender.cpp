// killed_sender URI MICROSECONDS LID QPN ADDRESS KEY: a client that connects to a queue pair, and
// writes, reads and adds in its region without end. A timer kills it after so much processor time
// from its attach on. It prints the same four numbers of its own, and begins to transfer when it
// receives a byte.
#include "client_program.hpp"

#include <csignal>
#include <ctime>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

void kill_after(long microseconds) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    itimerspec when{};
    when.it_value.tv_sec = microseconds / 1'000'000;
    when.it_value.tv_nsec = microseconds % 1'000'000 * 1000 + 1;
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0 ||
        timer_settime(timer, 0, &when, nullptr) != 0)
        std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    begin_machine();
    if (!NT_SUCCESS(HcaAttach(argv[1], nullptr))) return 2;
    kill_after(std::atol(argv[2]));
    const client_end own(end_point_of(argv + 3));
    own.connect();
    own.meet();
    constexpr std::array<ib_wr_type_t, 3> kinds{WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD};
    for (;;) {
        own.post(kinds);
        own.await(kinds.size());
    }
}

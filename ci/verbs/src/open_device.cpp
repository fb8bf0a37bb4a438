#include "open_device.hpp"

#include "verb_call.hpp"

#include <fcntl.h>
#include <memory>
#include <new>
#include <unistd.h>

namespace irpverbs::verbs {

namespace {

void failed(IB_CA*, void* opened) {
    auto& self = *static_cast<open_device*>(opened);
    self.failure.add_to(self.events, IB_AE_LOCAL_FATAL);
}

void port_changed(IB_CA*, void* opened, UCHAR port, IB_ASYNC_EVENT event) {
    auto& self = *static_cast<open_device*>(opened);
    if (port != 0 && port <= self.ports.size()) self.ports[port - 1u].add_to(self.events, event);
}

outcome open_ca(DEVICE_OBJECT* fdo, open_device* opened, const IB_CA_DISPATCH* up_calls) {
    return call(CiOpenCa, fdo, static_cast<void*>(opened), up_calls,
                static_cast<CI_UDATA*>(nullptr));
}

outcome close_ca(IB_CA* ca) { return call(CiCloseCa, ca, static_cast<CI_UDATA*>(nullptr)); }

// Reads the limits, among them the number of ports: up-calls may come before CiOpenCa has
// completed, so that their receivers exist earlier.
int read_limits(open_device& made, DEVICE_OBJECT* fdo) {
    const outcome opened = open_ca(fdo, nullptr, nullptr);
    if (!opened) return opened.error();
    auto* ca = reinterpret_cast<IB_CA*>(opened.information);
    const outcome read = call(CiQueryCa, ca, sizeof(made.limits), &made.limits);
    close_ca(ca);
    return read || read.status == STATUS_BUFFER_OVERFLOW ? 0 : read.error();
}

void prepare_events(open_device& made) {
    made.failure.initialise(IB_AE_LOCAL_FATAL, made.shown());
    made.ports = std::vector<async_sources<7>>(made.limits.PortCount);
    for (std::size_t i = 0; i < made.ports.size(); ++i)
        made.ports[i].initialise(IB_AE_PORT_ACTIVE, reinterpret_cast<void*>(i + 1));
}

int open_descriptors(open_device& made) {
    if (!made.events.open()) return errno;
    made.shown()->async_fd = made.events.descriptor();
    made.shown()->cmd_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    return made.shown()->cmd_fd < 0 ? errno : 0;
}

// Returns an errno value.
int open(open_device& made, ibv_device* device) {
    DEVICE_OBJECT* fdo = of(device).fdo;
    made.shown()->device = device;
    made.shown()->num_comp_vectors = 1;
    pthread_mutex_init(&made.shown()->mutex, nullptr);
    fill_tables(made);
    if (const int error = open_descriptors(made); error != 0) return error;
    if (const int error = read_limits(made, fdo); error != 0) return error;
    prepare_events(made);
    constexpr IB_CA_DISPATCH up_calls{failed, port_changed};
    const outcome opened = open_ca(fdo, &made, &up_calls);
    if (opened) made.ca = reinterpret_cast<IB_CA*>(opened.information);
    return opened.error();
}

} // namespace

open_device::~open_device() {
    failure.remove_from(events);
    for (auto& each : ports)
        each.remove_from(events);
    if (shown()->cmd_fd >= 0) close(shown()->cmd_fd);
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_context* irpverbs_ibv_open_device(ibv_device* device) try {
    auto made = std::make_unique<open_device>();
    if (const int error = open(*made, device); error != 0) {
        errno = error;
        return nullptr;
    }
    return made.release()->shown();
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
}

int irpverbs_ibv_close_device(ibv_context* shown) {
    auto& closed = open_device::of(shown);
    const outcome done = close_ca(closed.ca);
    if (!done) return done.error();
    delete &closed;
    return 0;
}

} // extern "C"

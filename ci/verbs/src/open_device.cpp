#include "open_device.hpp"

#include "own_objects.hpp"
#include "verb_call.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace irpverbs::verbs {

namespace {

void failed(IB_CA*, void* opened) {
    auto& hca = *static_cast<opened_hca*>(opened);
    const dispatch::detail::spin_guard guard(hca.lock);
    hca.has_failed = true;
    for (open_device& each : hca.contexts) {
        each.failure.add_to(each.events, IB_AE_LOCAL_FATAL);
        each.events.end();
    }
    for (event_queue& each : hca.channels)
        each.end();
    if (hca.on_failure.function != nullptr) hca.on_failure.function(hca.on_failure.argument);
}

void port_changed(IB_CA*, void* opened, UCHAR port, IB_ASYNC_EVENT event) {
    auto& hca = *static_cast<opened_hca*>(opened);
    const dispatch::detail::spin_guard guard(hca.lock);
    for (open_device& each : hca.contexts)
        if (port != 0 && port <= each.ports.size())
            each.ports[port - 1u].add_to(each.events, event);
}

outcome open_ca(DEVICE_OBJECT* fdo, opened_hca* opened, const IB_CA_DISPATCH* up_calls) {
    return call(CiOpenCa, fdo, static_cast<void*>(opened), up_calls,
                static_cast<CI_UDATA*>(nullptr));
}

outcome close_ca(IB_CA* ca) { return call(CiCloseCa, ca, static_cast<CI_UDATA*>(nullptr)); }

// Reads the limits, among them the number of ports: up-calls may come before CiOpenCa has
// completed, so that their receivers exist earlier.
int read_limits(IB_CA_ATTR& limits, DEVICE_OBJECT* fdo) {
    const outcome opened = open_ca(fdo, nullptr, nullptr);
    if (!opened) return opened.error();
    auto* ca = reinterpret_cast<IB_CA*>(opened.information);
    const outcome read = call(CiQueryCa, ca, sizeof(limits), &limits);
    close_ca(ca);
    return read || read.status == STATUS_BUFFER_OVERFLOW ? 0 : read.error();
}

/// The contexts of the process, which are opened, imported and closed one at a time.
struct context_table {
    std::mutex lock;
    std::vector<open_device*> all; // guarded by lock
};

context_table& contexts() {
    static auto* const only = new context_table;
    return *only;
}

void join(opened_hca& hca, open_device& made) {
    contexts().all.push_back(&made);
    made.hca = &hca;
    const dispatch::detail::spin_guard guard(hca.lock);
    hca.contexts.push_back(made);
}

// Returns whether it was the last one.
bool leave(open_device& closed) {
    std::erase(contexts().all, &closed);
    const dispatch::detail::spin_guard guard(closed.hca->lock);
    closed.hca->contexts.erase(closed.hca->contexts.iterator_to(closed));
    return closed.hca->contexts.empty();
}

// Returns an errno value.
int prepare(open_device& made, ibv_device* device, const IB_CA_ATTR& limits) {
    ibv_context& shown = *made.shown();
    shown.device = device;
    shown.num_comp_vectors = 1;
    pthread_mutex_init(&shown.mutex, nullptr);
    fill_tables(made);
    made.failure.initialise(IB_AE_LOCAL_FATAL, &shown);
    made.ports = std::vector<async_sources<7>>(limits.PortCount);
    for (std::size_t i = 0; i < made.ports.size(); ++i)
        made.ports[i].initialise(IB_AE_PORT_ACTIVE, reinterpret_cast<void*>(i + 1));
    if (!made.events.open()) return errno;
    shown.async_fd = made.events.descriptor();
    return 0;
}

// The file is empty; its identity is the context's, also in a duplicate of the descriptor.
int open_identity(open_device& made) {
    made.shown()->cmd_fd = memfd_create("irpverbs", MFD_CLOEXEC);
    return made.shown()->cmd_fd < 0 ? errno : 0;
}

int open(std::unique_ptr<open_device>& made, ibv_device* device, DEVICE_OBJECT* fdo) {
    auto hca = std::make_unique<opened_hca>();
    if (const int error = read_limits(hca->limits, fdo); error != 0) return error;
    if (const int error = prepare(*made, device, hca->limits); error != 0) return error;
    if (const int error = open_identity(*made); error != 0) return error;
    join(*hca, *made);
    constexpr IB_CA_DISPATCH up_calls{failed, port_changed};
    const outcome opened = open_ca(fdo, hca.get(), &up_calls);
    if (opened)
        hca.release()->ca = reinterpret_cast<IB_CA*>(opened.information);
    else
        leave(*made);
    return opened.error();
}

bool is_identity(const open_device& of, const struct stat& file) {
    struct stat own {};
    const int descriptor = of.verbs_context::context.cmd_fd;
    return fstat(descriptor, &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino;
}

int import(std::unique_ptr<open_device>& made, int descriptor) {
    struct stat file {};
    if (fstat(descriptor, &file) != 0) return errno;
    const auto& all = contexts().all;
    const auto place = std::ranges::find_if(
        all, [&](const open_device* each) { return is_identity(*each, file); });
    if (place == all.end()) return EINVAL;
    open_device& origin = **place;
    const int error = prepare(*made, origin.shown()->device, origin.limits());
    if (error != 0) return error;
    join(*origin.hca, *made);
    made->shown()->cmd_fd = descriptor;
    return 0;
}

/// Makes a context: `fill(made)` returns an errno value.
template <class Fill>
ibv_context* make_context(const Fill& fill) try {
    const std::lock_guard guard(contexts().lock);
    auto made = std::make_unique<open_device>();
    if (const int error = fill(made); error != 0) {
        errno = error;
        return nullptr;
    }
    return made.release()->shown();
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
}

} // namespace

IB_CA* ca_of(ibv_context* of) noexcept { return open_device::of(of).ca(); }

void on_failure(ibv_context* of, void (*function)(void*), void* argument) noexcept {
    opened_hca& hca = *open_device::of(of).hca;
    const dispatch::detail::spin_guard guard(hca.lock);
    hca.on_failure = {function, argument};
    if (hca.has_failed) function(argument);
}

void opened_hca::add_channel(event_queue& events) {
    const dispatch::detail::spin_guard guard(lock);
    channels.push_back(events);
    if (has_failed) events.end();
}

void opened_hca::remove_channel(event_queue& events) {
    const dispatch::detail::spin_guard guard(lock);
    channels.erase(channels.iterator_to(events));
}

open_device::~open_device() {
    failure.remove_from(events);
    for (auto& each : ports)
        each.remove_from(events);
    if (shown()->cmd_fd >= 0) close(shown()->cmd_fd);
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_context* irpverbs_ibv_open_device(ibv_device* device) {
    DEVICE_OBJECT* const fdo = irpverbs::drop_in::fdo_of(*of(device).hca);
    if (fdo == nullptr) return nullptr;
    return make_context([&](auto& made) { return open(made, device, fdo); });
}

ibv_context* irpverbs_ibv_import_device(int descriptor) {
    return make_context([&](auto& made) { return import(made, descriptor); });
}

// The HCA is closed with the last of its contexts. Objects that are left end first, as the kernel
// ends them: perftest closes an HCA on which it has a queue. Their structures stay, which the
// program knows.
int irpverbs_ibv_close_device(ibv_context* shown) {
    auto& closed = open_device::of(shown);
    const std::lock_guard guard(contexts().lock);
    opened_hca& hca = *closed.hca;
    if (&hca.contexts.front() == &hca.contexts.back()) {
        try {
            destroy_objects_of(hca.ca);
        } catch (const std::bad_alloc&) {
            return ENOMEM;
        }
        const outcome done = close_ca(hca.ca);
        if (!done) return done.error();
    }
    if (leave(closed)) delete &hca;
    delete &closed;
    return 0;
}

} // extern "C"

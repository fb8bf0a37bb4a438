#include <umad/border.h>

#include "attributes.hpp"
#include "file_table.hpp"
#include "issm.hpp"

#include <dispatch/descriptor_watch.hpp>
#include <dispatch/machine.hpp>
#include <dispatch/status.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <sched.h>
#include <system_error>

namespace {

using namespace irpverbs;
using namespace irpverbs::umad;

// A turn is a system call that does not wait, some 0.3 us. A peer that is awake on another
// processor answers in some microseconds; to sleep and to be woken takes longer than that.
constexpr unsigned longest_look = 32;
constexpr unsigned turns_between_yields = 16;
constexpr unsigned most_calls = 64; // then the time is looked at, and the thread may be cancelled

/// Returns what `body` returns, a negative error number for an exception.
template <class Body>
auto without_exceptions(Body body) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    } catch (const dispatch::status_error& error) {
        return -drop_in::error_of(error.status());
    } catch (const std::system_error& error) {
        return -error.code().value();
    }
}

/// Calls `body` with the open port, which a child of a fork only has a copy of.
template <class Body>
auto with_file(int fd, Body body) noexcept -> decltype(body(std::declval<port_file&>())) {
    return without_exceptions([&]() -> decltype(body(std::declval<port_file&>())) {
        if (drop_in::is_forked_child()) return -EIO;
        const std::shared_ptr<port_file> file = find_file(fd);
        if (file == nullptr) return -EINVAL;
        return body(*file);
    });
}

} // namespace

extern "C" {

int irpverbs_umad_names(char names[][UMAD_CA_NAME_LEN], int max) {
    int count = 0;
    for (const drop_in::device& each : drop_in::devices())
        if (count < max) std::snprintf(names[count++], UMAD_CA_NAME_LEN, "%s", each.name.c_str());
    return count;
}

int irpverbs_umad_get_ca(const char* name, umad_ca_t* ca) {
    return without_exceptions([=] {
        const drop_in::device* const which = choose_device(name);
        if (which == nullptr) return name != nullptr ? -ENOENT : -ENODEV;
        return -read_ca(*which, *ca);
    });
}

int irpverbs_umad_get_port(const char* name, int port, umad_port_t* attr) {
    return without_exceptions([=] {
        port_choice chosen;
        if (const int error = choose_port(name, port, chosen); error != 0)
            return error == EINVAL ? -EIO : -error;
        umad_ca_t ca;
        if (const int error = read_ca(*chosen.device, ca); error != 0) return -error;
        *attr = *ca.ports[chosen.port];
        ca.ports[chosen.port]->pkeys = nullptr; // the caller's now
        free_ca(ca);
        return 0;
    });
}

int irpverbs_umad_issm_path(const char* name, int port, char* path, int max) {
    return without_exceptions([=] {
        port_choice chosen;
        if (const int error = choose_port(name, port, chosen); error != 0) return -error;
        std::snprintf(path, static_cast<std::size_t>(std::max(max, 0)), "%s",
                      issm_path(chosen).c_str());
        return 0;
    });
}

int irpverbs_umad_open(const char* name, int port) {
    return without_exceptions([=] {
        port_choice chosen;
        if (const int error = choose_port(name, port, chosen); error != 0) return -error;
        auto file =
            std::make_shared<port_file>(*chosen.device, static_cast<std::uint8_t>(chosen.port));
        const int descriptor = file->descriptor();
        add_file(std::move(file));
        return descriptor;
    });
}

int irpverbs_umad_close(int fd) {
    return without_exceptions([=] {
        if (drop_in::is_forked_child()) return -EIO;
        return take_file(fd) != nullptr ? 0 : -EINVAL;
    });
}

int irpverbs_umad_check(int fd) {
    return with_file(fd, [](port_file&) { return 0; });
}

int irpverbs_umad_register(int fd, const umad_reg_attr* wanted, std::uint32_t* id) {
    return with_file(fd, [=](port_file& file) {
        registration parsed;
        if (const int error = parse_registration(*wanted, parsed); error != 0) return -error;
        return -file.add_agent(parsed, *id);
    });
}

int irpverbs_umad_unregister(int fd, std::uint32_t id) {
    return with_file(fd, [=](port_file& file) { return -file.remove_agent(id); });
}

int irpverbs_umad_write(int fd, const void* message, std::size_t size) {
    return with_file(fd, [=](port_file& file) {
        return -file.write({static_cast<const std::uint8_t*>(message), size});
    });
}

long irpverbs_umad_read(int fd, void* buffer, std::size_t size) {
    return with_file(fd, [=](port_file& file) -> long {
        inbox::message taken;
        const int error = file.read(size, taken);
        std::memcpy(buffer, taken.data(), taken.size());
        return error != 0 ? -error : static_cast<long>(taken.size());
    });
}

int irpverbs_umad_begin_serving() {
    if (drop_in::is_forked_child()) return -1;
    return without_exceptions([] { return dispatch::begin_serving(dispatch::machine::current()); });
}

int irpverbs_umad_serve(int fd, int looks) {
    return with_file(fd, [=](port_file& file) {
        dispatch::machine& machine = dispatch::machine::current();
        const unsigned last = looks != 0 && machine.processor_count() > 1 ? longest_look : 0;
        for (unsigned turn = 0; !file.is_readable(); ++turn) {
            const bool called = dispatch::serve_watches(machine);
            if (turn >= (called ? most_calls : last)) return 0;
            if (!called && turn % turns_between_yields == turns_between_yields - 1) sched_yield();
        }
        return 1;
    });
}

void irpverbs_umad_end_serving() {
    without_exceptions([] {
        dispatch::end_serving(dispatch::machine::current());
        return 0;
    });
}

} // extern "C"

#include "location.hpp"

#include <drop_in/devices.hpp>

#include <ci/support/host_of_hca.hpp>
#include <dispatch/default_machine.hpp>
#include <dispatch/support/safe_text.hpp>
#include <hca/hca.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <vector>

namespace irpverbs::drop_in {

namespace {

constinit std::atomic<bool> forked{false};
using manager_start = void (*)(const std::string& uri);
constinit manager_start subnet_manager = nullptr;

void after_fork() noexcept {
    forked.store(true, std::memory_order_release);
    dispatch::leave_machine_after_fork();
}

/// Everything that the drop-in libraries of a process share. It is never destroyed: a program may
/// call exit anywhere, and the threads of the machine run until the process has ended.
struct core {
    std::mutex lock; // guards all below
    std::unique_ptr<dispatch::asio_machine> machine;
    bool attached = false;
    bool managed = false;
    std::vector<device> devices; // not changed after it was filled
    bool failure_reported = false;
};

core& shared() {
    static core* const only = new core;
    return *only;
}

void start_machine(core& self) {
    if (self.machine != nullptr) return;
    if (pthread_atfork(nullptr, nullptr, after_fork) != 0)
        throw std::runtime_error("no memory for a handler of fork");
    self.machine = std::make_unique<dispatch::asio_machine>();
    dispatch::set_default_machine(*self.machine);
}

void attach_hcas(const std::string& uri) {
    char message[512] = "";
    const NTSTATUS status = HcaAttachEx(uri.c_str(), nullptr, message, sizeof message);
    if (NT_SUCCESS(status)) return;
    throw std::runtime_error(message[0] != '\0' ? message : uri + ": " + NtStatusMeaning(status));
}

bool is_wanted(const std::string& name, const location& where, const std::string& first) {
    if (where.hosts.empty()) return name == first;
    return std::ranges::any_of(
        where.hosts, [&](const std::string& host) { return ci::belongs_to_host(name, host); });
}

std::vector<device> find_devices(const location& where) {
    std::vector<device> found;
    std::string first;
    for (const ib_guid_t guid : hca::guids()) {
        const std::string name = hca::name(guid);
        if (first.empty()) first = name;
        if (!is_wanted(name, where, first)) continue;
        found.push_back({"irpverbs" + std::to_string(found.size()), name, guid, HcaFromGuid(guid)});
        if (where.hosts.empty()) break;
    }
    return found;
}

// Throws if the fabric has none of the hosts, or not all.
void require_hosts(const char* text, const location& where, const std::vector<device>& found) {
    if (found.empty()) throw std::runtime_error(std::string(text) + ": no such host");
    for (const std::string& host : where.hosts)
        if (std::ranges::none_of(
                found, [&](const device& each) { return ci::belongs_to_host(each.host, host); }))
            throw std::runtime_error(std::string(text) + ": no such host as '" + host + "'");
}

void attach(core& self) {
    const char* const text = std::getenv("IRPVERBS_HCA");
    if (text == nullptr || *text == '\0')
        throw std::runtime_error("IRPVERBS_HCA is not set; irpctl run -- PROGRAM sets it");
    const location where = parse_location(text);
    start_machine(self);
    if (!self.attached) attach_hcas(where.uri);
    self.attached = true;
    if (!self.managed && subnet_manager != nullptr) subnet_manager(where.uri);
    self.managed = true;
    std::vector<device> found = find_devices(where);
    require_hosts(text, where, found);
    self.devices = std::move(found);
}

std::span<const device> attached_devices() {
    core& self = shared();
    const std::lock_guard guard(self.lock);
    if (!self.devices.empty()) return self.devices;
    try {
        attach(self);
    } catch (const std::exception& why) {
        if (!self.failure_reported)
            std::fprintf(stderr, "irpverbs: %s\n", dispatch::printable(why.what()).c_str());
        self.failure_reported = true;
        errno = ENODEV;
    }
    return self.devices;
}

} // namespace

std::span<const device> devices() noexcept {
    if (!is_forked_child()) return attached_devices();
    errno = ENODEV;
    return {};
}

const device* find_device(std::string_view name) noexcept {
    const std::span<const device> all = devices();
    const auto place = std::ranges::find(all, name, &device::name);
    return place != all.end() ? &*place : nullptr;
}

bool is_forked_child() noexcept { return forked.load(std::memory_order_acquire); }

void set_subnet_manager(void (*start)(const std::string& uri)) noexcept { subnet_manager = start; }

} // namespace irpverbs::drop_in

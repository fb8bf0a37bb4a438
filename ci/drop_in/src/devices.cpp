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
using hca_lister = bool (*)(const std::string& uri, std::vector<listed_hca>& found);
constinit hca_lister lister = nullptr;

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

// Without device objects: to ask for one starts a machine.
std::vector<device> choose_devices(const location& where, const std::vector<listed_hca>& all) {
    std::vector<device> found;
    for (const auto& [name, guid] : all) {
        if (!is_wanted(name, where, all.front().name)) continue;
        found.push_back({"irpverbs" + std::to_string(found.size()), name, guid, nullptr});
        if (where.hosts.empty()) break;
    }
    return found;
}

std::vector<listed_hca> attached_hcas() {
    std::vector<listed_hca> all;
    for (const ib_guid_t guid : hca::guids())
        all.push_back({hca::name(guid), guid});
    return all;
}

// Throws if the fabric has none of the hosts, or not all.
void require_hosts(const char* text, const location& where, const std::vector<device>& found) {
    if (found.empty()) throw std::runtime_error(std::string(text) + ": no such host");
    for (const std::string& host : where.hosts)
        if (std::ranges::none_of(
                found, [&](const device& each) { return ci::belongs_to_host(each.host, host); }))
            throw std::runtime_error(std::string(text) + ": no such host as '" + host + "'");
}

const char* hca_variable() {
    const char* const text = std::getenv("IRPVERBS_HCA");
    if (text == nullptr || *text == '\0')
        throw std::runtime_error("IRPVERBS_HCA is not set; irpctl run -- PROGRAM sets it");
    return text;
}

void attach(core& self, const location& where) {
    start_machine(self);
    if (!self.attached) attach_hcas(where.uri);
    self.attached = true;
    if (!self.managed && subnet_manager != nullptr) subnet_manager(where.uri);
    self.managed = true;
}

void find_devices(core& self) {
    const char* const text = hca_variable();
    const location where = parse_location(text);
    std::vector<listed_hca> all;
    const bool listed = lister != nullptr && lister(where.uri, all);
    if (!listed) {
        attach(self, where);
        all = attached_hcas();
    }
    std::vector<device> found = choose_devices(where, all);
    require_hosts(text, where, found);
    for (device& each : found)
        if (!listed) each.fdo = HcaFromGuid(each.guid);
    self.devices = std::move(found);
}

/// Runs `body` under the lock. A failure is reported, and leaves errno ENODEV.
template <class Body>
void find_or_report(core& self, const Body& body) noexcept {
    const std::lock_guard guard(self.lock);
    try {
        body();
    } catch (const std::exception& why) {
        if (!self.failure_reported)
            std::fprintf(stderr, "irpverbs: %s\n", dispatch::printable(why.what()).c_str());
        self.failure_reported = true;
        errno = ENODEV;
    }
}

} // namespace

std::span<const device> devices() noexcept {
    if (is_forked_child()) {
        errno = ENODEV;
        return {};
    }
    core& self = shared();
    find_or_report(self, [&] {
        if (self.devices.empty()) find_devices(self);
    });
    return self.devices;
}

DEVICE_OBJECT* fdo_of(const device& which) noexcept {
    if (which.fdo != nullptr) return which.fdo;
    DEVICE_OBJECT* fdo = nullptr;
    core& self = shared();
    if (!is_forked_child())
        find_or_report(self, [&] {
            if (!self.attached) attach(self, parse_location(hca_variable()));
            fdo = HcaFromGuid(which.guid);
        });
    if (fdo == nullptr) errno = ENODEV;
    return fdo;
}

const device* find_device(std::string_view name) noexcept {
    const std::span<const device> all = devices();
    const auto place = std::ranges::find(all, name, &device::name);
    return place != all.end() ? &*place : nullptr;
}

std::string daemon_socket() {
    const char* const text = std::getenv("IRPVERBS_HCA");
    return socket_of(text != nullptr ? text : "");
}

bool is_forked_child() noexcept { return forked.load(std::memory_order_acquire); }

void set_lister(hca_lister list) noexcept { lister = list; }
void set_subnet_manager(void (*start)(const std::string& uri)) noexcept { subnet_manager = start; }

} // namespace irpverbs::drop_in

#include <access/registry.hpp>

#include <access/requests.hpp>

#include <dispatch/detail/faults.hpp>
#include <dispatch/machine.hpp>

#include <algorithm>
#include <mutex>

namespace irpverbs::saa {

using dispatch::detail::fault_point;

namespace {

struct machines_registry {
    const std::shared_ptr<registry> held = std::make_shared<registry>();
};

} // namespace

registry& registry::here() {
    return *dispatch::machine::current_belonging<machines_registry>(2).held;
}

registry::registry() {
    KeInitializeEvent(&free_, SynchronizationEvent, TRUE);
    driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch_access;
    if (NT_SUCCESS(IoCreateDevice(&driver_, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_)))
        device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
}

registry::~registry() {
    if (device_ != nullptr) IoDeleteDevice(device_);
}

session_ref registry::find(ibmf_saa_handle_t handle) {
    const auto value = reinterpret_cast<std::uint64_t>(handle);
    const std::size_t index = value & ((1u << index_bits) - 1);
    const std::lock_guard guard(lock_);
    if (index >= places_.size() || places_[index].generation != value >> index_bits) return nullptr;
    return places_[index].who;
}

// A generation is never reused, so the handle of a closed session never refers to another session.
bool registry::assign_handle(session& fresh) {
    const std::lock_guard guard(lock_);
    auto free = std::ranges::find(places_, nullptr, &place::who);
    if (free == places_.end()) {
        if (places_.size() >> index_bits != 0) return false;
        free = places_.emplace(places_.end());
    }
    free->who = &fresh;
    const auto index = static_cast<std::uint64_t>(free - places_.begin());
    fresh.handle = reinterpret_cast<ibmf_saa_handle_t>(++free->generation << index_bits | index);
    return true;
}

void registry::withdraw_handle(const session& gone) {
    const std::lock_guard guard(lock_);
    std::ranges::find(places_, &gone, &place::who)->who = nullptr;
}

int registry::find_port(ib_guid_t guid, boost::intrusive_ptr<port>& found) {
    const auto same = std::ranges::find(ports_, guid, &port::guid);
    if (same != ports_.end()) {
        found = *same;
        return IBMF_SUCCESS;
    }
    if (fault_point("saa.port")) throw std::bad_alloc();
    ports_.reserve(ports_.size() + 1);
    found = new port(shared_from_this(), guid);
    if (const int status = found->open(); status != IBMF_SUCCESS) {
        found = nullptr;
        return status;
    }
    ports_.push_back(found.get());
    return IBMF_SUCCESS;
}

int registry::prepare(const opening& wanted, boost::intrusive_ptr<port>& at, session_ref& fresh) {
    if (const int status = find_port(wanted.port_guid, at); status != IBMF_SUCCESS) return status;
    if (fault_point("saa.session")) throw std::bad_alloc();
    fresh = new session(*at, wanted.sm_key, wanted.flags, wanted.events);
    if (fresh->remembers() && !at->remember_paths()) return IBMF_NO_MEMORY;
    if (!assign_handle(*fresh)) return IBMF_NO_RESOURCES;
    const int status = at->enlist(*fresh);
    if (status != IBMF_SUCCESS) withdraw_handle(*fresh);
    return status;
}

int registry::open(const opening& wanted, ibmf_saa_handle_t& handle) {
    if (device_ == nullptr) return IBMF_NO_RESOURCES;
    const turn mine(*this);
    boost::intrusive_ptr<port> at;
    session_ref fresh;
    int status = IBMF_NO_MEMORY;
    try {
        status = prepare(wanted, at, fresh);
    } catch (const std::bad_alloc&) {
    }
    if (status != IBMF_SUCCESS) {
        if (at != nullptr) close_if_unused(*at);
        return status;
    }
    handle = fresh->handle;
    at->begin_listening(*fresh);
    fresh.detach(); // until the close
    return IBMF_SUCCESS;
}

int registry::close(session& gone) {
    if (!gone.begin_closing()) return IBMF_BAD_HANDLE;
    gone.at->cancel_all(gone);
    gone.await_quiet();
    const turn mine(*this);
    const boost::intrusive_ptr<port> at = gone.at;
    at->dismiss(gone);
    withdraw_handle(gone);
    close_if_unused(*at);
    intrusive_ptr_release(&gone);
    return IBMF_SUCCESS;
}

void registry::close_if_unused(port& at) {
    if (at.has_sessions()) return;
    std::erase(ports_, &at);
    at.close();
}

} // namespace irpverbs::saa

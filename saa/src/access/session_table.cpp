#include <access/session_table.hpp>

#include <access/requests.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/locals.hpp>

#include <algorithm>

namespace irpverbs::saa {

using dispatch::detail::fault_point;

namespace {

struct machine_sessions {
    const std::shared_ptr<session_table> held = std::make_shared<session_table>();
};

IRPVERBS_REGISTERED_EARLY const dispatch::detail::machine_local<machine_sessions> session_tables(2);

} // namespace

session_table& session_table::current() { return *session_tables.current().held; }

session_table::session_table() {
    KeInitializeEvent(&free_, SynchronizationEvent, TRUE);
    driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch_access;
    if (NT_SUCCESS(IoCreateDevice(&driver_, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_)))
        device_->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
}

session_table::~session_table() {
    if (device_ != nullptr) IoDeleteDevice(device_);
}

// The table references the session until it is cancelled.
bool session_table::assign_handle(session& fresh) {
    const std::uint64_t handle = sessions_.insert(session_ref(&fresh));
    fresh.handle = reinterpret_cast<ibmf_saa_handle_t>(handle);
    return handle != 0;
}

int session_table::find_port(ib_guid_t guid, boost::intrusive_ptr<session_port>& found) {
    const auto same = std::ranges::find(ports_, guid, &session_port::guid);
    if (same != ports_.end()) {
        found = *same;
        return IBMF_SUCCESS;
    }
    if (fault_point("saa.port")) throw std::bad_alloc();
    ports_.reserve(ports_.size() + 1);
    found = new session_port(shared_from_this(), guid);
    if (const int status = found->open(); status != IBMF_SUCCESS) {
        found = nullptr;
        return status;
    }
    ports_.push_back(found.get());
    return IBMF_SUCCESS;
}

int session_table::prepare(const session_parameters& wanted, boost::intrusive_ptr<session_port>& at,
                           session_ref& fresh) {
    if (const int status = find_port(wanted.port_guid, at); status != IBMF_SUCCESS) return status;
    if (fault_point("saa.session")) throw std::bad_alloc();
    fresh = new session(*at, wanted.sm_key, wanted.flags, wanted.events);
    if (fresh->caches_paths() && !at->enable_path_cache()) return IBMF_NO_MEMORY;
    if (!assign_handle(*fresh)) return IBMF_NO_RESOURCES;
    const int status = at->attach(*fresh);
    if (status != IBMF_SUCCESS) release_handle(*fresh);
    return status;
}

int session_table::open(const session_parameters& wanted, ibmf_saa_handle_t& handle) {
    if (device_ == nullptr) return IBMF_NO_RESOURCES;
    const lifecycle_lock lock(*this);
    boost::intrusive_ptr<session_port> at;
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
    at->start_events(*fresh);
    return IBMF_SUCCESS;
}

int session_table::close(session& gone) {
    if (!gone.begin_closing()) return IBMF_BAD_HANDLE;
    gone.at->cancel_all(gone);
    gone.await_idle();
    const lifecycle_lock lock(*this);
    const boost::intrusive_ptr<session_port> at = gone.at;
    at->detach(gone);
    const session_ref last = release_handle(gone);
    close_if_unused(*at);
    return IBMF_SUCCESS;
}

void session_table::close_if_unused(session_port& at) {
    if (at.has_sessions()) return;
    std::erase(ports_, &at);
    at.close();
}

} // namespace irpverbs::saa

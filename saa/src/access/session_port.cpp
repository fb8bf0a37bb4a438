// The port's connection to its HCA and to IBMF.
#include <access/default_retrans.hpp>
#include <access/internal_access.hpp>
#include <access/session_table.hpp>
#include <events/subscriptions.hpp>

#include <ci/support/blocking_verb.hpp>
#include <dispatch/support/faults.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <utility>

namespace irpverbs::saa {

using ci::detail::call_verb;

namespace {

constexpr unsigned max_exponent = 20; // 4.3 s; larger exponents are no plausible response time
constexpr std::size_t max_sessions = 100;

int failure_of(NTSTATUS status) {
    return status == STATUS_INSUFFICIENT_RESOURCES ? IBMF_NO_MEMORY : IBMF_TRANSPORT_FAILURE;
}

std::vector<ib_guid_t> all_hcas() {
    std::vector<ib_guid_t> guids(16);
    for (;;) {
        auto count = static_cast<ULONG>(guids.size());
        const NTSTATUS status = HcaEnumerate(guids.data(), &count);
        guids.resize(count);
        if (status != STATUS_BUFFER_OVERFLOW) return guids;
    }
}

// Calls `look(number, attributes)` for each port until it returns true. Returns STATUS_NOT_FOUND if
// it never does.
template <class Look>
NTSTATUS find_port_of(ib_guid_t hca, const Look& look) {
    DEVICE_OBJECT* const fdo = HcaFromGuid(hca);
    if (fdo == nullptr) return STATUS_NOT_FOUND;
    const ci::detail::verb_result opened =
        call_verb([&](IRP* irp) { return CiOpenCa(fdo, nullptr, nullptr, nullptr, irp); });
    if (!opened.success()) return opened.status;
    IB_CA* const ca = opened.object<IB_CA>();
    NTSTATUS status = STATUS_NOT_FOUND;
    for (UCHAR number = 1; status == STATUS_NOT_FOUND && number != 0; ++number) {
        const ci::detail::port_block block(ca, number);
        if (block.get() == nullptr) {
            if (block.status() == STATUS_INSUFFICIENT_RESOURCES) status = block.status();
            break;
        }
        if (look(number, *block.get())) status = STATUS_SUCCESS;
    }
    call_verb([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
    return status;
}

std::optional<invalidation> invalidation_by(IB_ASYNC_EVENT event) {
    switch (event) {
    case IB_AE_PORT_ACTIVE: // Reports may have been lost while the port was down
        return invalidation::events_missed;
    case IB_AE_LID_CHANGE:
    case IB_AE_GID_CHANGE:
        return invalidation::lid_change;
    case IB_AE_SM_CHANGE:
        return invalidation::sm_change;
    case IB_AE_CLIENT_REREGISTER:
        return invalidation::client_reregister;
    case IB_AE_PKEY_CHANGE:
        return invalidation::pkey_change;
    default:
        return std::nullopt;
    }
}

bool clears_duplicates(IB_ASYNC_EVENT event) {
    return event == IB_AE_PORT_ACTIVE || event == IB_AE_LID_CHANGE || event == IB_AE_SM_CHANGE ||
           event == IB_AE_CLIENT_REREGISTER;
}

// Returns 4.096 us * 2^n.
std::uint32_t microseconds(unsigned exponent) {
    return static_cast<std::uint32_t>((std::uint64_t{4096} << std::min(exponent, max_exponent)) /
                                      1000);
}

} // namespace

struct session_port::lifecycle : session_table::lifecycle_lock {
    explicit lifecycle(session_port& of) : lifecycle_lock(*of.session_table_) {}
};

session_port::session_port(std::shared_ptr<session_table> its_session_table, ib_guid_t its_guid)
    : guid(its_guid), session_table_(std::move(its_session_table)), hca_(*this),
      times_(default_retrans) {
    waiting_.of = this;
    IoCsqInitializeEx(&waiting_.csq, insert, remove, peek_next, acquire, release,
                      complete_cancelled);
    KeInitializeEvent(&unused_, NotificationEvent, TRUE);
    KeInitializeEvent(&closing_, NotificationEvent, FALSE);
}

session_port::~session_port() = default;

// If an HCA cannot be queried for lack of memory, the port may belong to it: the status is then
// IBMF_NO_MEMORY instead of IBMF_BAD_PORT.
int session_port::find(place& found) const {
    int missed = IBMF_BAD_PORT;
    for (const ib_guid_t hca : all_hcas()) {
        const NTSTATUS status = find_port_of(hca, [&](UCHAR number, const IB_PORT_ATTR& each) {
            found = {hca, number, each.State};
            return each.PortGuid == guid;
        });
        if (NT_SUCCESS(status)) return IBMF_SUCCESS;
        if (status == STATUS_INSUFFICIENT_RESOURCES) missed = IBMF_NO_MEMORY;
    }
    return missed;
}

int session_port::open() {
    place where;
    int status = find(where);
    if (status != IBMF_SUCCESS) return status;
    if (where.state != IB_PORT_ACTIVE) return IBMF_BAD_PORT_STATE;
    status = open_hca(where);
    if (status == IBMF_SUCCESS) status = register_with_ibmf(where);
    if (status == IBMF_SUCCESS && !make_parts()) status = IBMF_NO_MEMORY;
    if (status != IBMF_SUCCESS) {
        disconnect();
        return status;
    }
    {
        const guard locked(*this);
        ready_ = true;
    }
    query_response_time();
    return IBMF_SUCCESS;
}

// The port's internal session references the port.
bool session_port::make_parts() {
    try {
        if (dispatch::detail::fault_point("saa.port_parts")) throw std::bad_alloc();
        class_port_info_ = std::make_unique<internal_access>(*this, response_time_received);
        subscriptions_ = std::make_unique<event_subscriptions>(*this);
        internal_session_ = new session(*this, 0, 0);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

int session_port::open_hca(const place& where) {
    DEVICE_OBJECT* const fdo = HcaFromGuid(where.hca);
    if (fdo == nullptr) return IBMF_BAD_PORT;
    const NTSTATUS opened = hca_.open(fdo, where.number);
    if (!NT_SUCCESS(opened)) return failure_of(opened);
    const NTSTATUS refreshed = refresh();
    return NT_SUCCESS(refreshed) ? IBMF_SUCCESS : failure_of(refreshed);
}

int session_port::register_with_ibmf(const place& where) {
    ibmf_register_info_t info{where.hca, where.number, SUBN_ADM_MANAGER};
    ibmf_impl_caps_t capabilities{};
    const int status =
        ibmf_register(&info, IBMF_VERSION, IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD,
                      ibmf_event, this, &ibmf_, &capabilities);
    if (status == IBMF_TRANSPORT_FAILURE) return status;
    if (status != IBMF_SUCCESS) return IBMF_NO_RESOURCES;
    return ibmf_setup_async_cb(ibmf_, IBMF_QP_HANDLE_DEFAULT, report_received, this, 0);
}

// Ends all operations before the close. Unsubscribes at the SA without waiting for its response.
void session_port::close() {
    KeSetEvent(&closing_, IO_NO_INCREMENT, FALSE);
    if (subscriptions_ != nullptr) subscriptions_->stop();
    {
        const guard locked(*this);
        ready_ = false;
    }
    if (internal_session_ != nullptr) {
        internal_session_->begin_closing();
        cancel_all(*internal_session_);
        internal_session_->await_idle();
        internal_session_ = nullptr;
    }
    disconnect();
}

void session_port::disconnect() {
    if (ibmf_ != nullptr) {
        ibmf_tear_down_async_cb(ibmf_, IBMF_QP_HANDLE_DEFAULT, 0);
        KeWaitForSingleObject(&unused_, Executive, KernelMode, FALSE, nullptr);
        free_messages();
        ibmf_unregister(&ibmf_, 0);
    }
    hca_.close();
}

NTSTATUS session_port::refresh() {
    const ci::detail::port_block block = hca_.query();
    if (block.get() == nullptr) return block.status();
    const IB_PORT_ATTR& attr = *block.get();
    const guard locked(*this);
    attributes_ = {attr.State, attr.SmSl, attr.SubnetTimeout, attr.Lid, attr.SmLid, attr.Lmc};
    times_.retrans_rttv = 2 * microseconds(attr.SubnetTimeout);
    return STATUS_SUCCESS;
}

void session_port::port_event(IB_ASYNC_EVENT event) {
    const guard locked(*this);
    if (const auto state = ci::detail::port_state_after(event)) attributes_.state = *state;
    if (const auto reason = invalidation_by(event)) invalidate_all_paths(*reason);
    if (!clears_duplicates(event)) return;
    sm_changed_ = true;
    duplicates_.clear();
}

void session_port::port_changed() {
    bool sm_changed = false;
    {
        const guard locked(*this);
        sm_changed = std::exchange(sm_changed_, false);
    }
    refresh();
    if (!sm_changed) return;
    query_response_time();
    subscriptions_->renew();
}

void session_port::query_response_time() {
    ib_mad_classportinfo_t all{};
    class_port_info_->begin(*internal_session_, {SA_CLASSPORTINFO_ATTRID, IBMF_SAA_RETRIEVE, 0,
                                                 &all, 0, nullptr, nullptr});
}

void session_port::response_time_received(session_port& of, internal_access&,
                                          const detail::access_request& ended) {
    if (ended.status != IBMF_SUCCESS) return;
    const auto& info = *static_cast<const ib_mad_classportinfo_t*>(ended.records.bytes.get());
    const guard locked(of);
    of.times_.retrans_rtv = microseconds(info.RespTimeValue & 0x1F);
}

// The HCA is being removed: IBMF has ended all operations, or ends them now. A thread that closes
// the port, under the lifecycle lock, already waits for this callback to return.
void session_port::ibmf_event(ibmf_handle_t, void* context, ibmf_async_event_t) {
    const boost::intrusive_ptr<session_port> self(static_cast<session_port*>(context));
    session_table::lifecycle_lock lock(*self->session_table_, self->closing_);
    if (lock && self->hca_.ca() != nullptr) self->close();
}

int session_port::attach(session& fresh) {
    const guard locked(*this);
    if (!usable()) return IBMF_BAD_PORT_STATE;
    if (session_count_ == max_sessions) return IBMF_BUSY;
    ++session_count_;
    if (fresh.events) subscribers_.add(*fresh.events);
    return IBMF_SUCCESS;
}

// The first session that needs events starts the port's subscriptions. A later one alone receives
// IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG when subscriptions are missing.
void session_port::start_events(session& fresh) {
    if (!fresh.needs_events()) return;
    bool first = false;
    {
        const guard locked(*this);
        first = event_session_count_++ == 0;
        if (!first && fresh.events && !subscriptions_->complete())
            subscribers_.emit_to(*fresh.events, subscriptions_->status_event());
    }
    if (first) subscriptions_->begin(*internal_session_);
}

void session_port::detach(session& gone) {
    bool last = false;
    session_ref removed; // released after the lock
    {
        const guard locked(*this);
        if (gone.events) removed = subscribers_.remove(*gone.events);
        --session_count_;
        last = gone.needs_events() && --event_session_count_ == 0;
    }
    if (last) subscriptions_->end();
}

bool session_port::enable_path_cache() {
    {
        const guard locked(*this);
        if (paths_.enabled()) return true;
    }
    std::unique_ptr<path_cache> fresh;
    try {
        if (dispatch::detail::fault_point("saa.path_cache")) throw std::bad_alloc();
        fresh = std::make_unique<path_cache>();
    } catch (const std::bad_alloc&) {
        return false;
    }
    const guard locked(*this);
    paths_.enable(std::move(fresh));
    return true;
}

ibmf_saa_path_cache_stats_t session_port::path_statistics() {
    const guard locked(*this);
    return paths_.statistics();
}

bool session_port::has_sessions() {
    const guard locked(*this);
    return session_count_ != 0;
}

ibmf_saa_stats_t session_port::statistics() {
    const guard locked(*this);
    ibmf_saa_stats_t stats = counts_;
    stats.ss_sessions = session_count_;
    stats.ss_queued = queues_.queued();
    stats.ss_in_flight = queues_.in_flight();
    return stats;
}

} // namespace irpverbs::saa

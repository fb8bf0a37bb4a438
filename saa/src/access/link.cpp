// The port's connection to its HCA and to IBMF.
#include <access/first_times.hpp>
#include <access/own_access.hpp>
#include <access/registry.hpp>
#include <events/subscriptions.hpp>

#include <ci/detail/blocking_verb.hpp>
#include <dispatch/detail/faults.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <utility>

namespace irpverbs::saa {

using ci::detail::call_verb;

namespace {

constexpr unsigned most_exponent = 20; // 4.3 s; larger exponents are no plausible response time
constexpr std::size_t most_sessions = 100;

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
        return invalidation::unheard;
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

bool makes_forget(IB_ASYNC_EVENT event) {
    return event == IB_AE_PORT_ACTIVE || event == IB_AE_LID_CHANGE || event == IB_AE_SM_CHANGE ||
           event == IB_AE_CLIENT_REREGISTER;
}

// Returns 4.096 us * 2^n.
std::uint32_t microseconds(unsigned exponent) {
    return static_cast<std::uint32_t>((std::uint64_t{4096} << std::min(exponent, most_exponent)) /
                                      1000);
}

} // namespace

port::port(std::shared_ptr<registry> its_home, ib_guid_t its_guid)
    : guid(its_guid), home_(std::move(its_home)), times_(first_times) {
    waiting_.of = this;
    IoCsqInitializeEx(&waiting_.csq, insert, remove, peek_next, acquire, release,
                      complete_cancelled);
    KeInitializeEvent(&unused_, NotificationEvent, TRUE);
    KeInitializeEvent(&closing_, NotificationEvent, FALSE);
    InitializeListHead(&due_);
}

port::~port() = default;

// If an HCA cannot be queried for lack of memory, the port may belong to it: the status is then
// IBMF_NO_MEMORY instead of IBMF_BAD_PORT.
int port::find(place& found) const {
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

int port::open() {
    place where;
    int status = find(where);
    if (status != IBMF_SUCCESS) return status;
    if (where.state != IB_PORT_ACTIVE) return IBMF_BAD_PORT_STATE;
    status = open_hca(where);
    if (status == IBMF_SUCCESS) status = join_ibmf(where);
    if (status == IBMF_SUCCESS && !make_parts()) status = IBMF_NO_MEMORY;
    if (status != IBMF_SUCCESS) {
        shut();
        return status;
    }
    {
        const guard under(*this);
        ready_ = true;
    }
    ask_answer_time();
    return IBMF_SUCCESS;
}

// The port's internal session references the port.
bool port::make_parts() {
    try {
        if (dispatch::detail::fault_point("saa.port_parts")) throw std::bad_alloc();
        class_port_info_ = std::make_unique<own_access>(*this, answer_time_told);
        subscriptions_ = std::make_unique<event_subscriptions>(*this);
        own_ = new session(*this, 0, 0);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

int port::open_hca(const place& where) {
    DEVICE_OBJECT* const fdo = HcaFromGuid(where.hca);
    if (fdo == nullptr) return IBMF_BAD_PORT;
    number_ = where.number;
    const IB_CA_DISPATCH calls{nullptr, port_event};
    const auto opened =
        call_verb([&](IRP* irp) { return CiOpenCa(fdo, this, &calls, nullptr, irp); });
    if (!opened.success()) return failure_of(opened.status);
    ca_ = opened.object<IB_CA>();
    const NTSTATUS told = refresh();
    return NT_SUCCESS(told) ? IBMF_SUCCESS : failure_of(told);
}

int port::join_ibmf(const place& where) {
    ibmf_register_info_t info{where.hca, where.number, SUBN_ADM_MANAGER};
    ibmf_impl_caps_t capabilities{};
    const int status =
        ibmf_register(&info, IBMF_VERSION, IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD,
                      ibmf_event, this, &ibmf_, &capabilities);
    if (status == IBMF_TRANSPORT_FAILURE) return status;
    if (status != IBMF_SUCCESS) return IBMF_NO_RESOURCES;
    return ibmf_setup_async_cb(ibmf_, IBMF_QP_HANDLE_DEFAULT, reported, this, 0);
}

// Ends all operations before the close. Unsubscribes at the SA without waiting for its response.
void port::close() {
    KeSetEvent(&closing_, IO_NO_INCREMENT, FALSE);
    if (subscriptions_ != nullptr) subscriptions_->stop();
    {
        const guard under(*this);
        ready_ = false;
    }
    if (own_ != nullptr) {
        own_->begin_closing();
        cancel_all(*own_);
        own_->await_quiet();
        own_ = nullptr;
    }
    shut();
}

void port::shut() {
    if (ibmf_ != nullptr) {
        ibmf_tear_down_async_cb(ibmf_, IBMF_QP_HANDLE_DEFAULT, 0);
        KeWaitForSingleObject(&unused_, Executive, KernelMode, FALSE, nullptr);
        ibmf_unregister(&ibmf_, 0);
    }
    if (ca_ == nullptr) return;
    IB_CA* const last = std::exchange(ca_, nullptr);
    call_verb([&](IRP* irp) { return CiCloseCa(last, nullptr, irp); });
}

NTSTATUS port::refresh() {
    const ci::detail::port_block block(ca_, number_);
    if (block.get() == nullptr) return block.status();
    const IB_PORT_ATTR& told = *block.get();
    const guard under(*this);
    facts_ = {told.State, told.SmSl, told.SubnetTimeout, told.Lid, told.SmLid};
    times_.retrans_rttv = 2 * microseconds(told.SubnetTimeout);
    return STATUS_SUCCESS;
}

void port::port_event(IB_CA*, void* context, UCHAR which, IB_ASYNC_EVENT event) {
    port& self = *static_cast<port*>(context);
    if (which != self.number_) return;
    {
        const guard under(self);
        if (event == IB_AE_PORT_ACTIVE) self.facts_.state = IB_PORT_ACTIVE;
        if (event == IB_AE_PORT_ERROR) self.facts_.state = IB_PORT_DOWN;
        if (const auto reason = invalidation_by(event)) self.forget_all_paths(*reason);
        if (makes_forget(event)) {
            self.moved_ = true;
            self.told_.forget();
        }
        if (self.refreshing_) return;
        self.refreshing_ = true;
    }
    intrusive_ptr_add_ref(&self);
    ExInitializeWorkItem(&self.refresh_item_, refresh_work, &self);
    ExQueueWorkItem(&self.refresh_item_, DelayedWorkQueue);
}

// The HCA stays open during the refresh, since its close waits for the same turn.
void port::refresh_work(void* context) {
    const boost::intrusive_ptr<port> self(static_cast<port*>(context), false);
    const registry::turn mine(*self->home_);
    bool moved = false;
    {
        const guard under(*self);
        self->refreshing_ = false;
        moved = std::exchange(self->moved_, false);
    }
    if (self->ca_ == nullptr) return;
    self->refresh();
    if (!moved) return;
    self->ask_answer_time();
    self->subscriptions_->renew();
}

void port::ask_answer_time() {
    ib_mad_classportinfo_t all{};
    class_port_info_->begin(
        *own_, {SA_CLASSPORTINFO_ATTRID, IBMF_SAA_RETRIEVE, 0, &all, 0, nullptr, nullptr});
}

void port::answer_time_told(port& of, own_access&, const detail::access_request& told) {
    if (told.status != IBMF_SUCCESS) return;
    const auto& info = *static_cast<const ib_mad_classportinfo_t*>(told.answer.bytes.get());
    const guard under(of);
    of.times_.retrans_rtv = microseconds(info.RespTimeValue & 0x1F);
}

// The HCA is being removed: IBMF has ended all operations, or ends them now. A thread that closes
// the port, within its turn, already waits for this callback to return.
void port::ibmf_event(ibmf_handle_t, void* context, ibmf_async_event_t) {
    const boost::intrusive_ptr<port> self(static_cast<port*>(context));
    registry::turn mine(*self->home_, self->closing_);
    if (mine && self->ca_ != nullptr) self->close();
}

int port::enlist(session& fresh) {
    const guard under(*this);
    if (!usable()) return IBMF_BAD_PORT_STATE;
    if (session_count_ == most_sessions) return IBMF_BUSY;
    ++session_count_;
    if (fresh.events) subscribers_.add(*fresh.events);
    return IBMF_SUCCESS;
}

// The first listener starts the port's subscriptions. A later listener alone receives
// IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG when subscriptions are missing.
void port::begin_listening(session& fresh) {
    if (!fresh.listens()) return;
    bool first = false;
    {
        const guard under(*this);
        first = listeners_++ == 0;
        if (!first && fresh.events && !subscriptions_->complete())
            subscribers_.tell_alone(*fresh.events, subscriptions_->status_event());
    }
    if (first) subscriptions_->begin(*own_);
}

void port::dismiss(session& gone) {
    bool last = false;
    session_ref told; // released after the lock
    {
        const guard under(*this);
        if (gone.events) told = subscribers_.remove(*gone.events);
        --session_count_;
        last = gone.listens() && --listeners_ == 0;
    }
    if (last) subscriptions_->end();
}

bool port::remember_paths() {
    {
        const guard under(*this);
        if (paths_.has_begun()) return true;
    }
    std::unique_ptr<path_cache> fresh;
    try {
        if (dispatch::detail::fault_point("saa.path_cache")) throw std::bad_alloc();
        fresh = std::make_unique<path_cache>();
    } catch (const std::bad_alloc&) {
        return false;
    }
    const guard under(*this);
    paths_.begin(std::move(fresh));
    return true;
}

ibmf_saa_path_cache_stats_t port::path_statistics() {
    const guard under(*this);
    return paths_.statistics();
}

bool port::has_sessions() {
    const guard under(*this);
    return session_count_ != 0;
}

ibmf_saa_stats_t port::statistics() {
    const guard under(*this);
    ibmf_saa_stats_t told = counts_;
    told.ss_sessions = session_count_;
    told.ss_queued = lines_.queued();
    told.ss_in_flight = lines_.in_flight();
    return told;
}

} // namespace irpverbs::saa

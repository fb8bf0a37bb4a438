#include <events/subscriptions.hpp>

#include <dispatch/machine.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::saa {

namespace {

constexpr unsigned max_doublings = 6;
constexpr LONGLONG one_second = 10'000'000;

// The random delay separates the retries of clients that were refused together.
LARGE_INTEGER back_off(unsigned failures) {
    const std::uint64_t most = std::uint64_t{one_second} << std::min(failures, max_doublings);
    LARGE_INTEGER due;
    due.QuadPart = -one_second -
                   static_cast<LONGLONG>(dispatch::detail::this_processor().owner->random() % most);
    return due;
}

// Subscribes to all traps, of all ports. The SA identifies a subscription by its QP when it ends.
ib_mad_informinfo_t inform_info(std::uint8_t producer, bool subscribe) {
    ib_mad_informinfo_t info{};
    info.LIDRangeBegin = MAD_INFORMINFO_ALL_ENDPORTS_RANGE;
    info.IsGeneric = MAD_INFORMINFO_FORWARD_GENERIC;
    info.Subscribe = subscribe ? MAD_INFORMINFO_SUBSCRIBE : MAD_INFORMINFO_UNSUBSCRIBE;
    info.Type = MAD_INFORMINFO_TRAP_TYPE_FORWARD_ALL;
    info.TrapNumber_DeviceID = MAD_INFORMINFO_TRAP_NUMBER_FORWARD_ALL;
    info.QPN = subscribe ? 0 : 1;
    info.ProducerType_VendorID = producer;
    return info;
}

} // namespace

struct event_subscriptions::producer : internal_access {
    producer(event_subscriptions& its_owner, std::uint8_t its_type, std::uint8_t its_bit)
        : internal_access(its_owner.of_, completed), owner(its_owner), type(its_type),
          bit(its_bit) {
        KeInitializeTimer(&timer);
        KeInitializeDpc(&dpc, due, this);
    }
    static void completed(session_port&, internal_access& which,
                          const detail::access_request& ended) {
        auto& self = static_cast<producer&>(which);
        self.owner.ended(self, ended.status);
    }
    static void due(KDPC*, void* context, void*, void*) {
        auto& self = *static_cast<producer*>(context);
        const boost::intrusive_ptr<session_port> kept(&self.owner.of_, false);
        self.owner.advance(self);
    }

    event_subscriptions& owner;
    const std::uint8_t type;
    const std::uint8_t bit;
    KTIMER timer;
    KDPC dpc;
    // Whether the response is outstanding: the request is in flight, or about to begin. The caller
    // holds the lock.
    bool awaited() const { return in_progress || (subscribe_due && stale); }

    // The port's lock guards these members:
    bool subscribe_due = false; // a subscription is due, perhaps a repeated one
    bool stale = false;  // the SA may have lost the subscription, and no new request was sent
    bool actual = false; // the SA has confirmed
    bool in_progress = false;
    bool unsubscribing = false; // the request in flight ends the subscription
    unsigned failures = 0;
};

event_subscriptions::event_subscriptions(session_port& of) : of_(of) {
    const auto make = [&](std::uint8_t type, std::uint8_t bit) {
        return std::make_unique<producer>(*this, type, bit);
    };
    producers_ = {
        make(MAD_INFORMINFO_NODETYPE_CA, IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_CA),
        make(MAD_INFORMINFO_NODETYPE_SWITCH, IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_SWITCH),
        make(MAD_INFORMINFO_NODETYPE_ROUTER, IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_ROUTER),
        make(MAD_INFORMINFO_NODETYPE_SUBNET_MANAGEMENT, IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_SM)};
}

event_subscriptions::~event_subscriptions() = default;

void event_subscriptions::begin(session& by) {
    {
        const session_port::guard locked(of_);
        by_ = &by;
        wanted_ = true;
        interrupted_ = false;
        reported_ = all_producers;
    }
    subscribe_all();
}

// Reports sent during the interruption are lost.
void event_subscriptions::renew() {
    {
        const session_port::guard locked(of_);
        if (!wanted_) return;
        interrupted_ = true;
    }
    subscribe_all();
}

void event_subscriptions::subscribe_all() {
    {
        const session_port::guard locked(of_);
        for (const auto& each : producers_) {
            each->subscribe_due = each->stale = true;
            each->failures = 0;
        }
    }
    for (const auto& each : producers_) {
        cancel_retry(*each);
        advance(*each);
    }
}

// Begins the due operation of a producer unless one is in flight.
void event_subscriptions::advance(producer& which) {
    session_ref by;
    {
        const session_port::guard locked(of_);
        const bool subscribe = wanted_ && which.subscribe_due;
        const bool unsubscribe = !wanted_ && which.actual;
        if (by_ == nullptr || which.in_progress || (!subscribe && !unsubscribe)) return;
        which.subscribe_due = which.stale = false;
        set_actual(which, false);
        which.in_progress = true;
        which.unsubscribing = unsubscribe;
        by = by_;
    }
    ib_mad_informinfo_t info = inform_info(which.type, !which.unsubscribing);
    which.begin(*by, {SA_INFORMINFO_ATTRID, IBMF_SAA_UPDATE, 0, &info, 0, nullptr, nullptr});
}

void event_subscriptions::ended(producer& which, int status) {
    bool retry = false;
    {
        const session_port::guard locked(of_);
        which.in_progress = false;
        if (!which.unsubscribing) retry = record_result(which, status);
    }
    if (retry)
        schedule_retry(which);
    else
        advance(which);
}

void event_subscriptions::end() {
    {
        const session_port::guard locked(of_);
        wanted_ = false;
    }
    for (const auto& each : producers_) {
        cancel_retry(*each);
        advance(*each);
    }
}

void event_subscriptions::stop() {
    end();
    session_ref last; // released after the lock
    const session_port::guard locked(of_);
    last.swap(by_);
}

// The caller holds the lock. The subnet manager is the producer that reports ports.
void event_subscriptions::set_actual(producer& which, bool actual) {
    which.actual = actual;
    if (which.bit == IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_SM) of_.set_port_reports(actual);
}

// Returns true to retry after a delay. While the port is not active there is no retry, since its
// return renews the subscriptions. IBMF may notice the return later than this port, so
// IBMF_BAD_PORT_STATE of an active port is retried. The caller holds the lock.
bool event_subscriptions::record_result(producer& which, int status) {
    set_actual(which, status == IBMF_SUCCESS);
    which.failures = which.actual ? 0 : which.failures + 1;
    if (!wanted_) return false;
    if (status != IBMF_BAD_PORT_STATE)
        emit_changes();
    else if (!of_.usable())
        return false;
    if (which.actual || which.subscribe_due) return false;
    return which.subscribe_due = true;
}

void event_subscriptions::schedule_retry(producer& which) {
    const session_port::guard locked(of_);
    if (!wanted_) return;
    intrusive_ptr_add_ref(&of_);
    if (KeSetTimer(&which.timer, back_off(which.failures), &which.dpc))
        intrusive_ptr_release(&of_); // the timer was set already, and has a reference of its own
}

void event_subscriptions::cancel_retry(producer& which) {
    if (KeCancelTimer(&which.timer)) intrusive_ptr_release(&of_);
}

// Emits a change when no response is outstanding: the first producer's response may arrive before
// the second one's request has begun. The caller holds the lock.
void event_subscriptions::emit_changes() {
    std::uint8_t mask = 0;
    bool stale = false;
    for (const auto& each : producers_) {
        if (each->awaited()) return;
        stale = stale || each->stale;
        if (each->actual) mask = static_cast<std::uint8_t>(mask | each->bit);
    }
    if (interrupted_ && !stale && mask != 0) {
        interrupted_ = false;
        of_.emit({IBMF_SAA_EVENT_LOST, {}});
    }
    if (mask == reported_) return;
    reported_ = mask;
    of_.emit(status_event());
}

// The caller holds the lock.
subnet_event event_subscriptions::status_event() const {
    subnet_event event{IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG, {}};
    event.details.ie_producer_event_status_mask = reported_;
    return event;
}

} // namespace irpverbs::saa

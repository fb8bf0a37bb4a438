#include <events/subscriptions.hpp>

#include <dispatch/machine.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::saa {

namespace {

constexpr unsigned most_doublings = 6;
constexpr LONGLONG one_second = 10'000'000;

// The random delay separates the retries of clients that were refused together.
LARGE_INTEGER back_off(unsigned failures) {
    const std::uint64_t most = std::uint64_t{one_second} << std::min(failures, most_doublings);
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

struct event_subscriptions::producer : own_access {
    producer(event_subscriptions& its_owner, std::uint8_t its_type, std::uint8_t its_bit)
        : own_access(its_owner.of_, home), owner(its_owner), type(its_type), bit(its_bit) {
        KeInitializeTimer(&timer);
        KeInitializeDpc(&dpc, due, this);
    }
    static void home(port&, own_access& which, const detail::access_request& told) {
        auto& self = static_cast<producer&>(which);
        self.owner.ended(self, told.status);
    }
    static void due(KDPC*, void* context, void*, void*) {
        auto& self = *static_cast<producer*>(context);
        const boost::intrusive_ptr<port> kept(&self.owner.of_, false);
        self.owner.advance(self);
    }

    event_subscriptions& owner;
    const std::uint8_t type;
    const std::uint8_t bit;
    KTIMER timer;
    KDPC dpc;
    // Whether the response is outstanding: the request is in flight, or about to begin. The caller
    // holds the lock.
    bool awaited() const { return under_way || (due_now && stale); }

    // The port's lock guards these members:
    bool due_now = false; // a subscription is due, perhaps a repeated one
    bool stale = false;   // the SA may have lost the subscription, and no new request was sent
    bool actual = false;  // the SA has confirmed
    bool under_way = false;
    bool leaving = false; // the request in flight ends the subscription
    unsigned failures = 0;
};

event_subscriptions::event_subscriptions(port& of) : of_(of) {
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
        const port::guard under(of_);
        by_ = &by;
        wanted_ = true;
        interrupted_ = false;
        told_ = all_producers;
    }
    subscribe_all();
}

// Reports sent during the interruption are lost.
void event_subscriptions::renew() {
    {
        const port::guard under(of_);
        if (!wanted_) return;
        interrupted_ = true;
    }
    subscribe_all();
}

void event_subscriptions::subscribe_all() {
    {
        const port::guard under(of_);
        for (const auto& each : producers_) {
            each->due_now = each->stale = true;
            each->failures = 0;
        }
    }
    for (const auto& each : producers_) {
        cancel_wait(*each);
        advance(*each);
    }
}

// Begins the due operation of a producer unless one is in flight.
void event_subscriptions::advance(producer& which) {
    session_ref by;
    {
        const port::guard under(of_);
        const bool subscribe = wanted_ && which.due_now;
        const bool leave = !wanted_ && which.actual;
        if (by_ == nullptr || which.under_way || (!subscribe && !leave)) return;
        which.due_now = which.stale = false;
        set_actual(which, false);
        which.under_way = true;
        which.leaving = leave;
        by = by_;
    }
    ib_mad_informinfo_t info = inform_info(which.type, !which.leaving);
    which.begin(*by, {SA_INFORMINFO_ATTRID, IBMF_SAA_UPDATE, 0, &info, 0, nullptr, nullptr});
}

void event_subscriptions::ended(producer& which, int status) {
    bool later = false;
    {
        const port::guard under(of_);
        which.under_way = false;
        if (!which.leaving) later = note(which, status);
    }
    if (later)
        wait(which);
    else
        advance(which);
}

void event_subscriptions::end() {
    {
        const port::guard under(of_);
        wanted_ = false;
    }
    for (const auto& each : producers_) {
        cancel_wait(*each);
        advance(*each);
    }
}

void event_subscriptions::stop() {
    end();
    session_ref last; // released after the lock
    const port::guard under(of_);
    last.swap(by_);
}

// The caller holds the lock. The subnet manager is the producer that reports ports.
void event_subscriptions::set_actual(producer& which, bool actual) {
    which.actual = actual;
    if (which.bit == IBMF_SAA_EVENT_STATUS_MASK_PRODUCER_SM) of_.hear_of_ports(actual);
}

// Returns true to retry after a delay. While the port is not active there is no retry, since its
// return renews the subscriptions. IBMF may notice the return later than this port, so
// IBMF_BAD_PORT_STATE of an active port is retried. The caller holds the lock.
bool event_subscriptions::note(producer& which, int status) {
    set_actual(which, status == IBMF_SUCCESS);
    which.failures = which.actual ? 0 : which.failures + 1;
    if (!wanted_) return false;
    if (status != IBMF_BAD_PORT_STATE)
        tell_changes();
    else if (!of_.usable())
        return false;
    if (which.actual || which.due_now) return false;
    return which.due_now = true;
}

void event_subscriptions::wait(producer& which) {
    const port::guard under(of_);
    if (!wanted_) return;
    intrusive_ptr_add_ref(&of_);
    if (KeSetTimer(&which.timer, back_off(which.failures), &which.dpc))
        intrusive_ptr_release(&of_); // the timer was set already, and has a reference of its own
}

void event_subscriptions::cancel_wait(producer& which) {
    if (KeCancelTimer(&which.timer)) intrusive_ptr_release(&of_);
}

// Emits a change when no response is outstanding: the first producer's response may arrive before
// the second one's request has begun. The caller holds the lock.
void event_subscriptions::tell_changes() {
    std::uint8_t mask = 0;
    bool stale = false;
    for (const auto& each : producers_) {
        if (each->awaited()) return;
        stale = stale || each->stale;
        if (each->actual) mask = static_cast<std::uint8_t>(mask | each->bit);
    }
    if (interrupted_ && !stale && mask != 0) {
        interrupted_ = false;
        of_.tell({IBMF_SAA_EVENT_LOST, {}});
    }
    if (mask == told_) return;
    told_ = mask;
    of_.tell(status_event());
}

// The caller holds the lock.
subnet_event event_subscriptions::status_event() const {
    subnet_event event{IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG, {}};
    event.details.ie_producer_event_status_mask = told_;
    return event;
}

} // namespace irpverbs::saa

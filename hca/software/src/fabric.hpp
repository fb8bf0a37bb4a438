// The live fabric: nodes, ports, cables, and their changes.
#pragma once

#include "node.hpp"
#include "straight_path.hpp"
#include "topology.hpp"
#include "traps.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::hca_software {

class fabric {
public:
    /// Makes a fabric whose links wait for a subnet manager.
    explicit fabric(const topology& plan);
    ~fabric();
    fabric(const fabric&) = delete;
    fabric& operator=(const fabric&) = delete;

    std::deque<node>& nodes() { return nodes_; }
    node* find_node(ib_guid_t guid);

    /// Configures the fabric as a subnet manager on the first linked port of a host would: the
    /// ports that it reaches have LIDs, those of the plan first, and become active, also when their
    /// links return; switches have forwarding tables. Must be called before adapters exist.
    void bring_up(const topology& plan);

    /// Gives each cable these faults, by a random sequence of its own. Must be called before
    /// adapters exist.
    void set_faults(HCA_SOFTWARE_FAULTS of_a_cable);

    /// The system copies from and to the memory of clients, so that a work request fails where a
    /// page is not mapped. Must be called before adapters exist.
    void check_memory() { checks_memory_ = true; }
    bool checks_memory() const { return checks_memory_; }

    /// Reads under the fabric's lock. `function` must call no other function of the fabric.
    template <class Function>
    auto with_lock(const Function& function) {
        const dispatch::detail::spin_guard guard(lock_);
        return function();
    }

    /// Makes a change under the fabric's lock, then reports the resulting events to the clients.
    /// Events are reported in the order of the changes, by one thread at a time.
    template <class Change>
    auto change(const Change& change) {
        bool reports = false;
        auto result = [&] {
            const dispatch::detail::spin_guard guard(lock_);
            auto made = change();
            changes_.store(changes() + 1, std::memory_order_release);
            reports = !reporting_ && has_events_;
            reporting_ = reporting_ || reports;
            return made;
        }();
        if (reports) report_events();
        return result;
    }

    /// Makes a change as `change` does; a DPC reports the events, so that the caller may hold locks
    /// that are acquired before the fabric's.
    template <class Change>
    auto change_below(const Change& change) {
        const dispatch::detail::spin_guard guard(lock_);
        auto made = change();
        changes_.store(changes() + 1, std::memory_order_release);
        if (has_events_) scheduler_.run_soon();
        return made;
    }

    /// The number of changes so far, plus 1.
    ULONGLONG changes() const { return changes_.load(std::memory_order_acquire); }

    /// A number that changes with the routes, and with all that decides on packets on their way. A
    /// new fabric has 1.
    ULONGLONG routes() const { return routes_.load(std::memory_order_acquire); }
    /// routes() for a path that is examined now. It differs from routes() on a simulated machine,
    /// so that passes_straight() is called for each post.
    ULONGLONG examination() const { return routes() | (simulated_ ? ULONGLONG{1} << 63 : 0); }
    /// True if a work request may pass straight through: on a simulated machine a choice.
    bool passes_straight() const { return !simulated_ || chooses_straight(); }

    // Functions under the lock:

    void routes_changed() { routes_.store(routes() + 1, std::memory_order_release); }
    /// Finds the links of a packet without faults. False: it would be lost, or a link has faults.
    static bool find_route(port& from, const datagram& first, straight_route& route);
    void add(straight_path& which) { straight_paths_.push_back(which); }
    void remove(straight_path& which) {
        which.count();
        straight_paths_.erase(straight_paths_.iterator_to(which));
    }
    /// Makes the counters of ports complete: must be called before they are read.
    void count_straight();

    /// Sends a datagram from a port; a switch sends from its port 0. Ownership: `what` belongs to
    /// the fabric.
    void send(port& from, packet* what);
    packet_pool& packets() { return packets_; }
    /// The queue pair of the port's HCA is served at `due`, or at once if memory is short.
    void wake_at(machine_time due, port& at, ib_qpn_t qp);
    /// Returns a new number other than 0.
    ULONG next_number() { return ++numbers_ != 0 ? numbers_ : ++numbers_; }

    /// Sends the response, which has replaced the request in `what`, to the requester.
    void respond(packet* what);
    /// A packet has arrived at a port with an Ethernet interface.
    void arrive_from_ethernet(port& at, datagram&& what);

    trap_list& traps() { return traps_; }
    // Functions that raise traps:
    void raise_link_state(node& of);
    void raise_link_error(port& at, USHORT number);
    void raise_capabilities(port& at);
    void raise_description(node& of);
    void raise_system_image(node& of);
    void raise_bad_mkey(port& at, packet& smp);
    void raise_bad_pkey(port& at, const datagram& what);
    void raise_bad_qkey(port& at, const datagram& what);
    void raise_switch_bad_pkey(port& at, const datagram& what);

    void plug(port& end, bool connected);
    void enable(port& end, bool on);
    void fail(port& end);
    bool set_state(port& end, IB_PORT_STATE state);
    void raise(port& end, IB_ASYNC_EVENT event);

private:
    struct pending_event {
        DEVICE_OBJECT* device;
        UCHAR port;
        IB_ASYNC_EVENT event;
    };

    static bool chooses_straight();
    void add_node(const node_plan& plan);
    void connect(const topology& plan);
    void train(port& end);
    void drop(port& end);
    void configure(port& end);
    void retrain_link(port& end);
    void follow_cable(port& end);
    void arrive(packet* what);
    void arrive_smp(packet* what);
    void arrive_gmp(packet* what);
    void arrive_at_agent_qp(packet* what);
    void arrive_at_queue_pair(packet* what);
    void wake(const event_scheduler::event& due);
    bool deliver_to_client(packet* what);
    void raise_local_change(port& at, USHORT flags);
    void raise_trap(port& from, USHORT number, const trap_details& details);
    void run_due_events();
    static void run_scheduler(KDPC* dpc, void* context, void*, void*);
    static void resend_traps(KDPC* dpc, void* context, void*, void*);
    void report_events();
    bool next_event(pending_event& next);
    bool take_unqueued_event(pending_event& next);

    std::deque<node> nodes_;
    KSPIN_LOCK lock_ = 0;
    bool reporting_ = false;            // guarded by lock_
    std::deque<pending_event> events_;  // guarded by lock_
    bool has_events_ = false;           // guarded by lock_: in events_, or the next
    bool has_unqueued_events_ = false;  // guarded by lock_: see port::unqueued_events
    packet_pool packets_;               // guarded by lock_
    event_scheduler scheduler_;         // guarded by lock_
    trap_list traps_;                   // guarded by lock_
    ULONG numbers_ = 0;                 // guarded by lock_
    straight_paths straight_paths_;     // guarded by lock_
    std::atomic<ULONGLONG> changes_{1}; // written under lock_
    std::atomic<ULONGLONG> routes_{1};  // written under lock_
    bool checks_memory_ = false;
    const bool simulated_;
};

} // namespace irpverbs::hca_software

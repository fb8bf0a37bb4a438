// The live fabric: nodes, ports, cables, and what changes in them.
#pragma once

#include "faults.hpp"
#include "topology.hpp"
#include "wire.hpp"

#include <ci/driver.h>
#include <hca/software.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

namespace irpverbs::hca_software {

struct node;
class adapter;

/// The last datagram that went over a link. Ways are walked ahead of time, so one that is asked
/// about later may have been there earlier.
struct passage {
    machine_time entered = 0;
    machine_time left = 0;

    /// When one leaves that would do so at `leaving`, were it not for those before it.
    machine_time stay_behind(machine_time entering, machine_time leaving) {
        if (entering < entered) return leaving;
        entered = entering;
        left = std::max(left, leaving);
        return left;
    }
};

struct port {
    node* owner = nullptr;
    UCHAR number = 0;
    port* peer = nullptr; // at the other end of the cable; null: there is none
    bool plugged = true;  // false: the cable is broken
    bool enabled = true;  // false: shut down
    IB_PORT_STATE state = IB_PORT_DOWN;
    IB_PORT_PHYSICAL_STATE physical = IB_PORT_PHYS_POLLING;
    ib_guid_t guid = 0;
    ib_sn_prefix_t prefix = IB_DEFAULT_GID_PREFIX;
    ib_lid_t lid = 0;
    UCHAR lmc = 0;
    ib_lid_t sm_lid = 0;
    UCHAR sm_sl = 0;
    UCHAR subnet_timeout = 18;
    UCHAR init_type = 0;
    USHORT width = IB_LINK_WIDTH_4X;
    USHORT speed = IB_LINK_SPEED_QDR;
    ULONG capabilities = 0;
    USHORT qkey_violations = 0;
    USHORT pkey_violations = 0;
    HCA_SOFTWARE_COUNTERS counters{};
    std::vector<ib_pkey_t> pkeys{IB_PKEY_DEFAULT_FULL};
    std::vector<ib_gid_t> gids;                        // [0] follows prefix and guid
    std::vector<std::pair<ULONG, const HCA_CA*>> held; // capability bit, holder

    std::shared_ptr<link_faults> faults; // of its cable; null: none
    bool enforces_out = false;           // of a switch: partitions, also for what it passes on
    bool enforces_in = false;
    passage last_sent;

    bool linked() const;
    /// Of its LIDs, which are 2^lmc.
    bool has(ib_lid_t which) const { return lid != 0 && (which >> lmc) == (lid >> lmc); }
};

struct node {
    IB_NODE_TYPE type = IB_NODE_CA;
    std::string id;
    std::string description;
    ib_guid_t guid = 0;
    ib_guid_t system_image_guid = 0;
    ULONG vendor_id = 0;
    ULONG device_id = 0;
    std::deque<port> ports;            // [0]: a switch's own
    std::vector<UCHAR> forwarding;     // of a switch: LID to port; no_port: dropped
    std::vector<USHORT> multicasting;  // of a switch: a mask of ports for each MLID
    std::unique_ptr<adapter> attached; // of a CA

    static constexpr UCHAR no_port = 255;
    static constexpr unsigned ports_a_mask = 16;

    bool switches() const { return type == IB_NODE_SWITCH; }
    /// The port whose LIDs and keys hold for what comes in at `in`.
    port& end_port(port& in) { return switches() ? ports[0] : in; }
    /// The words of `multicasting` that belong to one MLID.
    std::size_t masks() const { return (ports.size() + ports_a_mask - 1) / ports_a_mask; }
};

class fabric {
public:
    explicit fabric(const topology& plan);
    ~fabric();
    fabric(const fabric&) = delete;
    fabric& operator=(const fabric&) = delete;

    std::deque<node>& nodes() { return nodes_; }
    node* find_node(ib_guid_t guid);

    /// Gives LIDs and forwarding tables, and makes every linked port active. Before there are
    /// adapters.
    void bring_up();

    /// Reads under the fabric's lock. Calls nothing else.
    template <class Look>
    auto look(const Look& look) {
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock_);
        auto seen = look();
        KeReleaseSpinLock(&lock_, level);
        return seen;
    }

    /// Changes something under the fabric's lock, then tells the clients of the events that came of
    /// it; in the order of the changes, whichever thread tells them.
    template <class Change>
    auto change(const Change& change) {
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock_);
        auto result = change();
        const bool teller = !telling_ && !news_.empty();
        telling_ = telling_ || teller;
        KeReleaseSpinLock(&lock_, level);
        if (teller) tell();
        return result;
    }

    // Under the lock:

    /// Sends a datagram from a port, of a switch its own. Ownership: it is the fabric's.
    void send(port& from, packet* what);
    packet_stock& packets() { return packets_; }
    /// A new number that is not 0.
    ULONG next_number() { return ++numbers_ != 0 ? numbers_ : ++numbers_; }

    void plug(port& end, bool whole);
    void enable(port& end, bool on);
    void fail(port& end);
    bool set_state(port& end, IB_PORT_STATE state);
    void raise(port& end, IB_ASYNC_EVENT event);

private:
    struct piece_of_news {
        DEVICE_OBJECT* device;
        UCHAR port;
        IB_ASYNC_EVENT event;
    };

    void add_node(const node_plan& plan);
    void connect(const topology& plan);
    void train(port& end);
    void drop(port& end);
    void configure(port& end);
    void follow_cable(port& end);
    void arrive(packet* what);
    void serve();
    static void serve_wire(KDPC* dpc, void* context, void*, void*);
    void tell();
    bool next_news(piece_of_news& next);

    std::deque<node> nodes_;
    KSPIN_LOCK lock_ = 0;
    bool telling_ = false;           // guarded by lock_
    std::deque<piece_of_news> news_; // guarded by lock_
    packet_stock packets_;           // guarded by lock_
    wire wire_;                      // guarded by lock_
    ULONG numbers_ = 0;              // guarded by lock_
};

} // namespace irpverbs::hca_software

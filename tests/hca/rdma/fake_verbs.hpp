// A scripted kernel with verbs devices in place of libibverbs.
#pragma once

#include "fake_descriptors.hpp"
#include "verbs_library.hpp"

#include <ci/ib_types.h>

#include <array>
#include <deque>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace irpverbs::testing {

class fake_verbs {
public:
    enum call {
        get_device_list,
        open_device,
        close_device,
        query_device,
        query_port,
        query_gid,
        query_gid_table,
        query_pkey,
        get_async_event,
        create_comp_channel,
        destroy_comp_channel,
        get_cq_event,
        create_cq,
        resize_cq,
        destroy_cq,
        poll_cq,
        req_notify_cq,
        alloc_pd,
        dealloc_pd,
        reg_mr,
        rereg_mr,
        dereg_mr,
        alloc_mw,
        dealloc_mw,
        bind_mw,
        create_ah,
        destroy_ah,
        create_qp,
        modify_qp,
        query_qp,
        destroy_qp,
        create_srq,
        modify_srq,
        query_srq,
        destroy_srq,
        attach_mcast,
        detach_mcast,
        post_send,
        post_recv,
        call_count
    };
    /// The result of a call and its errno. A call that returns a pointer returns null.
    struct failure {
        int result;
        int error;
    };
    static failure by_errno(int error) { return {-1, error}; }
    static failure positive(int error) { return {error, 0}; }
    static failure negative(int error) { return {-error, 0}; }

    struct port {
        ibv_port_attr attr{};
        std::vector<ibv_gid> gids;
        std::vector<ib_pkey_t> pkeys{0xFFFF};
    };
    struct device : ibv_device {
        ibv_device_attr_ex attr{};
        std::vector<port> ports;
        bool listed = true; // false: removed, and kept only for the processes that have it open
        bool gone = false;
    };

    explicit fake_verbs(fake_descriptors& descriptors);
    ~fake_verbs();
    fake_verbs(const fake_verbs&) = delete;
    fake_verbs& operator=(const fake_verbs&) = delete;

    /// The functions that the driver calls. There is one fake_verbs at a time.
    static const hca_rdma::verbs_library& library();

    /// Adds a device like soft-RoCE's: Ethernet, GIDs, one P_Key.
    device& add(const std::string& name, ib_guid_t guid, unsigned ports = 1);
    template <class Change>
    void change(const Change& what) {
        const std::lock_guard guard(lock_);
        what(*this);
    }
    device& at(const std::string& name) { return *devices_.at(name); }

    /// Sets the results of the next calls.
    void fail(call which, std::initializer_list<failure> results);
    /// Calls block until they are released.
    void hold(call which);
    void release(call which);
    void wait_for(call which); // until a call blocks

    void raise(const std::string& name, ibv_event_type type, int port = 1);
    /// Adds an entry to the queue with that cq_context. Returns false when the queue overran, which
    /// is reported once per entry.
    bool complete(const void* cq_context, const ibv_wc& entry, bool solicited = false);
    void raise_for(const void* cq_context, ibv_event_type type);
    void raise_for_qp(ib_qpn_t number, ibv_event_type type);
    const ibv_srq* shared_of(ib_qpn_t number); // of a queue pair
    void raise_for_srq(ibv_event_type type);   // of the only shared receive queue
    /// Changes the state of a queue pair as an error does.
    void set_state(ib_qpn_t number, ibv_qp_state state);
    /// Removes the device as hardware drivers do: verbs fail, and the descriptors report it. No
    /// entry is flushed.
    void remove(const std::string& name);
    void hold_sm(int port, bool on);

    std::size_t queues() {
        const std::lock_guard guard(lock_);
        return queues_.size();
    }
    std::size_t contexts() {
        const std::lock_guard guard(lock_);
        return contexts_.size();
    }
    unsigned calls(call which) {
        const std::lock_guard guard(lock_);
        return count_[which];
    }
    std::vector<int> vectors; // with which queues were created

    /// The work requests that were posted, if `records_posts`; otherwise posts fail, EOPNOTSUPP.
    bool records_posts = false;
    std::vector<ibv_send_wr> sends;
    std::vector<ibv_recv_wr> receives;
    std::vector<std::size_t> lengths_of_lists; // of the posts
    std::size_t space = ~std::size_t{0};       // for work requests, until posts fail, ENOMEM
    std::vector<std::uint32_t> keys_before;    // of the windows of IBV_WR_BIND_MW, when posted
    std::vector<ibv_mw_bind> bindings;         // of windows of type 1
    std::vector<ibv_qp_attr> changes;          // of queue pairs
    std::vector<int> masks;                    // of these
    std::vector<std::uint64_t> iovas;          // of the regions that were registered
    std::vector<void*> registered;             // their memory
    std::size_t handles() {
        const std::lock_guard guard(lock_);
        return handles_;
    }
    std::size_t groups() {
        const std::lock_guard guard(lock_);
        return groups_.size();
    }

private:
    struct channel;
    struct context;
    struct queue;
    struct domain;
    struct pair;
    struct shared;
    friend struct verbs_calls;
    friend struct device_calls;
    friend struct qp_calls;
    friend struct srq_calls;
    friend struct mw_calls;

    failure take(call which);
    void pass(call which);
    queue* find(const void* cq_context);
    pair* find_pair(ib_qpn_t number);
    void notify(context& of, const ibv_async_event& event);
    bool all_acknowledged(const queue& of) const;

    static inline fake_verbs* now_ = nullptr;

    fake_descriptors& descriptors_;
    guarded_by_spin_lock lock_; // guards all members
    std::map<std::string, std::unique_ptr<device>> devices_;
    std::set<context*> contexts_;
    std::set<channel*> channels_;
    std::vector<queue*> queues_;
    std::vector<pair*> pairs_;
    std::vector<shared*> shared_;
    std::size_t domains_ = 0;
    std::size_t regions_ = 0;
    std::size_t windows_ = 0;
    std::size_t handles_ = 0;
    std::set<std::pair<ib_qpn_t, ib_lid_t>> groups_;
    std::uint32_t next_number_ = 0x11;
    std::array<std::deque<failure>, call_count> failures_;
    std::array<unsigned, call_count> count_{};
    std::array<bool, call_count> held_{};
    std::array<KEVENT, call_count> gates_;
    std::array<KEVENT, call_count> inside_;
    KEVENT acknowledged_;
    std::map<int, unsigned> events_reported_; // by type
    std::map<int, unsigned> events_acknowledged_;
    unsigned lists_ = 0;
};

} // namespace irpverbs::testing

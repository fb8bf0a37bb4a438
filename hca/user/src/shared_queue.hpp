// The client's end of a completion queue whose completions the daemon writes to a ring.
#pragma once

#include <ci/driver.h>
#include <ci/support/completion_ring.hpp>
#include <ci/support/shared_memory.hpp>

#include <memory>

namespace irpverbs::hca_user {

class connection;

class shared_queue {
public:
    /// Null: the descriptors are not those of a ring. `passed`: wire::cq_descriptor.
    static std::unique_ptr<shared_queue> make(HCA_CQ* cq, connection& via,
                                              ci::detail::descriptors& passed);
    ~shared_queue();
    shared_queue(const shared_queue&) = delete;
    shared_queue& operator=(const shared_queue&) = delete;

    /// Removes completions. Its callers exclude one another. IRQL: <= DISPATCH_LEVEL.
    ULONG poll(ULONG count, IB_WC* entries);
    /// Later polls need no call of the driver. The caller is one of poll.
    void enable_direct_poll();
    /// Requests an event. True: there is an entry for it already, and the caller reports it. IRQL:
    /// <= DISPATCH_LEVEL.
    bool arm(ULONG flags);
    /// True, once for each arming: the daemon has reported the event.
    bool take_event();
    /// Later completions come in another ring. False: the descriptors are not those of a ring.
    bool replace(ci::detail::descriptors& passed);

private:
    struct ring {
        explicit ring(ci::detail::shared_memory memory);

        const ci::detail::shared_memory mapped;
        const ci::crossing::completion_reader reader;
        std::unique_ptr<ring> next; // that continues it
    };

    shared_queue(HCA_CQ* cq, connection& via, ci::detail::shared_memory client_part,
                 std::unique_ptr<ring> first);
    static std::unique_ptr<ring> make_ring(ci::detail::descriptors& passed);
    static int poll_directly(ibv_cq* self, int count, ibv_wc* entries);
    bool read(IB_WC& entry);
    bool advance();
    template <class Visit>
    void visit_new(const Visit& visit);
    bool has_new_entry(ULONG flags);
    void disarm();
    bool remove_arming();

    HCA_CQ* const cq_;
    connection& via_;
    const ci::detail::shared_memory client_part_;
    ci::crossing::completion_ring::client_part& words_;
    std::atomic<std::uint64_t> consumed_{0}; // of the caller of poll
    ring* reading_;                          // of the caller of poll, who changes it under the lock

    KSPIN_LOCK lock_ = 0; // guards all below
    std::unique_ptr<ring> oldest_;
    ring* newest_;
    std::uint64_t armings_ = 0;
    ULONG armed_ = 0;           // IB_CQ_ARM, or 0
    std::uint64_t covered_ = 0; // entries for which an event was reported
};

} // namespace irpverbs::hca_user

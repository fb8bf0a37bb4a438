// The send window of a port: the number of transactions in flight, and the order of the others.
// Urgent ones are first, then the clients take turns.
#ifndef IRPVERBS_IBMF_ENGINE_SEND_WINDOW_HPP
#define IRPVERBS_IBMF_ENGINE_SEND_WINDOW_HPP

#include <engine/transaction.hpp>

#include <array>

namespace irpverbs::ibmf {

/// The queued transactions of a client.
struct client_queue {
    LIST_ENTRY transactions;
    LIST_ENTRY ring_entry; // link in the ring of queues that are not empty

    client_queue() { InitializeListHead(&transactions); }
};
using client_queues = std::array<client_queue, 2>; // the first: urgent

class send_window {
public:
    send_window() {
        for (LIST_ENTRY& ring : rings_)
            InitializeListHead(&ring);
    }

    /// Returns true if the transaction may start at once; otherwise it is queued with its client.
    bool insert(transaction& fresh, client_queues& its_client);
    /// Removes a transaction from the window or from the queue.
    void remove(transaction& ended, client_queues& its_client);
    /// Returns the next transaction to start. Null: the queue is empty, or the window is full.
    transaction* next();

    void set_limit(std::uint32_t in_flight) { limit_ = in_flight; }
    std::uint32_t in_flight() const { return in_flight_; }
    std::uint32_t queued() const { return queued_; }

private:
    static unsigned rank_of(const transaction& which) { return which.urgent ? 0 : 1; }
    void admit(transaction& which);

    std::array<LIST_ENTRY, 2> rings_;
    std::uint32_t limit_ = 128;
    std::uint32_t in_flight_ = 0;
    std::uint32_t queued_ = 0;
};

} // namespace irpverbs::ibmf

#endif

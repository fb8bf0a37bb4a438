// How many transactions are in flight at once, and whose turn is next: urgent ones first, then
// client by client.
#ifndef IRPVERBS_IBMF_ENGINE_FLOW_HPP
#define IRPVERBS_IBMF_ENGINE_FLOW_HPP

#include <engine/transaction.hpp>

#include <array>

namespace irpverbs::ibmf {

/// A client's transactions that wait for their turn.
struct waiting_line {
    LIST_ENTRY transactions;
    LIST_ENTRY in_ring; // of lines that are not empty

    waiting_line() { InitializeListHead(&transactions); }
};
using client_lines = std::array<waiting_line, 2>; // the first: urgent

class flow {
public:
    flow() {
        for (LIST_ENTRY& ring : rings_)
            InitializeListHead(&ring);
    }

    /// True: it goes at once. Else it is queued with its client.
    bool enter(transaction& fresh, client_lines& its_client);
    /// It is not in flight any more, or not queued.
    void leave(transaction& ended, client_lines& its_client);
    /// The next to go, if there is room; null: nobody waits, or no room.
    transaction* next();

    void set_limit(std::uint32_t in_flight) { limit_ = in_flight; }
    std::uint32_t in_flight() const { return in_flight_; }
    std::uint32_t queued() const { return queued_; }

private:
    static unsigned rank_of(const transaction& which) { return which.urgent ? 0 : 1; }
    void go(transaction& which);

    std::array<LIST_ENTRY, 2> rings_;
    std::uint32_t limit_ = 128;
    std::uint32_t in_flight_ = 0;
    std::uint32_t queued_ = 0;
};

} // namespace irpverbs::ibmf

#endif

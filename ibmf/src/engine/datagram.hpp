// A datagram on its way to the driver, or a whole message where that does RMPP.
#ifndef IRPVERBS_IBMF_ENGINE_DATAGRAM_HPP
#define IRPVERBS_IBMF_ENGINE_DATAGRAM_HPP

#include <engine/owned.hpp>
#include <engine/transaction_table.hpp>
#include <ibmf/mad.hpp>

namespace irpverbs::ibmf {

struct agent;
struct client;
class port;

/// Null: none, or no memory.
struct whole_message {
    owned<std::unique_ptr<std::uint8_t[]>> bytes;
    std::size_t size = 0;
};

struct datagram {
    deferred start;
    datagram* next_free = nullptr;
    IRP* irp = nullptr;
    port* at = nullptr;
    client* who = nullptr;
    agent* by = nullptr;
    std::uint32_t key = 0; // of its transaction
    IB_MAD_SEND send{};
    std::array<std::uint8_t, mad_size> bytes;
    whole_message whole; // in place of them
};

/// As many as are under way at once. Not thread-safe.
class datagram_pool {
public:
    datagram_pool() = default;
    datagram_pool(const datagram_pool&) = delete;
    datagram_pool& operator=(const datagram_pool&) = delete;
    ~datagram_pool();

    /// Null: no memory, or the driver has too many.
    datagram* take(port& whose);
    void give_back(datagram& done);

private:
    static constexpr unsigned most = 1024;

    datagram* free_ = nullptr;
    unsigned made_ = 0;
};

} // namespace irpverbs::ibmf

#endif

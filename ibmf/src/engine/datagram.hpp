// A datagram on its way to the driver, or a whole message where that does RMPP.
#ifndef IRPVERBS_IBMF_ENGINE_DATAGRAM_HPP
#define IRPVERBS_IBMF_ENGINE_DATAGRAM_HPP

#include <engine/owned.hpp>
#include <engine/transaction_table.hpp>
#include <ibmf/mad.hpp>

namespace irpverbs::ibmf {

struct agent;
struct alternate_qp;
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
    alternate_qp* qp = nullptr; // that it goes by; null: its class's
    std::uint32_t key = 0;      // of its transaction
    IB_MAD_SEND send{};
    std::array<std::uint8_t, mad_size> bytes;
    whole_message whole; // in place of them: the driver takes it apart, or it is no MAD

    /// Bytes that are no MAD. False: no memory.
    bool carry(mad_bytes what);
    mad_bytes content() const {
        return whole.bytes != nullptr ? mad_bytes(whole.bytes.get(), whole.size) : bytes;
    }
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

// A datagram on its way to the driver, or a whole message if the driver does RMPP.
#ifndef IRPVERBS_IBMF_ENGINE_DATAGRAM_HPP
#define IRPVERBS_IBMF_ENGINE_DATAGRAM_HPP

#include <engine/standard_layout_ptr.hpp>
#include <engine/transaction_table.hpp>
#include <ibmf/mad.hpp>

namespace irpverbs::ibmf {

struct agent;
struct alternate_qp;
struct client;
class port_context;

/// Null bytes: no message, or no memory.
struct whole_message {
    standard_layout_ptr<std::unique_ptr<std::uint8_t[]>> bytes;
    std::size_t size = 0;
};

struct datagram {
    deferred start;
    datagram* next_free = nullptr;
    IRP* irp = nullptr;
    port_context* at = nullptr;
    client* who = nullptr;
    agent* by = nullptr;
    alternate_qp* qp = nullptr; // null: the default QP of the class
    std::uint32_t key = 0;      // of its transaction
    IB_MAD_SEND send{};
    std::array<std::uint8_t, mad_size> bytes;
    whole_message whole; // in place of `bytes`: for the driver's RMPP, or not a MAD

    /// Copies bytes that are not a MAD. Returns false if there is no memory.
    bool carry(mad_bytes what);
    mad_bytes content() const {
        return whole.bytes != nullptr ? mad_bytes(whole.bytes.get(), whole.size) : bytes;
    }
};

/// The pool of datagrams. Not thread-safe.
class datagram_pool {
public:
    datagram_pool() = default;
    datagram_pool(const datagram_pool&) = delete;
    datagram_pool& operator=(const datagram_pool&) = delete;
    ~datagram_pool();

    /// Null: no memory, or the driver has too many datagrams.
    datagram* allocate(port_context& whose);
    void free(datagram& done);

private:
    static constexpr unsigned max_datagrams = 1024;

    datagram* free_ = nullptr;
    unsigned count_ = 0;
};

} // namespace irpverbs::ibmf

#endif

// The clients of a machine: handles, ports, messages, and the device that receives transactions as
// IRPs.
#ifndef IRPVERBS_IBMF_ENGINE_REGISTRY_HPP
#define IRPVERBS_IBMF_ENGINE_REGISTRY_HPP

#include <engine/call_line.hpp>
#include <engine/port.hpp>

#include <memory>
#include <vector>

namespace irpverbs::ibmf {

/// The arguments of ibmf_register.
struct registration {
    ibmf_register_info_t info;
    std::uint32_t oui; // 0 if the class has none
    uint_t flags;
    ibmf_async_event_cb_t call;
    void* argument;
};

class registry : public std::enable_shared_from_this<registry> {
public:
    /// The registry of the caller's machine.
    static registry& here();

    registry();
    ~registry();
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;

    /// A lock that makes registrations and their ends exclusive. IRQL: PASSIVE_LEVEL.
    class turn {
    public:
        explicit turn(registry& of) : free_(of.free_) {
            KeWaitForSingleObject(&free_, Executive, KernelMode, FALSE, nullptr);
        }
        ~turn() { KeSetEvent(&free_, IO_NO_INCREMENT, FALSE); }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;

    private:
        KEVENT& free_;
    };

    /// Return IBMF_ statuses. IRQL: PASSIVE_LEVEL.
    int add(const registration& wanted, ibmf_handle_t& handle);
    int remove(client& gone);
    /// Removes the port of a failed HCA: a later registration finds another port, or none.
    void withdraw(port& failed);

    /// Queues a request run_a_call. IRQL: <= DISPATCH_LEVEL. Returns STATUS_PENDING.
    NTSTATUS run_in_turn(IRP* irp) { return calls_.enter(irp, shared_from_this()); }

    int add_qp(client& whose, uint_t kind, const IB_MAD_KEYS& keys, ibmf_qp_handle_t& handle);

    /// Null: not the handle of a registered client. IRQL: <= DISPATCH_LEVEL.
    client_ref find(ibmf_handle_t handle);

    DEVICE_OBJECT* device() const { return device_; }
    message_pool& messages() { return messages_; }

private:
    struct place {
        std::uint64_t generation = 0;
        client* who = nullptr;
    };
    static constexpr unsigned index_bits = 16;
    static ibmf_handle_t handle_of(std::uint64_t generation, std::size_t index);

    int find_port(const ibmf_register_info_t& wanted, boost::intrusive_ptr<port>& found);
    int enlist(port& at, const registration& wanted, ibmf_handle_t& handle);
    void close_if_unused(port& at);
    bool assign_handle(client& fresh);
    void withdraw_handle(const client& gone);

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    message_pool messages_;
    call_line calls_;
    KEVENT free_;               // set: no thread holds the turn
    std::vector<port*> ports_;  // changed under turn
    std::uint64_t last_qp_ = 0; // changed under turn
    dispatch::detail::raw_spin lock_;
    std::vector<place> places_; // guarded by lock_
};

/// Dispatches an IRP of the device: begins the transaction, or runs a call that may block.
NTSTATUS dispatch_request(DEVICE_OBJECT* device, IRP* irp);

} // namespace irpverbs::ibmf

#endif

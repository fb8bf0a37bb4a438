// The clients of a machine: handles, ports, messages, and the device that receives transactions as
// IRPs.
#ifndef IRPVERBS_IBMF_ENGINE_CLIENT_TABLE_HPP
#define IRPVERBS_IBMF_ENGINE_CLIENT_TABLE_HPP

#include <engine/call_queue.hpp>
#include <engine/port_context.hpp>

#include <dispatch/support/handle_table.hpp>

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

class client_table : public std::enable_shared_from_this<client_table> {
public:
    /// The client table of the caller's machine.
    static client_table& current();

    client_table();
    ~client_table();
    client_table(const client_table&) = delete;
    client_table& operator=(const client_table&) = delete;

    /// A lock that makes registrations and their ends exclusive. IRQL: PASSIVE_LEVEL.
    class lifecycle_lock {
    public:
        explicit lifecycle_lock(client_table& of) : free_(of.free_) {
            KeWaitForSingleObject(&free_, Executive, KernelMode, FALSE, nullptr);
        }
        ~lifecycle_lock() { KeSetEvent(&free_, IO_NO_INCREMENT, FALSE); }
        lifecycle_lock(const lifecycle_lock&) = delete;
        lifecycle_lock& operator=(const lifecycle_lock&) = delete;

    private:
        KEVENT& free_;
    };

    /// Return IBMF_ statuses. IRQL: PASSIVE_LEVEL.
    int add(const registration& wanted, ibmf_handle_t& handle);
    int remove(client& gone);
    /// Removes the port of a failed HCA: a later registration finds another port, or none.
    void remove_failed(port_context& failed);

    /// Queues a request run_call. IRQL: <= DISPATCH_LEVEL. Returns STATUS_PENDING.
    NTSTATUS run_serialized(IRP* irp) { return calls_.insert(irp, shared_from_this()); }

    int add_qp(client& whose, uint_t kind, const IB_MAD_KEYS& keys, ibmf_qp_handle_t& handle);

    /// Null: not the handle of a registered client. IRQL: <= DISPATCH_LEVEL.
    client_ref find(ibmf_handle_t handle) {
        return clients_.find(reinterpret_cast<std::uint64_t>(handle));
    }

    DEVICE_OBJECT* device() const { return device_; }
    message_pool& messages() { return messages_; }

private:
    int find_port(const ibmf_register_info_t& wanted, boost::intrusive_ptr<port_context>& found);
    int attach(port_context& at, const registration& wanted, ibmf_handle_t& handle);
    void close_if_unused(port_context& at);
    bool assign_handle(client& fresh);
    /// Returns the reference of the table.
    client_ref release_handle(const client& gone) {
        return clients_.remove(reinterpret_cast<std::uint64_t>(gone.handle));
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    message_pool messages_;
    call_queue calls_;
    KEVENT free_;                      // set: no thread holds the lifecycle lock
    std::vector<port_context*> ports_; // changed under lifecycle_lock
    std::uint64_t last_qp_ = 0;        // changed under lifecycle_lock
    dispatch::detail::handle_table<client_ref> clients_;
};

/// Dispatches an IRP of the device: begins the transaction, or runs a call that may block.
NTSTATUS dispatch_request(DEVICE_OBJECT* device, IRP* irp);

} // namespace irpverbs::ibmf

#endif

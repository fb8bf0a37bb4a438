// The sessions of a machine: handles, ports, and the device that receives accesses.
#pragma once

#include <access/session.hpp>
#include <lookaside.hpp>

#include <dispatch/support/handle_table.hpp>

#include <vector>

namespace irpverbs::saa {

class session_table : public std::enable_shared_from_this<session_table> {
public:
    /// Returns the session table of the caller's machine.
    static session_table& current();

    session_table();
    ~session_table();
    session_table(const session_table&) = delete;
    session_table& operator=(const session_table&) = delete;

    /// Serializes the opens and closes of ports. IRQL: PASSIVE_LEVEL.
    class lifecycle_lock {
    public:
        explicit lifecycle_lock(session_table& of) : free_(of.free_) {
            KeWaitForSingleObject(&free_, Executive, KernelMode, FALSE, nullptr);
        }
        /// Acquires no lock when `unless` is set first.
        lifecycle_lock(session_table& of, KEVENT& unless) : free_(of.free_) {
            void* either[] = {&unless, &free_};
            has_ = KeWaitForMultipleObjects(2, either, WaitAny, Executive, KernelMode, FALSE,
                                            nullptr, nullptr) != STATUS_WAIT_0;
        }
        ~lifecycle_lock() {
            if (has_) KeSetEvent(&free_, IO_NO_INCREMENT, FALSE);
        }
        explicit operator bool() const { return has_; }
        lifecycle_lock(const lifecycle_lock&) = delete;
        lifecycle_lock& operator=(const lifecycle_lock&) = delete;

    private:
        KEVENT& free_;
        bool has_ = true;
    };

    /// The parameters of a session.
    struct session_parameters {
        ib_guid_t port_guid;
        ib_smkey_t sm_key;
        ibmf_saa_subnet_event_args_t events; // without a callback: no events
        uint_t flags;
    };

    /// Return IBMF_ statuses. IRQL: PASSIVE_LEVEL.
    int open(const session_parameters& wanted, ibmf_saa_handle_t& handle);
    int close(session& gone);

    /// Returns null when there is no such session, or it was closed. IRQL: <= DISPATCH_LEVEL.
    session_ref find(ibmf_saa_handle_t handle) {
        return sessions_.find(reinterpret_cast<std::uint64_t>(handle));
    }

    DEVICE_OBJECT* device() const { return device_; }

    /// The memory of accesses with callbacks.
    static constexpr std::size_t access_size = 448;
    lookaside& access_memory() { return access_memory_; }
    lookaside& query_memory() { return query_memory_; }

private:
    // Returns an IBMF_ status or throws std::bad_alloc. The caller closes the objects created
    // before a failure.
    int find_port(ib_guid_t guid, boost::intrusive_ptr<session_port>& found);
    int prepare(const session_parameters& wanted, boost::intrusive_ptr<session_port>& at,
                session_ref& fresh);
    void close_if_unused(session_port& at);
    bool assign_handle(session& fresh);
    /// Returns the reference of the table.
    session_ref release_handle(const session& gone) {
        return sessions_.remove(reinterpret_cast<std::uint64_t>(gone.handle));
    }

    lookaside access_memory_{access_size, 0x61416153};  // "SaAa"
    lookaside query_memory_{sizeof(query), 0x75516153}; // "SaQu"
    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    KEVENT free_;                      // set while no thread holds the lifecycle lock
    std::vector<session_port*> ports_; // changed under lifecycle_lock
    dispatch::detail::handle_table<session_ref> sessions_;
};

} // namespace irpverbs::saa

// The sessions of a machine: handles, ports, and the device that accesses are sent to.
#pragma once

#include <access/session.hpp>

#include <dispatch/detail/spin.hpp>

#include <vector>

namespace irpverbs::saa {

class registry : public std::enable_shared_from_this<registry> {
public:
    /// Of the caller's machine.
    static registry& here();

    registry();
    ~registry();
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;

    /// One caller at a time opens and closes ports. IRQL: PASSIVE_LEVEL.
    class turn {
    public:
        explicit turn(registry& of) : free_(of.free_) {
            KeWaitForSingleObject(&free_, Executive, KernelMode, FALSE, nullptr);
        }
        /// Not, when that is set first.
        turn(registry& of, KEVENT& unless) : free_(of.free_) {
            void* either[] = {&unless, &free_};
            has_ = KeWaitForMultipleObjects(2, either, WaitAny, Executive, KernelMode, FALSE,
                                            nullptr, nullptr) != STATUS_WAIT_0;
        }
        ~turn() {
            if (has_) KeSetEvent(&free_, IO_NO_INCREMENT, FALSE);
        }
        explicit operator bool() const { return has_; }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;

    private:
        KEVENT& free_;
        bool has_ = true;
    };

    /// What a session is opened with.
    struct opening {
        ib_guid_t port_guid;
        ib_smkey_t sm_key;
        ibmf_saa_subnet_event_args_t events; // no callback: none
        uint_t flags;
    };

    /// IBMF_ statuses. IRQL: PASSIVE_LEVEL.
    int open(const opening& wanted, ibmf_saa_handle_t& handle);
    int close(session& gone);

    /// Null: no such session, or no longer. IRQL: <= DISPATCH_LEVEL.
    session_ref find(ibmf_saa_handle_t handle);

    DEVICE_OBJECT* device() const { return device_; }

    /// Of accesses with callbacks.
    static constexpr std::size_t access_size = 448;
    lookaside& access_memory() { return access_memory_; }

private:
    struct place {
        std::uint64_t generation = 0;
        session* who = nullptr;
    };
    static constexpr unsigned index_bits = 16;

    // An IBMF_ status, or std::bad_alloc; what was made by then stays for who calls it to close.
    int find_port(ib_guid_t guid, boost::intrusive_ptr<port>& found);
    int prepare(const opening& wanted, boost::intrusive_ptr<port>& at, session_ref& fresh);
    void close_if_unused(port& at);
    bool assign_handle(session& fresh);
    void withdraw_handle(const session& gone);

    lookaside access_memory_{access_size, 0x61416153}; // "SaAa"
    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    KEVENT free_;              // set: it is nobody's turn
    std::vector<port*> ports_; // changed in turn
    dispatch::detail::raw_spin lock_;
    std::vector<place> places_; // guarded by lock_
};

} // namespace irpverbs::saa

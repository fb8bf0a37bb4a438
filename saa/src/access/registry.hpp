// The sessions of a machine: handles, ports, and the device that receives accesses.
#pragma once

#include <access/session.hpp>

#include <dispatch/detail/spin.hpp>

#include <vector>

namespace irpverbs::saa {

class registry : public std::enable_shared_from_this<registry> {
public:
    /// Returns the registry of the caller's machine.
    static registry& here();

    registry();
    ~registry();
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;

    /// Serializes the opens and closes of ports. IRQL: PASSIVE_LEVEL.
    class turn {
    public:
        explicit turn(registry& of) : free_(of.free_) {
            KeWaitForSingleObject(&free_, Executive, KernelMode, FALSE, nullptr);
        }
        /// Acquires no turn when `unless` is set first.
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

    /// The parameters of a session.
    struct opening {
        ib_guid_t port_guid;
        ib_smkey_t sm_key;
        ibmf_saa_subnet_event_args_t events; // without a callback: no events
        uint_t flags;
    };

    /// Return IBMF_ statuses. IRQL: PASSIVE_LEVEL.
    int open(const opening& wanted, ibmf_saa_handle_t& handle);
    int close(session& gone);

    /// Returns null when there is no such session, or it was closed. IRQL: <= DISPATCH_LEVEL.
    session_ref find(ibmf_saa_handle_t handle);

    DEVICE_OBJECT* device() const { return device_; }

    /// The memory of accesses with callbacks.
    static constexpr std::size_t access_size = 448;
    lookaside& access_memory() { return access_memory_; }

private:
    struct place {
        std::uint64_t generation = 0;
        session* who = nullptr;
    };
    static constexpr unsigned index_bits = 16;

    // Returns an IBMF_ status or throws std::bad_alloc. The caller closes the objects created
    // before a failure.
    int find_port(ib_guid_t guid, boost::intrusive_ptr<port>& found);
    int prepare(const opening& wanted, boost::intrusive_ptr<port>& at, session_ref& fresh);
    void close_if_unused(port& at);
    bool assign_handle(session& fresh);
    void withdraw_handle(const session& gone);

    lookaside access_memory_{access_size, 0x61416153}; // "SaAa"
    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    KEVENT free_;              // set while no thread has the turn
    std::vector<port*> ports_; // changed in turns only
    dispatch::detail::raw_spin lock_;
    std::vector<place> places_; // guarded by lock_
};

} // namespace irpverbs::saa

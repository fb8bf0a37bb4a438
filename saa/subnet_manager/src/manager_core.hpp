// The life cycle of a subnet manager: its requests, its IBMF clients, its timer, its stop.
#pragma once

#include <mastership/mastership.hpp>
#include <sa/sa_server.hpp>
#include <sweep/sweeper.hpp>

#include <irp/cancel_safe_queue.hpp>
#include <subnet_manager/subnet_manager.hpp>

#include <atomic>
#include <mutex>

namespace irpverbs::subnet_manager {

/// All functions but the public ones run as tasks of its queue. A running manager references
/// itself.
class manager_core : public std::enable_shared_from_this<manager_core> {
public:
    explicit manager_core(manager_options options);

    /// Sends the IRP to the manager. Returns its status, or STATUS_PENDING.
    NTSTATUS submit(detail::manager_verb verb, IRP* irp);
    /// Stops the manager without waiting for its end.
    void request_stop();
    manager_status status() const;

private:
    enum class phase { idle, running, closing, closed };

    struct wake_task : serial_queue::task {
        manager_core* of = nullptr;
    };

    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp);
    irp::cancel_safe_queue& queue_of(detail::manager_verb verb);
    void wake();
    static void woken(serial_queue::task& task);
    void serve();
    void end_when_due();
    void restart();
    void continue_close();
    void complete_all();

    NTSTATUS open();
    NTSTATUS open_clients();
    void open_ports();
    void make_all();
    void make_mastership();
    void make_parts();
    sweep_rules rules();
    NTSTATUS open_client(ibmf_client_type_t type, uint_t flags, ibmf_handle_t& client);
    void start_timer();
    void stop_timer();
    static void timer_fired(KDPC*, void* self, void*, void*);

    void tick();
    void step_down();
    void stepped_down();
    bool is_up() const;

    void on_swept(const subnet* before);
    sweeper::observer observer();
    void update_subnet_status();
    void publish_status();
    void on_subnet_message(message_parts what);
    void on_trap(message_parts what);
    void handle_notice(const ib_mad_notice_t& notice);
    void forward(const ib_mad_notice_t& notice);
    void on_sm_info_request(const message_parts& what);
    std::vector<sm_sminfo_t> managers() const;
    void on_sa_message(message_parts what);

    void begin_close(NTSTATUS outcome);
    void close_clients();
    void unregister();

    const manager_options options_;
    DEVICE_OBJECT device_{};
    std::atomic<bool> exhausted_{false}; // a task has thrown
    std::shared_ptr<serial_queue> queue_ =
        std::make_shared<serial_queue>([this] { exhausted_ = true; });
    irp::cancel_safe_queue starting_, waiting_, stopping_;
    wake_task wake_task_;
    std::atomic<bool> wake_pending_{false};
    std::shared_ptr<manager_core> wake_owner_; // references the manager while wake_task_ is queued
    std::atomic<bool> stop_requested_{false};

    KTIMER timer_{};
    KDPC timer_dpc_{};
    std::atomic<bool> ticked_{false};

    phase phase_ = phase::idle;
    NTSTATUS outcome_ = STATUS_FILE_CLOSED; // the status of pending requests at the close
    std::shared_ptr<manager_core> self_;    // while it runs
    ibmf_handle_t subnet_client_ = nullptr;
    ibmf_handle_t sa_client_ = nullptr;
    std::unique_ptr<smp_channel> smps_;
    std::unique_ptr<message_port> subnet_port_;
    std::unique_ptr<message_port> sa_port_;
    std::optional<sweep_plan> plan_;
    std::unique_ptr<mastership> mastership_;
    bool ports_closed_ = false;
    bool stepping_down_ = false; // the parts of an ended mastership are ending
    std::unique_ptr<sweeper> sweeper_;
    std::unique_ptr<multicast_router> router_;
    std::unique_ptr<sa_server> sa_;

    manager_status subnet_status_; // the part of the status that describes the subnet

    mutable dispatch::detail::scheduled_spin status_lock_;
    manager_status status_; // guarded by status_lock_
};

} // namespace irpverbs::subnet_manager

#include "manager_core.hpp"

#include <dispatch/testing/probe.hpp>
#include <ibmf/ibmf_extras.h>

namespace irpverbs::subnet_manager {

namespace {

constexpr LONG tick_ms = 250;
constexpr machine_time ticks_per_millisecond = ticks_per_second / 1000;
constexpr char one_partition[] = "Default=0x7fff, ipoib : ALL=full ;";

NTSTATUS status_of(int ibmf_code) {
    switch (ibmf_code) {
    case IBMF_SUCCESS:
        return STATUS_SUCCESS;
    case IBMF_BAD_NODE:
        return STATUS_OBJECT_NAME_NOT_FOUND;
    case IBMF_BAD_PORT:
        return STATUS_INVALID_PARAMETER;
    case IBMF_PORT_IN_USE:
        return STATUS_SHARING_VIOLATION;
    case IBMF_NO_RESOURCES:
        return STATUS_INSUFFICIENT_RESOURCES;
    default:
        return STATUS_UNSUCCESSFUL;
    }
}

constexpr std::uint32_t max_in_flight = 4096; // each has a message, which exists from the start on

std::optional<sweep_plan> plan_of(const manager_options& options) {
    std::string error;
    const std::string& text = options.partitions;
    auto partitions = parse_partitions(text.empty() ? one_partition : text, "partitions", error);
    const bool in_range = options.lmc <= 7 && options.priority <= 15 &&
                          options.smps_in_flight != 0 && options.smps_in_flight <= max_in_flight;
    if (!partitions || !in_range) return std::nullopt;
    return sweep_plan{options.lmc, std::move(*partitions)};
}

DRIVER_OBJECT driver_with(PDRIVER_DISPATCH dispatch) {
    DRIVER_OBJECT driver{};
    driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
    return driver;
}

} // namespace

manager_core::manager_core(manager_options options) : options_(std::move(options)) {
    static DRIVER_OBJECT driver = driver_with(dispatch);
    device_.StackSize = 1;
    device_.DriverObject = &driver;
    device_.DeviceExtension = this;
    wake_task_.of = this;
    wake_task_.run = woken;
    KeInitializeTimer(&timer_);
    KeInitializeDpc(&timer_dpc_, timer_fired, this);
}

NTSTATUS manager_core::submit(detail::manager_verb verb, IRP* irp) {
    IO_STACK_LOCATION& next = *IoGetNextIrpStackLocation(irp);
    next.MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next.MinorFunction = static_cast<UCHAR>(verb);
    return IoCallDriver(&device_, irp);
}

NTSTATUS manager_core::dispatch(DEVICE_OBJECT* device, IRP* irp) {
    auto& self = *static_cast<manager_core*>(device->DeviceExtension);
    irp::pending_irp owed(irp);
    const auto verb = static_cast<detail::manager_verb>(owed.stack().MinorFunction);
    const std::shared_ptr<manager_core> kept = self.shared_from_this();
    const NTSTATUS status = self.queue_of(verb).pend(std::move(owed));
    kept->wake();
    return status;
}

irp::cancel_safe_queue& manager_core::queue_of(detail::manager_verb verb) {
    switch (verb) {
    case detail::manager_verb::start:
        return starting_;
    case detail::manager_verb::stop:
        return stopping_;
    default:
        return waiting_;
    }
}

void manager_core::wake() {
    if (wake_pending_.exchange(true)) return;
    wake_owner_ = shared_from_this();
    queue_->post(wake_task_);
}

void manager_core::woken(serial_queue::task& task) {
    manager_core& self = *static_cast<wake_task&>(task).of;
    const std::shared_ptr<manager_core> kept = std::move(self.wake_owner_);
    self.wake_pending_ = false;
    self.serve();
}

void manager_core::request_stop() {
    stop_requested_ = true;
    wake();
}

manager_status manager_core::status() const {
    const std::lock_guard guard(status_lock_);
    return status_;
}

void manager_core::serve() {
    if (exhausted_.exchange(false) && phase_ == phase::running && !stepping_down_) restart();
    if (phase_ == phase::running && stepping_down_ && smps_->idle()) stepped_down();
    if (ticked_.exchange(false) && phase_ == phase::running) tick();
    if (phase_ == phase::idle && !starting_.empty()) {
        const NTSTATUS opened = open();
        phase_ = NT_SUCCESS(opened) ? phase::running : phase::closed;
        if (!NT_SUCCESS(opened)) outcome_ = opened;
        if (NT_SUCCESS(opened)) mastership_->begin();
    }
    publish_status();
    if (phase_ == phase::running) starting_.remove_all().complete(STATUS_SUCCESS);
    if (phase_ == phase::running && is_up()) waiting_.remove_all().complete(STATUS_SUCCESS);
    end_when_due();
    if (phase_ == phase::closing) continue_close();
    if (phase_ == phase::closed) complete_all();
}

void manager_core::end_when_due() {
    const bool wanted = stop_requested_ || !stopping_.empty();
    if (phase_ == phase::idle && wanted)
        phase_ = phase::closed;
    else if (phase_ == phase::running && wanted)
        begin_close(STATUS_CANCELLED);
    else if (phase_ == phase::running && smps_->device_removed())
        begin_close(STATUS_FILE_FORCED_CLOSED);
    publish_status();
}

void manager_core::complete_all() {
    starting_.remove_all().complete(outcome_);
    waiting_.remove_all().complete(outcome_);
    outcome_ = STATUS_FILE_CLOSED;
    stopping_.remove_all().complete(STATUS_SUCCESS);
}

NTSTATUS manager_core::open_client(ibmf_client_type_t type, uint_t flags, ibmf_handle_t& client) {
    ibmf_register_info_t info{options_.hca, options_.port, type};
    ibmf_impl_caps_t capabilities{};
    return status_of(ibmf_register(&info, IBMF_VERSION, flags | IBMF_REG_FLAG_NO_OFFLOAD, nullptr,
                                   nullptr, &client, &capabilities));
}

NTSTATUS manager_core::open_clients() {
    smps_ = std::make_unique<smp_channel>(*queue_, options_.smps_in_flight, [this] { wake(); });
    NTSTATUS status = open_client(SUBN_MANAGER, 0, subnet_client_);
    if (NT_SUCCESS(status)) status = open_client(SUBN_ADM_AGENT, IBMF_REG_FLAG_RMPP, sa_client_);
    if (NT_SUCCESS(status)) status = status_of(smps_->open(subnet_client_));
    if (NT_SUCCESS(status)) status = status_of(ibmf_set_is_sm(subnet_client_, B_TRUE));
    if (NT_SUCCESS(status)) ibmf_limit_port(subnet_client_, options_.smps_in_flight);
    return status;
}

NTSTATUS manager_core::open() {
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    try {
        plan_ = plan_of(options_);
        if (!plan_) return STATUS_INVALID_PARAMETER;
        status = open_clients();
        if (NT_SUCCESS(status)) make_all();
    } catch (const std::bad_alloc&) {
        status = STATUS_INSUFFICIENT_RESOURCES;
    }
    if (!NT_SUCCESS(status)) {
        close_clients();
        return status;
    }
    open_ports();
    self_ = shared_from_this();
    start_timer();
    return STATUS_SUCCESS;
}

void manager_core::make_all() {
    using overflow = message_port::overflow;
    make_mastership();
    subnet_port_ = std::make_unique<message_port>(*queue_, overflow::drop, [this] { wake(); });
    sa_port_ = std::make_unique<message_port>(*queue_, overflow::respond_busy, [this] { wake(); });
    make_parts();
}

void manager_core::make_mastership() {
    mastership_ = std::make_unique<mastership>(
        *smps_,
        mastership::settings{options_.priority, options_.sm_key,
                             options_.standby_poll_ms * ticks_per_millisecond,
                             options_.standby_retries},
        mastership::callbacks{
            .sweep = [this] { sweeper_->begin_heavy_sweep(); },
            .light_sweep = [this] { sweeper_->begin_light_sweep(); },
            .invalidate_programmed_state = [this] { sweeper_->invalidate_programmed_state(); },
            .step_down = [this] { step_down(); }});
}

sweep_rules manager_core::rules() {
    return {.is_master = [this] { return mastership_->is_master(); },
            .own = [this] { return mastership_->info(); },
            .evaluate =
                [this](const sm_discovery& seen) {
                    if (stepping_down_) return false; // its SMPs were cancelled: it says nothing
                    const bool configures = mastership_->evaluate(seen);
                    wake();
                    return configures;
                }};
}

// Creates the parts of a master, without state of an earlier mastership: other managers have
// changed the subnet since.
void manager_core::make_parts() {
    sa_.reset();
    router_.reset();
    sweeper_ = std::make_unique<sweeper>(
        *smps_, *plan_, rules(), options_.light_sweep_ms * ticks_per_millisecond, observer());
    router_ = std::make_unique<multicast_router>(*smps_, sweeper_->programmed(),
                                                 [this] { sweeper_->schedule_retry(); });
    sa_ = std::make_unique<sa_server>(*sa_port_, *router_, options_.sa_key, plan_->partitions,
                                      [this](ib_guid_t port) { sweeper_->reregister(port); });
}

void manager_core::open_ports() {
    subnet_port_->open(subnet_client_,
                       [this](message_parts what) { on_subnet_message(std::move(what)); });
    sa_port_->open(sa_client_, [this](message_parts what) { on_sa_message(std::move(what)); });
}

// The timer is periodic, so a simulated run does not wait for it.
void manager_core::start_timer() {
    LARGE_INTEGER first;
    first.QuadPart = -static_cast<LONGLONG>(tick_ms * ticks_per_millisecond);
    KeSetTimerEx(&timer_, first, tick_ms, &timer_dpc_);
}

void manager_core::stop_timer() {
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
}

void manager_core::timer_fired(KDPC*, void* context, void*, void*) {
    auto& self = *static_cast<manager_core*>(context);
    self.ticked_ = true;
    self.wake();
}

void manager_core::tick() {
    if (stepping_down_) return;
    const machine_time now = KeQueryInterruptTime();
    mastership_->tick(now);
    if (!mastership_->is_master()) return;
    sweeper_->tick(now);
    sa_->tick();
}

// Ends the parts of a master. They are created again after their last SMP.
void manager_core::step_down() {
    stepping_down_ = true;
    smps_->cancel();
    sweeper_->stop();
    wake();
}

// A task failed for lack of memory and left its work incomplete: restarts as after a takeover, when
// clients register again.
void manager_core::restart() {
    IRPVERBS_PROBE("manager.restarted_for_memory");
    mastership_->reset();
    step_down();
}

void manager_core::stepped_down() {
    make_parts(); // may throw; the next tick tries it again
    stepping_down_ = false;
    smps_->resume();
    mastership_->stepped_down();
    wake();
}

bool manager_core::is_up() const {
    if (stepping_down_) return false;
    return mastership_->is_master() ? sweeper_->current() != nullptr : mastership_->has_master();
}

sweeper::observer manager_core::observer() {
    return {.swept = [this](const subnet* before) { on_swept(before); },
            .going =
                [this](std::span<const port_ref> lost) {
                    sa_->on_ports_lost(lost, *sweeper_->current());
                },
            .gone =
                [this] {
                    update_subnet_status();
                    sa_->route_groups(*sweeper_->current());
                    wake();
                }};
}

void manager_core::on_swept(const subnet* before) {
    update_subnet_status();
    sa_->subnet_changed(before, *sweeper_->current());
    wake();
}

void manager_core::begin_close(NTSTATUS outcome) {
    phase_ = phase::closing;
    outcome_ = outcome;
    smps_->cancel();
    sweeper_->stop();
}

// Waits for the SMPs of the parts, then for messages.
void manager_core::continue_close() {
    if (!smps_->idle()) return;
    if (!std::exchange(ports_closed_, true)) {
        sa_port_->close();
        subnet_port_->close();
    }
    if (sa_port_->idle() && subnet_port_->idle()) unregister();
}

void manager_core::close_clients() {
    smps_->close();
    for (ibmf_handle_t* const client : {&sa_client_, &subnet_client_})
        if (*client != nullptr) ibmf_unregister(client, 0);
}

void manager_core::unregister() {
    const std::shared_ptr<manager_core> last = std::move(self_);
    stop_timer();
    close_clients();
    phase_ = phase::closed;
    publish_status();
}

} // namespace irpverbs::subnet_manager

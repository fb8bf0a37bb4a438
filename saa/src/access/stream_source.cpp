// The queue of a stream, between the access that delivers records and the calls that read them.
#include <access/session_port.hpp>
#include <saa/record_stream.hpp>

#include <dispatch/support/scheduled_spin.hpp>
#include <irp/cancel_safe_queue.hpp>

#include <deque>
#include <mutex>
#include <new>

namespace irpverbs::saa::detail {

// The stream stops the transfer when more bytes than this are unread.
constexpr std::size_t max_unread_bytes = std::size_t{1} << 20;

class stream_source final : public record_sink, public std::enable_shared_from_this<stream_source> {
public:
    stream_source();
    ~stream_source() override;
    stream_source(const stream_source&) = delete;
    stream_source& operator=(const stream_source&) = delete;

    void open(ibmf_saa_handle_t handle, const ibmf_saa_access_args_t& args, uint_t flags);
    void close();
    DEVICE_OBJECT* device() { return &device_; }

private:
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp);
    static NTSTATUS access_ended(DEVICE_OBJECT*, IRP* irp, void* context);
    void append(record_block&& records) override;
    bool pause_if_full(query& which) override;
    void store(record_block&& records);
    void release_paused_query();
    void end(int status, NTSTATUS nt_status);
    void serve();
    bool serve_one();
    query_ref take_next(next_call& call, NTSTATUS& nt_status);

    DEVICE_OBJECT device_{};
    irp::cancel_safe_queue readers_;
    IRP* irp_ = nullptr; // kept until the end, so that it can be cancelled at any time
    access_request request_;
    std::shared_ptr<stream_source> self_; // set during the access

    dispatch::detail::scheduled_spin lock_;
    // lock_ guards all members below.
    std::deque<record_block> unread_;
    std::size_t unread_bytes_ = 0;
    query_ref paused_query_; // a stopped query, until half of the records are read
    bool ended_ = false;
    int status_ = IBMF_SUCCESS; // of the end; a failure of the stream itself precedes it
    NTSTATUS nt_status_ = STATUS_SUCCESS;
    bool serving_ = false; // one call serves at a time, so that records stay in order
    bool again_ = false;
};

namespace {

DRIVER_OBJECT driver_with(PDRIVER_DISPATCH dispatch) {
    DRIVER_OBJECT driver{};
    driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
    return driver;
}

} // namespace

stream_source::stream_source() {
    static DRIVER_OBJECT driver = driver_with(dispatch);
    device_.StackSize = 1;
    device_.DriverObject = &driver;
    device_.DeviceExtension = this;
}

stream_source::~stream_source() {
    if (irp_ != nullptr) IoFreeIrp(irp_);
}

void stream_source::open(ibmf_saa_handle_t handle, const ibmf_saa_access_args_t& args,
                         uint_t flags) {
    irp_ = IoAllocateIrp(request_stack_size(), FALSE);
    if (irp_ == nullptr) return end(IBMF_NO_RESOURCES, STATUS_INSUFFICIENT_RESOURCES);
    self_ = shared_from_this();
    request_.sink = self_;
    IoSetCompletionRoutine(irp_, access_ended, this, TRUE, TRUE, TRUE);
    start_access(irp_, request_, handle, args, flags);
}

NTSTATUS stream_source::access_ended(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<stream_source*>(context);
    const std::shared_ptr<stream_source> kept = std::move(self.self_);
    self.request_.sink.reset();
    self.release_paused_query();
    if (self.request_.records.length != 0) self.store(std::move(self.request_.records));
    self.end(self.request_.status, irp->IoStatus.Status);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void stream_source::close() {
    if (irp_ != nullptr) IoCancelIrp(irp_);
    readers_.cancel_all();
}

void stream_source::append(record_block&& records) {
    store(std::move(records));
    serve();
}

bool stream_source::pause_if_full(query& which) {
    const std::lock_guard guard(lock_);
    if (unread_bytes_ < max_unread_bytes) return false;
    paused_query_ = &which;
    return true;
}

// The query has ended. This reference may be its last.
void stream_source::release_paused_query() {
    query_ref ended;
    const std::lock_guard guard(lock_);
    ended.swap(paused_query_);
}

void stream_source::store(record_block&& records) {
    try {
        const std::size_t length = records.length;
        const std::lock_guard guard(lock_);
        if (status_ != IBMF_SUCCESS) return;
        unread_.push_back(std::move(records));
        unread_bytes_ += length;
    } catch (const std::bad_alloc&) {
        {
            const std::lock_guard guard(lock_);
            status_ = IBMF_NO_MEMORY;
            nt_status_ = STATUS_INSUFFICIENT_RESOURCES;
        }
        IoCancelIrp(irp_);
    }
}

void stream_source::end(int status, NTSTATUS nt_status) {
    {
        const std::lock_guard guard(lock_);
        ended_ = true;
        if (status_ == IBMF_SUCCESS) {
            status_ = status;
            nt_status_ = nt_status;
        }
    }
    serve();
}

NTSTATUS stream_source::dispatch(DEVICE_OBJECT* device, IRP* irp) {
    auto& self = *static_cast<stream_source*>(device->DeviceExtension);
    const std::shared_ptr<stream_source> kept = self.shared_from_this();
    const NTSTATUS status = self.readers_.pend(irp::pending_irp(irp));
    kept->serve();
    return status;
}

void stream_source::serve() {
    {
        const std::lock_guard guard(lock_);
        again_ = true;
        if (std::exchange(serving_, true)) return;
    }
    for (;;) {
        {
            const std::lock_guard guard(lock_);
            if (!std::exchange(again_, false)) {
                serving_ = false;
                return;
            }
        }
        while (serve_one()) {
        }
    }
}

// Returns false when there is no record or no reader.
bool stream_source::serve_one() {
    {
        const std::lock_guard guard(lock_);
        if (unread_.empty() && !ended_) return false;
    }
    std::optional<irp::pending_irp> reader = readers_.remove_next();
    if (!reader) return false;
    auto& call = *static_cast<next_call*>(reader->stack().Parameters.Others.Argument1);
    NTSTATUS nt_status = STATUS_SUCCESS;
    const query_ref paused = take_next(call, nt_status);
    std::move(*reader).complete(nt_status, static_cast<ULONG_PTR>(call.status));
    if (paused) paused->at->resume(*paused);
    return true;
}

// Returns the stopped query when there is room again.
query_ref stream_source::take_next(next_call& call, NTSTATUS& nt_status) {
    const std::lock_guard guard(lock_);
    if (unread_.empty()) {
        call.status = status_;
        nt_status = nt_status_;
        return nullptr;
    }
    call.status = IBMF_SUCCESS;
    call.records = std::move(unread_.front());
    unread_.pop_front();
    unread_bytes_ -= call.records.length;
    return unread_bytes_ <= max_unread_bytes / 2 ? std::exchange(paused_query_, nullptr) : nullptr;
}

std::shared_ptr<stream_source> open_stream(ibmf_saa_handle_t handle,
                                           const ibmf_saa_access_args_t& args, uint_t flags) {
    auto made = std::make_shared<stream_source>();
    made->open(handle, args, flags);
    return made;
}

void close_stream(stream_source& of) { of.close(); }

void next_call::start(IRP* irp) {
    IO_STACK_LOCATION& next = *IoGetNextIrpStackLocation(irp);
    next.MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next.Parameters.Others.Argument1 = this;
    IoCallDriver(of->device(), irp);
}

} // namespace irpverbs::saa::detail

#include <access/session.hpp>

#include <utility>

namespace irpverbs::saa {

session::session(session_port& its_port, ib_smkey_t its_sm_key, uint_t its_flags,
                 const ibmf_saa_subnet_event_args_t& its_events)
    : at(&its_port), sm_key(its_sm_key), flags(its_flags) {
    if (its_events.is_event_callback != nullptr) events.emplace(*this, its_events);
    InitializeListHead(&waiters);
    InitializeListHead(&frames_);
    KeInitializeEvent(&changed_, NotificationEvent, FALSE);
}

session::~session() = default;

void session::begin_operation() { ++operations_; }

void session::end_operation() {
    const session_port::guard locked(*at);
    end_operation_locked();
}

void session::end_operation_locked() {
    --operations_;
    if (awaited_) KeSetEvent(&changed_, IO_NO_INCREMENT, FALSE);
}

void session::begin_call(callback_frame& frame) {
    frame.on = &dispatch::detail::this_processor();
    InsertTailList(&frames_, &frame.of_session);
}

void session::end_call(callback_frame& frame) { RemoveEntryList(&frame.of_session); }

// Not reentrant: a cache hit inside a callback would recurse.
bool session::begin_inline_call(callback_frame& frame) {
    if ((flags & IBMF_SAA_SESSION_NO_OFFLOAD) == 0) return false;
    const session_port::guard locked(*at);
    if (calls_on_this_processor() != 0) return false;
    begin_call(frame);
    return true;
}

void session::end_inline_call(callback_frame& frame) {
    const session_port::guard locked(*at);
    end_call(frame);
    end_operation_locked();
}

bool session::begin_closing() {
    const session_port::guard locked(*at);
    return !std::exchange(closing, true);
}

unsigned session::calls_on_this_processor() const {
    unsigned mine = 0;
    for (const LIST_ENTRY* each = frames_.Flink; each != &frames_; each = each->Flink)
        if (CONTAINING_RECORD(each, callback_frame, of_session)->on ==
            &dispatch::detail::this_processor())
            ++mine;
    return mine;
}

// The last frame of the processor is the innermost callback.
std::uint64_t session::current_event_number() {
    const session_port::guard locked(*at);
    for (const LIST_ENTRY* each = frames_.Blink; each != &frames_; each = each->Blink) {
        const auto& frame = *CONTAINING_RECORD(each, const callback_frame, of_session);
        if (frame.on == &dispatch::detail::this_processor() && frame.event_number != 0)
            return frame.event_number;
    }
    return 0;
}

bool session::is_idle() const { return operations_ == calls_on_this_processor(); }

void session::await_idle() {
    for (;;) {
        {
            const session_port::guard locked(*at);
            awaited_ = true;
            KeClearEvent(&changed_);
            if (is_idle()) return;
        }
        KeWaitForSingleObject(&changed_, Executive, KernelMode, FALSE, nullptr);
    }
}

} // namespace irpverbs::saa

#include <access/session.hpp>

#include <utility>

namespace irpverbs::saa {

session::session(port& its_port, ib_smkey_t its_sm_key, uint_t its_flags,
                 const ibmf_saa_subnet_event_args_t& its_events)
    : at(&its_port), sm_key(its_sm_key), flags(its_flags) {
    if (its_events.is_event_callback != nullptr) events.emplace(*this, its_events);
    InitializeListHead(&waiters);
    InitializeListHead(&frames_);
    KeInitializeEvent(&changed_, NotificationEvent, FALSE);
}

session::~session() = default;

void session::enter() { ++busy_; }

void session::leave() {
    const port::guard under(*at);
    has_left();
}

void session::has_left() {
    --busy_;
    if (awaited_) KeSetEvent(&changed_, IO_NO_INCREMENT, FALSE);
}

void session::begin_call(callback_frame& frame) {
    frame.on = &dispatch::detail::this_processor();
    InsertTailList(&frames_, &frame.of_session);
}

void session::end_call(callback_frame& frame) { RemoveEntryList(&frame.of_session); }

// Not reentrant: a cache hit inside a callback would recurse.
bool session::begin_call_at_once(callback_frame& frame) {
    if ((flags & IBMF_SAA_SESSION_NO_OFFLOAD) == 0) return false;
    const port::guard under(*at);
    if (calls_here() != 0) return false;
    begin_call(frame);
    return true;
}

void session::end_call_and_leave(callback_frame& frame) {
    const port::guard under(*at);
    end_call(frame);
    has_left();
}

bool session::begin_closing() {
    const port::guard under(*at);
    return !std::exchange(closing, true);
}

unsigned session::calls_here() const {
    unsigned mine = 0;
    for (const LIST_ENTRY* each = frames_.Flink; each != &frames_; each = each->Flink)
        if (CONTAINING_RECORD(each, callback_frame, of_session)->on ==
            &dispatch::detail::this_processor())
            ++mine;
    return mine;
}

// The last frame of the processor is the innermost callback.
std::uint64_t session::event_here() {
    const port::guard under(*at);
    for (const LIST_ENTRY* each = frames_.Blink; each != &frames_; each = each->Blink) {
        const auto& frame = *CONTAINING_RECORD(each, const callback_frame, of_session);
        if (frame.on == &dispatch::detail::this_processor() && frame.event_number != 0)
            return frame.event_number;
    }
    return 0;
}

bool session::is_quiet() const { return busy_ == calls_here(); }

void session::await_quiet() {
    for (;;) {
        {
            const port::guard under(*at);
            awaited_ = true;
            KeClearEvent(&changed_);
            if (is_quiet()) return;
        }
        KeWaitForSingleObject(&changed_, Executive, KernelMode, FALSE, nullptr);
    }
}

} // namespace irpverbs::saa

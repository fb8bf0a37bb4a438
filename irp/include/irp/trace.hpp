/// The lives of IRPs, recorded while a program runs and written as a trace that ui.perfetto.dev and
/// chrome://tracing show: see docs/trace.md.
#pragma once

#include <irp/device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace irpverbs::dispatch {
class machine;
}

namespace irpverbs::irp {

/// What happened to an IRP. Steps from `sent` to `cancel_routine` take time: each begins and ends
/// on one processor, nested in those that have begun there.
enum class trace_step : std::uint8_t {
    sent,               // IoCallDriver is in the dispatch routine
    completing,         // IoCompleteRequest, or a completion that was held back
    completion_routine, // of the device; device number 0: of the IRP's maker
    cancelling,         // IoCancelIrp
    cancel_routine,
    location_left, // a moment: completion goes past a location without a routine to call
    came_home,     // a moment: completion is at the top, nobody took the IRP back
};

struct trace_event {
    trace_step step = trace_step::sent;
    bool ends = false;      // the step, with `status`
    std::uint64_t time = 0; // machine time, 100 ns
    std::uint32_t processor = 0;
    std::string actor; // "processor 3"; in the simulator the actor's name
    KIRQL irql = PASSIVE_LEVEL;
    std::uint64_t irp = 0;                 // the machine's irp#N
    int location = 0;                      // that is sent, passed or cancelled; 0: none
    std::uint32_t device_number = 0;       // the machine's device#N; 0: none
    const DEVICE_OBJECT* device = nullptr; // by identity: may be gone
    UCHAR major = 0;                       // of what is sent
    UCHAR minor = 0;
    /// Of completions that of the IRP; at the end of `sent` and `completion_routine` what the
    /// routine returned.
    NTSTATUS status = STATUS_SUCCESS;
};

/// How requests and devices are called in a trace. Where there is no function, or it gives back "":
/// the major function, "device#2".
struct trace_names {
    using source = std::function<std::string(const trace_event& sent)>;
    source request;
    source device;
};

/// Records what IRPs of a machine go through, from its construction to its end; one at a time for a
/// machine. It costs memory and, on the real machine, speed; it draws nothing from the simulator,
/// whose runs stay the same. Double completions and uses of freed IRPs are found meanwhile, as by
/// the verifier.
class NT_API trace_recorder {
public:
    /// Keeps the first `most` events. Throws std::logic_error when the machine has a recorder.
    /// IRQL: PASSIVE_LEVEL.
    explicit trace_recorder(dispatch::machine& recorded, std::size_t most = 1'000'000);
    /// Before the machine's end.
    ~trace_recorder();
    trace_recorder(const trace_recorder&) = delete;
    trace_recorder& operator=(const trace_recorder&) = delete;

    /// So far. IRQL: PASSIVE_LEVEL.
    std::vector<trace_event> events() const;
    /// Events that found no room.
    std::uint64_t dropped() const;

    /// What was recorded so far, in the Trace Event Format, as a JSON object. IRQL: PASSIVE_LEVEL.
    void write(std::ostream& out, const trace_names& names = {}) const;

private:
    struct log;
    std::unique_ptr<log> log_;
};

/// The same of events from anywhere.
NT_API void write_trace(std::ostream& out, const std::vector<trace_event>& events,
                        const trace_names& names = {}, std::uint64_t dropped = 0);

} // namespace irpverbs::irp

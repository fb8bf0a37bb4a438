/// Records the lives of IRPs while a program runs and writes them as a trace for ui.perfetto.dev
/// and chrome://tracing: see docs/trace.md.
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

/// One step in the life of an IRP. Steps from `sent` to `cancel_routine` take time: each begins and
/// ends on one processor, nested in the steps that began there before.
enum class trace_step : std::uint8_t {
    sent,               // IoCallDriver is in the dispatch routine
    completing,         // IoCompleteRequest, or a deferred completion
    completion_routine, // of the device; device number 0: of the originator
    cancelling,         // IoCancelIrp
    cancel_routine,
    location_completed,     // instantaneous: completion passes a location without a routine to call
    returned_to_originator, // instantaneous: no completion routine kept the IRP
};

struct trace_event {
    trace_step step = trace_step::sent;
    bool ends = false;      // end of the step, with `status`
    std::uint64_t time = 0; // machine time, 100 ns
    std::uint32_t processor = 0;
    std::string actor; // "processor 3"; in the simulator the actor's name
    KIRQL irql = PASSIVE_LEVEL;
    std::uint64_t irp = 0;                 // the machine's irp#N
    int location = 0;                      // the one that is sent, passed or cancelled; 0: none
    std::uint32_t device_number = 0;       // the machine's device#N; 0: none
    const DEVICE_OBJECT* device = nullptr; // only its identity: the device may be deleted
    UCHAR major = 0;                       // of the sent request
    UCHAR minor = 0;
    /// For a completion the status of the IRP; at the end of `sent` and `completion_routine` the
    /// routine's return value.
    NTSTATUS status = STATUS_SUCCESS;
};

/// Names of requests and devices in a trace. Where there is no function, or it returns "", the name
/// is the major function, or "device#2".
struct trace_names {
    using source = std::function<std::string(const trace_event& sent)>;
    source request;
    source device;
};

/// Records the steps of a machine's IRPs from construction to destruction; a machine has at most
/// one recorder. Recording costs memory and, on the real machine, speed; it draws nothing from the
/// simulator, whose runs stay the same. While it records, double completions and uses of freed IRPs
/// are found, as by the verifier.
class NT_API trace_recorder {
public:
    /// Keeps the first `most` events. Throws std::logic_error when the machine has a recorder.
    /// IRQL: PASSIVE_LEVEL.
    explicit trace_recorder(dispatch::machine& recorded, std::size_t most = 1'000'000);
    /// Precedes the machine's end.
    ~trace_recorder();
    trace_recorder(const trace_recorder&) = delete;
    trace_recorder& operator=(const trace_recorder&) = delete;

    /// The events recorded so far. IRQL: PASSIVE_LEVEL.
    std::vector<trace_event> events() const;
    /// Number of events beyond the limit, which were not kept.
    std::uint64_t dropped() const;

    /// Writes the events recorded so far in the Trace Event Format, as a JSON object. IRQL:
    /// PASSIVE_LEVEL.
    void write(std::ostream& out, const trace_names& names = {}) const;

private:
    struct log;
    std::unique_ptr<log> log_;
};

/// Writes events of any origin in the Trace Event Format.
NT_API void write_trace(std::ostream& out, const std::vector<trace_event>& events,
                        const trace_names& names = {}, std::uint64_t dropped = 0);

} // namespace irpverbs::irp

/// The descriptor by which a program waits for events.
#pragma once

namespace irpverbs::drop_in {

/// An eventfd that is readable while the owner has events. A program may poll it, and may change
/// its file status flags. It reads the counter before it takes an event. As with a descriptor of
/// the kernel's drivers, a thread that reads while another one closes it is not woken. Calls at the
/// same time are not allowed; their IRQL is <= DISPATCH_LEVEL, and they are no cancellation points.
class readiness {
public:
    readiness() = default;
    ~readiness();
    readiness(const readiness&) = delete;
    readiness& operator=(const readiness&) = delete;

    /// Opens the descriptor. False: errno has the cause.
    bool open() noexcept;
    int descriptor() const noexcept { return descriptor_; }

    /// Makes the descriptor readable. No effect if it is.
    void set() noexcept;
    /// The program has read the counter.
    void was_read() noexcept { set_ = false; }
    /// Makes the descriptor unreadable, unless the program is reading it at this moment.
    void clear() noexcept;

private:
    int descriptor_ = -1;
    bool set_ = false;
};

} // namespace irpverbs::drop_in

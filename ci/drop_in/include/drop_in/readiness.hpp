/// The descriptor by which a program waits for events.
#pragma once

namespace irpverbs::drop_in {

/// One end of a pair of sockets, in which there is a byte while the owner has events. A program may
/// poll it, and may change its file status flags: they concern the program's end only. It receives
/// the byte before it takes an event, with recv(2). Calls at the same time are not allowed; their
/// IRQL is <= DISPATCH_LEVEL, and they are no cancellation points.
class readiness {
public:
    readiness() = default;
    ~readiness();
    readiness(const readiness&) = delete;
    readiness& operator=(const readiness&) = delete;

    /// Opens the descriptor. False: errno has the cause.
    bool open() noexcept;
    int descriptor() const noexcept { return ends_[0]; }

    /// Makes the descriptor readable. No effect if it is.
    void set() noexcept;
    /// The program has received the byte.
    void was_received() noexcept { set_ = false; }
    /// Makes the descriptor unreadable, unless the program is receiving the byte at this moment.
    void clear() noexcept;

private:
    int ends_[2] = {-1, -1};
    bool set_ = false;
};

} // namespace irpverbs::drop_in

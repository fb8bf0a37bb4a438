#include "port_file.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace irpverbs::umad {

namespace {

constexpr std::int64_t ticks_per_ms = 10'000;
constexpr std::size_t shortest_message = header_size + rmpp_body; // of the kernel's write(2)

// Above standard error, which daemons replace.
ci::detail::unique_descriptor event_descriptor() {
    constexpr int first = 3;
    ci::detail::unique_descriptor made(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
    if (made && made.get() < first)
        made = ci::detail::unique_descriptor(fcntl(made.get(), F_DUPFD_CLOEXEC, first));
    if (!made) throw std::system_error(errno, std::generic_category());
    return made;
}

} // namespace

constexpr IB_CA_DISPATCH port_file::up_calls{port_file::failed, nullptr};

port_file::port_file(const drop_in::device& which, std::uint8_t port)
    : port_(port), descriptor_(event_descriptor()), inbox_(descriptor_.get()),
      hca_(which, this, &up_calls) {
    KeInitializeTimer(&timer_);
    KeInitializeDpc(&dpc_, timer_expired, this);
}

port_file::~port_file() {
    for (std::uint32_t id = 0; id < agents_.size(); ++id)
        remove_agent(id);
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
}

void port_file::failed(IB_CA*, void* context) {
    auto& self = *static_cast<port_file*>(context);
    const dispatch::detail::spin_guard guard(self.lock_);
    self.inbox_.end();
}

std::int64_t port_file::now_ms() {
    return static_cast<std::int64_t>(KeQueryInterruptTime()) / ticks_per_ms;
}

template <class Body>
int port_file::exclusively(Body body) {
    std::vector<outgoing> all;
    int error = 0;
    {
        const dispatch::detail::spin_guard guard(lock_);
        try {
            error = body();
        } catch (const std::bad_alloc&) {
            error = ENOMEM;
        }
        all.swap(outgoing_);
        arm_timer();
    }
    const int refused = send_all(std::move(all));
    return error != 0 ? error : refused;
}

int port_file::send_all(std::vector<outgoing> all) {
    int first = 0;
    for (const outgoing& each : all) {
        const int error = each.from->send(hca_, each.to, each.datagram, each.timeout_ms);
        if (first == 0) first = error;
        each.from->release();
    }
    return first;
}

void port_file::emit(agent& from, const ib_mad_addr_t& to, const mad& datagram,
                     std::uint32_t timeout_ms) {
    outgoing_.reserve(outgoing_.size() + 1);
    if (from.hold()) outgoing_.push_back({&from, to, datagram, timeout_ms});
}

void port_file::deliver(std::uint32_t agent, std::uint32_t status, const ib_mad_addr_t& peer,
                        std::span<const std::uint8_t> content) {
    inbox_.insert(agent, status, peer, content);
}

void port_file::arm_timer() {
    if (timers_.next() == armed_for_) return;
    armed_for_ = timers_.next();
    if (armed_for_ == deadlines::never) {
        KeCancelTimer(&timer_);
        return;
    }
    // The clock is rounded down, so the timer expires a millisecond later than that.
    LARGE_INTEGER due;
    due.QuadPart = -std::max<std::int64_t>(armed_for_ + 1 - now_ms(), 1) * ticks_per_ms;
    KeSetTimer(&timer_, due, &dpc_);
}

void port_file::timer_expired(KDPC*, void* context, void*, void*) {
    auto& self = *static_cast<port_file*>(context);
    self.exclusively([&self] {
        self.armed_for_ = deadlines::never;
        self.timers_.run(now_ms());
        return 0;
    });
}

int port_file::add_agent(const registration& wanted, std::uint32_t& id) {
    std::shared_ptr<agent> made;
    const int error = exclusively([&] {
        id = 0;
        while (id < agents_.size() && agents_[id] != nullptr)
            ++id;
        if (id == agents_.size()) return ENOMEM;
        made = std::make_shared<agent>(*this, id, wanted.segments);
        agents_[id] = made;
        return 0;
    });
    if (error != 0) return error;
    registration at_port = wanted;
    at_port.attr.PortNumber = port_;
    const int refused = made->start(hca_, at_port);
    if (refused != 0) take(id);
    // The kernel has one number for all registrations that it refuses.
    return refused == EBUSY ? EINVAL : refused;
}

std::shared_ptr<agent> port_file::take(std::uint32_t id) {
    std::shared_ptr<agent> taken;
    exclusively([&] {
        if (id < agents_.size()) taken = std::exchange(agents_[id], nullptr);
        if (taken != nullptr) taken->traffic.reset();
        return 0;
    });
    return taken;
}

int port_file::remove_agent(std::uint32_t id) {
    const std::shared_ptr<agent> taken = take(id);
    if (taken == nullptr) return EINVAL;
    taken->stop(hca_);
    return 0;
}

int port_file::write(std::span<const std::uint8_t> message) {
    if (message.size() < shortest_message) return EINVAL;
    ib_user_mad_t header;
    std::memcpy(&header, message.data(), header_size);
    const send_options how{header.addr, header.timeout_ms, header.retries};
    const std::span content = message.subspan(header_size);
    std::shared_ptr<agent> from;
    bool begun = false;
    const int error = exclusively([&] {
        if (inbox_.has_ended()) return EIO;
        if (header.agent_id < agents_.size()) from = agents_[header.agent_id];
        if (from == nullptr) return EINVAL;
        const int refused = from->traffic->send(how, content);
        begun = refused == 0;
        return refused;
    });
    if (error != 0 && begun)
        exclusively([&] {
            if (from->traffic) from->traffic->withdraw(how, content.data());
            return 0;
        });
    return error;
}

int port_file::read(std::size_t size, inbox::message& taken) {
    return exclusively([&] { return inbox_.remove(size, taken); });
}

bool port_file::is_readable() {
    const dispatch::detail::spin_guard guard(lock_);
    return !inbox_.must_wait();
}

void port_file::received(agent& by, const ib_mad_addr_t& from, const mad& datagram) {
    exclusively([&] {
        if (by.traffic) by.traffic->received(from, datagram.data());
        return 0;
    });
}

} // namespace irpverbs::umad

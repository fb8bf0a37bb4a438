/// The real machine: threads, the monotonic clock, and an io_context for descriptors.
#pragma once

#include <dispatch/machine.hpp>

namespace irpverbs::dispatch {

class NT_API asio_machine final : public machine {
public:
    struct options {
        /// Processors that run DPCs; 0: the number of the computer's processors.
        std::uint32_t processors = 0;
    };

    asio_machine();
    explicit asio_machine(const options& chosen);
    /// Waits until the system threads, the DPCs and the work items have ended, then ends the
    /// machine's own threads. No other thread may be inside a call of the library.
    ~asio_machine() override;

    boost::asio::io_context& context() override;
    bool simulated() const noexcept override { return false; }

    std::uint64_t interrupt_time() override;
    std::uint64_t coarse_time() override;
    std::uint64_t clock_upper_bound() override;
    std::uint64_t system_time() override;
    bool park(detail::processor& self, std::uint64_t deadline) override;
    void unpark(detail::processor& target) override;
    bool start_thread(int processor_number, void (*body)(void*), void* context) override;
    void sched_point(detail::processor& self, detail::point kind, const void* object) override;
    void spin(detail::processor& self, bool (*blocked)(const void*), const void* context,
              unsigned turn) override;
    void stall(detail::processor& self, std::uint64_t ticks) override;
    std::uint64_t random() override;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace irpverbs::dispatch

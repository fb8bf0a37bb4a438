// The kernel's own completion queue: 32 no-operations submitted, completed and reaped at once.
#include "measurements.hpp"

#if defined(BENCH_HAS_IO_URING)
#include <liburing.h>
#include <memory>

namespace irpverbs::bench {
namespace {

class ring {
public:
    static constexpr unsigned batch = 32;

    static std::unique_ptr<ring> open() {
        auto made = std::unique_ptr<ring>(new ring);
        if (!made->opened_) return nullptr;
        return made;
    }
    ~ring() {
        if (opened_) io_uring_queue_exit(&ring_);
    }
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;

    void submit(void (*done)(std::uint64_t&)) {
        for (unsigned i = 0; i < batch; ++i) {
            io_uring_sqe* entry = io_uring_get_sqe(&ring_);
            io_uring_prep_nop(entry);
            io_uring_sqe_set_data(entry, reinterpret_cast<void*>(done));
        }
        io_uring_submit_and_wait(&ring_, batch);
    }
    void drain(std::uint64_t& context) {
        unsigned head = 0, count = 0;
        io_uring_cqe* entry = nullptr;
        io_uring_for_each_cqe(&ring_, head, entry) {
            reinterpret_cast<void (*)(std::uint64_t&)>(io_uring_cqe_get_data(entry))(context);
            ++count;
        }
        io_uring_cq_advance(&ring_, count);
    }

private:
    ring() {
        io_uring_params parameters{};
        parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
        opened_ = io_uring_queue_init_params(256, &ring_, &parameters) == 0;
    }
    io_uring ring_{};
    bool opened_ = false;
};

BENCH_OPAQUE void count_one(std::uint64_t& done) { ++done; }

void nop_32(run& sample) {
    const auto kernel = ring::open();
    const std::uint64_t operations = sample.in_batches_of(ring::batch);
    std::uint64_t done = 0;
    sample.start();
    for (std::uint64_t i = 0; i < operations; i += ring::batch) {
        kernel->submit(count_one);
        kernel->drain(done);
    }
    sample.stop();
    expect(done == operations, "io_uring/nop_32");
}

} // namespace

void add_io_uring(catalog& all) {
    if (!ring::open()) return; // kernel too old, or io_uring forbidden in this container
    all.add("io_uring/nop_32", "no-operation, 32 submitted and reaped at once", nop_32);
}

} // namespace irpverbs::bench
#else
namespace irpverbs::bench {
void add_io_uring(catalog&) {}
} // namespace irpverbs::bench
#endif

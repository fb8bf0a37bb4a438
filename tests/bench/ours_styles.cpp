// One verb in three styles over one provider: as an IRP, as a callback as in NDK, and as a function
// that blocks. docs/irp-callback-blocking.md has the results.
#include "measurements.hpp"
#include "ours_stack.hpp"

#include <ci/attributes.h>
#include <dispatch/support/spin_lock.hpp>
#include <irp/cancel_safe_queue.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace irpverbs::bench {

/// Shared by all styles: the attributes of a port, copied out under its lock.
namespace style_common {

// The size of a software HCA's port attributes, with one GID and 16 P_Keys.
using attributes =
    std::array<std::byte, sizeof(IB_PORT_ATTR) + sizeof(ib_gid_t) + 16 * sizeof(ib_pkey_t)>;

struct query_buffer {
    std::byte* into;
    std::size_t size;
};

class hardware {
public:
    BENCH_OPAQUE std::size_t execute(const query_buffer& buffer) {
        const dispatch::detail::spin_guard guard(lock_);
        const std::size_t size = std::min(buffer.size, kept_.size());
        std::memcpy(buffer.into, kept_.data(), size);
        return size;
    }

private:
    KSPIN_LOCK lock_ = 0;
    attributes kept_{};
};

} // namespace style_common

using style_common::attributes;
using style_common::hardware;
using style_common::query_buffer;

/// Pended requests can be cancelled; the caller owns their memory.
namespace style_irp {

inline query_buffer buffer_in(const IO_STACK_LOCATION& location) {
    const auto& given = location.Parameters.Others;
    return {static_cast<std::byte*>(given.Argument1),
            reinterpret_cast<std::size_t>(given.Argument2)};
}

class prompt {
public:
    BENCH_OPAQUE static NTSTATUS dispatch(PDEVICE_OBJECT device, PIRP irp) {
        irp::pending_irp request(irp);
        const query_buffer buffer = buffer_in(request.stack());
        const std::size_t bytes = static_cast<prompt*>(context_of(device))->below_.execute(buffer);
        return std::move(request).complete(STATUS_SUCCESS, bytes);
    }

private:
    hardware below_;
};

class pending {
public:
    BENCH_OPAQUE static NTSTATUS dispatch(PDEVICE_OBJECT device, PIRP irp) {
        return static_cast<pending*>(context_of(device))->queue_.pend(irp::pending_irp(irp));
    }

private:
    static void execute(irp::pending_irp request, void* self) {
        const query_buffer buffer = buffer_in(request.stack());
        const std::size_t bytes = static_cast<pending*>(self)->below_.execute(buffer);
        std::move(request).complete(STATUS_SUCCESS, bytes);
    }

    hardware below_;
    irp::cancel_safe_queue queue_{execute, this};
};

BENCH_OPAQUE void query(PDEVICE_OBJECT device, PIRP irp, const query_buffer& buffer,
                        std::uint64_t& sum) {
    IoReuseIrp(irp, STATUS_SUCCESS);
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->Parameters.Others.Argument1 = buffer.into;
    next->Parameters.Others.Argument2 = reinterpret_cast<PVOID>(buffer.size);
    IoSetCompletionRoutine(irp, count_and_keep, &sum, TRUE, TRUE, TRUE);
    IoCallDriver(device, irp);
}

} // namespace style_irp

/// The provider allocates a record for each pended request; no request can be cancelled.
namespace style_callback {

using completion = void (*)(void* context, NTSTATUS status, std::size_t bytes);

class prompt {
public:
    BENCH_OPAQUE NTSTATUS query(const query_buffer& buffer, std::size_t& bytes, completion, void*) {
        bytes = below_.execute(buffer);
        return STATUS_SUCCESS;
    }

private:
    hardware below_;
};

class pending {
public:
    pending() {
        InitializeListHead(&waiting_);
        KeInitializeDpc(&dpc_, serve, this);
        ExInitializeNPagedLookasideList(&requests_, nullptr, nullptr, 0, sizeof(request), tag, 0);
    }
    ~pending() { ExDeleteNPagedLookasideList(&requests_); }
    pending(const pending&) = delete;
    pending& operator=(const pending&) = delete;

    BENCH_OPAQUE NTSTATUS query(const query_buffer& buffer, std::size_t&, completion done,
                                void* context) {
        auto* made = static_cast<request*>(ExAllocateFromNPagedLookasideList(&requests_));
        if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
        *made = {{}, buffer, done, context};
        {
            const dispatch::detail::spin_guard guard(lock_);
            InsertTailList(&waiting_, &made->entry);
        }
        KeInsertQueueDpc(&dpc_, nullptr, nullptr);
        return STATUS_PENDING;
    }

private:
    static constexpr ULONG tag = 0x6C797473; // "styl"
    struct request {
        LIST_ENTRY entry;
        query_buffer buffer;
        completion done;
        void* context;
    };

    request* next() {
        const dispatch::detail::spin_guard guard(lock_);
        if (IsListEmpty(&waiting_)) return nullptr;
        return CONTAINING_RECORD(RemoveHeadList(&waiting_), request, entry);
    }
    static void serve(PRKDPC, PVOID context, PVOID, PVOID) {
        auto& self = *static_cast<pending*>(context);
        while (request* each = self.next()) {
            const request known = *each;
            ExFreeToNPagedLookasideList(&self.requests_, each);
            known.done(known.context, STATUS_SUCCESS, self.below_.execute(known.buffer));
        }
    }

    hardware below_;
    KSPIN_LOCK lock_ = 0;
    LIST_ENTRY waiting_;
    KDPC dpc_;
    NPAGED_LOOKASIDE_LIST requests_;
};

BENCH_OPAQUE void count(void* sum, NTSTATUS, std::size_t bytes) {
    *static_cast<std::uint64_t*>(sum) += bytes;
}

// The provider calls `count` only if it returned STATUS_PENDING.
template <class Provider>
BENCH_OPAQUE void query(Provider& of, const query_buffer& buffer, std::uint64_t& sum) {
    std::size_t bytes = 0;
    const NTSTATUS status = of.query(buffer, bytes, count, &sum);
    if (status != STATUS_PENDING) count(&sum, status, bytes);
}

} // namespace style_callback

/// The request is on the caller's stack, and the caller's thread waits.
namespace style_function {

class prompt {
public:
    BENCH_OPAQUE NTSTATUS query(const query_buffer& buffer, std::size_t& bytes) {
        bytes = below_.execute(buffer);
        return STATUS_SUCCESS;
    }

private:
    hardware below_;
};

class pending {
public:
    explicit pending(KDPC_IMPORTANCE importance) : importance_(importance) {}

    BENCH_OPAQUE NTSTATUS query(const query_buffer& buffer, std::size_t& bytes) {
        KEVENT given;
        KDPC dpc;
        KeInitializeEvent(&given, NotificationEvent, FALSE);
        KeInitializeDpc(&dpc, give, &given);
        KeSetImportanceDpc(&dpc, importance_);
        KeInsertQueueDpc(&dpc, nullptr, nullptr);
        KeWaitForSingleObject(&given, Executive, KernelMode, FALSE, nullptr);
        bytes = below_.execute(buffer);
        return STATUS_SUCCESS;
    }

private:
    static void give(PRKDPC, PVOID given, PVOID, PVOID) {
        KeSetEvent(static_cast<KEVENT*>(given), IO_NO_INCREMENT, FALSE);
    }

    hardware below_;
    const KDPC_IMPORTANCE importance_;
};

template <class Provider>
BENCH_OPAQUE void query(Provider& of, const query_buffer& buffer, std::uint64_t& sum) {
    std::size_t bytes = 0;
    if (NT_SUCCESS(of.query(buffer, bytes))) sum += bytes;
}

} // namespace style_function

namespace {

// `call(buffer, sum)` makes one query. At DISPATCH_LEVEL the DPC that answers runs after the call,
// when the level is lowered, so the query pends. The style that waits is called at PASSIVE_LEVEL.
template <class Call>
void measure_queries(run& sample, KIRQL level, const Call& call) {
    attributes got;
    const query_buffer buffer{got.data(), got.size()};
    std::uint64_t sum = 0;
    const auto once = [&] {
        KIRQL before = PASSIVE_LEVEL;
        KeRaiseIrql(level, &before);
        call(buffer, sum);
        KeLowerIrql(before);
    };
    once(); // fills the caches of requests
    const std::uint64_t operations = sample.operations();
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i)
        once();
    sample.stop();
    expect(sum == (operations + 1) * got.size(), "a style's results");
}

template <class Provider>
void by_irp(run& sample) {
    Provider of;
    const device_stack stack(Provider::dispatch, 0, &of);
    const packet request(stack.top());
    measure_queries(sample, DISPATCH_LEVEL, [&](const query_buffer& buffer, std::uint64_t& sum) {
        style_irp::query(stack.top(), request.irp(), buffer, sum);
    });
}

template <class Provider>
void by_callback(run& sample) {
    Provider of;
    measure_queries(sample, DISPATCH_LEVEL, [&](const query_buffer& buffer, std::uint64_t& sum) {
        style_callback::query(of, buffer, sum);
    });
}

template <class Provider, KDPC_IMPORTANCE... Importance>
void by_function(run& sample) {
    Provider of(Importance...);
    measure_queries(sample, PASSIVE_LEVEL, [&](const query_buffer& buffer, std::uint64_t& sum) {
        style_function::query(of, buffer, sum);
    });
}

} // namespace

void add_ours_styles(catalog& all) {
    all.add("style/irp", "a query as an IRP, answered inside the call", by_irp<style_irp::prompt>);
    all.add("style/callback", "as a callback that was not needed",
            by_callback<style_callback::prompt>);
    all.add("style/function", "as a function", by_function<style_function::prompt>);
    all.add("style/irp_pended", "a query as an IRP, pended, answered by a DPC",
            by_irp<style_irp::pending>);
    all.add("style/callback_pended", "as a callback, pended, called by a DPC",
            by_callback<style_callback::pending>);
    all.add("style/function_pended", "as a function that waits for a DPC of its own processor",
            by_function<style_function::pending, MediumImportance>);
    all.add("style/function_sleeps", "as a function that sleeps until another thread answers",
            by_function<style_function::pending, LowImportance>);
}

} // namespace irpverbs::bench

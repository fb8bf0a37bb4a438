#include "recorder.hpp"

namespace irpverbs::conformance {

namespace {
recorder& of(void* context) { return *static_cast<recorder*>(context); }
} // namespace

const IB_CA_DISPATCH recorder::ca_calls = {
    [](IB_CA*, void* context) { of(context).note(0, IB_AE_LOCAL_FATAL); },
    [](IB_CA*, void* context, UCHAR port, IB_ASYNC_EVENT event) { of(context).note(port, event); },
};

const IB_CQ_DISPATCH recorder::cq_calls = {
    [](void* context) { of(context).note(0, IB_AE_NONE); },
    [](void* context, IB_ASYNC_EVENT event) { of(context).note(0, event); },
};

const IB_MAD_DISPATCH recorder::mad_calls = {
    [](IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED*) { of(context).note(0, IB_AE_NONE); },
};

recorder::recorder() {
    KeInitializeSpinLock(&lock_);
    KeInitializeEvent(&more_, SynchronizationEvent, FALSE);
}

void recorder::note(UCHAR port, IB_ASYNC_EVENT event) {
    EXPECT_FALSE(closed_.load()) << "an up-call after close has completed";
    EXPECT_EQ(running_.fetch_add(1), 0) << "two up-calls of one object at a time";
    const KIRQL level = KeGetCurrentIrql();
    if (inside) inside();
    KIRQL before = PASSIVE_LEVEL;
    KeAcquireSpinLock(&lock_, &before);
    heard_.push_back({port, event, level});
    KeReleaseSpinLock(&lock_, before);
    running_.fetch_sub(1);
    KeSetEvent(&more_, IO_NO_INCREMENT, FALSE);
}

std::vector<recorder::up_call> recorder::all() {
    const at_dispatch_level here;
    KeAcquireSpinLockAtDpcLevel(&lock_);
    std::vector<up_call> heard = heard_;
    KeReleaseSpinLockFromDpcLevel(&lock_);
    return heard;
}

std::vector<recorder::up_call> recorder::wait_for(std::size_t count) {
    LARGE_INTEGER limit;
    limit.QuadPart = testing::completion_timeout;
    std::vector<up_call> heard = all();
    while (heard.size() < count) {
        if (KeWaitForSingleObject(&more_, Executive, KernelMode, FALSE, &limit) != STATUS_SUCCESS) {
            ADD_FAILURE() << "an up-call did not come";
            throw abandoned();
        }
        heard = all();
    }
    return heard;
}

} // namespace irpverbs::conformance

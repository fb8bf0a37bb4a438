// The verbs of reliable datagrams: each completes STATUS_NOT_SUPPORTED, with objects and without.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>
#include <support/verbs.hpp>

#include <ci/reliable_datagram_verbs.hpp>

namespace {

using namespace irpverbs;
using irpverbs::testing::call_result;
using irpverbs::testing::close_ca;
using irpverbs::testing::fake_hca;
using irpverbs::testing::open_ca;
using irpverbs::testing::verb_call;

class ReliableDatagrams : public irpverbs::testing::BothMachines {
protected:
    template <class Verb>
    void expect_refused(const Verb& verb) {
        CI_UDATA user{nullptr, out, 0, sizeof(out)};
        verb_call call([&](IRP* irp) { return verb(&user, irp); });
        EXPECT_EQ(call.returned(), STATUS_NOT_SUPPORTED);
        EXPECT_EQ(call.status(), STATUS_NOT_SUPPORTED);
        EXPECT_EQ(call.information(), 0u);
        EXPECT_EQ(user.OutputSize, 0u);
    }
    template <class Wrapper>
    static void expect_failed(const Wrapper& wrapper) {
        call_result<void> done;
        wrapper(done.handler());
        EXPECT_EQ(done.status(), STATUS_NOT_SUPPORTED);
    }

    UCHAR out[8]{};
};

TEST_P(ReliableDatagrams, EachVerb_ReturnsNotSupported) {
    fake_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    for (IB_CA* of : {ca, static_cast<IB_CA*>(nullptr)})
        expect_refused([&](CI_UDATA* user, IRP* irp) { return CiAllocateRdd(of, user, irp); });
    expect_refused([](CI_UDATA* user, IRP* irp) { return CiDeallocateRdd(nullptr, user, irp); });
    expect_refused([](CI_UDATA* user, IRP* irp) { return CiCreateEec(nullptr, user, irp); });
    expect_refused(
        [](CI_UDATA* user, IRP* irp) { return CiModifyEec(nullptr, nullptr, user, irp); });
    expect_refused(
        [&](CI_UDATA* user, IRP* irp) { return CiQueryEec(nullptr, sizeof(out), out, user, irp); });
    expect_refused([](CI_UDATA* user, IRP* irp) { return CiDestroyEec(nullptr, user, irp); });
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS) << "it has no children";
}

TEST_P(ReliableDatagrams, EachWrapper_FailsWithNotSupported) {
    expect_failed([](auto token) { ci::allocate_rdd(nullptr, token); });
    expect_failed([](auto token) { ci::deallocate_rdd(nullptr, token); });
    expect_failed([](auto token) { ci::create_eec(nullptr, token); });
    expect_failed([](auto token) { ci::modify_eec(nullptr, nullptr, token); });
    expect_failed([](auto token) { ci::query_eec(nullptr, token); });
    expect_failed([](auto token) { ci::destroy_eec(nullptr, token); });
}

IRPVERBS_ON_BOTH_MACHINES(ReliableDatagrams);

} // namespace

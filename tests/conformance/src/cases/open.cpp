// Opening: CiOpenCa.
#include "recorder.hpp"

#include <set>
#include <string>

namespace irpverbs::conformance {

namespace open_group {
namespace {

void success_returns_ib_ca(world& here) {
    recorder heard;
    const ca opened(here, &recorder::ca_calls, &heard);
    ASSERT_NE(opened.get(), nullptr);
    EXPECT_EQ(opened.get()->Dispatch.FatalEvent, recorder::ca_calls.FatalEvent);
    EXPECT_EQ(opened.get()->Dispatch.PortEvent, recorder::ca_calls.PortEvent);
}

void no_dispatch_table_succeeds(world& here) {
    const IB_CA_DISPATCH empty{};
    const ca without(here);
    const ca with_nulls(here, &empty);
    EXPECT_EQ(without.get()->Dispatch.PortEvent, nullptr);
    EXPECT_EQ(with_nulls.get()->Dispatch.FatalEvent, nullptr);
}

void two_clients_each_gets_its_ib_ca(world& here) {
    const ca one(here);
    ca other(here);
    EXPECT_NE(one.get(), other.get());
    other.close();
    EXPECT_EQ(whole_port(one).as<IB_PORT_ATTR>().PortNumber, 1);
}

std::string function_of(const char* verb) { return std::string("Ci") + verb; }

std::set<std::string> names_of_all_verbs() {
    return {
#define CI_OBJECT(object, block)
#define CI_VERB(NAME, Name, ...) function_of(#Name),
#include <ci/verbs.def>
    };
}

void null_object_returns_invalid_parameter(world&) {
    std::set<std::string> left = names_of_all_verbs();
    for (const verb& each : {open_ca(nullptr),
                             close_ca(nullptr),
                             get_fatal_event(nullptr),
                             get_port_event(nullptr),
                             query_ca(nullptr, nullptr, 0),
                             query_port(nullptr, 1, nullptr, 0),
                             modify_ca(nullptr, 0, nullptr),
                             modify_port(nullptr, 1, 0, nullptr),
                             create_cq(nullptr, 1),
                             destroy_cq(nullptr),
                             query_cq(nullptr, nullptr, 0),
                             resize_cq(nullptr, 1),
                             poll_cq(nullptr, 0, nullptr),
                             arm_cq(nullptr, IB_CQ_ARM_NEXT),
                             get_comp_event(nullptr),
                             get_async_event(nullptr),
                             allocate_pd(nullptr),
                             deallocate_pd(nullptr),
                             register_mr(nullptr, nullptr),
                             deregister_mr(nullptr),
                             query_mr(nullptr, nullptr, 0),
                             modify_mr(nullptr, nullptr),
                             modify_pmr(nullptr, nullptr),
                             allocate_frmr(nullptr, 1),
                             register_pmr(nullptr, nullptr),
                             register_smr(nullptr, nullptr),
                             allocate_mw(nullptr, IB_MWT_TYPE_1),
                             deallocate_mw(nullptr),
                             query_mw(nullptr, nullptr, 0),
                             create_av(nullptr, nullptr),
                             destroy_av(nullptr),
                             modify_av(nullptr, nullptr),
                             query_av(nullptr, nullptr, 0),
                             create_qp(nullptr, nullptr),
                             destroy_qp(nullptr),
                             modify_qp(nullptr, nullptr),
                             query_qp(nullptr, nullptr, 0),
                             flush_qp(nullptr),
                             attach_mcast(nullptr, nullptr, 0),
                             detach_mcast(nullptr),
                             allocate_xrcd(nullptr),
                             deallocate_xrcd(nullptr),
                             get_qp_event(nullptr),
                             create_srq(nullptr, nullptr),
                             destroy_srq(nullptr),
                             modify_srq(nullptr, nullptr),
                             query_srq(nullptr, nullptr, 0),
                             get_srq_event(nullptr),
                             transfer(nullptr, nullptr, nullptr),
                             transfer_recv(nullptr, nullptr, nullptr),
                             register_agent(nullptr, nullptr),
                             deregister_agent(nullptr),
                             send_mad(nullptr, nullptr),
                             modify_agent(nullptr, nullptr),
                             get_mad(nullptr, nullptr)}) {
        EXPECT_STATUS(verb_call(each).status(), STATUS_INVALID_PARAMETER) << each.name;
        left.erase(each.name);
    }
    EXPECT_TRUE(left.empty()) << *left.begin() << " is missing here";
}

void concurrent_with_close_both_complete(world& here) {
    verb_call one;
    verb_call other;
    world::together({[&] { one.send(open_ca(here.fdo())); },
                     [&] { other.send(open_ca(here.fdo())); }, [&] { const ca passing(here); }});
    for (verb_call* each : {&one, &other}) {
        EXPECT_STATUS(each->status(), STATUS_SUCCESS);
        EXPECT_STATUS(verb_call(close_ca(each->object<IB_CA>())).status(), STATUS_SUCCESS);
    }
}

// The detach fails, since another HCA of the URI is open, or this one if the URI has only one.
void races_with_detach_returns_delete_pending(world& here) {
    const ca other(reinterpret_cast<IB_CA*>(must(open_ca(here.last_fdo()))));
    verb_call open;
    NTSTATUS detached = STATUS_SUCCESS;
    world::together({[&] { open.send(open_ca(here.fdo())); }, [&] { detached = here.detach(); }});
    ASSERT_STREQ(name_of(detached), "STATUS_DEVICE_BUSY");
    if (open.status() == STATUS_SUCCESS) {
        EXPECT_STATUS(verb_call(close_ca(open.object<IB_CA>())).status(), STATUS_SUCCESS);
    } else {
        EXPECT_STATUS(open.status(), STATUS_DELETE_PENDING);
    }
    const ca after(here);
}

constexpr test_case cases[] = {
    {"OpenCa.Success_ReturnsIbCa", "STATUS_SUCCESS: Information is the IB_CA*.", nothing,
     kind::steps, success_returns_ib_ca},
    {"OpenCa.NoDispatchTable_Succeeds",
     "The up-calls of Dispatch, which may be NULL or have NULL members, receive Context.", nothing,
     kind::steps, no_dispatch_table_succeeds},
    {"OpenCa.TwoClients_EachGetsItsIbCa",
     "Ownership: the IB_CA is the caller's until CiCloseCa completes.", nothing, kind::steps,
     two_clients_each_gets_its_ib_ca},
    {"OpenCa.ConcurrentWithClose_BothComplete",
     "Ownership: the IB_CA is the caller's until CiCloseCa completes.", nothing, kind::race,
     concurrent_with_close_both_complete},
    {"OpenCa.RacesWithDetach_ReturnsDeletePending",
     "STATUS_DELETE_PENDING: the HCA is being detached.", nothing, kind::race,
     races_with_detach_returns_delete_pending},
    {"EveryVerb.NullObject_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER for a port or flag that does not exist and for an object that is "
     "NULL",
     nothing, kind::steps, null_object_returns_invalid_parameter},
};

} // namespace
} // namespace open_group

const std::span<const test_case> open_cases = open_group::cases;

} // namespace irpverbs::conformance

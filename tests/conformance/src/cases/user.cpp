// Requests for a user: the requestor mode, its buffers, and CI_UDATA.
#include "completions.hpp"
#include "datagrams.hpp"

#include <ci/user_data.h>

#include <array>
#include <cstring>
#include <sys/mman.h>

namespace irpverbs::conformance {

namespace user_group {
namespace {

/// A reserved page that cannot be accessed.
class unmapped_page {
public:
    unmapped_page() : page_(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
    ~unmapped_page() { munmap(page_, 4096); }
    unmapped_page(const unmapped_page&) = delete;
    unmapped_page& operator=(const unmapped_page&) = delete;
    template <class Type>
    Type* as() const {
        return static_cast<Type*>(page_);
    }

private:
    void* page_;
};

void query_results_equal_kernel_results(world& here) {
    const ca opened(here);
    const block all = whole_port(opened);
    const ULONG size = all.as<IB_PORT_ATTR>().Size;
    block users(size);
    verb_call query(for_user(query_port(opened, 1, users.get(), size)));
    EXPECT_STATUS(query.status(), STATUS_SUCCESS);
    EXPECT_EQ(query.information(), size);
    EXPECT_EQ(std::memcmp(&users.as<UCHAR>(), &all.as<UCHAR>(), size), 0);
    ULONG cut = 0;
    verb_call small(for_user(query_port(opened, 1, &cut, sizeof(cut))));
    EXPECT_STATUS(small.status(), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(cut, size);
    EXPECT_STATUS(status_of(for_user(query_port(opened, 1, &cut, 3))), STATUS_BUFFER_TOO_SMALL);
}

void unmapped_attributes_return_access_violation(world& here) {
    const ca opened(here);
    whole_port(opened);
    const unmapped_page page;
    for (const verb& each :
         {query_port(opened, 1, page.as<void>(), 4096), query_ca(opened, page.as<void>(), 4),
          modify_ca(opened, 0, page.as<IB_MODIFY_CA>()),
          modify_port(opened, 1, 0, page.as<IB_MODIFY_PORT>())}) {
        verb_call call(for_user(each));
        if (call.status() == STATUS_NOT_SUPPORTED) continue;
        EXPECT_STATUS(call.status(), STATUS_ACCESS_VIOLATION) << each.name;
        EXPECT_EQ(call.information(), 0u) << each.name;
    }
}

void unmapped_entries_return_access_violation(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    const unmapped_page page;
    EXPECT_STATUS(status_of(for_user(query_cq(queue, page.as<void>(), sizeof(IB_CQ_ATTR)))),
                  STATUS_ACCESS_VIOLATION);
    EXPECT_STATUS(status_of(for_user(poll_cq(queue, 4, page.as<IB_WC>()))),
                  STATUS_ACCESS_VIOLATION);
}

void unmapped_dispatch_table_returns_access_violation(world& here) {
    const unmapped_page page;
    EXPECT_STATUS(status_of(for_user(open_ca(here.fdo(), nullptr, page.as<IB_CA_DISPATCH>()))),
                  STATUS_ACCESS_VIOLATION);
    const ca opened(here);
    EXPECT_STATUS(status_of(for_user(create_cq(opened, 4, nullptr, page.as<IB_CQ_DISPATCH>()))),
                  STATUS_ACCESS_VIOLATION);
    const IB_MAD_AGENT_ATTR attr{};
    EXPECT_STATUS(
        status_of(for_user(register_agent(opened, &attr, nullptr, page.as<IB_MAD_DISPATCH>()))),
        STATUS_ACCESS_VIOLATION);
}

void unmapped_datagrams_return_access_violation(world& here) {
    const ca opened(here);
    const unmapped_page page;
    const agent both(opened);
    EXPECT_STATUS(status_of(for_user(register_agent(opened, page.as<IB_MAD_AGENT_ATTR>()))),
                  STATUS_ACCESS_VIOLATION);
    datagram out(opened, 1);
    reception in;
    for (const bool inner : {false, true}) {
        out.send().Data = page.as<void>();
        in.into.Data = page.as<void>();
        const IB_MAD_SEND* send = inner ? out.get() : page.as<IB_MAD_SEND>();
        IB_MAD_RECEIVE* into = inner ? &in.into : page.as<IB_MAD_RECEIVE>();
        EXPECT_STATUS(status_of(for_user(send_mad(both, send))), STATUS_ACCESS_VIOLATION);
        EXPECT_STATUS(status_of(for_user(get_mad(both, into))), STATUS_ACCESS_VIOLATION);
    }
}

void unmapped_keys_return_access_violation(world& here) {
    const ca opened(here);
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.QpKind = IB_MAD_QP_OWN_MADS;
    attr.Keys.PKey = IB_PKEY_DEFAULT_FULL;
    const agent own(opened, attr);
    const unmapped_page page;
    EXPECT_STATUS(status_of(for_user(modify_agent(own, page.as<IB_MAD_KEYS>()))),
                  STATUS_ACCESS_VIOLATION);
    EXPECT_STATUS(status_of(for_user(modify_agent(own, &attr.Keys))), STATUS_SUCCESS);
}

void datagrams_sent_and_received(world& here) {
    const ca opened(here);
    const agent both(opened);
    reception pended;
    pended.call.send(for_user(get_mad(both, &pended.into)));
    const datagram one(opened, 1);
    EXPECT_STATUS(status_of(for_user(send_mad(both, one.get()))), STATUS_SUCCESS);
    EXPECT_EQ(pended.number(), 1u);
    EXPECT_EQ(pended.into.Data, pended.data.data());
    must(send_mad(both, one.get()));
    reception next; // pends if the datagram has not arrived yet
    next.call.send(for_user(get_mad(both, &next.into)));
    EXPECT_EQ(next.number(), 1u);
}

// The user's buffer is written only up to the length that the driver reports.
void user_data_accepted_by_every_verb(world& here) {
    constexpr UCHAR untouched = 0xA5;
    const auto captured = [&](const auto& verb_with) {
        std::array<UCHAR, 64> room;
        room.fill(untouched);
        const CI_UDATA given{nullptr, room.data(), 0, room.size()};
        CI_UDATA* data = nullptr;
        EXPECT_STATUS(CiCaptureUserData(&given, UserMode, &data), STATUS_SUCCESS);
        verb_call call(for_user(verb_with(data)));
        const NTSTATUS status = call.status();
        SIZE_T output_size = room.size() + 1;
        EXPECT_STATUS(CiReturnUserData(data, UserMode, &output_size), STATUS_SUCCESS);
        EXPECT_LT(output_size, room.size()) << "no driver returns as much";
        for (SIZE_T i = output_size; i < room.size(); ++i)
            EXPECT_EQ(room[i], untouched);
        if (status == STATUS_NOT_SUPPORTED) throw skipped{"a verb returns STATUS_NOT_SUPPORTED"};
        EXPECT_STATUS(status, STATUS_SUCCESS);
        return call.information();
    };
    ca opened(reinterpret_cast<IB_CA*>(
        captured([&](CI_UDATA* data) { return open_ca(here.fdo(), nullptr, nullptr, data); })));
    cq queue(reinterpret_cast<IB_CQ*>(
        captured([&](CI_UDATA* data) { return create_cq(opened, 4, nullptr, nullptr, data); })));
    captured([&](CI_UDATA* data) { return resize_cq(queue, 9, data); });
    captured([&](CI_UDATA* data) { return destroy_cq(queue.release(), data); });
    captured([&](CI_UDATA* data) { return close_ca(opened.release(), data); });
}

void pended_waits_can_be_cancelled(world& here) {
    const ca opened(here);
    const cq queue(cq_if_there_is(opened));
    std::vector<verb> waits{get_fatal_event(opened), get_port_event(opened)};
    if (queue.get() != nullptr) {
        waits.push_back(get_comp_event(queue));
        waits.push_back(get_async_event(queue));
    }
    for (const verb& each : waits) {
        verb_call call(for_user(each));
        EXPECT_STATUS(call.returned(), STATUS_PENDING) << each.name;
        EXPECT_TRUE(call.cancel()) << each.name;
        EXPECT_STATUS(call.status(), STATUS_CANCELLED) << each.name;
    }
}

void expect_event(verb_call& waiter, IB_ASYNC_EVENT event) {
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
    EXPECT_EQ(waiter.information(), static_cast<ULONG_PTR>(event));
}

void pended_waits_complete_with_event(world& here) {
    const ca opened(here);
    const cq queue(opened.get(), 1);
    verb_call fatal(for_user(get_fatal_event(opened)));
    verb_call port(for_user(get_port_event(opened)));
    verb_call completion(for_user(get_comp_event(queue)));
    verb_call error(for_user(get_async_event(queue)));
    here.raise(IB_AE_CLIENT_REREGISTER);
    expect_event(port, IB_AE_CLIENT_REREGISTER);
    arm(queue, IB_CQ_ARM_NEXT);
    here.complete(queue, entry(1));
    expect_event(completion, IB_AE_NONE);
    while (here.complete(queue, entry(2)) == STATUS_SUCCESS) {
    }
    expect_event(error, IB_AE_CQ_ERROR);
    here.fail();
    expect_event(fatal, IB_AE_NONE);
}

constexpr const char* violation =
    "STATUS_ACCESS_VIOLATION when Irp->RequestorMode is UserMode and a buffer is not mapped.";

constexpr test_case cases[] = {
    {"User.QueryResults_EqualKernelResults", "Information: bytes written.", nothing, kind::steps,
     query_results_equal_kernel_results},
    {"User.UnmappedAttributes_ReturnAccessViolation", violation, nothing, kind::steps,
     unmapped_attributes_return_access_violation},
    {"User.UnmappedEntries_ReturnAccessViolation", violation, nothing, kind::steps,
     unmapped_entries_return_access_violation},
    {"User.UnmappedDispatchTable_ReturnsAccessViolation", violation, nothing, kind::steps,
     unmapped_dispatch_table_returns_access_violation},
    {"User.UnmappedDatagrams_ReturnAccessViolation", violation, nothing, kind::steps,
     unmapped_datagrams_return_access_violation},
    {"User.UnmappedKeys_ReturnAccessViolation", violation, nothing, kind::steps,
     unmapped_keys_return_access_violation},
    {"User.Datagrams_SentAndReceived", "STATUS_SUCCESS: Information is its length.", nothing,
     kind::steps, datagrams_sent_and_received},
    {"User.PendedWaits_CanBeCancelled", "Every pended verb can be cancelled", nothing, kind::steps,
     pended_waits_can_be_cancelled},
    {"User.PendedWaits_CompleteWithEvent",
     "An event goes to the up-call, if there is one, and completes the oldest IRP that waits for "
     "it, if there is one.",
     port_events | fatal_events | completions, kind::steps, pended_waits_complete_with_event},
    {"User.UserData_AcceptedByEveryVerb",
     "A caller for a user captures them in non-paged memory (CiCaptureUserData).", nothing,
     kind::steps, user_data_accepted_by_every_verb},
};

} // namespace
} // namespace user_group

const std::span<const test_case> user_cases = user_group::cases;

} // namespace irpverbs::conformance

// A closed object is freed memory: a verb that is called on it is reported, with the closing verb.
#include "qp_hca.hpp"

#include <support/findings.hpp>
#include <support/one_run.hpp>

namespace {

using namespace irpverbs::testing;

/// The report of a run that calls `again` after an object has been closed; "": none.
template <class Body>
std::string report_after_close(const Body& body) {
    return report_of_one_run([&](irpverbs::dispatch::sim_machine& sim) {
        qp_hca hca;
        sim.spawn("client", [&] {
            IB_CA* const ca = open_ca(hca.fdo);
            body(ca);
            EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        });
        sim.run();
    });
}

void expect_use_of_freed_memory(const std::string& report) {
    EXPECT_EQ(rule_in(report), "FreedMemoryUsed") << report;
    for (const char* part : {"a verb is called on an object", "stack (freed at)"})
        EXPECT_NE(report.find(part), std::string::npos) << part << " is missing:\n" << report;
}

TEST(ClosedObject, QueryOfACompletionQueue_IsFreedMemoryUsed) {
    expect_use_of_freed_memory(report_after_close([](IB_CA* ca) {
        IB_CQ* const cq = create_cq(ca);
        destroy_cq(cq);
        IB_CQ_ATTR attr;
        verb_call([&](IRP* irp) { return CiQueryCq(cq, sizeof attr, &attr, irp); });
    }));
}

TEST(ClosedObject, SecondClose_IsFreedMemoryUsed) {
    expect_use_of_freed_memory(report_after_close([](IB_CA* ca) {
        IB_PD* const pd = allocate_pd(ca);
        deallocate_pd(pd);
        deallocate_pd(pd);
    }));
}

TEST(ClosedObject, CreationBelowIt_IsFreedMemoryUsed) {
    expect_use_of_freed_memory(report_after_close([](IB_CA* ca) {
        IB_PD* const pd = allocate_pd(ca);
        IB_CQ* const cq = create_cq(ca);
        deallocate_pd(pd);
        create_qp(pd, small_qp(cq));
    }));
}

TEST(ClosedObject, OpenObjects_AreNotReported) {
    EXPECT_EQ(report_after_close([](IB_CA* ca) {
                  IB_PD* const pd = allocate_pd(ca);
                  IB_CQ* const cq = create_cq(ca);
                  destroy_qp(create_qp(pd, small_qp(cq)));
                  destroy_cq(cq);
                  deallocate_pd(pd);
              }),
              "");
}

} // namespace

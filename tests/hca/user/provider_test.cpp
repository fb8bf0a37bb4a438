// The steps of a user-mode provider around verbs that cross to a daemon (ci/ib_uvp.h).
#include "client.hpp"
#include "provider_double.h"

#include <ci/qp_changes.hpp>

#include <cstring>
#include <dlfcn.h>
#include <fstream>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// The provider of provider_double.c, as a test wants it, and a client that uses it.
class Provider : public ::testing::Test {
protected:
    Provider() {
        setenv("IRPVERBS_UVP_PATH", PROVIDER_FOLDER, 1);
        library_ = dlopen(PROVIDER_FOLDER "/irpverbs-uvp-double.so", RTLD_NOW | RTLD_LOCAL);
        EXPECT_NE(library_, nullptr) << dlerror();
        provider_ = static_cast<provider_double*>(dlsym(library_, "uvp_double"));
        *provider_ = {};
    }
    ~Provider() override {
        EXPECT_EQ(provider_->wrong_handles, 0);
        EXPECT_EQ(provider_->live, 0);
        dlclose(library_);
    }
    std::string uri() const { return serving_.uri() + "?provider=double"; }
    double_step& step(double_verb verb) { return provider_->verbs[verb]; }

    test_daemon serving_;
    provider_double* provider_ = nullptr;

private:
    void* library_ = nullptr;
};

IB_PD* allocate_pd(IB_CA* ca) {
    verb_call made([&](IRP* irp) { return CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp); });
    EXPECT_EQ(made.status(), STATUS_SUCCESS);
    return made.object<IB_PD>();
}

NTSTATUS deallocate_pd(IB_PD* pd) {
    return verb_call([&](IRP* irp) { return CiDeallocatePd(pd, nullptr, irp); }).status();
}

TEST_F(Provider, BothFunctions_AreCalledAroundEachVerb) {
    const client here(uri());
    {
        const opened_ca ca;
        EXPECT_EQ(provider_->guid, __builtin_bswap64(ca.guid()));
        IB_PD* const pd = allocate_pd(ca.get());
        EXPECT_EQ(provider_->live, 2);
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
    }
    for (const double_verb each :
         {double_open_ca, double_close_ca, double_allocate_pd, double_deallocate_pd}) {
        EXPECT_EQ(step(each).pre_calls, 1u) << each;
        EXPECT_EQ(step(each).post_calls, 1u) << each;
    }
}

TEST_F(Provider, PreFails_VerbIsVetoedAndNothingExists) {
    const client here(uri());
    const opened_ca ca;
    step(double_allocate_pd).pre = IB_INVALID_PERMISSION;
    verb_call vetoed([&](IRP* irp) { return CiAllocatePd(ca.get(), IB_PDT_NORMAL, nullptr, irp); });
    EXPECT_EQ(vetoed.status(), STATUS_ACCESS_DENIED);
    EXPECT_EQ(step(double_allocate_pd).post_calls, 0u);
    EXPECT_EQ(serving_.counters().Objects, 1u);
}

TEST_F(Provider, VetoedOpen_LeavesNoConnection) {
    const client here(uri());
    step(double_open_ca).pre = IB_INSUFFICIENT_RESOURCES;
    ib_guid_t guid = 0;
    ULONG count = 1;
    HcaEnumerate(&guid, &count);
    verb_call open(
        [&](IRP* irp) { return CiOpenCa(HcaFromGuid(guid), nullptr, nullptr, nullptr, irp); });
    EXPECT_EQ(open.status(), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_TRUE(serving_.becomes_idle());
}

TEST_F(Provider, PostOfCreationFails_ObjectIsDestroyedAndItsStatusReturned) {
    const client here(uri());
    const opened_ca ca;
    step(double_create_cq).post = IB_RESOURCE_BUSY;
    verb_call create(
        [&](IRP* irp) { return CiCreateCq(ca.get(), 8, nullptr, nullptr, nullptr, irp); });
    EXPECT_EQ(create.status(), STATUS_DEVICE_BUSY);
    EXPECT_EQ(step(double_create_cq).ioctl_status, IB_SUCCESS);
    EXPECT_EQ(step(double_destroy_cq).pre_calls, 0u);
    EXPECT_EQ(serving_.counters().Objects, 1u);
    step(double_create_cq).post = IB_SUCCESS;
    EXPECT_EQ(destroy_cq(create_cq(ca.get())), STATUS_SUCCESS);
}

TEST_F(Provider, PostOfOpenFails_ConnectionEnds) {
    const client here(uri());
    step(double_open_ca).post = IB_INSUFFICIENT_MEMORY;
    ib_guid_t guid = 0;
    ULONG count = 1;
    HcaEnumerate(&guid, &count);
    verb_call open(
        [&](IRP* irp) { return CiOpenCa(HcaFromGuid(guid), nullptr, nullptr, nullptr, irp); });
    EXPECT_EQ(open.status(), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_TRUE(serving_.becomes_idle());
}

TEST_F(Provider, VerbFails_PostLearnsItsStatus) {
    const client here(uri());
    const opened_ca ca;
    verb_call create(
        [&](IRP* irp) { return CiCreateCq(ca.get(), 1u << 30, nullptr, nullptr, nullptr, irp); });
    EXPECT_EQ(create.status(), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(step(double_create_cq).post_calls, 1u);
    EXPECT_EQ(step(double_create_cq).ioctl_status, IB_INVALID_CQ_SIZE);
}

TEST_F(Provider, FailedDestroy_PostIsNotCalledAndTheObjectLives) {
    const client here(uri());
    const opened_ca ca;
    IB_PD* const pd = allocate_pd(ca.get());
    std::vector<UCHAR> memory(4096);
    ib_mr_create_t wanted{memory.data(), memory.size(), IB_AC_LOCAL_WRITE | IB_AC_RDMA_READ};
    verb_call made([&](IRP* irp) { return CiRegisterMr(pd, &wanted, nullptr, irp); });
    ASSERT_EQ(made.status(), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_DEVICE_BUSY);
    EXPECT_EQ(step(double_deallocate_pd).post_calls, 0u);
    verb_call gone([&](IRP* irp) { return CiDeregisterMr(made.object<IB_MR>(), nullptr, irp); });
    EXPECT_EQ(gone.status(), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
}

TEST_F(Provider, PrivateBuffer_CrossesBothWays) {
    const client here(uri());
    const opened_ca ca;
    provider_->raise_size = 30;
    IB_CQ* const cq = create_cq(ca.get(), 4);
    EXPECT_EQ(cq->NumCqes, 64u); // 34, rounded up by the HCA
    EXPECT_EQ(provider_->granted, 64u);
    HCA_SOFTWARE_CQ_REPLY reply{};
    EXPECT_EQ(step(double_create_cq).returned, sizeof(reply));
    std::memcpy(&reply, provider_->reply, sizeof(reply));
    EXPECT_EQ(reply.NumCqes, 64u);
    verb_call resize([&](IRP* irp) { return CiResizeCq(cq, 98, nullptr, irp); });
    EXPECT_EQ(resize.status(), STATUS_SUCCESS);
    EXPECT_EQ(provider_->granted, 128u);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_F(Provider, BufferBeyondTheMaximum_PostRunsAlthoughNothingWasSent) {
    const client here(uri());
    const opened_ca ca;
    provider_->oversized = 1;
    verb_call create(
        [&](IRP* irp) { return CiCreateCq(ca.get(), 4, nullptr, nullptr, nullptr, irp); });
    EXPECT_EQ(create.status(), STATUS_INVALID_BUFFER_SIZE);
    EXPECT_EQ(step(double_create_cq).post_calls, 1u);
    EXPECT_EQ(step(double_create_cq).ioctl_status, IB_ERROR);
}

TEST_F(Provider, CallersOwnUserData_IsRefused) {
    const client here(uri());
    const opened_ca ca;
    HCA_SOFTWARE_CQ_REPLY reply{};
    CI_UDATA mine{nullptr, &reply, 0, sizeof(reply)};
    verb_call create(
        [&](IRP* irp) { return CiCreateCq(ca.get(), 4, nullptr, nullptr, &mine, irp); });
    EXPECT_EQ(create.status(), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(step(double_create_cq).pre_calls, 0u);
}

TEST_F(Provider, AddressVectorThatIsDone_NeverCrosses) {
    const client here(uri());
    const opened_ca ca;
    IB_PD* const pd = allocate_pd(ca.get());
    for (const double_verb each :
         {double_create_av, double_query_av, double_modify_av, double_destroy_av})
        step(each).pre = IB_VERBS_PROCESSING_DONE;
    const ULONG before = serving_.counters().Objects;
    ib_av_attr_t way{};
    way.port_num = 1;
    way.dlid = 3;
    verb_call create([&](IRP* irp) { return CiCreateAv(pd, &way, nullptr, irp); });
    ASSERT_EQ(create.status(), STATUS_SUCCESS);
    EXPECT_EQ(serving_.counters().Objects, before);
    IB_AV* const av = create.object<IB_AV>();
    ib_av_query_t seen{};
    verb_call query([&](IRP* irp) { return CiQueryAv(av, sizeof(seen), &seen, nullptr, irp); });
    EXPECT_EQ(query.status(), STATUS_SUCCESS);
    EXPECT_EQ(seen.attr.sl, 5);
    verb_call modify([&](IRP* irp) { return CiModifyAv(av, &way, nullptr, irp); });
    EXPECT_EQ(modify.status(), STATUS_SUCCESS);
    verb_call destroy([&](IRP* irp) { return CiDestroyAv(av, nullptr, irp); });
    EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
}

TEST_F(Provider, DoneOfAnotherVerb_IsAVeto) {
    const client here(uri());
    const opened_ca ca;
    step(double_allocate_pd).pre = IB_VERBS_PROCESSING_DONE;
    verb_call vetoed([&](IRP* irp) { return CiAllocatePd(ca.get(), IB_PDT_NORMAL, nullptr, irp); });
    EXPECT_EQ(vetoed.status(), STATUS_NOT_SUPPORTED);
}

TEST_F(Provider, Query_PostSeesAndChangesTheAttributes) {
    const client here(uri());
    const opened_ca ca;
    IB_CA_ATTR attr{};
    verb_call query([&](IRP* irp) { return CiQueryCa(ca.get(), sizeof(attr), &attr, irp); });
    query.status();
    EXPECT_EQ(attr.VendorPartId, 4711u);
    EXPECT_EQ(step(double_query_ca).post_calls, 1u);
}

TEST_F(Provider, ModifyPort_NamesPortAndChange) {
    const client here(uri());
    const opened_ca ca;
    const IB_MODIFY_PORT change{};
    verb_call modify([&](IRP* irp) {
        return CiModifyPort(ca.get(), 1, IB_MODIFY_PORT_INIT_TYPE, &change, irp);
    });
    EXPECT_EQ(modify.status(), STATUS_SUCCESS);
    EXPECT_EQ(step(double_modify_ca).pre_calls, 1u);
    EXPECT_EQ(step(double_modify_ca).post_calls, 1u);
}

TEST_F(Provider, DaemonEnds_PostFunctionsRun) {
    const client here(uri());
    {
        const opened_ca ca;
        IB_PD* const pd = allocate_pd(ca.get());
        serving_.stop();
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
    }
    EXPECT_EQ(step(double_deallocate_pd).post_calls, 1u);
    EXPECT_EQ(step(double_close_ca).post_calls, 1u);
}

/// A queue pair of a client, with its domain and its completion queue.
class own_qp {
public:
    explicit own_qp(IB_CA* ca) : pd_(allocate_pd(ca)), cq(create_cq(ca)) {
        ib_qp_create_t wanted{};
        wanted.qp_type = IB_QPT_RELIABLE_CONN;
        wanted.h_sq_cq = wanted.h_rq_cq = cq;
        wanted.sq_depth = wanted.rq_depth = 4;
        wanted.sq_sge = wanted.rq_sge = 1;
        verb_call made([&](IRP* irp) { return CiCreateQp(pd_, &wanted, nullptr, irp); });
        EXPECT_EQ(made.status(), STATUS_SUCCESS);
        qp = made.object<IB_QP>();
    }
    ~own_qp() {
        verb_call gone([&](IRP* irp) { return CiDestroyQp(qp, nullptr, irp); });
        EXPECT_EQ(gone.status(), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(pd_), STATUS_SUCCESS);
    }
    own_qp(const own_qp&) = delete;
    own_qp& operator=(const own_qp&) = delete;

private:
    IB_PD* pd_;

public:
    IB_CQ* cq;
    IB_QP* qp = nullptr;
};

TEST_F(Provider, DataPath_IsTheProviders) {
    provider_->has_data_path = 1;
    const client here(uri());
    const opened_ca ca;
    const own_qp own(ca.get());
    ib_send_wr_t second{};
    ib_send_wr_t first{};
    first.p_next = &second;
    ib_send_wr_t* failed = nullptr;
    EXPECT_EQ(CiPostSend(own.qp, &first, &failed), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(failed, &second);
    EXPECT_EQ(provider_->sends, 1u);
    IB_WC entries[4];
    ULONG taken = 0;
    EXPECT_EQ(CiGetCqResults(own.cq, 4, entries, &taken), STATUS_SUCCESS);
    ASSERT_EQ(taken, 1u);
    EXPECT_EQ(entries[0].WrId, 99u);
    EXPECT_EQ(CiGetCqResults(own.cq, 4, entries, &taken), STATUS_SUCCESS);
    EXPECT_EQ(taken, 0u);
}

// The hole in the vector crosses: the daemon refuses a post to a queue pair in RESET.
TEST_F(Provider, NoDataPath_PostsCross) {
    const client here(uri());
    const opened_ca ca;
    const own_qp own(ca.get());
    ib_send_wr_t request{};
    ib_send_wr_t* failed = nullptr;
    EXPECT_FALSE(NT_SUCCESS(CiPostSend(own.qp, &request, &failed)));
    EXPECT_EQ(failed, &request);
    EXPECT_EQ(provider_->sends, 0u);
    ib_qp_attr_t seen{};
    verb_call query([&](IRP* irp) { return CiQueryQp(own.qp, sizeof(seen), &seen, nullptr, irp); });
    EXPECT_EQ(query.status(), STATUS_SUCCESS);
    EXPECT_EQ(seen.sq_depth, 77u);
}

void modify(IB_QP* qp, const ib_qp_mod_t& change) {
    verb_call made([&](IRP* irp) { return CiModifyQp(qp, &change, nullptr, irp); });
    EXPECT_EQ(made.status(), STATUS_SUCCESS);
}

TEST_F(Provider, EventOfAQueuePair_ReachesTheProviderBeforeTheClient) {
    const client here(uri());
    const opened_ca ca;
    const own_qp own(ca.get());
    ci::rtr_attributes path;
    path.av.port_num = 1;
    path.av.dlid = 3;
    path.path_mtu = IB_MTU_1024;
    path.dest_qp = own.qp->Num;
    modify(own.qp, ci::to_init(IB_QPT_RELIABLE_CONN, {}));
    modify(own.qp, ci::to_rtr(IB_QPT_RELIABLE_CONN, path));
    modify(own.qp, ci::to_rts(IB_QPT_RELIABLE_CONN, {}));
    ib_qp_mod_t drained{};
    drained.opts = IB_MOD_QP_STATE | IB_MOD_QP_SQD_EVENT;
    drained.req_state = IB_QPS_SQD;
    drained.sqd_event = TRUE;
    modify(own.qp, drained);
    verb_call event([&](IRP* irp) { return CiGetQpAsyncEvent(own.qp, irp); });
    EXPECT_EQ(event.information(), static_cast<ULONG_PTR>(IB_AE_SQ_DRAINED));
    EXPECT_EQ(provider_->events, 1u);
    EXPECT_EQ(provider_->last_event, IB_AE_SQ_DRAINED);
}

// ---- finding and loading

/// The line of a location that can't be attached.
std::string problem_of(const std::string& uri) {
    dispatch::asio_machine machine{{.processors = 1}};
    const dispatch::machine::scope inside(machine);
    std::array<char, 512> message{};
    const NTSTATUS status = HcaAttachEx(uri.c_str(), nullptr, message.data(), message.size());
    EXPECT_EQ(status, STATUS_OBJECT_NAME_NOT_FOUND);
    if (NT_SUCCESS(status)) HcaDetach(uri.c_str());
    return message.data();
}

TEST_F(Provider, Missing_LineNamesTheFolders) {
    const std::string line = problem_of(serving_.uri() + "?provider=missing");
    EXPECT_NE(line.find("no irpverbs-uvp-missing.so in " PROVIDER_FOLDER ", "), std::string::npos)
        << line;
}

TEST_F(Provider, NameThatIsNoWord_IsRefused) {
    EXPECT_NE(problem_of(serving_.uri() + "?provider=../double").find("lower-case letters"),
              std::string::npos);
}

TEST_F(Provider, LibraryWithoutTheFunction_IsRefused) {
    const private_directory folder;
    setenv("IRPVERBS_UVP_PATH", folder.file("").c_str(), 1);
    std::ofstream(folder.file("irpverbs-uvp-text.so")) << "not a library";
    EXPECT_NE(problem_of(serving_.uri() + "?provider=text").find("irpverbs-uvp-text.so"),
              std::string::npos);
}

TEST_F(Provider, UnknownVersion_IsRefused) {
    provider_->version = 7;
    EXPECT_NE(problem_of(uri()).find("has version 7 of the interface; 1 and 2 are known"),
              std::string::npos);
}

TEST_F(Provider, Sample_TracesVerbs) {
    ::testing::internal::CaptureStderr();
    {
        const client here(serving_.uri() + "?provider=trace");
        const opened_ca ca;
        EXPECT_EQ(destroy_cq(create_cq(ca.get())), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(allocate_pd(ca.get())), STATUS_SUCCESS);
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "uvp: create CA 1: status 0\n"
                                                        "uvp: 4 completions\n"
                                                        "uvp: create CQ 2: status 0\n"
                                                        "uvp: destroy CQ 2: status 0\n"
                                                        "uvp: create PD 3: status 0\n"
                                                        "uvp: destroy PD 3: status 0\n"
                                                        "uvp: destroy CA 1: status 0\n");
}

} // namespace

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
        EXPECT_EQ(provider_->wrong, 0);
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

/// The status of CiOpenCa for the client's first HCA, which is not opened.
NTSTATUS failed_open() {
    ib_guid_t guid = 0;
    ULONG count = 1;
    HcaEnumerate(&guid, &count);
    return verb_call([&](IRP* irp) {
               return CiOpenCa(HcaFromGuid(guid), nullptr, nullptr, nullptr, irp);
           })
        .status();
}

NTSTATUS allocated_pd(IB_CA* ca) {
    return verb_call([&](IRP* irp) { return CiAllocatePd(ca, IB_PDT_NORMAL, nullptr, irp); })
        .status();
}

template <class Object, class Block>
using query_verb = NTSTATUS (*)(Object*, SIZE_T, Block*, CI_UDATA*, IRP*);

template <class Object, class Block>
NTSTATUS query(query_verb<Object, Block> verb, Object* of, Block& block) {
    return verb_call([&](IRP* irp) { return verb(of, sizeof(block), &block, nullptr, irp); })
        .status();
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
    EXPECT_EQ(allocated_pd(ca.get()), STATUS_ACCESS_DENIED);
    EXPECT_EQ(step(double_allocate_pd).post_calls, 0u);
    EXPECT_EQ(serving_.counters().Objects, 1u);
}

TEST_F(Provider, VetoedOpen_LeavesNoConnection) {
    const client here(uri());
    step(double_open_ca).pre = IB_INSUFFICIENT_RESOURCES;
    EXPECT_EQ(failed_open(), STATUS_INSUFFICIENT_RESOURCES);
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
    EXPECT_EQ(failed_open(), STATUS_INSUFFICIENT_RESOURCES);
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
    IB_MR* const mr =
        register_mr(pd, memory.data(), memory.size(), IB_AC_LOCAL_WRITE | IB_AC_RDMA_READ);
    EXPECT_EQ(deallocate_pd(pd), STATUS_DEVICE_BUSY);
    EXPECT_EQ(step(double_deallocate_pd).post_calls, 0u);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
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
    IB_AV* const av = create_av(pd, way);
    EXPECT_EQ(serving_.counters().Objects, before);
    ib_av_query_t seen{};
    EXPECT_EQ(query(CiQueryAv, av, seen), STATUS_SUCCESS);
    EXPECT_EQ(seen.attr.sl, 5);
    verb_call modify([&](IRP* irp) { return CiModifyAv(av, &way, nullptr, irp); });
    EXPECT_EQ(modify.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_av(av), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
}

TEST_F(Provider, DoneOfAnotherVerb_IsAVeto) {
    const client here(uri());
    const opened_ca ca;
    step(double_allocate_pd).pre = IB_VERBS_PROCESSING_DONE;
    EXPECT_EQ(allocated_pd(ca.get()), STATUS_NOT_SUPPORTED);
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
struct own_qp {
    explicit own_qp(IB_CA* ca, ib_qp_type_t type = IB_QPT_RELIABLE_CONN)
        : pd(allocate_pd(ca)), cq(create_cq(ca)), qp(create_qp(pd, small_qp(cq, type))) {}
    ~own_qp() {
        EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
    }
    own_qp(const own_qp&) = delete;
    own_qp& operator=(const own_qp&) = delete;

    IB_PD* const pd;
    IB_CQ* const cq;
    IB_QP* const qp;
};

IB_MW* allocate_mw(IB_PD* pd) {
    return created<IB_MW>([&](IRP* irp) { return CiAllocateMw(pd, IB_MWT_TYPE_1, nullptr, irp); });
}
NTSTATUS deallocate_mw(IB_MW* mw) {
    return verb_call([&](IRP* irp) { return CiDeallocateMw(mw, nullptr, irp); }).status();
}

IB_SRQ* small_srq(IB_PD* pd) {
    ib_srq_create_t wanted{};
    wanted.max_wr = 8;
    wanted.max_sge = 1;
    return create_srq(pd, wanted);
}

// ---- verbs of all objects, with which each function of the vector is called

void use_regions(IB_PD* pd) {
    std::array<UCHAR, 64> bytes{};
    IB_MR* const mr = register_mr(pd, bytes.data(), 64, IB_AC_LOCAL_WRITE | IB_AC_RDMA_READ);
    ib_mr_attr_t seen{};
    EXPECT_EQ(query(CiQueryMr, mr, seen), STATUS_SUCCESS);
    ib_mr_mod_t change{};
    change.opts = IB_MR_MOD_ACCESS;
    change.create.access_ctrl = IB_AC_LOCAL_WRITE;
    EXPECT_EQ(modify_mr(mr, change), STATUS_SUCCESS);
    IB_MR* const sharing = register_smr(pd, mr, bytes.data(), IB_AC_RDMA_READ);
    EXPECT_EQ(deregister_mr(mr), STATUS_DEVICE_BUSY);
    EXPECT_EQ(deregister_mr(sharing), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
    IB_MW* const mw = allocate_mw(pd);
    ib_mw_attr_t window{};
    EXPECT_EQ(query(CiQueryMw, mw, window), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_mw(mw), STATUS_SUCCESS);
}

void use_shared_receives(IB_PD* pd) {
    IB_SRQ* const srq = small_srq(pd);
    EXPECT_EQ(modify_srq(srq, {IB_MOD_SRQ_LIMIT, 0, 2}), STATUS_SUCCESS);
    ib_srq_attr_t seen{};
    EXPECT_EQ(query(CiQuerySrq, srq, seen), STATUS_SUCCESS);
    EXPECT_EQ(seen.max_wr, srq->MaxWr);
    EXPECT_EQ(destroy_srq(srq), STATUS_SUCCESS);
}

void use_queues(const own_qp& own) {
    IB_CQ_ATTR queue{};
    verb_call queried([&](IRP* irp) { return CiQueryCq(own.cq, sizeof(queue), &queue, irp); });
    EXPECT_EQ(queried.status(), STATUS_SUCCESS);
    verb_call resized([&](IRP* irp) { return CiResizeCq(own.cq, 8, nullptr, irp); });
    EXPECT_EQ(resized.status(), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(own.qp, ci::to_init(IB_QPT_UNRELIABLE_DGRM, {})), STATUS_SUCCESS);
    ib_qp_attr_t seen{};
    EXPECT_EQ(query(CiQueryQp, own.qp, seen), STATUS_SUCCESS);
    EXPECT_EQ(detach_mcast(attach_mcast(own.qp, {0xFF12'4001'0000'0000, 5}, 0xC001)),
              STATUS_SUCCESS);
}

void use_address_vectors(IB_PD* pd) {
    ib_av_attr_t way{};
    way.port_num = 1;
    way.dlid = 3;
    IB_AV* const av = create_av(pd, way);
    ib_av_query_t seen{};
    EXPECT_EQ(query(CiQueryAv, av, seen), STATUS_SUCCESS);
    EXPECT_EQ(seen.attr.dlid, 3);
    verb_call modified([&](IRP* irp) { return CiModifyAv(av, &way, nullptr, irp); });
    EXPECT_EQ(modified.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_av(av), STATUS_SUCCESS);
}

TEST_F(Provider, EachFunctionOfTheVector_HasItsHandleAndParameters) {
    const client here(uri());
    {
        const opened_ca ca;
        IB_CA_ATTR attr{};
        verb_call queried([&](IRP* irp) { return CiQueryCa(ca.get(), sizeof(attr), &attr, irp); });
        queried.status();
        const IB_MODIFY_PORT change{};
        verb_call modified([&](IRP* irp) {
            return CiModifyPort(ca.get(), 1, IB_MODIFY_PORT_INIT_TYPE, &change, irp);
        });
        EXPECT_EQ(modified.status(), STATUS_SUCCESS);
        const own_qp own(ca.get(), IB_QPT_UNRELIABLE_DGRM);
        use_regions(own.pd);
        use_shared_receives(own.pd);
        use_queues(own);
        use_address_vectors(own.pd);
    }
    for (unsigned each = 0; each < double_verbs; ++each) {
        EXPECT_NE(step(double_verb(each)).pre_calls, 0u) << each;
        EXPECT_NE(step(double_verb(each)).post_calls, 0u) << each;
    }
}

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
    EXPECT_EQ(provider_->path.sends, 1u);
    IB_WC entries[4];
    ULONG taken = 0;
    EXPECT_EQ(CiGetCqResults(own.cq, 4, entries, &taken), STATUS_SUCCESS);
    ASSERT_EQ(taken, 1u);
    EXPECT_EQ(entries[0].WrId, 99u);
    EXPECT_EQ(CiGetCqResults(own.cq, 4, entries, &taken), STATUS_SUCCESS);
    EXPECT_EQ(taken, 0u);
    EXPECT_EQ(CiArmCqNow(own.cq, IB_CQ_ARM_SOLICITED), STATUS_SUCCESS);
    EXPECT_EQ(provider_->path.arms, 1u);
    ib_recv_wr_t receive{};
    ib_recv_wr_t* unposted = nullptr;
    EXPECT_EQ(CiPostRecv(own.qp, &receive, &unposted), STATUS_SUCCESS);
    EXPECT_EQ(provider_->path.receives, 1u);
}

TEST_F(Provider, DataPathOfSharedReceivesAndWindows_IsTheProviders) {
    provider_->has_data_path = 1;
    const client here(uri());
    const opened_ca ca;
    const own_qp own(ca.get());
    IB_SRQ* const srq = small_srq(own.pd);
    ib_recv_wr_t receive{};
    ib_recv_wr_t* unposted = nullptr;
    EXPECT_EQ(CiPostSrqRecv(srq, &receive, &unposted), STATUS_SUCCESS);
    EXPECT_EQ(provider_->path.shared_receives, 1u);
    EXPECT_EQ(destroy_srq(srq), STATUS_SUCCESS);
    std::array<UCHAR, 64> bytes{};
    IB_MR* const mr =
        register_mr(own.pd, bytes.data(), 64, IB_AC_LOCAL_WRITE | IB_AC_RDMA_READ | IB_AC_MW_BIND);
    IB_MW* const mw = allocate_mw(own.pd);
    ib_bind_wr_t what{};
    what.wr_id = 5;
    what.h_mr = mr;
    what.access_ctrl = IB_AC_RDMA_READ;
    ULONG key = 0;
    EXPECT_EQ(CiBindMw(mw, own.qp, &what, &key), STATUS_SUCCESS);
    EXPECT_EQ(key, 0x1234u);
    EXPECT_EQ(deallocate_mw(mw), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

TEST_F(Provider, PollOfArrays_TakesPrecedence) {
    provider_->has_data_path = provider_->polls_arrays = 1;
    const client here(uri());
    const opened_ca ca;
    IB_CQ* const cq = create_cq(ca.get());
    IB_WC entries[4];
    ULONG taken = 0;
    EXPECT_EQ(CiGetCqResults(cq, 4, entries, &taken), STATUS_SUCCESS);
    ASSERT_EQ(taken, 2u);
    EXPECT_EQ(entries[1].WrId, 100u);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
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
    EXPECT_EQ(provider_->path.sends, 0u);
    ib_qp_attr_t seen{};
    EXPECT_EQ(query(CiQueryQp, own.qp, seen), STATUS_SUCCESS);
    EXPECT_EQ(seen.sq_depth, 77u);
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
    EXPECT_EQ(modify_qp(own.qp, ci::to_init(IB_QPT_RELIABLE_CONN, {})), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(own.qp, ci::to_rtr(IB_QPT_RELIABLE_CONN, path)), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(own.qp, ci::to_rts(IB_QPT_RELIABLE_CONN, {})), STATUS_SUCCESS);
    ib_qp_mod_t drained{};
    drained.opts = IB_MOD_QP_STATE | IB_MOD_QP_SQD_EVENT;
    drained.req_state = IB_QPS_SQD;
    drained.sqd_event = TRUE;
    EXPECT_EQ(modify_qp(own.qp, drained), STATUS_SUCCESS);
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

// Creation and destruction of objects, and the errors of these.
#include "ends.hpp"

#include <cerrno>
#include <unistd.h>

namespace {

using namespace irpverbs::testing;

constexpr int on_demand = IBV_ACCESS_ON_DEMAND;

TEST(Objects, DomainInUse_IsBusy) {
    end one;
    EXPECT_EQ(ibv_dealloc_pd(one.pd), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(*one.cq), EBUSY);
}

// Programs call perror, and rdma-core's calls of the kernel leave errno so.
TEST(Objects, FailedCall_SetsErrnoToo) {
    end one;
    const auto expect_error = [](int expected, int result) {
        EXPECT_EQ(result, expected);
        EXPECT_EQ(std::exchange(errno, 0), expected);
    };
    errno = 0;
    expect_error(EBUSY, ibv_dealloc_pd(one.pd));
    expect_error(EINVAL, one.send());
    ibv_port_attr port{};
    expect_error(EINVAL, ibv_query_port(one.context, 200, &port));
    EXPECT_EQ(one.initialise(), 0);
    EXPECT_EQ(errno, 0) << "success leaves it";
}

// As the kernel does. perftest closes a device on which it has a queue.
TEST(Objects, DeviceClosedWithObjects_EndsThem) {
    static std::array<std::byte, 64> memory;
    // The structures stay, and belong to a program that may still name them.
    static std::array<void*, 7> left;
    ibv_context* context = open_device(0);
    ibv_pd* pd = ibv_alloc_pd(context);
    ibv_cq* cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
    ibv_srq_init_attr shared{nullptr, {8, 1, 0}};
    ibv_srq* srq = ibv_create_srq(pd, &shared);
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.cap = {8, 8, 1, 1, 0};
    attr.qp_type = IBV_QPT_UD;
    ibv_qp* qp = ibv_create_qp(pd, &attr);
    ibv_ah_attr way{};
    way.dlid = 1;
    way.port_num = 1;
    left = {pd,
            cq,
            srq,
            qp,
            ibv_create_ah(pd, &way),
            ibv_alloc_mw(pd, IBV_MW_TYPE_1),
            ibv_reg_mr(pd, memory.data(), memory.size(), all_access)};
    for (void* each : left)
        EXPECT_NE(each, nullptr);
    ibv_gid group{};
    group.raw[0] = 0xFF;
    group.raw[15] = 7;
    EXPECT_EQ(ibv_attach_mcast(qp, &group, 0xC007), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
}

// An object may be older than one that it uses.
TEST(Objects, DeviceClosedWithARegionOfAYoungerDomain_EndsBoth) {
    static std::array<std::byte, 64> memory;
    static std::array<void*, 3> left; // as above
    ibv_context* context = open_device(0);
    ibv_pd* pd = ibv_alloc_pd(context);
    ibv_mr* region = ibv_reg_mr(pd, memory.data(), memory.size(), all_access);
    ibv_pd* younger = ibv_alloc_pd(context);
    left = {pd, region, younger};
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_PD, younger, nullptr, 0, 0), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(Objects, ImpossibleRegions_AreInvalid) {
    end one;
    constexpr int peer_writes = IBV_ACCESS_REMOTE_WRITE;
    EXPECT_EQ(ibv_reg_mr(one.pd, one.bytes.data(), 64, peer_writes), nullptr);
    EXPECT_EQ(errno, EINVAL) << "the HCA itself may not write";
    EXPECT_EQ(ibv_reg_mr(one.pd, nullptr, 64, all_access), nullptr);
    EXPECT_EQ(ibv_reg_mr(one.pd, one.bytes.data(), 64, 1 << 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(Objects, RightsOfTheOptionalRange_AreIgnored) {
    end one;
    const owned<ibv_mr> region(ibv_reg_mr(one.pd, one.bytes.data(), 64,
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING),
                               ibv_dereg_mr);
    EXPECT_EQ(region->length, 64u);
    EXPECT_EQ(region->addr, one.bytes.data());
}

TEST(Objects, ReregisteredRegion_HasTheNewRange) {
    end one;
    const owned<ibv_mr> region(ibv_reg_mr(one.pd, one.bytes.data(), 64, all_access), ibv_dereg_mr);
    ASSERT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, one.bytes.data() + 64,
                           128, 0),
              0);
    EXPECT_EQ(region->addr, one.bytes.data() + 64);
    EXPECT_EQ(region->length, 128u);
    EXPECT_EQ(ibv_rereg_mr(region, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 64, 0),
              IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_REMOTE_WRITE),
              IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(errno, EINVAL) << "without local write";
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, all_access),
              IBV_REREG_MR_ERR_INPUT)
        << "rights that the flags do not name";
    EXPECT_EQ(region->length, 128u) << "a failure changes nothing";
}

TEST(Objects, ReregisteredRegion_KeepsItsKey) {
    end one;
    const owned<ibv_mr> region(ibv_reg_mr(one.pd, one.bytes.data(), 64, all_access), ibv_dereg_mr);
    const owned<ibv_pd> other(ibv_alloc_pd(one.context), ibv_dealloc_pd);
    const std::uint32_t lkey = region->lkey;
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0), 0);
    EXPECT_EQ(region->pd, other);
    EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS, one.pd,
                           nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
              0);
    EXPECT_EQ(region->lkey, lkey);
    EXPECT_EQ(region->rkey, lkey) << "the peer may know it before it has a right";
}

TEST(Objects, CompletionQueue_HasTheSizeThatIsReported) {
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    owned<ibv_cq> cq(ibv_create_cq(context, 100, &cq, nullptr, 0), ibv_destroy_cq);
    EXPECT_GE(cq->cqe, 100);
    EXPECT_EQ(cq->cq_context, &cq);
    EXPECT_EQ(ibv_resize_cq(cq, 1000), 0);
    EXPECT_GE(cq->cqe, 1000);
    EXPECT_EQ(ibv_resize_cq(cq, 0), EINVAL);
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
    EXPECT_EQ(ibv_poll_cq(cq, 0, &wc), 0);
}

// Of 256 peers with 384 requests each: libfabric's ofi_rxm.
TEST(Objects, CompletionQueue_ServesManyPeers) {
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    const owned<ibv_cq> cq(ibv_create_cq(context, 256 * 384, nullptr, nullptr, 0), ibv_destroy_cq);
    EXPECT_GE(cq->cqe, 256 * 384);
}

TEST(Objects, ImpossibleCompletionQueues_AreInvalid) {
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    EXPECT_EQ(ibv_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(context, 1 << 30, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, 1), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 1;
    attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
    EXPECT_EQ(ibv_create_cq_ex(context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(Objects, ChannelOfAQueue_IsBusy) {
    end one({.has_channel = true});
    EXPECT_EQ(ibv_destroy_comp_channel(*one.channel), EBUSY);
}

TEST(Objects, QueuePair_ReportsItsCapacity) {
    end one;
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = *one.cq;
    attr.cap = {3, 5, 1, 2, 10};
    attr.qp_type = IBV_QPT_UC;
    attr.sq_sig_all = 1;
    owned<ibv_qp> qp(ibv_create_qp(one.pd, &attr), ibv_destroy_qp);
    EXPECT_GE(attr.cap.max_send_wr, 3u);
    EXPECT_GE(attr.cap.max_inline_data, 10u);
    EXPECT_GE(attr.cap.max_inline_data, sizeof(ibv_sge)) << "the room of a segment";
    EXPECT_EQ(qp->state, IBV_QPS_RESET);
    EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr) << "it was not created with send operations";
    ibv_qp_attr seen{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(qp, &seen, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(seen.qp_state, IBV_QPS_RESET);
    EXPECT_EQ(seen.cap.max_recv_wr, attr.cap.max_recv_wr);
    EXPECT_EQ(init.send_cq, static_cast<ibv_cq*>(*one.cq));
    EXPECT_EQ(init.qp_type, IBV_QPT_UC);
    EXPECT_EQ(init.sq_sig_all, 1);
}

TEST(Objects, QueuePairsThatDoNotExist_AreRefused) {
    end one;
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = *one.cq;
    attr.cap = {1, 1, 1, 1, 0};
    attr.qp_type = IBV_QPT_RAW_PACKET;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.pd = one.pd;
    EXPECT_EQ(ibv_create_qp_ex(one.context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    attr.qp_type = IBV_QPT_RC;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
    EXPECT_EQ(ibv_create_qp_ex(one.context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP) << "its function would be called later";
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.cap.max_send_wr = 1u << 30;
    EXPECT_EQ(ibv_create_qp_ex(one.context, &attr), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(Objects, Transitions_FollowTheTable) {
    end one;
    EXPECT_EQ(one.send(), EINVAL) << "from IBV_QPS_RESET";
    EXPECT_EQ(one.initialise(), 0);
    EXPECT_EQ((*one.qp)->state, IBV_QPS_INIT);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_UNKNOWN;
    EXPECT_EQ(one.modify(attr, IBV_QP_STATE), EINVAL);
    EXPECT_EQ(one.modify(attr, IBV_QP_CAP), EINVAL);
    EXPECT_EQ((*one.qp)->state, IBV_QPS_INIT);
}

TEST(Objects, SharedReceives_HaveTheirLimits) {
    end one({.has_shared_receives = true});
    ibv_srq_attr attr{16, 0, 0};
    EXPECT_EQ(ibv_modify_srq(*one.srq, &attr, IBV_SRQ_MAX_WR), 0);
    ASSERT_EQ(ibv_query_srq(*one.srq, &attr), 0);
    EXPECT_GE(attr.max_wr, 16u);
    EXPECT_EQ(ibv_destroy_srq(*one.srq), EBUSY);
    attr.srq_limit = 1u << 20;
    EXPECT_EQ(ibv_modify_srq(*one.srq, &attr, IBV_SRQ_LIMIT), EINVAL);
}

TEST(Objects, DeviceMemory_IsReachedByCopiesAndRegions) {
    connected_ends ends;
    end& right = ends.right;
    ibv_alloc_dm_attr attr{100, 3, 0};
    const owned<ibv_dm> memory(ibv_alloc_dm(right.context, &attr), ibv_free_dm);
    const owned<ibv_mr> region(
        ibv_reg_dm_mr(right.pd, memory, 8, 64, unsigned{all_access} | IBV_ACCESS_ZERO_BASED),
        ibv_dereg_mr);
    EXPECT_EQ(region->addr, nullptr);
    EXPECT_EQ(ibv_free_dm(memory), EBUSY) << "a region is a part of it";
    std::memcpy(ends.left.bytes.data(), "12345678", 8);
    ibv_sge segment = ends.left.piece(0, 8);
    ibv_send_wr wr = ends.left.request(IBV_WR_RDMA_WRITE, segment);
    wr.wr.rdma = {4, region->rkey}; // addresses count from the region's first byte
    ASSERT_EQ(ends.left.post(wr), 0);
    EXPECT_EQ(next_completion(*ends.left.cq).status, IBV_WC_SUCCESS);
    std::array<char, 8> read{};
    EXPECT_EQ(ibv_memcpy_from_dm(read.data(), memory, 12, 8), 0);
    EXPECT_EQ(std::memcmp(read.data(), "12345678", 8), 0);
    EXPECT_EQ(ibv_memcpy_to_dm(memory, 96, read.data(), 8), EINVAL) << "beyond its end";
    EXPECT_EQ(ibv_memcpy_to_dm(memory, 2, read.data(), 4), EINVAL) << "words are aligned";
}

TEST(Objects, ImpossibleDeviceMemory_IsInvalid) {
    end one;
    ibv_device_attr_ex limits{};
    ASSERT_EQ(ibv_query_device_ex(one.context, nullptr, &limits), 0);
    ibv_alloc_dm_attr attr{limits.max_dm_size + 1, 0, 0};
    EXPECT_EQ(ibv_alloc_dm(one.context, &attr), nullptr);
    attr = {16, 0, 2};
    EXPECT_EQ(ibv_alloc_dm(one.context, &attr), nullptr) << "an unknown mask";
    attr.comp_mask = 0;
    const owned<ibv_dm> memory(ibv_alloc_dm(one.context, &attr), ibv_free_dm);
    EXPECT_EQ(ibv_reg_dm_mr(one.pd, memory, 0, 17, all_access | IBV_ACCESS_ZERO_BASED), nullptr);
    EXPECT_EQ(ibv_reg_dm_mr(one.pd, memory, 0, 16, all_access), nullptr) << "not zero-based";
    const owned<ibv_mr> empty(
        ibv_reg_dm_mr(one.pd, memory, 0, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED),
        ibv_dereg_mr);
    EXPECT_EQ(empty->length, 0u);
}

TEST(Objects, ParentDomain_StandsForItsDomain) {
    end one;
    ibv_td_init_attr thread{};
    const owned<ibv_td> td(ibv_alloc_td(one.context, &thread), ibv_dealloc_td);
    owned<ibv_pd> pd(ibv_alloc_pd(one.context), ibv_dealloc_pd);
    ibv_parent_domain_init_attr attr{};
    attr.pd = pd;
    attr.td = td;
    owned<ibv_pd> parent(ibv_alloc_parent_domain(one.context, &attr), ibv_dealloc_pd);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    {
        const owned<ibv_mr> region(ibv_reg_mr(parent, one.bytes.data(), 64, all_access),
                                   ibv_dereg_mr);
        EXPECT_EQ(region->pd, static_cast<ibv_pd*>(parent));
    }
    EXPECT_EQ(parent.destroy(), 0);
    attr.comp_mask = 0x80;
    EXPECT_EQ(ibv_alloc_parent_domain(one.context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(Objects, RegionsIova_IsTheAddressInWorkRequests) {
    connected_ends ends;
    end& left = ends.left;
    end& right = ends.right;
    const std::uint64_t offset = right.address(0) % 4096;
    for (const std::uint64_t page : {std::uint64_t{5} << 40, std::uint64_t{4096}}) {
        const std::uint64_t iova = page + offset;
        const owned<ibv_mr> target(
            ibv_reg_mr_iova(right.pd, right.bytes.data(), 64, iova, all_access), ibv_dereg_mr);
        EXPECT_EQ(target->addr, right.bytes.data());
        const owned<ibv_mr> source(ibv_reg_mr_iova2(left.pd, left.bytes.data(), 64,
                                                    page + left.address(0) % 4096,
                                                    IBV_ACCESS_LOCAL_WRITE),
                                   ibv_dereg_mr);
        std::memcpy(left.bytes.data(), &page, sizeof(page));
        ibv_sge segment{page + left.address(0) % 4096, 8, source->lkey};
        ibv_send_wr wr = left.request(IBV_WR_RDMA_WRITE, segment);
        wr.wr.rdma = {iova, target->rkey};
        ASSERT_EQ(left.post(wr), 0);
        EXPECT_EQ(next_completion(*left.cq).status, IBV_WC_SUCCESS);
        EXPECT_EQ(std::memcmp(right.bytes.data(), &page, sizeof(page)), 0);
    }
}

// The kernel maps whole pages, and ibv_rereg_mr makes the addresses those of the memory again.
TEST(Objects, RegionsIova_HasTheOffsetOfTheMemory) {
    connected_ends ends;
    end& right = ends.right;
    alignas(4096) static std::array<char, 4096> page;
    EXPECT_EQ(ibv_reg_mr_iova(right.pd, page.data() + 8, 64, 0, all_access), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_reg_mr_iova(right.pd, page.data(), 64, 8192 + 1, all_access), nullptr);
    EXPECT_EQ(errno, EINVAL);
    const owned<ibv_mr> region(ibv_reg_mr_iova(right.pd, page.data(), 64, 0, all_access),
                               ibv_dereg_mr);
    ibv_sge segment = ends.left.piece(0, 8);
    ibv_send_wr wr = ends.left.request(IBV_WR_RDMA_WRITE, segment);
    const auto written_at = [&](std::uint64_t address) {
        wr.wr.rdma = {address, region->rkey};
        EXPECT_EQ(ends.left.post(wr), 0);
        return next_completion(*ends.left.cq).status;
    };
    EXPECT_EQ(written_at(8), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
              0);
    EXPECT_EQ(written_at(16), IBV_WC_SUCCESS) << "the address stays with the range";
    EXPECT_EQ(
        ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, page.data() + 1, 64, 0), 0);
    EXPECT_EQ(written_at(reinterpret_cast<std::uintptr_t>(page.data() + 1)), IBV_WC_SUCCESS);
    EXPECT_EQ(written_at(8), IBV_WC_REM_ACCESS_ERR);
}

TEST(Objects, RegionWithoutBytes_LiesInAPage) {
    const end one;
    alignas(4096) static std::array<char, 4096> page;
    const owned<ibv_mr> empty(ibv_reg_mr(one.pd, page.data() + 1, 0, all_access), ibv_dereg_mr);
    EXPECT_EQ(empty->length, 0u);
    EXPECT_EQ(ibv_reg_mr(one.pd, page.data(), 0, all_access), nullptr);
    EXPECT_EQ(errno, EINVAL) << "no page";
}

TEST(Objects, RegionOfTheWholeAddressSpace_ServesAnyAddress) {
    connected_ends ends;
    end& left = ends.left;
    const owned<ibv_mr> all(ibv_reg_mr(left.pd, nullptr, SIZE_MAX, all_access | on_demand),
                            ibv_dereg_mr);
    std::array<char, 16> anywhere{"on demand"};
    ibv_sge segment{reinterpret_cast<std::uintptr_t>(anywhere.data()), 16, all->lkey};
    EXPECT_EQ(ibv_advise_mr(left.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &segment, 1), 0);
    EXPECT_EQ(ibv_advise_mr(left.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &segment, 0), EINVAL);
    ibv_send_wr wr = left.request(IBV_WR_RDMA_WRITE, segment);
    wr.wr.rdma = {ends.right.address(0), ends.right.mr->rkey};
    ASSERT_EQ(left.post(wr), 0);
    EXPECT_EQ(next_completion(*left.cq).status, IBV_WC_SUCCESS);
    EXPECT_STREQ(ends.right.bytes.data(), "on demand");
    segment.addr = 8; // nothing is mapped there
    ASSERT_EQ(left.post(wr), 0);
    EXPECT_EQ(next_completion(*left.cq).status, IBV_WC_LOC_PROT_ERR);
}

TEST(Objects, ImportedContext_SharesDomainsRegionsAndEvents) {
    end one;
    ibv_context* duplicate = ibv_import_device(dup(one.context->cmd_fd));
    const owned<ibv_context> imported(duplicate, ibv_close_device);
    ibv_pd* pd = ibv_import_pd(imported, one.pd->handle);
    ASSERT_NE(pd, nullptr);
    ibv_mr* mr = ibv_import_mr(pd, one.mr->handle);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(mr->rkey, one.mr->rkey);
    EXPECT_EQ(mr->addr, nullptr);
    ibv_unimport_mr(mr);
    {
        const owned<ibv_cq> cq(ibv_create_cq(imported, 1, nullptr, nullptr, 0), ibv_destroy_cq);
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = cq;
        attr.cap = {1, 1, 1, 1, 0};
        attr.qp_type = IBV_QPT_RC;
        const owned<ibv_qp> qp(ibv_create_qp(pd, &attr), ibv_destroy_qp);
    }
    ibv_unimport_pd(pd);
    const owned<ibv_context> other(open_device(1), ibv_close_device);
    EXPECT_EQ(ibv_import_pd(other, one.pd->handle), nullptr) << "of another HCA";
    EXPECT_EQ(ibv_import_device(one.context->async_fd), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(Objects, ImportedDeviceMemory_HasTheSameBytes) {
    end one;
    const owned<ibv_context> imported(ibv_import_device(dup(one.context->cmd_fd)),
                                      ibv_close_device);
    ibv_alloc_dm_attr attr{16, 0, 0};
    const owned<ibv_dm> memory(ibv_alloc_dm(one.context, &attr), ibv_free_dm);
    ibv_dm* same = ibv_import_dm(imported, memory->handle);
    ASSERT_NE(same, nullptr);
    std::uint32_t word = 0x12345678;
    ASSERT_EQ(ibv_memcpy_to_dm(memory, 4, &word, 4), 0);
    word = 0;
    ASSERT_EQ(ibv_memcpy_from_dm(&word, same, 4, 4), 0);
    EXPECT_EQ(word, 0x12345678u);
    ibv_unimport_dm(same);
}

TEST(Objects, Unsupported_HasItsConvention) {
    end one;
    ibv_ece ece{};
    EXPECT_EQ(ibv_query_ece(*one.qp, &ece), EOPNOTSUPP);
    EXPECT_EQ(ibv_reg_dmabuf_mr(one.pd, 0, 1, 0, 0, 0), nullptr);
    ibv_qp_open_attr shared{};
    EXPECT_EQ(ibv_open_qp(one.context, &shared), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
    EXPECT_EQ(ibv_fork_init(), 0);
}

} // namespace

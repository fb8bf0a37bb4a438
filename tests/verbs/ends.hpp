// A program over libibverbs: a device, and connected queue pairs of it.
#pragma once

#include <infiniband/verbs.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <poll.h>
#include <utility>

namespace irpverbs::testing {

/// An object, and the function that destroys it.
template <class Object>
class owned {
public:
    owned(Object* object, int (*destroyer)(Object*)) : object_(object), destroy_(destroyer) {
        EXPECT_NE(object, nullptr);
    }
    ~owned() {
        if (object_ == nullptr) return;
        EXPECT_EQ(destroy_(object_), 0);
    }
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;
    operator Object*() const { return object_; }
    Object* operator->() const { return object_; }
    /// Destroys the object early.
    int destroy() { return destroy_(std::exchange(object_, nullptr)); }

private:
    Object* object_;
    int (*destroy_)(Object*);
};

/// The device of this number, opened. The program is on two hosts of the built-in fabric.
inline ibv_context* open_device(int number) {
    setenv("IRPVERBS_HCA", "software:?host=host1,host2", 1);
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    EXPECT_EQ(count, 2);
    ibv_context* opened = number < count ? ibv_open_device(list[number]) : nullptr;
    ibv_free_device_list(list);
    return opened;
}

constexpr int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// Returns the next completion.
inline ibv_wc next_completion(ibv_cq* cq) {
    ibv_wc wc{};
    int count = 0;
    while ((count = ibv_poll_cq(cq, 1, &wc)) == 0) {
    }
    EXPECT_EQ(count, 1);
    return wc;
}

inline bool is_readable(int descriptor, int milliseconds) {
    pollfd watched{descriptor, POLLIN, 0};
    return poll(&watched, 1, milliseconds) == 1;
}

/// The options of an end.
struct end_options {
    int device = 0;
    ibv_qp_type type = IBV_QPT_RC;
    std::uint64_t send_ops = 0; // of an extended queue pair
    bool has_channel = false;
    bool has_shared_receives = false;
};

/// A device with one queue pair and one registered page.
class end {
public:
    explicit end(const end_options& chosen = {})
        : options(chosen), context(open_device(chosen.device), ibv_close_device),
          pd(ibv_alloc_pd(context), ibv_dealloc_pd),
          mr(ibv_reg_mr(pd, bytes.data(), bytes.size(), all_access), ibv_dereg_mr) {
        if (chosen.has_channel)
            channel = std::make_unique<owned<ibv_comp_channel>>(ibv_create_comp_channel(context),
                                                                ibv_destroy_comp_channel);
        cq = std::make_unique<owned<ibv_cq>>(
            ibv_create_cq(context, 64, this, object_of(channel), 0), ibv_destroy_cq);
        if (chosen.has_shared_receives) {
            ibv_srq_init_attr attr{this, {8, 1, 0}};
            srq = std::make_unique<owned<ibv_srq>>(ibv_create_srq(pd, &attr), ibv_destroy_srq);
        }
        qp = std::make_unique<owned<ibv_qp>>(create(), ibv_destroy_qp);
        ibv_port_attr port{};
        EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
        lid = port.lid;
    }

    int modify(ibv_qp_attr attr, int mask) { return ibv_modify_qp(*qp, &attr, mask); }

    int initialise() {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        attr.qkey = qkey;
        const int last = options.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
        return modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last);
    }
    int receive_from(const end& peer) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTR;
        attr.ah_attr.dlid = peer.lid;
        attr.ah_attr.port_num = 1;
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = (*peer.qp)->qp_num;
        attr.max_dest_rd_atomic = 1;
        attr.min_rnr_timer = 12;
        int mask = IBV_QP_STATE;
        if (options.type != IBV_QPT_UD)
            mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        if (options.type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        return modify(attr, mask);
    }
    int send() {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = 14;
        attr.retry_cnt = attr.rnr_retry = 7;
        attr.max_rd_atomic = 1;
        int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
        if (options.type == IBV_QPT_RC)
            mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        return modify(attr, mask);
    }

    ibv_sge piece(std::size_t offset, std::uint32_t length) {
        return {reinterpret_cast<std::uintptr_t>(bytes.data() + offset), length, mr->lkey};
    }
    std::uint64_t address(std::size_t offset) const {
        return reinterpret_cast<std::uintptr_t>(bytes.data() + offset);
    }
    int post_receive(std::uint64_t id, std::size_t offset, std::uint32_t length) {
        ibv_sge segment = piece(offset, length);
        ibv_recv_wr wr{id, nullptr, &segment, 1};
        ibv_recv_wr* failed = nullptr;
        return options.has_shared_receives ? ibv_post_srq_recv(*srq, &wr, &failed)
                                           : ibv_post_recv(*qp, &wr, &failed);
    }
    /// A signaled send of `length` bytes from the beginning of the page.
    ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge& segment) const {
        ibv_send_wr wr{};
        wr.wr_id = static_cast<std::uint64_t>(opcode) + 100;
        wr.sg_list = &segment;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.send_flags = IBV_SEND_SIGNALED;
        return wr;
    }
    int post(ibv_send_wr wr) {
        ibv_send_wr* failed = nullptr;
        return ibv_post_send(*qp, &wr, &failed);
    }

    static constexpr std::uint32_t qkey = 0x11111111;
    const end_options options;
    alignas(4096) std::array<char, 4096> bytes{};
    owned<ibv_context> context;
    owned<ibv_pd> pd;
    owned<ibv_mr> mr;
    std::unique_ptr<owned<ibv_comp_channel>> channel;
    std::unique_ptr<owned<ibv_cq>> cq;
    std::unique_ptr<owned<ibv_srq>> srq;
    std::unique_ptr<owned<ibv_qp>> qp;
    std::uint16_t lid = 0;

private:
    template <class Object>
    static Object* object_of(const std::unique_ptr<owned<Object>>& from) {
        return from != nullptr ? static_cast<Object*>(*from) : nullptr;
    }
    ibv_qp* create() {
        ibv_qp_init_attr_ex attr{};
        attr.qp_context = this;
        attr.send_cq = attr.recv_cq = *cq;
        attr.srq = object_of(srq);
        attr.cap = {8, 8, 2, 2, 64};
        attr.qp_type = options.type;
        attr.comp_mask = IBV_QP_INIT_ATTR_PD;
        attr.pd = pd;
        if (options.send_ops != 0) {
            attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
            attr.send_ops_flags = options.send_ops;
        }
        return ibv_create_qp_ex(context, &attr);
    }
};

/// Two ends, on two hosts unless both options name one device, that send and receive.
struct connected_ends {
    explicit connected_ends(end_options options = {})
        : left(options), right([&] {
              options.device = 1 - options.device;
              return options;
          }()) {
        for (end* each : {&left, &right}) {
            EXPECT_EQ(each->initialise(), 0);
            EXPECT_EQ(each->receive_from(each == &left ? right : left), 0);
            EXPECT_EQ(each->send(), 0);
        }
    }

    end left;
    end right;
};

} // namespace irpverbs::testing

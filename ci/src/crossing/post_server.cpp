// The serving end of posts.
#include <ci/support/posts_crossing.hpp>

#include <cstring>
#include <new>

namespace irpverbs::ci::crossing {

/// Takes the parts of a message, in order.
class post_server::reader {
public:
    explicit reader(message from) : rest_(from) {}

    std::size_t size() const { return rest_.size(); }
    template <class Part>
    bool take(Part& made) {
        if (rest_.size() < sizeof(made)) return false;
        std::memcpy(&made, rest_.data(), sizeof(made));
        rest_ = rest_.subspan(sizeof(made));
        return true;
    }
    /// Takes bytes and their padding. False: they are not there.
    bool take(std::size_t size, message& made) {
        if (size > rest_.size() || wire::padded(size) > rest_.size()) return false;
        made = rest_.first(size);
        rest_ = rest_.subspan(wire::padded(size));
        return true;
    }

private:
    message rest_;
};

namespace {

template <class Object>
Object* object_at(directory& names, object_type type, std::uint64_t handle) {
    return static_cast<Object*>(names.object_of(type, handle));
}

bool is_datagram(const HCA_QP& qp) { return qp.Create.qp_type == IB_QPT_UNRELIABLE_DGRM; }

bool may_have_inline_data(ib_wr_type_t type) { return type == WR_SEND || type == WR_RDMA_WRITE; }

// A work request has a pointer to an object only where a driver expects it.
void read_target(const wire::send_work& from, const HCA_QP& qp, directory& names,
                 ib_send_wr_t& made) {
    if (is_datagram(qp)) {
        if (from.type != WR_SEND && from.type != WR_NOP) return;
        made.dgrm.ud = {object_at<IB_AV>(names, HCA_MN_CREATE_AV, from.object), from.remote_qp,
                        from.remote_qkey, static_cast<USHORT>(from.pkey_index)};
    } else if (from.type == WR_BIND_MW) {
        made.bind_mw.h_mw = object_at<IB_MW>(names, HCA_MN_ALLOCATE_MW, from.object);
        made.bind_mw.h_mr = object_at<IB_MR>(names, HCA_MN_REGISTER_MR, from.region);
        made.bind_mw.vaddr = from.address;
        made.bind_mw.length = from.first;
        made.bind_mw.rkey = from.rkey;
        made.bind_mw.access_flags = from.access;
    } else if (from.type != WR_FAST_REG_MR) {
        made.remote_srq = from.remote_qp;
        made.remote_ops.vaddr = from.address;
        made.remote_ops.atomic1 = from.first;
        made.remote_ops.atomic2 = from.second;
        made.remote_ops.rkey = from.rkey;
    }
}

// Makes the segments point at the data in the message. False: their lengths are not those of it.
bool point_at_data(message data, ib_local_ds_t* list, ULONG count) {
    for (ULONG i = 0; i < count; ++i) {
        if (list[i].length > data.size()) return false;
        list[i].vaddr = reinterpret_cast<std::uintptr_t>(data.data());
        data = data.subspan(list[i].length);
    }
    return data.empty();
}

template <class Work>
void link(std::vector<Work>& list) {
    for (std::size_t i = 0; i + 1 < list.size(); ++i)
        list[i].p_next = &list[i + 1];
}

// The work requests in front of `failed` were posted.
template <class Work>
void set_result(const std::vector<Work>& list, NTSTATUS status, const Work* failed,
                wire::posted& reply) {
    reply.status = status;
    reply.count = static_cast<std::uint32_t>(NT_SUCCESS(status) ? list.size()
                                                                : std::size_t(failed - &list[0]));
}

} // namespace

bool post_server::read_segments(reader& from, std::uint64_t count, ib_local_ds_t*& made) {
    if (count > from.size() / sizeof(wire::segment)) return false;
    message bytes;
    if (!from.take(static_cast<std::size_t>(count) * sizeof(wire::segment), bytes)) return false;
    const std::size_t first = segments_.size();
    segments_.resize(first + static_cast<std::size_t>(count)); // within the reserved memory
    made = segments_.data() + first;
    if (!bytes.empty()) std::memcpy(made, bytes.data(), bytes.size());
    return true;
}

bool post_server::read_send(reader& from, const HCA_QP& qp, directory& names, ib_send_wr_t& made) {
    wire::send_work work{};
    if (!from.take(work) || !read_segments(from, work.segments, made.ds_array)) return false;
    made.wr_id = work.wr_id;
    made.wr_type = work.type;
    made.send_opt = work.options;
    made.immediate_data = work.immediate;
    made.num_ds = work.segments;
    read_target(work, qp, names, made);
    if (!may_have_inline_data(work.type)) made.send_opt &= ~ib_send_opt_t{IB_SEND_OPT_INLINE};
    message data;
    if (!from.take(work.inline_size, data)) return false;
    if ((made.send_opt & IB_SEND_OPT_INLINE) == 0) return data.empty();
    return point_at_data(data, made.ds_array, made.num_ds);
}

bool post_server::read_sends(reader& from, std::uint64_t count, const HCA_QP& qp,
                             directory& names) {
    sends_.clear();
    for (std::uint64_t i = 0; i < count; ++i)
        if (!read_send(from, qp, names, sends_.emplace_back())) return false;
    link(sends_);
    return from.size() == 0;
}

bool post_server::read_receives(reader& from, std::uint64_t count) {
    receives_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
        wire::receive_work work{};
        ib_recv_wr_t& made = receives_.emplace_back();
        if (!from.take(work) || !read_segments(from, work.segments, made.ds_array)) return false;
        made.wr_id = work.wr_id;
        made.num_ds = static_cast<ULONG>(work.segments);
    }
    link(receives_);
    return from.size() == 0;
}

bool post_server::serve_sends(reader& from, const wire::post& head, directory& names,
                              wire::posted& reply, std::uint32_t done) {
    auto* const qp = object_at<IB_QP>(names, HCA_MN_CREATE_QP, head.queue);
    if (qp == nullptr) return true;
    if (!read_sends(from, head.count, *reinterpret_cast<const HCA_QP*>(qp), names)) return false;
    if (done >= sends_.size()) return false;
    ib_send_wr_t* failed = &sends_[done];
    const NTSTATUS status = CiPostSend(qp, failed, &failed);
    set_result(sends_, status, failed, reply);
    return true;
}

bool post_server::serve_receives(reader& from, const wire::post& head, directory& names,
                                 wire::posted& reply, std::uint32_t done) {
    const bool shared = head.head.verb == static_cast<std::uint8_t>(wire::work::shared_receive);
    void* const queue = names.object_of(shared ? HCA_MN_CREATE_SRQ : HCA_MN_CREATE_QP, head.queue);
    if (queue == nullptr) return true;
    if (!read_receives(from, head.count) || done >= receives_.size()) return false;
    ib_recv_wr_t* failed = &receives_[done];
    const NTSTATUS status = shared ? CiPostSrqRecv(static_cast<IB_SRQ*>(queue), failed, &failed)
                                   : CiPostRecv(static_cast<IB_QP*>(queue), failed, &failed);
    set_result(receives_, status, failed, reply);
    return true;
}

bool post_server::serve_binding(reader& from, const wire::post& head, directory& names,
                                wire::posted& reply) {
    wire::bind_work work{};
    if (head.count != 1 || !from.take(work) || from.size() != 0) return false;
    auto* const qp = object_at<IB_QP>(names, HCA_MN_CREATE_QP, head.queue);
    auto* const window = object_at<IB_MW>(names, HCA_MN_ALLOCATE_MW, work.window);
    auto* const region = object_at<IB_MR>(names, HCA_MN_REGISTER_MR, work.region);
    if (qp == nullptr || window == nullptr || (region == nullptr && work.region != 0)) return true;
    ib_bind_wr_t bind{};
    bind.wr_id = work.wr_id;
    bind.send_opt = work.options;
    bind.h_mr = region;
    bind.access_ctrl = work.access;
    bind.current_rkey = static_cast<ULONG>(work.current_rkey);
    bind.local_ds = {work.range.address, work.range.length, work.range.key};
    ULONG key = 0;
    reply.status = CiBindMw(window, qp, &bind, &key);
    reply.count = NT_SUCCESS(reply.status) ? 1 : 0;
    reply.rkey = key;
    return true;
}

bool post_server::serve(message received, directory& names, wire::posted& reply,
                        std::uint32_t done) try {
    reader from(received);
    wire::post head{};
    if (!from.take(head) || head.count == 0 || head.count > from.size()) return false;
    reply = {};
    reply.head = {wire::kind::posted, head.head.verb, {}, 0, head.head.id};
    reply.status = STATUS_INVALID_HANDLE;
    segments_.clear();
    segments_.reserve(from.size() / sizeof(wire::segment)); // pointers into it stay valid
    switch (static_cast<wire::work>(head.head.verb)) {
    case wire::work::send:
        return serve_sends(from, head, names, reply, done);
    case wire::work::receive:
    case wire::work::shared_receive:
        return serve_receives(from, head, names, reply, done);
    case wire::work::bind:
        return serve_binding(from, head, names, reply);
    }
    return false;
} catch (const std::bad_alloc&) {
    return false;
}

} // namespace irpverbs::ci::crossing

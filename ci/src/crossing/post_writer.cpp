// The client end of posts.
#include <ci/support/posts_crossing.hpp>

#include <cstring>

namespace irpverbs::ci::crossing {

namespace {

static_assert(sizeof(wire::segment) == sizeof(ib_local_ds_t) &&
              offsetof(wire::segment, length) == offsetof(ib_local_ds_t, length) &&
              offsetof(wire::segment, key) == offsetof(ib_local_ds_t, lkey));

std::uint64_t handle_in(directory& names, object_type type, void* object) {
    return object != nullptr ? names.handle_of(type, object) : 0;
}

bool has_inline_data(const ib_send_wr_t& what) {
    return (what.send_opt & IB_SEND_OPT_INLINE) != 0 &&
           (what.wr_type == WR_SEND || what.wr_type == WR_RDMA_WRITE);
}

// The members of the union that the type of the queue pair and the work request choose.
void write_datagram(const ib_send_ud_t& to, directory& names, wire::send_work& made) {
    made.object = handle_in(names, HCA_MN_CREATE_AV, to.h_av);
    made.remote_qp = to.remote_qp;
    made.remote_qkey = to.remote_qkey;
    made.pkey_index = to.pkey_index;
}

void write_binding(const ib_send_bind_mw_t& what, directory& names, wire::send_work& made) {
    made.object = handle_in(names, HCA_MN_ALLOCATE_MW, what.h_mw);
    made.region = handle_in(names, HCA_MN_REGISTER_MR, what.h_mr);
    made.address = what.vaddr;
    made.first = what.length;
    made.rkey = what.rkey;
    made.access = what.access_flags;
}

void write_remote(const ib_send_wr_t& what, wire::send_work& made) {
    made.remote_qp = what.remote_srq;
    made.address = what.remote_ops.vaddr;
    made.first = what.remote_ops.atomic1;
    made.second = what.remote_ops.atomic2;
    made.rkey = what.remote_ops.rkey;
}

} // namespace

bool has_data(ib_wr_type_t type) {
    return type != WR_NOP && type != WR_LOCAL_INV && type != WR_FAST_REG_MR && type != WR_BIND_MW;
}

std::uint64_t inline_length(const ib_send_wr_t& what) {
    std::uint64_t sum = 0;
    for (ULONG i = 0; has_inline_data(what) && i < what.num_ds; ++i)
        sum += what.ds_array[i].length;
    return sum;
}

post_writer::post_writer(std::span<std::byte> room, wire::work what, std::uint64_t id,
                         std::uint64_t queue)
    : room_(room), head_{{wire::kind::post, static_cast<std::uint8_t>(what), {}, 0, id}, queue, 0} {
}

void post_writer::put(const void* data, std::size_t size) {
    if (size != 0) std::memcpy(&room_[size_], data, size);
    size_ += size;
}

void post_writer::put_segments(const ib_local_ds_t* list, ULONG count) {
    put(list, count * sizeof(wire::segment));
}

void post_writer::put_inline(const ib_local_ds_t* list, ULONG count) {
    for (ULONG i = 0; i < count; ++i)
        put(reinterpret_cast<const void*>(list[i].vaddr), list[i].length);
    while (size_ % 8 != 0)
        room_[size_++] = std::byte{0};
}

bool post_writer::add(const ib_send_wr_t& what, bool of_datagrams, directory& names) {
    wire::send_work made{};
    made.wr_id = what.wr_id;
    made.type = what.wr_type;
    made.options = what.send_opt;
    made.immediate = what.immediate_data;
    made.segments = has_data(what.wr_type) ? what.num_ds : 0;
    const std::uint64_t data = inline_length(what);
    const std::uint64_t lists = std::uint64_t{made.segments} * sizeof(wire::segment);
    if (!has_room(sizeof(made) + lists) || data > room_.size() ||
        !has_room(sizeof(made) + lists + wire::padded(data)))
        return false;
    made.inline_size = static_cast<std::uint32_t>(data);
    if (of_datagrams)
        write_datagram(what.dgrm.ud, names, made);
    else if (what.wr_type == WR_BIND_MW)
        write_binding(what.bind_mw, names, made);
    else
        write_remote(what, made);
    put(&made, sizeof(made));
    put_segments(what.ds_array, made.segments);
    if (data != 0) put_inline(what.ds_array, made.segments);
    ++head_.count;
    return true;
}

bool post_writer::add(const ib_recv_wr_t& what) {
    const wire::receive_work made{what.wr_id, what.num_ds};
    if (!has_room(sizeof(made) + made.segments * sizeof(wire::segment))) return false;
    put(&made, sizeof(made));
    put_segments(what.ds_array, what.num_ds);
    ++head_.count;
    return true;
}

bool post_writer::add(const ib_bind_wr_t& what, IB_MW* window, directory& names) {
    const wire::bind_work made{what.wr_id,
                               handle_in(names, HCA_MN_ALLOCATE_MW, window),
                               handle_in(names, HCA_MN_REGISTER_MR, what.h_mr),
                               what.send_opt,
                               what.access_ctrl,
                               what.current_rkey,
                               {what.local_ds.vaddr, what.local_ds.length, what.local_ds.lkey}};
    if (!has_room(sizeof(made))) return false;
    put(&made, sizeof(made));
    ++head_.count;
    return true;
}

message post_writer::finish() {
    std::memcpy(room_.data(), &head_, sizeof(head_));
    return room_.first(size_);
}

bool post_writer::read_reply(message received, wire::posted& made) const {
    if (received.size() != sizeof(made)) return false;
    std::memcpy(&made, received.data(), sizeof(made));
    return made.head.what == wire::kind::posted && made.head.id == head_.head.id &&
           made.status != STATUS_PENDING && made.count <= head_.count &&
           NT_SUCCESS(made.status) == (made.count == head_.count);
}

} // namespace irpverbs::ci::crossing

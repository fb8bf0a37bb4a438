// ibv_wr_*: functions that build work requests of an extended queue pair.
#include "address.hpp"
#include "memory_window.hpp"
#include "queue_pair.hpp"

#include <cstring>

namespace irpverbs::verbs {

namespace {

work_request_builder& builder_of(ibv_qp_ex* shown) { return *queue_pair::of(shown).builder; }

void start(ibv_qp_ex* shown) { builder_of(shown).start(); }
int complete(ibv_qp_ex* shown) { return builder_of(shown).complete(); }
void abort(ibv_qp_ex* shown) { builder_of(shown).abort(); }

void send(ibv_qp_ex* shown) { builder_of(shown).add(*shown, WR_SEND); }

void send_immediate(ibv_qp_ex* shown, __be32 data) {
    builder_of(shown).add(*shown, WR_SEND, IB_SEND_OPT_IMMEDIATE).immediate_data = data;
}

void send_invalidate(ibv_qp_ex* shown, std::uint32_t rkey) {
    builder_of(shown).add(*shown, WR_SEND, IB_SEND_OPT_INVALIDATE).invalidate_rkey = rkey;
}

void local_invalidate(ibv_qp_ex* shown, std::uint32_t rkey) {
    builder_of(shown).add(*shown, WR_LOCAL_INV).invalidate_rkey = rkey;
}

void bind(ibv_qp_ex* shown, ibv_mw* window, std::uint32_t rkey, const ibv_mw_bind_info* range) {
    builder_of(shown).add(*shown, WR_BIND_MW).bind_mw = binding_of(window, rkey, *range);
}

void write(ibv_qp_ex* shown, std::uint32_t rkey, std::uint64_t address) {
    builder_of(shown).add(*shown, WR_RDMA_WRITE).remote_ops = {address, 0, 0, rkey};
}

void write_immediate(ibv_qp_ex* shown, std::uint32_t rkey, std::uint64_t address, __be32 data) {
    ib_send_wr_t& made = builder_of(shown).add(*shown, WR_RDMA_WRITE, IB_SEND_OPT_IMMEDIATE);
    made.remote_ops = {address, 0, 0, rkey};
    made.immediate_data = data;
}

void read(ibv_qp_ex* shown, std::uint32_t rkey, std::uint64_t address) {
    builder_of(shown).add(*shown, WR_RDMA_READ).remote_ops = {address, 0, 0, rkey};
}

void compare_and_swap(ibv_qp_ex* shown, std::uint32_t rkey, std::uint64_t address,
                      std::uint64_t compare, std::uint64_t swap) {
    builder_of(shown).add(*shown, WR_COMPARE_SWAP).remote_ops = {address, compare, swap, rkey};
}

void fetch_and_add(ibv_qp_ex* shown, std::uint32_t rkey, std::uint64_t address,
                   std::uint64_t value) {
    builder_of(shown).add(*shown, WR_FETCH_ADD).remote_ops = {address, value, 0, rkey};
}

void atomic_write(ibv_qp_ex* shown, std::uint32_t rkey, std::uint64_t address, const void* bytes) {
    ULONGLONG value = 0;
    std::memcpy(&value, bytes, sizeof(value));
    builder_of(shown).add(*shown, WR_ATOMIC_WRITE).remote_ops = {address, value, 0, rkey};
}

void set_datagram_address(ibv_qp_ex* shown, ibv_ah* way, std::uint32_t qpn, std::uint32_t qkey) {
    builder_of(shown).current().dgrm.ud = {address_handle::of(way).av, qpn, qkey, 0};
}

void set_shared_receives(ibv_qp_ex* shown, std::uint32_t number) {
    builder_of(shown).current().remote_srq = number;
}

void set_segment(ibv_qp_ex* shown, std::uint32_t lkey, std::uint64_t address,
                 std::uint32_t length) {
    const ibv_sge segment{address, length, lkey};
    builder_of(shown).set_segments(1, &segment);
}

void set_segments(ibv_qp_ex* shown, std::size_t count, const ibv_sge* segments) {
    builder_of(shown).set_segments(count, segments);
}

void set_inline(ibv_qp_ex* shown, void* bytes, std::size_t length) {
    builder_of(shown).begin_inline();
    builder_of(shown).add_inline(bytes, length);
}

void set_inline_list(ibv_qp_ex* shown, std::size_t count, const ibv_data_buf* list) {
    builder_of(shown).begin_inline();
    for (std::size_t i = 0; i < count; ++i)
        builder_of(shown).add_inline(list[i].addr, list[i].length);
}

} // namespace

void fill_table(ibv_qp_ex& made) {
    made.wr_start = start;
    made.wr_complete = complete;
    made.wr_abort = abort;
    made.wr_send = send;
    made.wr_send_imm = send_immediate;
    made.wr_send_inv = send_invalidate;
    made.wr_local_inv = local_invalidate;
    made.wr_bind_mw = bind;
    made.wr_rdma_write = write;
    made.wr_rdma_write_imm = write_immediate;
    made.wr_rdma_read = read;
    made.wr_atomic_cmp_swp = compare_and_swap;
    made.wr_atomic_fetch_add = fetch_and_add;
    made.wr_atomic_write = atomic_write;
    made.wr_set_ud_addr = set_datagram_address;
    made.wr_set_xrc_srqn = set_shared_receives;
    made.wr_set_sge = set_segment;
    made.wr_set_sge_list = set_segments;
    made.wr_set_inline_data = set_inline;
    made.wr_set_inline_data_list = set_inline_list;
}

} // namespace irpverbs::verbs

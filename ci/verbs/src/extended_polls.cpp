// ibv_start_poll, ibv_next_poll, ibv_end_poll, and the reads between them.
#include "completion_queue.hpp"

#include <cerrno>

namespace irpverbs::verbs {

namespace {

int next(ibv_cq_ex* shown) {
    auto& self = completion_queue::of(shown);
    const int count = self.poll(1, &self.current);
    if (count <= 0) return count == 0 ? ENOENT : EIO;
    self.wr_id = self.current.wr_id;
    self.status = self.current.status;
    return 0;
}

int start(ibv_cq_ex* shown, ibv_poll_cq_attr* attr) {
    return attr->comp_mask != 0 ? EINVAL : next(shown);
}

void end(ibv_cq_ex*) {}

template <auto Member>
auto read(ibv_cq_ex* shown) {
    return completion_queue::of(shown).current.*Member;
}

// Also reads the key that was invalidated, which has the same place.
__be32 read_immediate(ibv_cq_ex* shown) { return completion_queue::of(shown).current.imm_data; }

std::uint32_t read_slid(ibv_cq_ex* shown) { return completion_queue::of(shown).current.slid; }

} // namespace

void fill_table(ibv_cq_ex& made) {
    made.start_poll = start;
    made.next_poll = next;
    made.end_poll = end;
    made.read_opcode = read<&ibv_wc::opcode>;
    made.read_vendor_err = read<&ibv_wc::vendor_err>;
    made.read_wc_flags = read<&ibv_wc::wc_flags>;
    made.read_byte_len = read<&ibv_wc::byte_len>;
    made.read_imm_data = read_immediate;
    made.read_qp_num = read<&ibv_wc::qp_num>;
    made.read_src_qp = read<&ibv_wc::src_qp>;
    made.read_slid = read_slid;
    made.read_sl = read<&ibv_wc::sl>;
    made.read_dlid_path_bits = read<&ibv_wc::dlid_path_bits>;
}

} // namespace irpverbs::verbs

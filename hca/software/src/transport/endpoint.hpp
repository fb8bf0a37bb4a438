// Members that the two halves of a queue pair share.
#pragma once

#include "early_packets.hpp"
#include "hooks.hpp"
#include "shared_receive_queue.hpp"

#include <bit>

namespace irpverbs::hca_software::transport {

/// The attributes stay the owner's, which changes them between calls. The engine changes those of
/// the paths, in a migration.
struct endpoint {
    ib_qp_attr_t& attr;
    memory_access& memory;
    queue_pair_owner& owner;
    // Null: the responder has a queue of its own. An XRC target's is the one that the responder has
    // looked up last, during one call of the engine.
    shared_receive_queue* shared_receives = nullptr;
    early_packet_room* room = nullptr; // null: the carrier keeps packets in order
    ib_qp_state_t state = IB_QPS_RESET;
    bool failed = false;            // it has entered an error state, and has to flush its queues
    bool refused_migration = false; // reported

    bool is_initiator() const { return attr.qp_type == IB_QPT_XRC_INI; }
    bool is_target() const { return attr.qp_type == IB_QPT_XRC_TGT; }
    bool is_reliable() const {
        return attr.qp_type == IB_QPT_RELIABLE_CONN || is_initiator() || is_target();
    }
    bool is_datagram() const { return attr.qp_type == IB_QPT_UNRELIABLE_DGRM; }
    ULONG mtu() const { return is_datagram() ? max_mtu : 128u << attr.path_mtu; }

    transport::service service() const {
        if (attr.qp_type == IB_QPT_RELIABLE_CONN) return service::reliable_connection;
        if (attr.qp_type == IB_QPT_UNRELIABLE_CONN) return service::unreliable_connection;
        return is_datagram() ? service::unreliable_datagram : service::extended_reliable_connection;
    }

    bool is_draining() const { return state == IB_QPS_SQD_DRAINING || state == IB_QPS_SQD_DRAINED; }
    /// Source: IBA 10.3.1.
    bool sends() const { return state == IB_QPS_RTS || is_draining(); }
    bool receives() const { return sends() || state == IB_QPS_RTR || state == IB_QPS_SQERR; }

    void fail(ib_qp_state_t to) {
        state = to;
        failed = true;
    }
    packet new_packet(operation what, position where, psn number,
                      trailer with = trailer::none) const {
        packet made;
        made.opcode = opcode_of(service(), what, where, with);
        made.migrated = attr.apm_state == IB_APM_MIGRATED;
        made.to_qp = attr.dest_num;
        made.number = number;
        return made;
    }
};

inline constexpr ib_qpn_t multicast_qp = 0xFFFFFF;
inline constexpr ULONG max_message = 1u << 31; // bytes, as the next
inline constexpr ULONG atomic_size = 8;

/// `mtu` is a power of two.
inline ULONG packets_of(ULONG length, ULONG mtu) {
    return length == 0 ? 1 : ((length - 1) >> std::countr_zero(mtu)) + 1;
}

/// The completion of a work request of the queue pair `number` that succeeded.
inline IB_WC completion_entry(ULONGLONG wr_id, IB_WC_OPCODE opcode, ULONG length, ib_qpn_t number) {
    IB_WC entry{};
    entry.WrId = wr_id;
    entry.Opcode = opcode;
    entry.ByteCount = length;
    entry.QpNumber = number;
    return entry;
}

inline position position_of(bool is_first, bool is_last) {
    return static_cast<position>((is_first ? first : 0) | (is_last ? last : 0));
}

} // namespace irpverbs::hca_software::transport

#include "key_checks.hpp"

#include <ci/support/ip_gid.hpp>

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

constexpr ib_pkey_t full_member = 0x8000;

// The headers in units of 4 bytes: LRH, BTH, DETH and ICRC; and a GRH. Source: IBA 6.1.
constexpr ULONGLONG header_words = (8 + 12 + 8 + 4) / 4;
constexpr ULONGLONG grh_words = 10;
constexpr ULONGLONG connected_words = (8 + 4) / 4; // LRH and ICRC: the payload has the others

bool has_gid(const port& at, const ib_gid_t& gid) {
    if (ci::is_group(gid)) return true;
    return std::ranges::any_of(at.gids, [&](const ib_gid_t& each) {
        return each.gid_guid == gid.gid_guid &&
               (each.gid_prefix == gid.gid_prefix || gid.gid_prefix == IB_DEFAULT_GID_PREFIX);
    });
}

void count(USHORT& violations) {
    if (violations != 0xFFFF) ++violations;
}

ULONGLONG words_in(const datagram& what) {
    if (what.transport_headers != 0) return route_words(what) + what.payload->size() / 4;
    return header_words + (what.length() + 3) / 4 + (what.global ? grh_words : 0);
}

bool in_partition(const port& at, const datagram& what, const IB_MAD_KEYS* keys) {
    if (keys == nullptr) return find_pkey(at, what.pkey).has_value();
    const auto own = find_membership(at, keys->PKey);
    return own && share_partition(at.pkeys[*own], what.pkey);
}

} // namespace

bool share_partition(ib_pkey_t one, ib_pkey_t other) {
    const bool same = ((one ^ other) & ~full_member & 0xFFFF) == 0;
    const bool valid = (one & ~full_member) != 0;
    return same && valid && ((one | other) & full_member) != 0;
}

std::optional<std::size_t> find_pkey(const port& at, ib_pkey_t pkey) {
    const auto place =
        std::ranges::find_if(at.pkeys, [&](ib_pkey_t each) { return share_partition(each, pkey); });
    if (place == at.pkeys.end()) return std::nullopt;
    return static_cast<std::size_t>(place - at.pkeys.begin());
}

std::optional<std::size_t> find_membership(const port& at, ib_pkey_t pkey) {
    const auto same = [&](ib_pkey_t each) { return ((each ^ pkey) & ~full_member & 0xFFFF) == 0; };
    const auto place = std::ranges::find_if(at.pkeys, same);
    if ((pkey & ~full_member) == 0 || place == at.pkeys.end()) return std::nullopt;
    return static_cast<std::size_t>(place - at.pkeys.begin());
}

bool accepts_partition(fabric& where, port& at, const datagram& what, ib_pkey_t own) {
    if (share_partition(own, what.pkey)) return true;
    count(at.pkey_violations);
    where.raise_bad_pkey(at, what);
    return false;
}

bool accepts(fabric& where, port& at, const datagram& what, const IB_MAD_KEYS* keys) {
    if (!in_partition(at, what, keys)) {
        count(at.pkey_violations);
        where.raise_bad_pkey(at, what);
        return false;
    }
    if (what.qkey != (keys != nullptr ? keys->QKey : IB_QP1_QKEY)) {
        count(at.qkey_violations);
        where.raise_bad_qkey(at, what);
        return false;
    }
    return !what.global || has_gid(at, what.route.to);
}

bool may_leave(const port& out, const datagram& what) {
    return !out.enforces_outbound || find_pkey(out, what.pkey);
}

bool may_enter(const port& in, const datagram& what) {
    return !in.enforces_inbound || find_pkey(in, what.pkey);
}

bool passes_outbound(fabric& where, const datagram& what, port& out) {
    if (what.is_smp() || may_leave(out, what)) return true;
    count(out.pkey_violations);
    ++out.counters.TransmitConstraintErrors;
    where.raise_switch_bad_pkey(out, what);
    return false;
}

bool passes_inbound(fabric& where, const datagram& what, port& in) {
    if (what.is_smp() || may_enter(in, what)) return true;
    count(in.pkey_violations);
    ++in.counters.ReceiveConstraintErrors;
    where.raise_switch_bad_pkey(in, what);
    return false;
}

ULONGLONG route_words(const datagram& of) { return connected_words + (of.global ? grh_words : 0); }

void count_sent(port& out, const datagram& what) {
    count_sent(out, what.is_multicast(), words_in(what));
}

void count_sent(port& out, bool is_multicast, ULONGLONG words) {
    out.counters.TransmitData += words;
    ++out.counters.TransmitPackets;
    ++(is_multicast ? out.counters.TransmitMulticasts : out.counters.TransmitUnicasts);
    out.owner->samples.add_sample(out, sampled_transmit_data, sampled_transmit_packets, words);
}

void count_received(port& in, const datagram& what) {
    in.counters.ReceiveData += words_in(what);
    ++in.counters.ReceivePackets;
    ++(what.is_multicast() ? in.counters.ReceiveMulticasts : in.counters.ReceiveUnicasts);
    in.owner->samples.add_sample(in, sampled_receive_data, sampled_receive_packets, words_in(what));
}

void count_link(port& out, ULONGLONG packets, ULONGLONG words) {
    out.counters.TransmitData += words;
    out.counters.TransmitPackets += packets;
    out.counters.TransmitUnicasts += packets;
    out.peer->counters.ReceiveData += words;
    out.peer->counters.ReceivePackets += packets;
    out.peer->counters.ReceiveUnicasts += packets;
}

} // namespace irpverbs::hca_software

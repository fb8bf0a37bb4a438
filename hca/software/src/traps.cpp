#include "traps.hpp"

#include "fabric.hpp"

#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::hca_software {

namespace {

constexpr LONG tick = 100;             // ms
constexpr std::size_t most = 1u << 12; // further traps are dropped
constexpr std::size_t notice_offset = 64;
constexpr std::size_t details_offset = 10;
constexpr UCHAR generic = 0x80;
constexpr UCHAR toggle = 0x80;

enum notice_type : UCHAR { urgent = 1, security = 2, informational = 4, empty = 0x7F };

notice_type type_of(USHORT number) {
    if (number >= trap_bad_mkey) return security;
    return number == trap_local_change || number == trap_system_image ? informational : urgent;
}

// Returns the shortest interval between two repetitions of a trap, 4.096 us * 2^n. Source: IBA
// 14.2.5.6 (SubnetTimeOut), 13.4.9.
machine_time resend_interval(const port& from) {
    return std::max<machine_time>((std::uint64_t{4096} << (from.subnet_timeout & 0x1F)) / 100,
                                  tick * 1000 * microsecond);
}

void write_notice(UCHAR* notice, const trap& what) {
    notice[0] = generic | type_of(what.number);
    store<3>(notice + 1, what.from->owner->type);
    store<2>(notice + 4, what.number);
    store<2>(notice + 6, what.from->lid);
    std::ranges::copy(what.details, notice + details_offset);
}

void write(packet& into, const trap& what) {
    into.mad.fill(0);
    UCHAR* bytes = into.mad.data();
    bytes[0] = base_version;
    bytes[1] = class_subnet;
    bytes[2] = 1;
    bytes[3] = method_trap;
    store<8>(bytes + 8, what.transaction);
    store<2>(bytes + 16, notice_id);
    write_notice(bytes + notice_offset, what);
}

} // namespace

void trap_list::initialize(PKDEFERRED_ROUTINE serve, void* context) {
    KeInitializeDpc(&dpc_, serve, context);
    KeInitializeTimer(&timer_);
}

void trap_list::close() {
    closed_ = true;
    pending_.clear();
}

void trap_list::run_down() {
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
}

// False: no memory.
bool trap_list::append(const trap& fresh) try {
    if (dispatch::detail::fault_point("hca.software.trap")) return false;
    pending_.push_back(fresh);
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

bool trap_list::add(port& from, USHORT number, ULONG transaction, const trap_details& details) {
    if (closed_ || !from.managed || from.sm_lid == 0 || from.lid == 0) return false;
    const trap fresh{&from, number, details, transaction, 0};
    const auto find = [&](const auto& which) {
        return std::ranges::find_if(pending_, [&](const trap& each) {
            return each.from == &from && each.number == number && which(each);
        });
    };
    if (find([&](const trap& each) { return each.details == details; }) != pending_.end())
        return false;
    // A new transaction: a TrapRepress of the previous one may be on its way.
    if (const auto before = find([](const trap& each) { return each.due != 0; });
        before != pending_.end()) {
        *before = fresh;
        return true;
    }
    if (pending_.size() == most || !append(fresh)) return false;
    if (std::exchange(timer_running_, true)) return true;
    // The timer is periodic: a simulated run does not wait for a subnet manager that never
    // responds.
    LARGE_INTEGER from_now;
    from_now.QuadPart = -static_cast<LONGLONG>(tick * 1000 * microsecond);
    KeSetTimerEx(&timer_, from_now, tick, &dpc_);
    return true;
}

void trap_list::repress(const port& at, ULONG transaction) {
    std::erase_if(pending_, [&](const trap& each) {
        return each.from == &at && each.transaction == transaction;
    });
}

std::size_t trap_list::oldest(const port& of) const {
    const auto place = std::ranges::find(pending_, &of, &trap::from);
    return static_cast<std::size_t>(place - pending_.begin());
}

// Source: IBA 13.4.10.
void trap_list::read_oldest(const port& of, attribute_bytes notice) const {
    std::ranges::fill(notice, UCHAR{0});
    const std::size_t place = oldest(of);
    if (place == pending_.size()) {
        notice[0] = generic | empty;
        return;
    }
    write_notice(notice.data(), pending_[place]);
    const auto count = std::ranges::count(pending_, &of, &trap::from);
    store<2>(&notice[8], static_cast<std::uint64_t>(count));
    if (of.notice_toggle) notice[8] |= toggle;
}

void trap_list::clear_oldest(port& of, attribute_bytes notice) {
    std::array<UCHAR, 64> known{};
    read_oldest(of, known);
    // The count may have changed since the notice was read.
    const bool same = std::equal(&known[0], &known[8], &notice[0]) &&
                      ((known[8] ^ notice[8]) & toggle) == 0 && oldest(of) != pending_.size();
    if (!same) return;
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(oldest(of)));
    of.notice_toggle = !of.notice_toggle;
}

void trap_list::resend_due(fabric& where) {
    const machine_time now = KeQueryInterruptTime();
    for (std::size_t i = 0; i < pending_.size(); ++i) // a send may raise further traps
        if (pending_[i].due <= now) send(where, pending_[i]);
    if (!pending_.empty() && !closed_) return;
    KeCancelTimer(&timer_);
    timer_running_ = false;
}

void trap_list::send(fabric& where, trap& what) {
    what.due = KeQueryInterruptTime() + resend_interval(*what.from);
    packet* sent = where.packets().allocate();
    if (sent == nullptr) return;
    write(*sent, what);
    sent->from = what.from->lid;
    sent->to = what.from->sm_lid;
    sent->service_level = what.from->sm_sl;
    sent->pkey = IB_PKEY_DEFAULT_FULL;
    sent->from_qp = sent->to_qp = 0;
    sent->qkey = 0;
    where.send(*what.from, sent);
}

} // namespace irpverbs::hca_software

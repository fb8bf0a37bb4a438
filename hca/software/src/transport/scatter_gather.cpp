#include "scatter_gather.hpp"

#include <algorithm>

namespace irpverbs::hca_software::transport {

namespace {

/// Calls `use(segment, memory, bytes)` with each piece of [offset, offset + size) until it returns
/// false.
template <class Use>
bool for_each_piece_of(memory_access& memory, segments list, ULONGLONG offset, ULONGLONG size,
                       ib_access_t rights, const Use& use) {
    for (const ib_local_ds_t& each : list) {
        if (size == 0) return true;
        if (offset >= each.length) {
            offset -= each.length;
            continue;
        }
        const ULONGLONG piece = std::min<ULONGLONG>(each.length - offset, size);
        const auto use_piece = [&](UCHAR* at, std::size_t bytes) { return use(each, at, bytes); };
        // Nearly all segments are one piece.
        UCHAR* at = memory.find(each.lkey, each.vaddr + offset, piece, rights);
        if (at != nullptr
                ? !use_piece(at, static_cast<std::size_t>(piece))
                : !for_each_piece(memory, each.lkey, each.vaddr + offset, piece, rights, use_piece))
            return false;
        size -= piece;
        offset = 0;
    }
    return size == 0;
}

/// `copy(segment, to, from, size)` copies a piece.
template <class Copy>
bool scatter_by(memory_access& memory, segments list, ULONGLONG offset, const payload& from,
                const Copy& copy) {
    for (const const_bytes& each : from.pieces()) {
        const UCHAR* next = each.data();
        const auto use = [&](const ib_local_ds_t& in, UCHAR* at, std::size_t piece) {
            if (!copy(in, at, next, piece)) return false;
            next += piece;
            return true;
        };
        if (!for_each_piece_of(memory, list, offset, each.size(), IB_AC_LOCAL_WRITE, use))
            return false;
        offset += each.size();
    }
    return true;
}

} // namespace

ULONGLONG total_length(segments list) {
    ULONGLONG total = 0;
    for (const ib_local_ds_t& each : list)
        total += each.length;
    return total;
}

bool are_accessible(memory_access& memory, segments list, ib_access_t rights) {
    return std::ranges::all_of(list, [&](const ib_local_ds_t& each) {
        return each.length == 0 ||
               memory.find(each.lkey, each.vaddr, each.length, rights) != nullptr ||
               is_accessible(memory, each.lkey, each.vaddr, each.length, rights);
    });
}

bool gather(memory_access& memory, segments list, ULONGLONG offset, ULONG size, payload& to) {
    return for_each_piece_of(memory, list, offset, size, 0,
                             [&](const ib_local_ds_t&, const UCHAR* at, std::size_t piece) {
                                 to.append({at, piece});
                                 return true;
                             });
}

bool scatter(memory_access& memory, segments list, ULONGLONG offset, const payload& from) {
    return scatter_by(memory, list, offset, from,
                      [&](const ib_local_ds_t&, UCHAR* at, const UCHAR* bytes, std::size_t size) {
                          return memory.copy(at, bytes, size);
                      });
}

bool scatter_to_receive(memory_access& memory, segments list, ULONGLONG offset,
                        const payload& from) {
    return scatter_by(memory, list, offset, from,
                      [&](const ib_local_ds_t& in, UCHAR* at, const UCHAR* bytes,
                          std::size_t size) { return memory.deliver(in.lkey, at, bytes, size); });
}

bool collect(memory_access& memory, UCHAR* to, const payload& from) {
    for (const const_bytes& each : from.pieces()) {
        if (!memory.fetch(to, each.data(), each.size())) return false;
        to += each.size();
    }
    return true;
}

bool copy_payload(memory_access& memory, UCHAR* to, const payload& from) {
    for (const const_bytes& each : from.pieces()) {
        if (!memory.copy(to, each.data(), each.size())) return false;
        to += each.size();
    }
    return true;
}

bool copy_payload(memory_access& memory, ULONG key, ULONGLONG address, ib_access_t rights,
                  const payload& from) {
    for (const const_bytes& each : from.pieces()) {
        const UCHAR* next = each.data();
        const auto use = [&](UCHAR* at, std::size_t piece) {
            if (!memory.copy(at, next, piece)) return false;
            next += piece;
            return true;
        };
        if (!for_each_piece(memory, key, address, each.size(), rights, use)) return false;
        address += each.size();
    }
    return true;
}

} // namespace irpverbs::hca_software::transport

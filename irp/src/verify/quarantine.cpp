#include "quarantine.hpp"

#include "ledger.hpp"
#include "veil.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace irpverbs::irp::verify {
namespace {

constexpr std::size_t most_kept = 128;
constexpr unsigned char pattern = 0xD5;
// Type and Size stay readable: by them IoFreeIrp and IoCallDriver recognise a freed IRP.
constexpr std::size_t readable = 8;

char* poisoned_part(IRP* irp) { return reinterpret_cast<char*>(irp) + readable; }

} // namespace

bool let_go(IRP* irp) {
    const std::size_t size = irp->Size - readable;
    char* bytes = poisoned_part(irp);
    unveil(bytes, size);
    const bool untouched = std::all_of(
        bytes, bytes + size, [](char byte) { return static_cast<unsigned char>(byte) == pattern; });
    std::free(irp);
    return untouched;
}

draft* let_oldest_go(ledger& book) {
    IRP* oldest = book.quarantine.front();
    book.quarantine.pop_front();
    const bool untouched = let_go(oldest);
    const record* past = book.find(oldest);
    draft* told = nullptr;
    if (!untouched && past != nullptr)
        told = &book.broken(rule::WriteAfterFree, past,
                            "irp#" + std::to_string(past->generation) +
                                " was written to after it was freed")
                    .with("freed at", past->freed_at);
    book.forget(oldest);
    return told;
}

draft* keep_back(ledger& book, IRP* irp) {
    irp->Type = freed_packet;
    const std::size_t size = irp->Size - readable;
    unveil_locations(irp);
    std::memset(poisoned_part(irp), pattern, size);
    veil(poisoned_part(irp), size);
    book.quarantine.push_back(irp);
    return book.quarantine.size() > most_kept ? let_oldest_go(book) : nullptr;
}

} // namespace irpverbs::irp::verify

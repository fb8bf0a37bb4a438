// One byte chooses the record, two are AttributeOffset; the rest is the data of a received MAD.
#include <saa/records.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace irpverbs::saa;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_record(const record_type& type, std::span<const std::uint8_t> wire) {
    const std::vector<std::uint8_t> exact(wire.begin(), wire.end()); // lets ASan see an over-read
    std::vector<std::uint8_t> host(type.host_size), second(type.host_size), packed(type.wire_size);
    if (!unpack(type, exact, host.data())) {
        require(exact.size() < type.old_wire_size);
        return;
    }
    require(pack(type, host.data(), packed) == type.wire_size);
    require(unpack(type, packed, second.data()));
    require(host == second);
    require(matches(type, ~0ull, host.data(), second.data()));
    std::string text;
    append_text(type, host.data(), text);
    append_json(type, host.data(), text);
    require(text.find('\0') == text.npos);
}

void check_multipath(std::span<const std::uint8_t> wire) {
    sa_multipath_record_t record{};
    std::vector<ib_gid_t> gids(510);
    const auto count = unpack_multipath(wire, record, gids);
    if (!count) return;
    std::vector<std::uint8_t> packed(24 + *count * 16);
    require(pack_multipath(record, std::span(gids).first(*count), packed) == packed.size());
    sa_multipath_record_t second{};
    require(unpack_multipath(packed, second, {}) == count);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const record_type& type = record_types()[data[0] % record_types().size()];
    const auto offset = static_cast<std::uint16_t>(data[1] << 8 | data[2]);
    const std::span<const std::uint8_t> payload(data + 3, size - 3);
    check_record(type, payload);
    check_multipath(payload);
    if (const auto table = record_table::parse(type, offset, payload)) {
        require(table->size() <= payload.size());
        for (std::size_t i = 0; i < table->size(); ++i)
            check_record(type, (*table)[i]);
    }
    return 0;
}

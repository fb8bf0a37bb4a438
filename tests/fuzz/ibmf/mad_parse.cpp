// Parses any bytes as a datagram, and as a format with data for the pack and unpack functions.
#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace irpverbs::ibmf;

void require(bool condition) {
    if (!condition) std::abort();
}

// A header that is stored and loaded again is equal; reserved bytes are ignored.
template <std::size_t Size, class Load>
void round_trip(std::span<const std::uint8_t, Size> bytes, Load load) {
    std::array<std::uint8_t, Size> again{};
    const auto header = load(bytes);
    store(std::span<std::uint8_t, Size>(again), header);
    require(load(std::span<const std::uint8_t, Size>(again)) == header);
}

void look_at(const mad_view& view) {
    const auto all = view.bytes();
    round_trip(all.first<mad_header::size>(), load_mad_header);
    round_trip(all.subspan<24, rmpp_header::size>(), load_rmpp_header);
    round_trip(all.subspan<36, sa_header::size>(), load_sa_header);
    round_trip(all.subspan<24, smp_header::size>(), load_smp_header);
    require(view.layout().data_offset() + view.data().size() == mad_size);
    require(view.class_header().size() <= 40);
    require(view.oui() <= 0xFFFFFF);
    require(view.layout().rmpp || !view.rmpp_active());
    if (view.is_directed_route()) require(view.hop_pointer() <= view.initial_path().size());
    require(name_of(view.rmpp().status) != nullptr);
}

// The bytes before the first NUL are a format, the rest is data.
void convert(mad_bytes input) {
    const auto end = std::find(input.begin(), input.end(), 0);
    const std::string format(input.begin(), end);
    const mad_bytes data = end == input.end() ? mad_bytes() : mad_bytes(end + 1, input.end());
    std::vector<std::uint64_t> structure(64);
    const std::size_t room = data.empty() ? 0 : data[0] * 2u; // bytes
    const int taken = ibmf_utils_unpack_data(format.c_str(), data.data(), data.size(),
                                             structure.data(), std::min<std::size_t>(room, 512));
    if (taken < 0) return;
    require(static_cast<std::size_t>(taken) <= data.size());
    require(taken <= ibmf_utils_wire_size(format.c_str()));
    std::vector<std::uint8_t> again(data.size() + 1); // an empty vector has no address
    const int written =
        ibmf_utils_pack_data(format.c_str(), structure.data(), std::min<std::size_t>(room, 512),
                             again.data(), data.size());
    require(written == taken);
    require(std::memcmp(again.data(), data.data(), static_cast<std::size_t>(taken)) == 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::uint8_t> copy(data, data + size); // lets ASan see an over-read
    mad_view view;
    const mad_fault fault = mad_view::parse(copy, view);
    require((fault == mad_fault::wrong_size) == (size != mad_size));
    if (fault == mad_fault::none) look_at(view);
    convert(copy);
    return 0;
}

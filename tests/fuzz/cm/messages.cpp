// Decodes any bytes as a message of communication management.
#include <cm/messages.hpp>

#include <engine/paths.hpp>

#include <array>
#include <cstdlib>
#include <vector>

using namespace irpverbs;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

template <class Message>
void round_trip(const Message& message) {
    std::array<std::uint8_t, ibmf::mad_size> again{};
    cm::encode(message, 1, again);
    const auto decoded = cm::decode(again);
    require(decoded && std::get<Message>(*decoded) == message);
    if constexpr (requires { message.info_length; })
        require(message.info_length <= cm::rejection_info_size);
}

void read_path(const cm::path_fields& fields) {
    const sa_path_record_t path = cm::engine::path_of(fields);
    require(path.PacketLifeTime < 32 && path.DLID == fields.local_lid);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::uint8_t> exact(data, data + size); // lets ASan see an over-read
    const auto message = cm::decode(exact);
    if (!message) return 0;
    std::visit([](const auto& each) { round_trip(each); }, *message);
    if (const auto* const req = std::get_if<cm::req_message>(&*message)) {
        read_path(req->primary);
        cm::engine::load_ip(req->service_id,
                            std::span(req->private_data).first<cm::engine::ip_header_size>());
    }
    return 0;
}

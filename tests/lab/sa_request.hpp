// A request to the SA, in the forms of IBMF and of libibumad.
#pragma once

#include <ibmf/ibmf_client.hpp>

#include <saa/sa_recs.h>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace irpverbs::testing {

constexpr std::uint8_t get_table = 0x12;

class sa_request {
public:
    static constexpr std::size_t data_at = ibmf::rmpp_data_offset + ibmf::sa_header::size;

    sa_request(ibmf_handle_t handle, ib_lid_t to, std::uint16_t attribute, std::uint8_t method,
               std::uint64_t transaction, std::size_t data_size = 200)
        : message_(handle, {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                            .method = method,
                            .tid = transaction,
                            .to = to,
                            .data_size = data_size}) {
        ibmf_msg_bufs_t& parts = message_.ibmf_msg->im_msgbufs_send;
        boost::endian::store_big_u16(
            reinterpret_cast<std::uint8_t*>(&parts.im_bufs_mad_hdr->AttributeID), attribute);
        std::ranges::fill(data(), std::uint8_t{0});
        ibmf::store(class_header(), ibmf::sa_header{});
    }
    /// Asks for records with this LID, which is their first field (component bit 0).
    sa_request& with_lid(ib_lid_t lid) {
        boost::endian::store_big_u16(data().data(), lid);
        ibmf::store(class_header(), ibmf::sa_header{0, 0, 1});
        return *this;
    }

    test_message& message() { return message_; }
    /// The request as one datagram, or as the message of an RMPP transfer.
    std::vector<std::uint8_t> raw(bool transfer = false) const {
        const ibmf_msg_bufs_t& parts = message_.ibmf_msg->im_msgbufs_send;
        std::vector<std::uint8_t> whole(transfer ? data_at + data().size() : ibmf::mad_size);
        const auto put = [&](std::size_t at, const void* from, std::size_t size) {
            std::copy_n(static_cast<const std::uint8_t*>(from), size,
                        whole.begin() + static_cast<std::ptrdiff_t>(at));
        };
        put(0, parts.im_bufs_mad_hdr, ibmf::mad_header_size);
        put(ibmf::rmpp_data_offset, parts.im_bufs_cl_hdr, parts.im_bufs_cl_hdr_len);
        put(data_at, parts.im_bufs_cl_data, parts.im_bufs_cl_data_len);
        if (transfer)
            ibmf::store(std::span(whole).subspan<ibmf::mad_header_size, ibmf::rmpp_header::size>(),
                        ibmf::rmpp_header{.version = 1,
                                          .type = ibmf::rmpp_type::data,
                                          .flags = ibmf::rmpp_active});
        return whole;
    }
    /// The record of the request.
    std::span<std::uint8_t> data() const {
        ibmf_msg_bufs_t& parts = message_.ibmf_msg->im_msgbufs_send;
        return {static_cast<std::uint8_t*>(parts.im_bufs_cl_data), parts.im_bufs_cl_data_len};
    }
    std::span<std::uint8_t, ibmf::sa_header::size> class_header() const {
        return std::span<std::uint8_t, ibmf::sa_header::size>(
            static_cast<std::uint8_t*>(message_.ibmf_msg->im_msgbufs_send.im_bufs_cl_hdr),
            ibmf::sa_header::size);
    }

private:
    test_message message_;
};

} // namespace irpverbs::testing

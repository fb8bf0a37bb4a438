/// Private data of messages.
#pragma once

#include <cm/cm_values.h>
#include <dispatch/ntdef.h>

#include <boost/container/static_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace irpverbs::cm {

/// A copy of the bytes. The verb refuses more than its message has room for; this class throws
/// std::bad_alloc for more than any message has.
class private_data {
public:
    private_data() = default;
    private_data(std::string_view text) : bytes_(text.begin(), text.end()) {}
    private_data(const char* text) : private_data(std::string_view(text)) {}
    private_data(std::span<const std::uint8_t> from) : bytes_(from.begin(), from.end()) {}

    const std::uint8_t* data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return bytes_.size(); }
    UCHAR length() const noexcept { return static_cast<UCHAR>(bytes_.size()); }

private:
    boost::container::static_vector<std::uint8_t, IB_CM_RTU_PDATA_SIZE> bytes_;
};

} // namespace irpverbs::cm

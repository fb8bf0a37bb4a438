// Text from the fabric, whose bytes anybody may have chosen.
#pragma once

#include <string>
#include <string_view>

namespace irpctl {

/// Bytes that are no UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);

/// Control characters, which a terminal would act on, and bytes that are no UTF-8 become \xNN.
std::string printable(std::string_view text);

} // namespace irpctl

// Windows' format of printed text.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_FORMAT_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_FORMAT_HPP

#include <cstdarg>
#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::irp::windows {

/// The text of a format with its arguments, as UTF-8. wide: %s and %c are wide and %S is not, as in
/// the functions for wide text.
std::string formatted(std::string_view format, bool wide, va_list arguments);

std::string utf8(const wchar_t* text, std::size_t count);

/// The wide text of a wide format.
std::vector<wchar_t> wide_formatted(const wchar_t* format, va_list arguments);

} // namespace irpverbs::irp::windows

#endif

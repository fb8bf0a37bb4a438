/// Text whose bytes anybody on the fabric may have chosen, made safe for terminals and JSON. Every
/// program and every library function that shows such text passes it through one of these.
///
/// A control character is one of C0, DEL or C1; U+009B of C1 begins a terminal's command as ESC [
/// does. Any IRQL at which memory may be allocated; throws std::bad_alloc.
#pragma once

#include <dispatch/ntdef.h>

#include <string>
#include <string_view>

namespace irpverbs::dispatch {

/// Appends `text` for a terminal: each byte of a control character and each byte that is not UTF-8
/// becomes \xNN.
NT_API void append_printable(std::string_view text, std::string& out);

/// The same as a string of its own.
NT_API std::string printable(std::string_view text);

/// Appends `text` as a JSON string with its quotation marks: control characters, quotation marks
/// and backslashes are escaped, each byte that is not UTF-8 becomes U+FFFD, UTF-8 stays as it is.
NT_API void append_json_string(std::string_view text, std::string& out);

/// JSON that a library has serialized, for a terminal: control characters inside its strings are
/// escaped, each byte that is not UTF-8 becomes U+FFFD. The JSON has no whitespace but blanks.
NT_API std::string printable_json(std::string_view serialized);

} // namespace irpverbs::dispatch

/// Text whose bytes any node of the fabric may have chosen, made safe for terminals and JSON. Every
/// program and every library function that shows such text passes it through one of these
/// functions.
///
/// A control character is one of C0, DEL or C1; U+009B of C1 begins a terminal's command as ESC [
/// does. IRQL: any at which memory may be allocated. All functions throw std::bad_alloc.
#pragma once

#include <dispatch/ntdef.h>

#include <string>
#include <string_view>

namespace irpverbs::dispatch {

/// Appends `text` for a terminal: each byte of a control character and each byte that is not UTF-8
/// becomes \xNN.
NT_API void append_printable(std::string_view text, std::string& out);

/// Returns `text` for a terminal, converted as append_printable does.
NT_API std::string printable(std::string_view text);

/// Appends `text` as a JSON string with its quotation marks: control characters, quotation marks
/// and backslashes are escaped, each byte that is not UTF-8 becomes U+FFFD, UTF-8 stays as it is.
NT_API void append_json_string(std::string_view text, std::string& out);

/// Returns JSON that a library has serialized, made safe for a terminal: control characters inside
/// its strings are escaped, and each byte that is not UTF-8 becomes U+FFFD. The JSON must have no
/// whitespace other than blanks.
NT_API std::string printable_json(std::string_view serialized);

} // namespace irpverbs::dispatch

// The groups of the accounts (device_security.h), and the rights that access control lists give
// them.
#pragma once

#include <irp/device_security.h>
#include <irp/security_types.h>

#include <optional>
#include <span>
#include <string_view>

namespace irpverbs::irp {

/// A group to which accounts belong, by its two letters. The text lives for ever.
using account_group = std::u16string_view;

/// Nothing: no account belongs to such a group. IRQL: any.
NT_API std::optional<account_group> group_of_sid(std::u16string_view sid); // "S-1-5-18"
NT_API std::optional<account_group> group_of_letters(std::u16string_view letters);
NT_API bool is_member(IRP_ACCOUNT account, account_group group);

struct access_entry {
    std::optional<account_group> group;
    ACCESS_MASK rights;
    bool denies = false;
};

/// The rights that the list gives the account: for each, its first entry decides. IRQL: any.
NT_API ACCESS_MASK granted_rights(IRP_ACCOUNT account, std::span<const access_entry> list);

/// An account's token, which has no content, and the account of one; nothing: it is no token.
/// IRQL: any.
NT_API PACCESS_TOKEN token_of(IRP_ACCOUNT account);
NT_API std::optional<IRP_ACCOUNT> account_of(PACCESS_TOKEN token);

} // namespace irpverbs::irp

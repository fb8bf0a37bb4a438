#include <irp/support/account_rights.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace irpverbs::irp {
namespace {

using text = std::u16string_view;

constexpr std::array<std::pair<text, account_group>, 11> groups{{{u"S-1-1-0", u"WD"},
                                                                 {u"S-1-5-4", u"IU"},
                                                                 {u"S-1-5-6", u"SU"},
                                                                 {u"S-1-5-7", u"AN"},
                                                                 {u"S-1-5-11", u"AU"},
                                                                 {u"S-1-5-18", u"SY"},
                                                                 {u"S-1-5-19", u"LS"},
                                                                 {u"S-1-5-20", u"NS"},
                                                                 {u"S-1-5-32-544", u"BA"},
                                                                 {u"S-1-5-32-545", u"BU"},
                                                                 {u"S-1-5-32-546", u"BG"}}};

// In the order of IRP_ACCOUNT.
constexpr std::array<text, 6> groups_of_account{
    u"BA BU AU IU WD", u"SY BA AU WD", u"LS NS SU AU WD", u"BU AU IU WD", u"BG IU WD", u"AN"};

// A token has no content beside its place.
constexpr std::array<char, groups_of_account.size()> tokens{};

} // namespace

std::optional<account_group> group_of_sid(text sid) {
    for (const auto& [known, letters] : groups)
        if (known == sid) return letters;
    return std::nullopt;
}

std::optional<account_group> group_of_letters(text letters) {
    for (const auto& [sid, known] : groups)
        if (known == letters) return known;
    return std::nullopt;
}

bool is_member(IRP_ACCOUNT account, account_group group) {
    const text list = groups_of_account.at(static_cast<std::size_t>(account));
    for (std::size_t at = 0; at < list.size(); at += 3)
        if (list.substr(at, 2) == group) return true;
    return false;
}

ACCESS_MASK granted_rights(IRP_ACCOUNT account, std::span<const access_entry> list) {
    ACCESS_MASK granted = 0;
    ACCESS_MASK denied = 0;
    for (const access_entry& each : list) {
        if (!each.group || !is_member(account, *each.group)) continue;
        if (each.denies)
            denied |= each.rights & ~granted;
        else
            granted |= each.rights & ~denied;
    }
    return granted;
}

PACCESS_TOKEN token_of(IRP_ACCOUNT account) {
    return const_cast<char*>(&tokens.at(static_cast<std::size_t>(account)));
}

std::optional<IRP_ACCOUNT> account_of(PACCESS_TOKEN token) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (token == &tokens[i]) return static_cast<IRP_ACCOUNT>(i);
    return std::nullopt;
}

} // namespace irpverbs::irp

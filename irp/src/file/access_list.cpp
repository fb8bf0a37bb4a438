#include "access_list.hpp"

#include <irp/access.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace irpverbs::irp {
namespace {

using text = std::u16string_view;

// Groups that none of the accounts belongs to.
constexpr text other_groups = u"RC AC NU PU SO PO BO RE RU CO CG ED LA LG OW UD ES IS NO MU LU";

constexpr std::array<std::pair<text, ULONG>, 21> rights_by_letters{
    {{u"GA", static_cast<ULONG>(GENERIC_ALL)},
     {u"GR", static_cast<ULONG>(GENERIC_READ)},
     {u"GW", static_cast<ULONG>(GENERIC_WRITE)},
     {u"GX", static_cast<ULONG>(GENERIC_EXECUTE)},
     {u"SD", 0x00010000},
     {u"RC", READ_CONTROL},
     {u"WD", 0x00040000},
     {u"WO", 0x00080000},
     {u"FA", FILE_ALL_ACCESS},
     {u"FR", FILE_GENERIC_READ},
     {u"FW", FILE_GENERIC_WRITE},
     {u"FX", FILE_GENERIC_EXECUTE},
     {u"CC", 0x1},
     {u"DC", 0x2},
     {u"LC", 0x4},
     {u"SW", 0x8},
     {u"RP", 0x10},
     {u"WP", 0x20},
     {u"DT", 0x40},
     {u"LO", 0x80},
     {u"CR", 0x100}}};

constexpr std::size_t fields_of_entry = 6; // type;flags;rights;object;inherited object;group

bool is_in(text letters, text list) {
    for (std::size_t at = 0; at < list.size(); at += 3)
        if (list.substr(at, 2) == letters) return true;
    return false;
}

std::optional<ULONG> number_of(text digits) {
    if (!digits.starts_with(u"0x") ||
        digits.find_first_not_of(u"0123456789abcdefABCDEF", 2) != text::npos)
        return std::nullopt;
    const std::string narrow(digits.begin() + 2, digits.end());
    ULONG value = 0;
    const auto [end, error] =
        std::from_chars(narrow.data(), narrow.data() + narrow.size(), value, 16);
    if (error != std::errc() || end != narrow.data() + narrow.size()) return std::nullopt;
    return value;
}

std::optional<ACCESS_MASK> rights_of(text letters) {
    if (const auto number = number_of(letters)) return specific_rights(*number);
    if (letters.empty() || letters.size() % 2 != 0) return std::nullopt;
    ACCESS_MASK rights = 0;
    for (std::size_t at = 0; at < letters.size(); at += 2) {
        const auto* found =
            std::find_if(rights_by_letters.begin(), rights_by_letters.end(),
                         [&](const auto& each) { return each.first == letters.substr(at, 2); });
        if (found == rights_by_letters.end()) return std::nullopt;
        rights |= specific_rights(found->second);
    }
    return rights;
}

bool is_sid(text named) {
    return named.starts_with(u"S-1-") && named.size() > 4 &&
           named.find_first_not_of(u"0123456789-", 4) == text::npos;
}

} // namespace

ACCESS_MASK specific_rights(ACCESS_MASK asked) {
    ACCESS_MASK rights =
        asked & ~static_cast<ACCESS_MASK>(GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE |
                                          GENERIC_ALL | MAXIMUM_ALLOWED);
    if ((asked & GENERIC_READ) != 0) rights |= FILE_GENERIC_READ;
    if ((asked & GENERIC_WRITE) != 0) rights |= FILE_GENERIC_WRITE;
    if ((asked & GENERIC_EXECUTE) != 0) rights |= FILE_GENERIC_EXECUTE;
    if ((asked & GENERIC_ALL) != 0) rights |= FILE_ALL_ACCESS;
    return rights;
}

bool access_list::add(text listed) {
    std::array<text, fields_of_entry> fields;
    for (std::size_t i = 0; i < fields_of_entry; ++i) {
        const std::size_t end = listed.find(u';');
        if ((end == text::npos) != (i + 1 == fields_of_entry)) return false;
        fields[i] = listed.substr(0, end);
        if (end != text::npos) listed.remove_prefix(end + 1);
    }
    const auto [type, flags, rights_text, object, inherited, named] = fields;
    if (type != u"A" || !flags.empty() || !object.empty() || !inherited.empty()) return false;
    const auto rights = rights_of(rights_text);
    const auto group = is_sid(named) ? group_of_sid(named) : group_of_letters(named);
    if (!rights || (!group && !is_sid(named) && !is_in(named, other_groups))) return false;
    entries_.push_back({group, *rights});
    return true;
}

std::unique_ptr<access_list> access_list::parse(text descriptor) {
    if (!descriptor.starts_with(u"D:")) return nullptr;
    descriptor.remove_prefix(descriptor.starts_with(u"D:P") ? 3 : 2);
    auto made = std::make_unique<access_list>();
    while (!descriptor.empty()) {
        const std::size_t end = descriptor.find(u')');
        if (descriptor.front() != u'(' || end == text::npos) return nullptr;
        if (!made->add(descriptor.substr(1, end - 1))) return nullptr;
        descriptor.remove_prefix(end + 1);
    }
    return made;
}

ACCESS_MASK access_list::granted(IRP_ACCOUNT account) const {
    return granted_rights(account, entries_);
}

} // namespace irpverbs::irp

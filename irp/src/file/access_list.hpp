// The groups that may open a device, and their rights: the access control list of its descriptor.
#pragma once

#include <irp/support/account_rights.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace irpverbs::irp {

/// The rights to a file that generic rights stand for, and all others as they are.
ACCESS_MASK specific_rights(ACCESS_MASK asked);

class access_list {
public:
    /// Null: the text is no descriptor that IoCreateDeviceSecure takes. May throw std::bad_alloc.
    static std::unique_ptr<access_list> parse(std::u16string_view descriptor);

    /// The rights that the account has.
    ACCESS_MASK granted(IRP_ACCOUNT account) const;

private:
    bool add(std::u16string_view text);

    std::vector<access_entry> entries_;
};

} // namespace irpverbs::irp

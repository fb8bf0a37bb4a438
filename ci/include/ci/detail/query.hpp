// A query of attributes, repeated until they fit.
#pragma once

#include <ci/attributes.hpp>
#include <ci/detail/retry_on_overflow.hpp>

#include <cstring>

namespace irpverbs::ci::detail {

/// `verb(SIZE_T, Attr*, IRP*)` calls the verb.
template <class Attr, class Verb>
class query final : public retry_on_overflow {
public:
    query(Verb verb, SIZE_T room) noexcept
        : retry_on_overflow(how, sizeof(Attr) + room), verb_(std::move(verb)) {}

    attribute_block<Attr> result(ULONG_PTR information) && {
        if (information == 0 || information != whole_size(*this)) return {};
        buffer_.resize(information);
        return attribute_block<Attr>(std::move(buffer_));
    }

private:
    static void send(retry_on_overflow& base, IRP* irp) {
        auto& self = static_cast<query&>(base);
        void* block = self.buffer_.data();
        self.verb_(self.buffer_.size(), static_cast<Attr*>(block), irp);
    }
    static SIZE_T whole_size(const retry_on_overflow& base) {
        ULONG size = 0; // the first member of every block
        std::memcpy(&size, static_cast<const query&>(base).buffer_.data(), sizeof(size));
        return size;
    }
    static constexpr steps how{send, whole_size};

    Verb verb_;
};

/// Bytes for ports and tables in the first buffer.
constexpr SIZE_T usual_tables = 512;

template <class Attr, class Verb, class Token>
auto query_attributes(SIZE_T room, Verb verb, Token&& token) {
    return irp::detail::initiate(query<Attr, Verb>(std::move(verb), room),
                                 std::forward<Token>(token));
}

} // namespace irpverbs::ci::detail

// A query of attributes, repeated until they fit.
#pragma once

#include <ci/attributes.hpp>
#include <ci/detail/growing_call.hpp>

#include <cstring>

namespace irpverbs::ci::detail {

/// `verb(SIZE_T, Attr*, IRP*)` calls the verb.
template <class Attr, class Verb>
class query final : public growing_call {
public:
    query(Verb verb, SIZE_T room) noexcept
        : growing_call(how, sizeof(Attr) + room), verb_(std::move(verb)) {}

    attribute_block<Attr> result(ULONG_PTR information) && {
        if (information == 0 || information != whole_size(*this)) return {};
        buffer_.resize(information);
        return attribute_block<Attr>(std::move(buffer_));
    }

private:
    static void send(growing_call& base, IRP* irp) {
        auto& self = static_cast<query&>(base);
        void* block = self.buffer_.data();
        self.verb_(self.buffer_.size(), static_cast<Attr*>(block), irp);
    }
    static SIZE_T whole_size(const growing_call& base) {
        Attr fixed;
        std::memcpy(&fixed, static_cast<const query&>(base).buffer_.data(), sizeof(fixed));
        return fixed.Size;
    }
    static constexpr steps how{send, whole_size};

    Verb verb_;
};

/// Bytes for ports and tables in the first buffer.
constexpr SIZE_T usual_tables = 512;

template <class Attr, class Verb, class Token>
auto ask(SIZE_T room, Verb verb, Token&& token) {
    return irp::detail::initiate(query<Attr, Verb>(std::move(verb), room),
                                 std::forward<Token>(token));
}

} // namespace irpverbs::ci::detail

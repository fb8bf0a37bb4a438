// A query that is asked again, with a larger block, until the attributes fit.
#pragma once

#include <ci/attributes.hpp>
#include <ci/detail/verb.hpp>

namespace irpverbs::ci::detail {

/// The IRP has a stack location for this, whose completion routine asks again: cancellation and
/// deadline hold for the whole.
class NT_API growing_query {
public:
    CCHAR stack_size() const { return 2; }
    void start(IRP* irp);

protected:
    using ask = void (*)(growing_query& self, SIZE_T size, void* block, IRP* irp);

    growing_query(ask asks, SIZE_T first_size) noexcept : asks_(asks), size_(first_size) {}

    /// The whole block; empty when the query failed.
    std::vector<std::byte> take(ULONG_PTR information);

private:
    static NTSTATUS answered(DEVICE_OBJECT*, IRP* irp, void* context);
    bool grow(SIZE_T size) noexcept;
    ULONG whole_size() const noexcept;
    bool too_small(const IRP& irp) const noexcept;
    void send(IRP* irp);

    ask asks_;
    SIZE_T size_;
    std::vector<std::byte> block_;
};

/// `verb(SIZE_T, Attr*, IRP*)` calls the verb.
template <class Attr, class Verb>
class query final : public growing_query {
public:
    query(Verb verb, SIZE_T room) noexcept
        : growing_query(asks, sizeof(Attr) + room), verb_(std::move(verb)) {}
    attribute_block<Attr> result(ULONG_PTR information) && {
        return attribute_block<Attr>(take(information));
    }

private:
    static void asks(growing_query& self, SIZE_T size, void* block, IRP* irp) {
        static_cast<query&>(self).verb_(size, static_cast<Attr*>(block), irp);
    }

    Verb verb_;
};

/// Bytes for ports and tables that a first answer has room for.
constexpr SIZE_T usual_tables = 512;

template <class Attr, class Verb, class Token>
auto ask(SIZE_T room, Verb verb, Token&& token) {
    return irp::detail::initiate(query<Attr, Verb>(std::move(verb), room),
                                 std::forward<Token>(token));
}

} // namespace irpverbs::ci::detail

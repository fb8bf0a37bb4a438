#include "standard.hpp"

#include <windows/wdk/strings.h>
#include <windows/wdk/wide_text.h>

namespace {

int compare(PCWSTR first, PCWSTR second, size_t maximum, bool fold) {
    for (size_t i = 0; i < maximum; ++i) {
        const int a = fold ? RtlDowncaseUnicodeChar(first[i]) : first[i];
        const int b = fold ? RtlDowncaseUnicodeChar(second[i]) : second[i];
        if (a != b) return a < b ? -1 : 1;
        if (a == 0) return 0;
    }
    return 0;
}

bool is_one_of(WCHAR character, PCWSTR set) {
    for (; *set != 0; ++set)
        if (*set == character) return true;
    return false;
}

constexpr size_t all = static_cast<size_t>(-1);

} // namespace

extern "C" {

size_t IrpverbsWideLength(PCWSTR Text) noexcept { return IrpverbsWideLengthWithin(Text, all); }

size_t IrpverbsWideLengthWithin(PCWSTR Text, size_t Maximum) noexcept {
    size_t length = 0;
    while (length < Maximum && Text[length] != 0)
        ++length;
    return length;
}

PWSTR IrpverbsWideCopy(PWSTR To, PCWSTR From) noexcept {
    memcpy(To, From, (IrpverbsWideLength(From) + 1) * sizeof(WCHAR));
    return To;
}

PWSTR IrpverbsWideCopyWithin(PWSTR To, PCWSTR From, size_t Maximum) noexcept {
    const size_t length = IrpverbsWideLengthWithin(From, Maximum);
    memcpy(To, From, length * sizeof(WCHAR));
    std::fill(To + length, To + Maximum, WCHAR{0});
    return To;
}

PWSTR IrpverbsWideAppend(PWSTR To, PCWSTR From) noexcept {
    IrpverbsWideCopy(To + IrpverbsWideLength(To), From);
    return To;
}

PWSTR IrpverbsWideAppendWithin(PWSTR To, PCWSTR From, size_t Maximum) noexcept {
    const size_t length = IrpverbsWideLengthWithin(From, Maximum);
    PWSTR end = To + IrpverbsWideLength(To);
    memcpy(end, From, length * sizeof(WCHAR));
    end[length] = 0;
    return To;
}

int IrpverbsWideCompare(PCWSTR First, PCWSTR Second) noexcept {
    return compare(First, Second, all, false);
}
int IrpverbsWideCompareWithin(PCWSTR First, PCWSTR Second, size_t Maximum) noexcept {
    return compare(First, Second, Maximum, false);
}
int IrpverbsWideCompareNoCase(PCWSTR First, PCWSTR Second) noexcept {
    return compare(First, Second, all, true);
}
int IrpverbsWideCompareNoCaseWithin(PCWSTR First, PCWSTR Second, size_t Maximum) noexcept {
    return compare(First, Second, Maximum, true);
}

PWSTR IrpverbsWideFind(PCWSTR Text, WCHAR Character) noexcept {
    for (;; ++Text) {
        if (*Text == Character) return const_cast<PWSTR>(Text);
        if (*Text == 0) return nullptr;
    }
}

PWSTR IrpverbsWideFindLast(PCWSTR Text, WCHAR Character) noexcept {
    for (size_t i = IrpverbsWideLength(Text) + 1; i > 0; --i)
        if (Text[i - 1] == Character) return const_cast<PWSTR>(Text + i - 1);
    return nullptr;
}

PWSTR IrpverbsWideFindText(PCWSTR Text, PCWSTR Part) noexcept {
    const size_t length = IrpverbsWideLength(Part);
    for (;; ++Text) {
        if (compare(Text, Part, length, false) == 0) return const_cast<PWSTR>(Text);
        if (*Text == 0) return nullptr;
    }
}

size_t IrpverbsWideSpan(PCWSTR Text, PCWSTR Of) noexcept {
    size_t length = 0;
    while (Text[length] != 0 && is_one_of(Text[length], Of))
        ++length;
    return length;
}

size_t IrpverbsWideSpanWithout(PCWSTR Text, PCWSTR Of) noexcept {
    size_t length = 0;
    while (Text[length] != 0 && !is_one_of(Text[length], Of))
        ++length;
    return length;
}

PWSTR IrpverbsWideUpper(PWSTR Text) noexcept {
    std::transform(Text, Text + IrpverbsWideLength(Text), Text, RtlUpcaseUnicodeChar);
    return Text;
}

PWSTR IrpverbsWideLower(PWSTR Text) noexcept {
    std::transform(Text, Text + IrpverbsWideLength(Text), Text, RtlDowncaseUnicodeChar);
    return Text;
}

} // extern "C"

// The standard headers of these sources. They come before Windows' headers, whose first generation
// of SAL takes names that libstdc++ uses (__in, __out).
#ifndef IRPVERBS_IRP_SRC_WINDOWS_STANDARD_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_STANDARD_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#endif

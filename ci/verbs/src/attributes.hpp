// Queries that the inline functions of the header call through verbs_context.
#pragma once

#include <verbs/library.h>

#include <cstddef>
#include <cstdint>

namespace irpverbs::verbs {

int query_port(ibv_context* of, std::uint8_t number, ibv_port_attr* attr, std::size_t size);
int query_device_ex(ibv_context* of, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t size);

} // namespace irpverbs::verbs

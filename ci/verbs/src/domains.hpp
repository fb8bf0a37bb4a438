// Thread domains and parent domains: hints of a program about its use of objects.
#pragma once

#include <verbs/library.h>

namespace irpverbs::verbs {

ibv_td* allocate_thread_domain(ibv_context* of, ibv_td_init_attr* attr);
int deallocate_thread_domain(ibv_td* td);
ibv_pd* allocate_parent_domain(ibv_context* of, ibv_parent_domain_init_attr* attr);

} // namespace irpverbs::verbs

// The actions of ci/verbs.def.
#ifndef IRPVERBS_CI_SUPPORT_VERB_ACTION_HPP
#define IRPVERBS_CI_SUPPORT_VERB_ACTION_HPP

#include <dispatch/ntdef.h>

namespace irpverbs::ci {

enum class action : UCHAR { none, creates, ends, submits, calls, waits };

} // namespace irpverbs::ci

#endif

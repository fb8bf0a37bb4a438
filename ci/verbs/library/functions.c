/* The functions that the core implements. */
#include <verbs/library.h>

#define IBV_FUNCTION(result_type, name, parameters, arguments)                                     \
    result_type name parameters {                                                                  \
        const int before = irpverbs_enter();                                                       \
        result_type result = irpverbs_##name arguments;                                            \
        irpverbs_leave(before);                                                                    \
        return result;                                                                             \
    }
#define IBV_PROCEDURE(name, parameters, arguments)                                                 \
    void name parameters {                                                                         \
        const int before = irpverbs_enter();                                                       \
        irpverbs_##name arguments;                                                                 \
        irpverbs_leave(before);                                                                    \
    }
#include <verbs/functions.def>

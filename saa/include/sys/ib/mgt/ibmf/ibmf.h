/* IBMF under the name that it has on Solaris, with what comes along there: messages, SA access,
   records. Source: seed 000 (its place and its includes). */
#ifndef IRPVERBS_SYS_IB_MGT_IBMF_IBMF_H
#define IRPVERBS_SYS_IB_MGT_IBMF_IBMF_H

#include <ibmf/ibmf.h>
#include <saa/ibmf_saa.h>

#endif

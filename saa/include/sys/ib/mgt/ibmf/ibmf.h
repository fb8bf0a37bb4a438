/* IBMF under its Solaris name, with the headers that Solaris includes there: messages, SA access,
   records. Source: seed 000 (its path and its includes). */
#ifndef IRPVERBS_SYS_IB_MGT_IBMF_IBMF_H
#define IRPVERBS_SYS_IB_MGT_IBMF_IBMF_H

#include <ibmf/ibmf.h>
#include <saa/ibmf_saa.h>

#endif

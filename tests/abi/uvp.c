/* The interface of user-mode providers, whose boolean_t is not that of IBMF. */
#include <ci/ib_uvp.h>

__typeof__(&uvp_get_interface) abi_uvp_get_interface;

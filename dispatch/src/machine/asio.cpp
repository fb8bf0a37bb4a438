// Asio's own code, compiled once for builds that request it (IRPVERBS_SEPARATE_ASIO).
#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/impl/src.hpp>
#endif

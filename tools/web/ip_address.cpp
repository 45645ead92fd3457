#include "tools/web/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace goodput {

AddressKind address_kind(const std::string& text) {
  constexpr unsigned kLoopbackNet = 127;
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == kLoopbackNet ? AddressKind::kLoopback : AddressKind::kOther;
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) ? AddressKind::kLoopback : AddressKind::kOther;
  }
  return AddressKind::kNone;
}

}  // namespace goodput

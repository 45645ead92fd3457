// Bodies with gzip, for clients that take it: a map of 8,192 workers is a megabyte, and a twentieth of that
// compressed.
#pragma once

#include "tools/web/http_message.h"

namespace goodput {

// The response as it is where the client does not say that it takes gzip, or where that is not worth it.
[[nodiscard]] HttpResponse compressed(HttpResponse response, const HttpRequest& request);

}  // namespace goodput

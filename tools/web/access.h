// Who may read, and push to, a server: everybody on this machine, or whoever knows a token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/web/http_message.h"

namespace goodput {

struct AccessOptions {
  std::string address = "127.0.0.1";  // that is listened on
  std::string token_file{};           // empty: none
  bool behind_proxy = false;          // something else does TLS
  bool takes_pushes = false;
};

// A secret that is never written anywhere.
class AccessToken {
 public:
  // The text of a file without blanks around it, of at least 16 printable characters. Fails where others than
  // the file's owner and group may read it.
  static Result<AccessToken> read(const std::string& path);
  explicit AccessToken(std::string text) : text_(std::move(text)) {}

  // Takes as long whatever of `text`, of the same length, is right.
  [[nodiscard]] bool is(std::string_view text) const;
  // Whether a request says it: `Authorization: Bearer TOKEN`, or as the password of any user (Basic), which a
  // browser asks for.
  [[nodiscard]] bool is_in(const HttpRequest& request) const;
  // The value of Authorization that says it.
  [[nodiscard]] std::string bearer() const { return "Bearer " + text_; }

 private:
  std::string text_;
};

// Checks the options, and reads the token if there is one. Fails for an address that is not the loopback's
// without a token or without a proxy, and for pushes without a token. Options: "address", "token_file",
// "behind_proxy", "push".
Result<std::optional<AccessToken>> read_access(const AccessOptions& options);

// 401, with what makes a browser ask, for who does not say the token; nothing: he does, there is none, or the
// path is one of those that say nothing but whether the server is well (`open_paths`).
[[nodiscard]] std::optional<HttpResponse> refuse_stranger(const std::optional<AccessToken>& token,
                                                          const HttpRequest& request,
                                                          const std::vector<std::string>& open_paths);

// Whether a request may change something ("actions" of pages and programs), whatever it asks for. 403 if the
// server has no token, 401 without the token, 403 if the page of another site sent it (refuse_other_site()):
// a browser says the token of Basic for that page, too. Nothing: it may.
[[nodiscard]] std::optional<HttpResponse> refuse_action(const std::optional<AccessToken>& token,
                                                        const HttpRequest& request,
                                                        const std::vector<std::string>& own_origins);

// "ann" if the request has Basic credentials of ann; empty for a bearer's token. It is what the client
// claims: the token is the password of any user.
[[nodiscard]] std::string user_of(const HttpRequest& request);

}  // namespace goodput

// A client of web servers that says what it is told to, well-formed or not.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace goodput::testing {

struct WebAnswer {
  int status = 0;
  std::string head;  // all of it
  std::string body;

  // Empty: not there. In any case of letters.
  [[nodiscard]] std::string header(std::string_view name) const;
};

class WebClient {
 public:
  enum class Buffers : std::uint8_t { kUsual, kSmall };

  explicit WebClient(std::uint16_t port, Buffers buffers = Buffers::kUsual);  // of 127.0.0.1
  WebClient(WebClient&& other) noexcept;
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;
  ~WebClient();

  // False: the other side takes no more, or not within the time.
  bool send(std::string_view bytes);
  // The next answer, by its Content-Length; nothing: the connection ended, or nothing came within the time.
  // To HEAD there is no body.
  enum class Body : std::uint8_t { kPresent, kAbsent };
  std::optional<WebAnswer> receive(Body body = Body::kPresent);
  // What comes until there is `mark` in it; without it when the connection ends or the time is over.
  std::string receive_until(std::string_view mark);
  // Whether the other side closes within the time; what it sends before is dropped.
  bool is_closed();
  void end_sending();
  void set_time(std::chrono::milliseconds time) { time_ = time; }

 private:
  bool receive_some();
  [[nodiscard]] bool wait_for(short events) const;

  int socket_;
  std::chrono::milliseconds time_{10'000};
  std::string received_;
  bool has_ended_ = false;
};

// "GET TARGET HTTP/1.1", a Host and `more` lines, each with its end of line.
std::string get(std::string_view target, std::string_view more = {});
std::string post(std::string_view target, std::string_view body, std::string_view more = {});

// One request over a connection of its own.
std::optional<WebAnswer> ask(std::uint16_t port, std::string_view request);

}  // namespace goodput::testing

// A web server of one thread on 127.0.0.1 that does with each connection what a test says.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sim/process/file_handle.h"

namespace goodput {

// What a connection sent: request line and headers as they came, and the body.
struct TinyRequest {
  std::string head;
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const;  // empty: not there
};

class TinyHttpServer {
 public:
  // What is answered to the n-th request (from 0); the connection closes afterwards. "HANG": nothing, and it
  // stays open until the server ends.
  using Answer = std::function<std::string(std::size_t number, const TinyRequest& request)>;

  explicit TinyHttpServer(Answer answer);
  ~TinyHttpServer();
  TinyHttpServer(const TinyHttpServer&) = delete;
  TinyHttpServer& operator=(const TinyHttpServer&) = delete;

  [[nodiscard]] std::string url(const std::string& path = "/hook") const;
  [[nodiscard]] std::vector<TinyRequest> requests() const;

  // A status line with a small body.
  [[nodiscard]] static std::string status(int code, const std::string& body = "ok");

 private:
  void serve();

  Answer answer_;
  FileHandle listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<TinyRequest> requests_;
  std::vector<FileHandle> hanging_;
  std::thread thread_;
};

}  // namespace goodput

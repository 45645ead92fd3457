// Threads that answer requests, and a bounded queue before them. Requests with a body, which may take long,
// leave one of the threads to the others.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/web/http_message.h"

namespace goodput {

class HandlerPool {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // On the threads of the pool.
  using OnAnswer = std::function<void(std::uint64_t id, HttpResponse)>;

  HandlerPool(std::size_t threads, std::size_t queued_requests, Handler handler, OnAnswer on_answer);
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;
  ~HandlerPool();  // stop()

  // False: as many wait as may. Never blocks.
  bool submit(std::uint64_t id, HttpRequest request);
  // Waits for the handlers that run; what waits is dropped.
  void stop();

 private:
  struct Waiting {
    std::uint64_t id;
    HttpRequest request;
  };

  void work();
  // The next request that may run now; the end of waiting_: none.
  [[nodiscard]] std::deque<Waiting>::iterator next();

  const std::size_t most_bodies_;  // at once
  const std::size_t queued_requests_;
  const Handler handler_;
  const OnAnswer on_answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::size_t running_bodies_ = 0;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace goodput

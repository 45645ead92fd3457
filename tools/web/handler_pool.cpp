#include "tools/web/handler_pool.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace goodput {
namespace {

// A page that cannot be made is no reason to stop watching jobs.
HttpResponse answer_of(const HandlerPool::Handler& handler, const HttpRequest& request) {
  try {
    return handler(request);
  } catch (const std::exception& exception) {
    return plain_error(500, exception.what());
  }
}

}  // namespace

HandlerPool::HandlerPool(std::size_t threads, std::size_t queued_requests, Handler handler,
                         OnAnswer on_answer)
    : most_bodies_(std::max<std::size_t>(threads, 2) - 1),
      queued_requests_(queued_requests),
      handler_(std::move(handler)),
      on_answer_(std::move(on_answer)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

HandlerPool::~HandlerPool() {
  stop();
}

bool HandlerPool::submit(std::uint64_t id, HttpRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_ || waiting_.size() >= queued_requests_) return false;
    waiting_.push_back({id, std::move(request)});
  }
  changed_.notify_one();
  return true;
}

void HandlerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::deque<HandlerPool::Waiting>::iterator HandlerPool::next() {
  return std::find_if(waiting_.begin(), waiting_.end(), [this](const Waiting& waiting) {
    return waiting.request.body.empty() || running_bodies_ < most_bodies_;
  });
}

void HandlerPool::work() {
  for (;;) {
    Waiting taken;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_stopping_ || next() != waiting_.end(); });
      if (is_stopping_) return;
      const auto place = next();
      taken = std::move(*place);
      waiting_.erase(place);
      if (!taken.request.body.empty()) ++running_bodies_;
    }
    HttpResponse response = answer_of(handler_, taken.request);
    if (!taken.request.body.empty()) {
      const std::lock_guard lock(mutex_);
      --running_bodies_;
      changed_.notify_one();
    }
    taken.request = {};  // its body is no longer counted once the answer is there
    on_answer_(taken.id, std::move(response));
  }
}

}  // namespace goodput

#include "tools/web/http_server.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "tools/web/connection.h"
#include "tools/web/event_loop.h"
#include "tools/web/ip_address.h"
#include "tools/web/origin.h"

namespace goodput {
namespace {

// A page that cannot be made is no reason to stop watching jobs.
HttpResponse answer_of(const std::function<HttpResponse(const HttpRequest&)>& handler,
                       const HttpRequest& request) {
  try {
    return handler(request);
  } catch (const std::exception& exception) {
    return plain_error(500, exception.what());
  }
}

constexpr std::size_t kScratchBytes = std::size_t{64} << 10;
// How soon it is looked again whether there is room for who waits.
constexpr std::chrono::milliseconds kSoon{10};

HttpOptions with_room(HttpOptions options) {
  options.event_streams = std::min(options.event_streams, options.connections / 2);
  return options;
}

RequestRules rules_of(const HttpOptions& options) {
  RequestRules rules{options.hosts, options.origins, options.body_bytes};
  if (rules.hosts.empty() && address_kind(options.address) == AddressKind::kLoopback) {
    rules.hosts = {"localhost", "127.0.0.1", "[::1]", options.address};
  }
  if (rules.hosts.empty()) return rules;
  for (const std::string& origin : options.origins)
    rules.hosts.push_back(host_name(std::string_view(origin).substr(origin.find("//") + 2)));
  return rules;
}

// How often deadlines are looked at: a quarter of the shortest.
std::chrono::milliseconds tick_of(const HttpOptions& options) {
  const auto shortest = std::min({options.header_timeout, options.body_timeout, options.write_timeout,
                                  options.idle_timeout, options.heartbeat});
  return std::clamp(shortest / 4, std::chrono::milliseconds{5}, std::chrono::milliseconds{500});
}

}  // namespace

// ---- Threads that answer requests, and a bounded queue before them. Requests with a body, which may take
// long, leave one of the threads to the others.

class HandlerPool {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // On the threads of the pool.
  using OnAnswer = std::function<void(std::uint64_t id, HttpResponse)>;

  HandlerPool(std::size_t threads, std::size_t queued_requests, Handler handler, OnAnswer on_answer)
      : most_bodies_(std::max<std::size_t>(threads, 2) - 1),
        queued_requests_(queued_requests),
        handler_(std::move(handler)),
        on_answer_(std::move(on_answer)) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }

  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;
  ~HandlerPool() { stop(); }

  // False: as many wait as may. Never blocks.
  bool submit(std::uint64_t id, HttpRequest request) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_ || waiting_.size() >= queued_requests_) return false;
      waiting_.push_back({id, std::move(request)});
    }
    changed_.notify_one();
    return true;
  }

  // Waits for the handlers that run; what waits is dropped.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      waiting_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  struct Waiting {
    std::uint64_t id;
    HttpRequest request;
  };

  void work() {
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

  // The next request that may run now; the end of waiting_: none.
  [[nodiscard]] std::deque<Waiting>::iterator next() {
    return std::find_if(waiting_.begin(), waiting_.end(), [this](const Waiting& waiting) {
      return waiting.request.body.empty() || running_bodies_ < most_bodies_;
    });
  }

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

// ---- The server.

class HttpServer::Impl {
 public:
  explicit Impl(const HttpOptions& options)
      : tick_every_(tick_of(options)),
        share_{.options = with_room(options),
               .rules = rules_of(options),
               .gate = {},
               .submit = [this](std::uint64_t id,
                                HttpRequest request) { return pool_->submit(id, std::move(request)); },
               .forget = [this](std::uint64_t id) { loop_.post([this, id] { connections_.erase(id); }); },
               .scratch = std::vector<char>(kScratchBytes)} {}
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status listen() {
    GOODPUT_TRY(port_, loop_.listen(share_.options.address, share_.options.port));
    return Ok{};
  }
  void run(HttpHandler handler, HttpGate gate);
  void stop();
  void publish(std::string_view topic, std::string_view event, std::string_view data);
  [[nodiscard]] HttpUse use() const {
    return {share_.use.connections, share_.use.event_streams, share_.use.body_bytes};
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void accept();
  // Takes the newcomer in once there is room, and goes on to accept.
  void admit();
  // Closes the connection that has waited longest for its client; false: none has for long enough.
  bool make_room();
  void tick_in(std::chrono::milliseconds time) {
    loop_.after(time, [this] { tick(); });
  }
  void tick();
  void answer(std::uint64_t id, const HttpResponse& response);

  EventLoop loop_;
  const std::chrono::milliseconds tick_every_;
  ConnectionShare share_;
  std::uint16_t port_ = 0;
  bool is_accepting_ = false;
  std::optional<ClientSocket> newcomer_;  // who waits for room
  Connection::Clock::time_point next_heartbeat_;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, Connection> connections_;
  std::optional<HandlerPool> pool_;
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

void HttpServer::Impl::run(HttpHandler handler, HttpGate gate) {
  share_.gate = std::move(gate);
  pool_.emplace(share_.options.handler_threads, share_.options.queued_requests, std::move(handler),
                [this](std::uint64_t id, HttpResponse response) {
                  loop_.post([this, id, response = std::move(response)] { answer(id, response); });
                });
  next_heartbeat_ = Connection::Clock::now() + share_.options.heartbeat;
  accept();
  tick();
  thread_ = std::thread([this] { loop_.run(); });
}

void HttpServer::Impl::stop() {
  is_stopped_ = true;
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  // From here on nothing of the connections runs; those who wait at the other end see them close.
  loop_.close_listener();
  connections_.clear();
  newcomer_.reset();
  if (pool_) pool_->stop();
}

void HttpServer::Impl::publish(std::string_view topic, std::string_view event, std::string_view data) {
  if (is_stopped_) return;
  loop_.post([this, topic = std::string(topic), text = event_text(event, data)] {
    for (auto& [id, connection] : connections_) connection.send_event(topic, text);
  });
}

void HttpServer::Impl::answer(std::uint64_t id, const HttpResponse& response) {
  const auto found = connections_.find(id);
  if (found != connections_.end()) found->second.answer(response);
}

void HttpServer::Impl::accept() {
  is_accepting_ = true;
  loop_.accept([this](std::optional<ClientSocket> socket) {
    is_accepting_ = false;
    if (socket) {
      newcomer_.emplace(*std::move(socket));
      return admit();
    }
    // Out of descriptors, most likely: tried again with one less in use.
    make_room();
    tick_in(kSoon);
  });
}

void HttpServer::Impl::admit() {
  const bool is_full = share_.use.connections >= share_.options.connections;
  share_.newcomer_waits = is_full && !make_room();
  if (share_.newcomer_waits) return tick_in(kSoon);
  const std::uint64_t id = next_id_++;
  const auto admitted = connections_.try_emplace(id, share_, id, *std::move(newcomer_)).first;
  newcomer_.reset();
  admitted->second.start();
  accept();
}

bool HttpServer::Impl::make_room() {
  Connection* longest = nullptr;
  Connection::Clock::time_point since = Connection::Clock::now() - share_.options.least_wait;
  for (auto& [id, connection] : connections_) {
    const auto waits_since = connection.waits_since();
    if (!waits_since || *waits_since > since) continue;
    longest = &connection;
    since = *waits_since;
  }
  if (longest == nullptr) return false;
  longest->close();
  return true;
}

void HttpServer::Impl::tick() {
  const Connection::Clock::time_point now = Connection::Clock::now();
  for (auto& [id, connection] : connections_) connection.check_deadline(now);
  if (now >= next_heartbeat_) {
    next_heartbeat_ = now + share_.options.heartbeat;
    for (auto& [id, connection] : connections_) connection.send_heartbeat();
  }
  tick_in(tick_every_);
  if (newcomer_) {
    admit();
  } else if (!is_accepting_) {
    accept();
  }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::listen(const HttpOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  GOODPUT_TRY_STATUS(impl->listen());
  return HttpServer(std::move(impl));
}

void HttpServer::serve(HttpHandler handler, HttpGate gate) {
  impl_->run(std::move(handler), std::move(gate));
}

Result<HttpServer> HttpServer::start(const HttpOptions& options, HttpHandler handler, HttpGate gate) {
  GOODPUT_TRY(HttpServer server, listen(options));
  server.serve(std::move(handler), std::move(gate));
  return server;
}

std::uint16_t HttpServer::port() const {
  return impl_->port();
}
HttpUse HttpServer::use() const {
  return impl_->use();
}
void HttpServer::publish(std::string_view topic, std::string_view event, std::string_view data) {
  impl_->publish(topic, event, data);
}
void HttpServer::stop() {
  impl_->stop();
}

}  // namespace goodput

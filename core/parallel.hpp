// Independent tasks on a few threads, while the calling thread watches.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace roben {

// Called on the caller's own thread with the share of the work that is done. It may throw: then the workers
// stop at their next task and the exception reaches the caller. This is how Ctrl-C ends a build.
using Tick = std::function<void(double)>;

class Progress {
public:
    explicit Progress(double total) : total_(total > 0 ? total : 1) {}

    void add(double amount) {
        double seen = done_.load(std::memory_order_relaxed);
        while (!done_.compare_exchange_weak(seen, seen + amount, std::memory_order_relaxed)) {
        }
    }
    double share() const { return done_.load(std::memory_order_relaxed) / total_; }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

private:
    double total_;
    std::atomic<double> done_{0};
    std::atomic<bool> cancelled_{false};
};

// Runs worker(thread) on each of `threads` threads and returns when all have ended; workers take their tasks
// from a shared counter and leave early when progress.cancelled(). The first exception is thrown again here.
inline void run_workers(unsigned threads, Progress& progress, const Tick& tick,
                        const std::function<void(unsigned)>& worker) {
    std::mutex mutex;
    std::condition_variable ended;
    unsigned running = 0;
    std::exception_ptr error;
    std::vector<std::thread> pool;

    const auto body = [&](unsigned thread) {
        std::exception_ptr caught;
        try {
            worker(thread);
        } catch (...) {
            caught = std::current_exception();
        }
        const std::lock_guard<std::mutex> lock(mutex);
        if (caught && !error) error = caught;
        if (caught) progress.cancel();
        --running;
        ended.notify_one();
    };

    const auto fail = [&](std::exception_ptr caught) {
        progress.cancel();
        const std::lock_guard<std::mutex> lock(mutex);
        if (!error) error = caught;
    };

    for (unsigned thread = 0; thread < threads; ++thread) {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            ++running;
        }
        try {
            pool.emplace_back(body, thread);
        } catch (...) {  // the system has no thread to give
            {
                const std::lock_guard<std::mutex> lock(mutex);
                --running;
            }
            if (pool.empty()) fail(std::current_exception());
            break;  // the threads that did start do all the work
        }
    }
    for (;;) {
        {
            std::unique_lock<std::mutex> lock(mutex);
            if (ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) break;
        }
        if (progress.cancelled()) continue;
        try {
            tick(progress.share());
        } catch (...) {
            fail(std::current_exception());
        }
    }
    for (std::thread& thread : pool) thread.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace roben

"""The threads that run blocks. They start with the first launch and wait between launches."""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class Pool:
    """Up to ``size`` daemon threads; tasks run in the order of their submission."""

    def __init__(self):
        self.tasks: queue.SimpleQueue = queue.SimpleQueue()
        self.started = 0
        self.lock = threading.Lock()

    def submit(self, size: int, task: Callable[[], None], done: queue.SimpleQueue) -> None:
        """Run ``task`` on a thread and put it into ``done`` when it has ended."""
        with self.lock:
            if self.started < size:
                self.started += 1
                threading.Thread(target=self.serve, name=f"simt-worker-{self.started}", daemon=True).start()
        self.tasks.put((task, done))

    def serve(self) -> None:
        while True:
            task, done = self.tasks.get()
            try:
                task()
            finally:
                done.put(task)


POOL = Pool()

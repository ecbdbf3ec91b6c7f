"""Fine-tuning a transformer as Hugging Face's Trainer does, many times faster where the model is small."""

from __future__ import annotations

import copy
import math
import sys
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from roben.classifier.padding import Columns, lengths, padded
from roben.classifier.robust import ModelError

__all__ = ["Training"]

IGNORED = -100  # the label that torch's cross entropy leaves out
WIDTH = 16  # on a GPU batches are as wide as the next multiple: each width is recorded once, and attention likes it
BLOCK = 50  # so many batches are sorted by length together


class Training:
    """AdamW, a rate that falls linearly to nothing, gradients clipped at norm 1: the Trainer's defaults.

    **On the device.** Tokens lie there as one padded matrix, with the plan of an epoch: which rows a step takes and at
    which rate. A step reads all of it by a counter that it moves on itself, so the host hands nothing over.

    **Recorded.** A small model's step is some 400 kernels of a few microseconds: to launch them takes far longer than
    to run them. So on CUDA a step is recorded as a graph, one for each width of a batch, and replayed. The first step
    of a width runs as it is: what a model, or a library, keeps for a width it keeps then. Replays draw fresh dropout.

    **bf16** is that of a copy of the model, made anew from fp32 weights in every step. Its gradients go to these.
    """

    def __init__(
        self,
        model: Any,
        labels: NDArray[np.int64],
        *,
        learning_rate: float,
        batch_size: int,
        epochs: float,
        max_length: int,
        seed: int,
        in_bf16: bool,
    ) -> None:
        import torch

        for name, value in (("batch_size", batch_size), ("epochs", epochs)):
            if not value > 0:
                raise ValueError(f"{name} is {value}; it must be more than 0")
        self.model, self.learning_rate, self.batch_size, self.max_length = model, learning_rate, batch_size, max_length
        self.device = next(model.parameters()).device
        self.rng = np.random.default_rng(seed)
        self.n_rows = len(labels)
        self.n_batches = math.ceil(self.n_rows / batch_size)
        self.n_steps = math.ceil(epochs * self.n_batches)
        self.n_epochs = math.ceil(self.n_steps / self.n_batches)

        self.worker = copy.deepcopy(model).bfloat16() if in_bf16 else model
        both = zip(model.parameters(), self.worker.parameters(), strict=True)
        trained = [(weight, copied) for weight, copied in both if weight.requires_grad]
        self.weights, self.copies = [weight for weight, _ in trained], [copied for _, copied in trained]

        # One row more than there are fills the last batch; its label is ignored.
        self.labels = torch.tensor([*labels, IGNORED], device=self.device)
        self.columns: dict[str, Any] = {}
        self.plan = torch.zeros((self.n_batches, batch_size), dtype=torch.long, device=self.device)
        self.rates = torch.zeros(self.n_batches, device=self.device)
        self.at = torch.zeros(1, dtype=torch.long, device=self.device)
        self.rate, self.loss = torch.zeros((), device=self.device), torch.zeros((), device=self.device)

        self.graphs: dict[int, Any] = {}
        self.is_recorded = self.device.type == "cuda" and _can_be_recorded()
        self.aside = torch.cuda.Stream(self.device) if self.is_recorded else None
        self.optimizer = torch.optim.AdamW(
            self.weights, lr=self.rate, weight_decay=0.0, fused=True, capturable=self.device.type == "cuda"
        )

    def show(self, columns: Columns, tokenizer: Any) -> None:
        """Puts a text's tokens at every row, in place of those that were there."""
        import torch

        self.from_left = tokenizer.padding_side == "left"
        self.lengths = lengths(columns)
        for name, matrix in padded(columns, self.max_length, tokenizer).items():
            rows = torch.from_numpy(np.concatenate([matrix, matrix[:1]]))
            if name not in self.columns:
                self.columns[name] = torch.zeros(rows.shape, dtype=torch.int32, device=self.device)
            self.columns[name].copy_(rows)  # in place: graphs know where it lies

    def epoch(self, n: int) -> Iterator[None]:
        """Runs the epoch of that number, and yields after every step."""
        import torch

        batches, widths = self._batches()
        done = n * self.n_batches
        n_steps = min(self.n_batches, self.n_steps - done)
        rates = self.learning_rate * (1 - (done + np.arange(self.n_batches)) / self.n_steps)
        self.plan.copy_(torch.from_numpy(batches))
        self.rates.copy_(torch.from_numpy(rates))
        self.at.zero_()
        self.loss.zero_()
        self.worker.train()
        for width in widths[:n_steps].tolist():
            self._advance(width)
            yield
        loss = float(self.loss) / n_steps
        if not math.isfinite(loss):
            raise ModelError(f"training came to a loss of {loss} in epoch {n + 1}; try a smaller learning_rate")

    def _batches(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows in random order, those of a batch of like lengths; and the batches' widths."""
        order = self.rng.permutation(self.n_rows)
        # Of few batches fewer are sorted together, or each would hold the same texts in every epoch.
        size = self.batch_size * max(1, min(BLOCK, self.n_batches // 8))
        blocks = [order[start : start + size] for start in range(0, self.n_rows, size)]
        rows = np.full(self.n_batches * self.batch_size, self.n_rows)
        by_length = [block[np.argsort(self.lengths[block], kind="stable")] for block in blocks]
        rows[: self.n_rows] = np.concatenate(by_length)
        batches = self.rng.permutation(rows.reshape(self.n_batches, self.batch_size))
        widths = np.append(self.lengths, 0)[batches].max(axis=1)
        if self.is_recorded:
            widths = np.minimum(-(-widths // WIDTH) * WIDTH, self.max_length)
        return batches, widths

    def _advance(self, width: int) -> None:
        if not self.is_recorded:
            self._step(width)
        elif width in self.graphs:
            if self.graphs[width] is None:
                self._record(width)
            self.graphs[width].replay()
        else:
            self.graphs[width] = None
            self._run_aside(width)

    def _run_aside(self, width: int) -> None:
        """A step on the stream that is recorded from, as CUDA wants it before."""
        import torch

        main, aside = torch.cuda.current_stream(self.device), self.aside
        assert aside is not None
        aside.wait_stream(main)
        with torch.cuda.stream(aside):
            if not self._is_step_taken_without_a_wait(width):
                self.is_recorded = False
                self._step(width)
        main.wait_stream(aside)

    def _is_step_taken_without_a_wait(self, width: int) -> bool:
        """Takes a step, unless the host has to wait for the device in it: then it could not be recorded.

        A recording that fails leaves CUDA's random numbers unusable, so this is found out before.
        """
        import torch
        from transformers.utils import import_utils

        before = torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
            torch.cuda.set_sync_debug_mode("error")
        try:
            # While CUDA records, transformers leaves out its looks at masks; so it does here.
            with mock.patch.object(import_utils, "is_cuda_stream_capturing", return_value=True):
                self._step(width)
        except RuntimeError as error:
            if "synchroniz" not in str(error):
                raise
            name = type(self.model).__name__
            warnings.warn(f"{name} trains slowly: its steps wait for the device, and cannot be recorded", stacklevel=2)
            return False
        finally:
            torch.cuda.set_sync_debug_mode(before)
        return True

    def _record(self, width: int) -> None:
        """Records the step, which does not run it."""
        import torch

        graph = torch.cuda.CUDAGraph()
        # Graphs share memory: none needs anything of what another one left there.
        pool = next((other.pool() for other in self.graphs.values() if other is not None), None)
        with torch.cuda.graph(graph, pool=pool, stream=self.aside):
            self._step(width)
        self.graphs[width] = graph

    def _step(self, width: int) -> None:
        import torch

        rows = self.plan.index_select(0, self.at).squeeze(0)
        shown = slice(-width, None) if self.from_left else slice(width)
        batch = {name: column[:, shown].index_select(0, rows).long() for name, column in self.columns.items()}
        self.rate.copy_(self.rates.index_select(0, self.at).squeeze(0))
        self._take_weights()
        logits = self.worker(**batch).logits
        loss = torch.nn.functional.cross_entropy(logits.float(), self.labels.index_select(0, rows))
        loss.backward()
        self._give_gradients()
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimizer.step()
        self.loss += loss.detach()
        self.at += 1

    def _take_weights(self) -> None:
        import torch

        for copied in self.copies:
            copied.grad = None
        if self.worker is not self.model:
            with torch.no_grad():
                torch._foreach_copy_(self.copies, self.weights)

    def _give_gradients(self) -> None:
        import torch

        if self.worker is self.model:
            return
        for weight, copied in zip(self.weights, self.copies, strict=True):
            weight.grad = None if copied.grad is None else torch.empty_like(weight)
        took = [(weight.grad, copied.grad) for weight, copied in zip(self.weights, self.copies, strict=True)]
        took = [(to, given) for to, given in took if given is not None]
        torch._foreach_copy_([to for to, _ in took], [given for _, given in took])


def bar(n_steps: int) -> Any:
    """A progress bar on stderr, where somebody watches."""
    from tqdm.auto import tqdm

    return tqdm(total=n_steps, desc="training", unit="step", file=sys.stderr, disable=not sys.stderr.isatty())


def _can_be_recorded() -> bool:
    """Whether transformers knows not to look at the values of a mask while CUDA records."""
    from transformers.utils import import_utils

    return hasattr(import_utils, "is_cuda_stream_capturing")

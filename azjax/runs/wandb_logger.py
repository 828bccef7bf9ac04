"""The logger for Weights & Biases."""

import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from azjax.errors import UserError
from azjax.runs.loggers import Value, tagged

_ID_FILE = "wandb_id.txt"


class WandbLogger:
    """Sends a run's metrics to Weights & Biases, by cycle; needs `pip install "azjax[wandb]"`.

        azjax.train(config, "runs/a", loggers=[azjax.WandbLogger("runs/a", "my-project")])

    A resumed run continues its page there. With `mode="offline"`, or WANDB_MODE=offline in the
    environment, everything stays in the run directory until `wandb sync` sends it.
    """

    def __init__(self, run_dir: str | Path, project: str, **options: Any):
        """Stores the settings; nothing is written before the run begins.

        Args:
          **options: more arguments of `wandb.init`.

        Raises:
          UserError: wandb is not installed.
        """
        try:
            import wandb
        except ImportError as error:
            raise UserError(
                'Weights & Biases needs a package: pip install "azjax[wandb]"'
            ) from error
        self._wandb: Any = wandb
        self._run_dir, self._project, self._options = Path(run_dir), project, options
        self._run: Any = None

    def write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        """Sends numbers in the background; the first call opens the page.

        Raises:
          UserError: Weights & Biases refuses, because nobody is logged in for example.
        """
        if self._run is None:
            self._run = self._open()
        values = tagged(kind, scalars)
        if values and kind != "start":
            self._run.log(values | {"cycle": cycle})

    def close(self) -> None:
        """Waits until everything is sent."""
        if self._run is not None:
            self._run.finish()

    def _open(self) -> Any:
        file = self._run_dir / _ID_FILE
        if not file.exists():
            file.write_text(secrets.token_hex(4))
        given = {
            "project": self._project,
            "name": self._run_dir.name,
            "dir": self._run_dir,
            "id": file.read_text().strip(),
            "resume": "allow",
            "config": tomllib.loads((self._run_dir / "config.toml").read_text(encoding="utf-8")),
            "settings": self._wandb.Settings(console="off"),  # progress bars are no log
        }
        try:
            run = self._wandb.init(**given | self._options)
        except self._wandb.Error as error:
            reason = " ".join(str(error).split())
            raise UserError(
                f"Weights & Biases: {reason}; WANDB_MODE=offline writes into the run directory"
            ) from error
        run.define_metric("*", step_metric="cycle")
        return run

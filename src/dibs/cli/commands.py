"""The list of commands: name, one line of help, and the module that is imported when it runs.

`dibs --help` must take no longer than 150 ms, so nothing of the engine is imported to print it.
"""

from __future__ import annotations

import importlib

import click

# In the order a user meets them. The line is repeated nowhere: each command takes its first
# line of help from here.
COMMANDS = {
    "allocate": "Decide which devices each pending Pod and claim gets.",
    "why": "Say why a Pod or claim waits, or what it got and why that.",
    "devices": "List who has which device: claim, Pod, container.",
    "lint": "Find faults in manifests, each with its line and remedy.",
    "up": "Run a control plane on this box, for kubectl and the rest.",
    "get": "List objects of a cluster, or print them.",
    "describe": "Show one object, what happened to it, and the reasons.",
    "apply": "Have objects be as files say.",
    "delete": "Delete objects.",
    "wait": "Wait until an object has a condition, or is gone.",
    "logs": "Print what a container wrote.",
    "kubeconfig": "Make a kubeconfig for somebody, signed by the plane on this box.",
    "audit-log": "Tell who did what, and who had which device when.",
    "conform": "Answer allocation questions, JSON lines in, JSON lines out.",
    "version": "Print the version.",
}

# `conform` and `conform_cel` speak the protocol; `conforming` has their command lines.
MODULES = {"conform": "conforming", "audit-log": "audit_log"}


class Commands(click.Group):
    """A group that imports `dibs.cli.<name>` only when that command is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = MODULES.get(cmd_name, cmd_name)
        try:
            command = importlib.import_module(f"dibs.cli.{module}").command
        except ModuleNotFoundError as lack:
            raise _missing(cmd_name, lack) from lack
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from dibs.values import nearest

        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = nearest.question(name, COMMANDS)
            then = f"; {near}" if near else ""
            raise click.UsageError(f"{name!r} is not a command of dibs{then}", ctx)
        return super().resolve_command(ctx, args)


def _missing(command: str, lack: ModuleNotFoundError) -> Exception:
    """What an installation lacks is the user's to add; what is missing of dibs itself is a bug."""
    from dibs.values.mistake import Mistake

    if (lack.name or "").partition(".")[0] == "dibs":
        return lack
    return Mistake(
        f"dibs {command} needs {lack.name}, which is not installed",
        remedy="pip install 'dibs[up]'",
    )


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 yes, 1 no (a refusal or a finding), 2 a mistake in the input, 3 a bug.",
)
def group() -> None:
    """Dynamic Resource Allocation for Kubernetes: which device a workload gets, and why not."""

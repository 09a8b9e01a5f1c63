"""Runs a click command and returns its exit code; what goes wrong becomes one sentence."""

import signal

import click

from memwatch.errors import ExitCode, exit_with_sentence, printable


def invoke(command: click.Command, name: str, arguments: list[str]) -> int:
    def run() -> int:
        try:
            return command.main(arguments, prog_name=name, standalone_mode=False) or ExitCode.OK
        except click.exceptions.Exit as end:
            return end.exit_code
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            return ExitCode.USAGE
        except click.ClickException as error:
            _show(error)
            return ExitCode.USAGE
        except click.Abort:
            return 128 + signal.SIGINT

    return exit_with_sentence(run)


def _show(error: click.ClickException) -> None:
    """As click does; but it repeats what it was given."""
    words = printable(error.format_message())
    if isinstance(error, click.UsageError):
        click.UsageError(words, error.ctx).show()
    else:
        click.ClickException(words).show()

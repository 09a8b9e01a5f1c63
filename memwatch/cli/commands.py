"""The commands of memwatch."""

import click

from memwatch import __version__
from memwatch.cli.run import run
from memwatch.cli.verify import verify


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="memwatch %(version)s")
def memwatch() -> None:
    """Run memory-hungry jobs without freezing your machine."""


memwatch.add_command(run)
memwatch.add_command(verify)

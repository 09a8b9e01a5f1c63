"""memwatch verify: is finished output what its manifest says?"""

from pathlib import Path

import click

from memwatch.errors import ExitCode, printable
from memwatch.model.units import format_count


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--input", "inputs", multiple=True, metavar="FILE",
              help="Also tokenize samples of the input anew with tiktoken; once for each input, in order.")  # fmt: skip
@click.option("--samples", type=click.IntRange(min=1), default=16, show_default=True, help="How many samples.")
@click.option("--seed", type=int, help="Take the same samples again.")
def verify(folder: Path, inputs: tuple[str, ...], samples: int, seed: int | None) -> int:
    """Check finished output in DIR against its manifest. Exit code 3 if anything differs."""
    from memwatch.tokenize.verification import verify as verified

    result = verified(folder, inputs, samples, seed)
    for problem in result.problems:
        click.echo(printable(problem))
    if result.problems:
        return ExitCode.PROBLEM_FOUND
    click.echo(f"{result.files} files, {format_count(result.tokens)} tokens: as the manifest says")
    if inputs and not result.sampled_tokens:
        click.echo("no train tokens to sample")
    elif inputs:
        click.echo(f"{format_count(result.sampled_tokens)} tokens sampled: as tiktoken makes them")
    return ExitCode.OK

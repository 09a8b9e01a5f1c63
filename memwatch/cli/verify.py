"""memwatch verify: check tokenized output against its manifest, and samples of it against the reference tokenizer."""

import click

from memwatch.command_line import complete_files
from memwatch.errors import ExitCode, printable
from memwatch.model.units import format_count


@click.command()
@click.argument("folder", metavar="DIR", shell_complete=complete_files)
@click.option("--input", "inputs", multiple=True, metavar="FILE", shell_complete=complete_files,
              help="Input whose samples are encoded with the reference and compared; once for each input.")  # fmt: skip
@click.option(
    "--samples", type=click.IntRange(min=1), default=16, show_default=True, metavar="N", help="Number of samples."
)
@click.option("--encoding", "vocabulary", metavar="FILE", shell_complete=complete_files,
              help="Vocabulary file of the run, if it has been moved.")  # fmt: skip
@click.option("--seed", type=int, metavar="N", help="Seed of the random choice of samples, to repeat it.")
def verify(folder: str, inputs: tuple[str, ...], samples: int, vocabulary: str | None, seed: int | None) -> int:
    """Check the tokenized output in DIR, a folder or a bucket, against its manifest.

    Exit code 0 if everything matches, 3 if anything differs.
    """
    from memwatch.tokenize.verification import verify as verified

    result = verified(folder, inputs, samples, seed, vocabulary)
    for problem in result.problems:
        click.echo(printable(problem))
    if result.problems:
        return ExitCode.PROBLEM_FOUND
    click.echo(f"{result.files} files, {format_count(result.tokens)} tokens: match the manifest")
    if inputs and not result.sampled_tokens:
        click.echo("no train tokens to sample")
    elif inputs:
        click.echo(f"{format_count(result.sampled_tokens)} sampled tokens: match {result.reference}")
    return ExitCode.OK

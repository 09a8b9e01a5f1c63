"""All output formats, by the name after --format. A new format is a class in this folder and a line here."""

from memwatch.tokenize.formats.flat_formats import BinFormat, LlmcFormat, NpyFormat
from memwatch.tokenize.formats.megatron_format import MegatronFormat
from memwatch.tokenize.formats.output_format import OutputFormat
from memwatch.tokenize.settings import TokenizeSettings

FORMATS: dict[str, OutputFormat] = {
    each.name: each
    for each in (
        BinFormat(),
        LlmcFormat(),
        NpyFormat(),
        MegatronFormat(),
    )
}

DEFAULT_FORMAT = "bin"


def has_index(settings: TokenizeSettings) -> bool:
    """Whether an index of documents is made for each file."""
    return settings.index or FORMATS[settings.format].has_own_index


def format_list() -> str:
    """'bin for nanoGPT, llmc for llm.c, ...'"""
    return ", ".join(f"{each.name} for {each.reader}" for each in FORMATS.values())


def defaults_list(value: str) -> str:
    """The default of a setting, and the formats that differ from the usual one: 'stream; shard for llmc and npy'."""
    usual = getattr(FORMATS[DEFAULT_FORMAT], value)
    others: dict[object, list[str]] = {}
    for each in FORMATS.values():
        if getattr(each, value) != usual:
            others.setdefault(getattr(each, value), []).append(each.name)
    parts = [f"{_shown(other)} for {' and '.join(names)}" for other, names in others.items()]
    return "; ".join([_shown(usual), *parts])


def _shown(value: object) -> str:
    return f"{value // 1_000_000}M" if isinstance(value, int) else str(value)

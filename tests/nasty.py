"""Text that breaks tokenizers."""

from hypothesis import strategies as st

SPACES = [
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x85",
    "\xa0",
    "\u1680",
    "\u2003",
    "\u2028",
    "\u202f",
    "\u3000",
]
NOT_QUITE_SPACES = ["\x1c", "\x1f", "\u200b", "\ufeff", "\u00ad", "\u180e"]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'", "''s", "’s", "don't", "x'l", "l'ex"]
WORDS = ["a", "word", "Word", "naïve", "Straße", "русский", "हिन्दी", "العربية", "ไทย", "e\u0301", "ﬁ", "I"]
DIGITS = ["0", "12", "1234", "½", "٣", "Ⅷ"]
PUNCTUATION = [
    ".",
    ",",
    "!",
    "?",
    "-",
    "--",
    "_",
    "/",
    "(",
    ")",
    '"',
    "…",
    "“",
    "—",
    "$",
    "~",
    "`",
    "#{",
    "。",
    "、",
    "！",
    "「",
]
IDEOGRAPHS = ["日本語", "のテキスト", "カタカナ", "中文", "没有空格", "한국어", "𠀀"]
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "😀", "🇩🇪"]
SPECIAL = ["<|endoftext|>", "\x00", "\x7f", "<|", "|>"]
UNICODE_17 = ["\u088f", "\u0c5c", "\ua7ce", "\U000187f8", "\U000323b0", "\U00011de0", "\u1acf"]

fragments = st.sampled_from(
    SPACES + NOT_QUITE_SPACES + CONTRACTIONS + WORDS + DIGITS + PUNCTUATION + IDEOGRAPHS + EMOJI + SPECIAL + UNICODE_17
)
runs = st.builds(lambda text, count: text * count, fragments, st.integers(2, 40))
nasty_text = st.lists(st.one_of(fragments, fragments, runs, st.text(max_size=4)), max_size=40).map("".join)

rubbish = st.sampled_from(
    [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"]
)
nasty_bytes = st.lists(st.one_of(nasty_text.map(str.encode), rubbish), max_size=12).map(b"".join)

"""Calls that hold no more than they are given, or one piece at a time: without them no script gets an all-clear.

What reads a whole file, gathers a stream or fills a list is not here: `read.py` finds it, or `clearance.py` doubts it.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BUILTINS = _words(
    """
    print len range int float str bool bytes repr abs min max sum any all round isinstance issubclass hasattr
    getattr setattr enumerate zip map filter iter next open input ord chr hash id divmod pow format type super
    reversed slice callable vars exit quit bytearray memoryview tqdm Path partial defaultdict OrderedDict islice
    chain Pool cpu_count ProcessPoolExecutor ThreadPoolExecutor ArgumentParser load_dataset namedtuple dataclass
    field product cycle repeat datetime timedelta perf_counter
    """
)

# Modules of which every call is harmless, but for those that read.py looks for: json.load, np.load, pd.read_csv.
MODULES = _words(
    """
    os sys re time datetime math random logging argparse pathlib shutil hashlib struct string textwrap uuid
    functools itertools collections contextlib typing warnings tempfile threading traceback signal urllib glob tqdm
    unicodedata json ujson orjson csv gzip bz2 lzma io codecs tiktoken np numpy subprocess multiprocessing
    concurrent queue enum dataclasses abc copy gc sqlite3 platform getpass socket html zlib base64 binascii errno
    fnmatch heapq bisect operator statistics __future__ types inspect atexit locale zoneinfo calendar decimal
    fractions secrets array mmap ctypes psutil zstandard zstd ftfy datasets tokenizers transformers pq pa pyarrow
    """
)

# Methods, whatever they are called on: of text, lists, dicts, files, paths, patterns, arrays, tokenizers, datasets.
METHODS = _words(
    """
    strip lstrip rstrip split rsplit splitlines partition rpartition replace lower upper title capitalize startswith
    endswith encode decode format find rfind index count isdigit isalpha isalnum isspace isnumeric islower isupper
    zfill ljust rjust center translate casefold removeprefix removesuffix expandtabs join get items keys values pop
    popleft popitem clear sort reverse copy write writelines writerow writerows writeheader close flush seek tell
    readline truncate fileno dump dumps loads joinpath mkdir exists is_file is_dir with_suffix with_name glob rglob
    iterdir stat unlink rename resolve relative_to as_posix open expanduser absolute touch rmdir group groups
    groupdict start end span match search sub findall finditer fullmatch all any astype tofile tobytes reshape max
    min mean sum item tolist nbytes view ravel flatten encode_ordinary encode_batch encode_ordinary_batch
    decode_batch token_to_id id_to_token get_vocab get_vocab_size convert_tokens_to_ids convert_ids_to_tokens
    from_pretrained from_file get_encoding save_pretrained tokenize update_total set_description set_postfix
    set_postfix_str refresh add_argument parse_args parse_known_args add_argument_group set_defaults add_parser
    add_subparsers info debug warning error exception critical setLevel addHandler setFormatter map filter select
    shuffle train_test_split shard take skip with_format set_format remove_columns rename_column save_to_disk
    push_to_hub to_parquet to_csv to_json cast iter_batches read_row_group write_batch write_table to_pylist
    to_pydict column schema num_rows imap imap_unordered terminate shutdown acquire release wait set is_set __init__
    __enter__ __exit__ stream_reader strftime isoformat cursor execute executemany commit fetchone fetchmany
    timestamp total_seconds hexdigest digest
    """
)

# Not harmless, though their modules are: they read a whole file, keep all they go through, or make room for it at once.
HOLDING = _words(
    """
    json.load pickle.load ujson.load marshal.load np.fromfile np.loadtxt np.genfromtxt np.fromiter functools.reduce
    reduce itertools.tee tee itertools.product product itertools.cycle cycle itertools.permutations
    itertools.combinations subprocess.run subprocess.check_output subprocess.getoutput array.array os.popen
    """
)
JOINING = _words("np.concatenate np.stack np.vstack np.hstack np.append np.insert")  # of parts of one piece: harmless
MAKING_ROOM = _words("np.zeros np.ones np.empty np.full np.load")

GROWING = _words("append extend add update setdefault insert appendleft extendleft put")


def is_class_name(name: str) -> bool:
    return name[:1].isupper()

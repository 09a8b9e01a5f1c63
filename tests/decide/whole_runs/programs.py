"""The jobs of the collection: list scripts, counts, tables, streams, sorts, loads, training loops, other runtimes.

The last ones are held out: the forecast was made without looking at them, and is scored on them separately.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

WORK = Path(__file__).with_name("work.py")
FRESH_WORK = Path(__file__).with_name("fresh_work.py")


@dataclass(frozen=True, slots=True)
class Program:
    """`command` may contain INPUT and SCRATCH."""

    name: str
    command: tuple[str, ...]
    input: str = ""
    is_held_out: bool = False


def _python(name: str, input_name: str = "", work: Path = WORK) -> Program:
    command = (sys.executable, str(work), name, *(["INPUT"] if input_name else []))
    return Program(name, command, input_name, work == FRESH_WORK)


def _fresh(name: str, input_name: str = "") -> Program:
    return _python(name, input_name, FRESH_WORK)


_NODE_LINES = """
const lines = [];
require('readline').createInterface({input: require('fs').createReadStream(process.argv[1])})
  .on('line', line => lines.push(line.split(' ')));
"""
_NODE_STREAM = """
let count = 0;
require('readline').createInterface({input: require('fs').createReadStream(process.argv[1])})
  .on('line', line => { count += line.split(' ').map(word => ({word})).length; });
"""
_NODE_MAP = """
const users = new Map();
require('readline').createInterface({input: require('fs').createReadStream(process.argv[1])})
  .on('line', line => { const row = JSON.parse(line); users.set(row.id, row); });
"""
_NODE_COUNTS = """
const counts = new Map();
require('readline').createInterface({input: require('fs').createReadStream(process.argv[1])})
  .on('line', line => { for (const word of line.split(' ')) counts.set(word, (counts.get(word) || 0) + 1); });
"""
_JAVA_MAP = """
import java.io.*;
import java.util.*;
public class Main {
  public static void main(String[] arguments) throws IOException {
    Map<String, List<Integer>> index = new HashMap<>();
    int number = 0;
    try (BufferedReader reader = new BufferedReader(new FileReader(arguments[0]))) {
      for (String line; (line = reader.readLine()) != null; number++)
        for (String word : line.split(" ")) index.computeIfAbsent(word, key -> new ArrayList<>()).add(number);
    }
  }
}
"""
_JAVA_STREAM = """
import java.io.*;
public class Main {
  public static void main(String[] arguments) throws IOException {
    long count = 0;
    try (BufferedReader reader = new BufferedReader(new FileReader(arguments[0]))) {
      for (String line; (line = reader.readLine()) != null; ) count += line.split(" ").length;
    }
  }
}
"""
_JAVA_LIST = """
import java.io.*;
import java.util.*;
public class Main {
  public static void main(String[] arguments) throws IOException {
    List<String[]> lines = new ArrayList<>();
    try (BufferedReader reader = new BufferedReader(new FileReader(arguments[0]))) {
      for (String line; (line = reader.readLine()) != null; ) lines.add(line.split(" "));
    }
  }
}
"""
JAVA_SOURCES = {"java_index": _JAVA_MAP, "java_stream": _JAVA_STREAM, "java_list": _JAVA_LIST}

PROGRAMS = (
    _python("list_of_tokens", "text.txt"),
    _python("list_of_lines", "text.txt"),
    _python("list_of_words", "text.txt"),
    _python("list_of_rows", "rows.jsonl"),
    _python("table_of_dicts", "table.csv"),
    _python("lines_sorted", "text.txt"),
    _python("pieces_joined", "text.txt"),
    _python("compact_array", "text.txt"),
    _python("bytes_appended", "text.txt"),
    _python("array_concatenated", "text.txt"),
    _python("array_filled", "text.txt"),
    _python("count_words", "text.txt"),
    _python("count_pairs", "text.txt"),
    _python("seen_lines", "text.txt"),
    _python("inverted_index", "text.txt"),
    _python("adjacency", "text.txt"),
    _python("trie", "text.txt"),
    _python("group_by_user", "rows.jsonl"),
    _python("all_pairs", "text.txt"),
    _python("streamed", "text.txt"),
    _python("batches_flushed", "rows.jsonl"),
    _python("large_batches_flushed", "text.txt"),
    _python("cached_lookups", "text.txt"),
    _python("cached_pairs", "text.txt"),
    _python("cyclic_garbage", "text.txt"),
    _python("growth_with_garbage", "text.txt"),
    _python("sliding_window", "text.txt"),
    _python("reservoir", "text.txt"),
    _python("pandas_whole", "large_table.csv"),
    _python("pandas_chunks", "large_table.csv"),
    _python("pandas_summed", "large_table.csv"),
    _python("arrow_batches", "large_table.csv"),
    _python("vectorizer", "text.txt"),
    _python("dataset_mapped", "text.txt"),
    _python("sqlite_in_memory", "rows.jsonl"),
    _python("xml_tree", "tree.xml"),
    _python("json_load", "rows.json"),
    _python("unpickled", "rows.pickle"),
    _python("two_passes", "text.txt"),
    _python("two_columns", "text.txt"),
    _python("regex_matches", "text.txt"),
    _python("training"),
    _python("training_with_leak"),
    _python("training_with_epochs"),
    _python("replay_buffer"),
    _python("embeddings"),
    _python("growing_steps"),
    _python("text_buffer", "text.txt"),
    Program("uneven_lines", (sys.executable, str(WORK), "list_of_words", "INPUT"), "uneven.txt"),
    Program("sort", ("sort", "-S", "400M", "-T", "SCRATCH", "-o", "/dev/null", "INPUT"), "text.txt"),
    Program("awk_counts", ("mawk", "{ for (i = 1; i <= NF; i++) n[$i]++ }", "INPUT"), "text.txt"),
    Program("awk_lines", ("mawk", "{ l[NR] = $0 }", "INPUT"), "text.txt"),
    Program("perl_hash", ("perl", "-ne", "$n{$_}++ for split", "INPUT"), "text.txt"),
    Program("perl_lines", ("perl", "-e", "@l = map { [split] } <>", "INPUT"), "text.txt"),
    Program("jq_slurp", ("jq", "--slurp", "length", "INPUT"), "rows.jsonl"),
    Program("jq_stream", ("jq", "-c", ".user", "INPUT"), "rows.jsonl"),
    Program("zstd", ("zstd", "-q", "-c", "-9", "INPUT"), "text.txt"),
    Program("gzip", ("gzip", "-c", "INPUT"), "text.txt"),
    Program("node_lines", ("node", "-e", _NODE_LINES, "INPUT"), "text.txt"),
    Program("node_stream", ("node", "-e", _NODE_STREAM, "INPUT"), "text.txt"),
    Program("java_index", ("java", "-Xmx700m", "-cp", "SCRATCH", "Main", "INPUT"), "text.txt"),
    Program("java_stream", ("java", "-Xmx700m", "-cp", "SCRATCH", "Main", "INPUT"), "text.txt"),
    _python("packed_lines", "text.txt.gz"),
    _python("csv_columns", "table.csv"),
    _python("markov_chain", "text.txt"),
    _python("shingles", "text.txt"),
    _python("pruned_counts", "text.txt"),
    _python("sessions", "rows.jsonl"),
    _python("worker_pool", "text.txt"),
    _python("checkpoints"),
    _python("frames_stacked"),
    _python("growing_batches"),
    Program("shuf", ("shuf", "-o", "/dev/null", "INPUT"), "text.txt"),
    Program("sqlite_import", ("sqlite3", ":memory:", ".mode csv", ".import INPUT t"), "table.csv"),
    Program("perl_slurp", ("perl", "-0777", "-ne", "@w = split", "INPUT"), "text.txt"),
    Program("node_map", ("node", "-e", _NODE_MAP, "INPUT"), "rows.jsonl"),
    Program("xz", ("xz", "-c", "-T1", "-4", "INPUT"), "rows.jsonl"),
    _fresh("documents_flattened", "text.txt"),
    _fresh("named_tuples", "table.csv"),
    _fresh("objects_of_rows", "rows.jsonl"),
    _fresh("minhash_signatures", "text.txt"),
    _fresh("numbers_loaded", "numbers.csv"),
    _fresh("decoded_piece_by_piece", "rows.json"),
    _fresh("tree_never_cleared", "tree.xml"),
    _fresh("tree_cleared", "tree.xml"),
    _fresh("trigram_counts", "text.txt"),
    _fresh("latest_of_user", "rows.jsonl"),
    _fresh("document_frequencies", "text.txt"),
    _fresh("words_by_length", "text.txt"),
    _fresh("duplicates_by_prefix", "text.txt"),
    _fresh("users_and_their_words", "rows.jsonl"),
    _fresh("moving_window", "text.txt"),
    _fresh("top_lines", "text.txt"),
    _fresh("sorted_runs_merged", "text.txt"),
    _fresh("bits_of_a_filter", "text.txt"),
    _fresh("rows_to_a_database", "rows.jsonl"),
    _fresh("pandas_categories", "large_table.csv"),
    _fresh("pandas_json", "rows.jsonl"),
    _fresh("pandas_totals", "large_table.csv"),
    _fresh("sparse_rows", "text.txt"),
    _fresh("learnt_in_parts", "text.txt"),
    _fresh("parquet_groups", "large_table.csv"),
    _fresh("predictions_per_epoch"),
    _fresh("optimizer_state"),
    _fresh("losses_kept"),
    _fresh("models_of_trials"),
    _fresh("clusters"),
    _fresh("images_cached"),
    _fresh("growing_graph"),
    _fresh("embeddings_of_entities"),
    _fresh("episodes_pickled"),
    _fresh("characters_counted", "text.txt"),
    Program("sort_unique", ("sort", "-u", "-S", "150M", "-T", "SCRATCH", "-o", "/dev/null", "INPUT"), "text.txt", True),
    Program("bzip2", ("bzip2", "-c", "INPUT"), "rows.jsonl", True),
    Program("sed", ("sed", "s/a/b/g", "INPUT"), "text.txt", True),
    Program("perl_index", ("perl", "-ne", "push @{$n{$_}}, $. for split", "INPUT"), "text.txt", True),
    Program("node_counts", ("node", "-e", _NODE_COUNTS, "INPUT"), "text.txt", True),
    Program("java_list", ("java", "-Xmx900m", "-cp", "SCRATCH", "Main", "INPUT"), "text.txt", True),
    Program("awk_first_seen", ("mawk", "!seen[$0]++", "INPUT"), "text.txt", True),
)

"""A twentieth collection of public scripts as minimal equivalents, made after the change for the nineteenth one:
loaders of JSON lines, SentencePiece, maps, wiki dumps, XML, PDF, folders of samples; the marks were written before the
reader ran on them.
At first sight: precision 0.91, recall 0.75, no false all-clear. After that, to agree with the other collections, the
concatenation in judged_by_workers was marked, and entries_imported was put in CLEAR_20: its stack is emptied.

Names in CLEAR_20 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_20 = {
    "runs_compared": "a comparison of two evaluations (code search)",
    "answers_by_id": "a comparison of answers by question (code search)",
    "records_to_dataset": "a fine-tuning on JSON lines (code search)",
    "sources_deduplicated": "a deduplication across sources (code search)",
    "puzzles_pruned": "a pruning of puzzles (code search)",
    "lines_translated": "a translation with CTranslate2 (code search)",
    "lines_encoded": "an encoding with SentencePiece (code search)",
    "texts_to_flat_ids": "a flat array of token ids (code search)",
    "tokens_by_chunks": "a token cache merged in a memory map (code search)",
    "pubs_named": "a search for pubs in a map (code search)",
    "restrictions_gathered": "a reader of turn restrictions (code search)",
    "places_flushed": "an import of places in batches (code search)",
    "roads_cached": "a cache of roads (code search)",
    "pages_to_parquet": "a conversion of a wiki dump (code search)",
    "revisions_to_csv": "a parser of revisions (code search)",
    "texts_of_dump": "a reader of a wiki dump with a cache (code search)",
    "elements_counted": "a check of an OSM file (code search)",
    "map_loaded": "a reader of a lanelet map (code search)",
    "entries_imported": "an import of XML entries (code search)",
    "pages_of_pdf": "an extraction of text from PDF (code search)",
    "pdfs_merged": "a merge of PDF files (code search)",
    "samples_with_captions": "a dataset of renders (code search)",
    "series_joined": "a dataset of robot motions (code search)",
    "judged_by_workers": "a judge with threads (code search)",
}

CLEAR_20 = {"lines_encoded", "elements_counted", "entries_imported"}

FRESH_SCRIPTS_20 = {
    "runs_compared": """
        import json
        from collections import Counter
        from pathlib import Path
        OLD = Path('v3')
        NEW = Path('v4')
        def load_jsonl(path):
            with open(path, encoding='utf-8') as f:
                return [json.loads(l) for l in f if l.strip()]  # HOLDS
        for ds in ['gsm8k', 'hotpotqa']:
            old = load_jsonl(OLD / f'{ds}.jsonl')
            new = load_jsonl(NEW / f'{ds}.jsonl')
            before = sum(1 for r in old if r['correct']) / len(old)
            after = sum(1 for r in new if r['correct']) / len(new)
            kinds = Counter(r['kind'] for r in new)
            print(ds, before, after, kinds)
        """,
    "answers_by_id": """
        import argparse, json
        from pathlib import Path
        def load_jsonl(path: Path) -> dict[int, dict]:
            if not path.is_file():
                return {}
            rows: dict[int, dict] = {}
            for line in path.read_text(encoding='utf-8').splitlines():  # HOLDS
                line = line.strip()
                if not line:
                    continue
                row = json.loads(line)
                rows[int(row['question_id'])] = row  # HOLDS
            return rows
        def accuracy(rows, qids=None):
            if qids is None:
                items = list(rows.values())
            else:
                items = [rows[q] for q in qids if q in rows]  # HOLDS
            return sum(1 for r in items if r.get('correct')), len(items)
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('baseline', type=Path)
            args = parser.parse_args()
            print(accuracy(load_jsonl(args.baseline), range(20)))
        main()
        """,
    "records_to_dataset": """
        import argparse, json
        import yaml
        from datasets import Dataset
        from transformers import AutoTokenizer
        def load_config(path):
            with open(path, 'r') as f:
                return yaml.safe_load(f)
        def load_jsonl(path: str) -> Dataset:
            records = []
            with open(path, 'r', encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if line:
                        records.append(json.loads(line))  # HOLDS
            return Dataset.from_list(records)
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('--config')
            args = parser.parse_args()
            cfg = load_config(args.config)
            tokenizer = AutoTokenizer.from_pretrained(cfg['model'])
            train = load_jsonl(cfg['train'])
            train = train.map(lambda batch: tokenizer(batch['text'], truncation=True), batched=True)
            train.save_to_disk(cfg['out'])
        main()
        """,
    "sources_deduplicated": """
        import json
        from pathlib import Path
        ORDER = ['scrape', 'manual', 'speeches']
        def load_jsonl(path: Path) -> list[dict]:
            if not path.exists():
                return []
            records = []
            with path.open(encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if not line:
                        continue
                    try:
                        records.append(json.loads(line))  # HOLDS
                    except json.JSONDecodeError:
                        pass
            return records
        def write_jsonl(records, path):
            with path.open('w', encoding='utf-8') as f:
                for r in records:
                    f.write(json.dumps(r) + '\\n')
        def main():
            seen = set()
            merged = []
            for name in ORDER:
                kept = []
                for rec in load_jsonl(Path('in') / f'{name}.jsonl'):
                    key = hash(rec['text'])
                    if key in seen:
                        continue
                    seen.add(key)
                    kept.append(rec)  # HOLDS
                write_jsonl(kept, Path('out') / f'{name}.jsonl')
                merged.extend(kept)  # HOLDS
            write_jsonl(merged, Path('out/all.jsonl'))
        main()
        """,
    "puzzles_pruned": """
        import json
        from pathlib import Path
        def words_of(p):
            return frozenset(str(p[k]).lower() for k in ('h1', 'h2', 'v1'))
        def load_jsonl(path: Path) -> list[dict]:
            rows: list[dict] = []
            with path.open(encoding='utf-8') as f:
                for line in f:
                    if line.strip():
                        rows.append(json.loads(line))  # HOLDS
            return rows
        def pairs_in(active, most):
            sets = [words_of(p) for p in active]  # HOLDS
            out = []
            for i in range(len(active)):
                for j in range(i + 1, len(active)):
                    k = len(sets[i] & sets[j])
                    if k > most:
                        out.append((i, j, k))  # HOLDS
            return out
        rows = load_jsonl(Path('puzzles.jsonl'))
        print(len(pairs_in(rows, 2)))
        """,
    "lines_translated": """
        import argparse
        import ctranslate2
        import sentencepiece as spm
        def translate(model_dir, input_file, sp_path):
            translator = ctranslate2.Translator(model_dir)
            sp = spm.SentencePieceProcessor()
            sp.load(sp_path)
            with open(input_file, 'r', encoding='utf-8') as f:
                lines = f.readlines()  # HOLDS
            pieces = [sp.encode(line.strip(), out_type=str) for line in lines]  # HOLDS
            for translation in translator.translate_iterable(pieces, beam_size=5):
                print(sp.decode(translation.hypotheses[0]))
        if __name__ == '__main__':
            parser = argparse.ArgumentParser()
            parser.add_argument('--model')
            parser.add_argument('--input')
            parser.add_argument('--sp')
            args = parser.parse_args()
            translate(args.model, args.input, args.sp)
        """,
    "lines_encoded": """
        import sys
        from tokenizers import Tokenizer
        tokenizer = Tokenizer.from_file(sys.argv[2])
        out = open(sys.argv[3], 'wt')
        with open(sys.argv[1], 'rt') as f:
            for line in f:
                pieces = tokenizer.encode(line)
                out.write(' '.join(pieces.tokens) + '\\n')
        out.close()
        """,
    "texts_to_flat_ids": """
        import numpy as np
        def flat_ids(texts, vocab=None, sp=None, hf=None):
            ids: list[np.ndarray] = []
            if hf is not None:
                for line in texts:
                    arr = hf.encode(line, add_special_tokens=False)
                    if arr:
                        ids.append(np.asarray(arr, dtype=np.int32))  # HOLDS
            elif sp is not None:
                for line in texts:
                    arr = sp.encode(line)
                    if arr.size > 0:
                        ids.append(arr.astype(np.int32, copy=False))  # HOLDS
            if not ids:
                return np.empty((0,), dtype=np.int32)
            return np.concatenate(ids, dtype=np.int32)  # HOLDS
        """,
    "tokens_by_chunks": """
        from pathlib import Path
        import numpy as np
        import sentencepiece as spm
        CHUNK = 2_000_000
        def tokenize(corpus, cache, tmp: Path):
            sp = spm.SentencePieceProcessor(model_file='sp.model')
            buf, files = [], []
            total = 0
            def flush(data, idx):
                path = tmp / f'chunk_{idx:04d}.npy'
                np.save(path, np.array(data, dtype=np.int32))
                return path
            with open(corpus, encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if not line:
                        continue
                    buf.extend([1] + sp.encode(line, out_type=int) + [2])
                    if len(buf) >= CHUNK:
                        files.append(flush(buf, len(files)))
                        total += len(buf)
                        buf.clear()
            if buf:
                files.append(flush(buf, len(files)))
                total += len(buf)
            merged = np.memmap(cache, dtype=np.int32, mode='w+', shape=(total,))
            pos = 0
            for path in files:
                part = np.load(path)
                merged[pos:pos + len(part)] = part
                pos += len(part)
                path.unlink()
        """,
    "pubs_named": """
        import sys
        import osmium
        class Names(osmium.SimpleHandler):
            def show(self, tags):
                if tags.get('amenity') == 'pub' and 'name' in tags:
                    print(tags['name'])
            def node(self, n):
                self.show(n.tags)
            def way(self, w):
                self.show(w.tags)
        Names().apply_file(sys.argv[1])
        """,
    "restrictions_gathered": """
        import osmium
        import pandas as pd
        class Restrictions(osmium.SimpleHandler):
            def __init__(self):
                super().__init__()
                self.restrictions = []
            def relation(self, r):
                if 'restriction' not in r.tags:
                    return
                rel = {'id': r.id, 'from': None, 'to': None}
                for m in r.members:
                    if m.role == 'from':
                        rel['from'] = str(m.ref)
                    elif m.role == 'to':
                        rel['to'] = str(m.ref)
                self.restrictions.append(rel)
        def extract(path):
            handler = Restrictions()
            handler.apply_file(path)
            return pd.DataFrame(handler.restrictions)
        extract('map.osm.pbf').to_csv('restrictions.csv')
        """,
    "places_flushed": """
        import sys
        import osmium
        import psycopg2.extras
        from app.db import engine
        BATCH = 5000
        class Places(osmium.SimpleHandler):
            def __init__(self, conn):
                super().__init__()
                self.conn = conn
                self.buf: list = []
            def node(self, n):
                tags = {t.k: t.v for t in n.tags}
                self.buf.append((n.id, tags.get('name'), n.location.lat))
                if len(self.buf) >= BATCH:
                    self.flush()
            def flush(self):
                with self.conn.cursor() as cur:
                    psycopg2.extras.execute_values(cur, 'INSERT INTO places VALUES %s', self.buf)
                self.conn.commit()
                self.buf.clear()
        conn = engine.raw_connection()
        handler = Places(conn)
        handler.apply_file(sys.argv[1])
        handler.flush()
        """,
    "roads_cached": """
        import csv, os, pickle
        import numpy as np
        import osmium
        from scipy.spatial import cKDTree
        class Roads(osmium.SimpleHandler):
            def __init__(self):
                super().__init__()
                self.roads = []
            def way(self, w):
                self.roads.append((w.id, [(n.lat, n.lon) for n in w.nodes]))
        def load_roads():
            if os.path.exists('roads.pkl'):
                with open('roads.pkl', 'rb') as f:
                    return pickle.load(f)  # HOLDS
            handler = Roads()
            handler.apply_file('map.osm.pbf', locations=True)
            with open('roads.pkl', 'wb') as f:
                pickle.dump(handler.roads, f)
            return handler.roads
        def load_stations(path):
            stations = []
            with open(path, newline='') as f:
                for row in csv.DictReader(f):
                    stations.append((row['id'], float(row['lat']), float(row['lon'])))  # HOLDS
            return stations
        roads = load_roads()
        points = np.array([p for _, nodes in roads for p in nodes])  # HOLDS
        tree = cKDTree(points)
        for name, lat, lon in load_stations('stations.csv'):
            print(name, tree.query((lat, lon)))
        """,
    "pages_to_parquet": """
        import bz2
        from pathlib import Path
        import mwxml
        import pandas as pd
        import pyarrow as pa
        import pyarrow.parquet as pq
        def convert(path, out_dir, size=10000):
            batch: list[dict] = []
            index = 0
            def flush(batch, index):
                table = pa.Table.from_pandas(pd.DataFrame(batch, columns=['id', 'title', 'text']))
                pq.write_table(table, Path(out_dir) / f'wiki_{index:05d}.parquet')
            opener = bz2.open if path.endswith('.bz2') else open
            with opener(path) as f:
                dump = mwxml.Dump.from_file(f)
                for page in dump.pages:
                    if page.namespace != 0:
                        continue
                    revision = next(iter(page), None)
                    if revision is None or revision.text is None:
                        continue
                    batch.append({'id': page.id, 'title': page.title, 'text': revision.text})
                    if len(batch) >= size:
                        flush(batch, index)
                        index += 1
                        batch = []
            if batch:
                flush(batch, index)
        """,
    "revisions_to_csv": """
        import mwxml
        import pandas as pd
        def parse(infile, outfile, namespace, limit=None):
            i = 0
            dump = mwxml.Dump.from_file(open(infile))
            title = []
            size = []
            user = []
            for page in dump:
                if page.namespace == namespace:
                    previous = 0
                    for revision in page:
                        title.append(page.title)  # HOLDS
                        if revision.text is not None:
                            size.append(len(revision.text) - previous)  # HOLDS
                            previous = len(revision.text)
                        else:
                            size.append(0)
                        user.append(revision.user.text)  # HOLDS
                i = i + 1
            df = pd.DataFrame({'title': title, 'size': size, 'user': user})
            df.to_csv(outfile)
        parse('dump.xml', 'out.csv', 0)
        """,
    "texts_of_dump": """
        import bz2, json, os
        import mwxml
        from tqdm import tqdm
        CACHE = 'texts.jsonl'
        def load():
            if os.path.exists(CACHE):
                texts = []
                with open(CACHE, 'r', encoding='utf-8') as f:
                    for line in tqdm(f, desc='cache'):
                        texts.append(json.loads(line)['text'])  # HOLDS
                return texts
            texts = []
            dump = mwxml.Dump.from_file(bz2.open('dump.xml.bz2', 'rb'))
            with open(CACHE, 'w', encoding='utf-8') as cf:
                for page in tqdm(dump.pages, desc='parse'):
                    if page.namespace != 0:
                        continue
                    for rev in page:
                        text = rev.text or ''
                        if len(text) >= 100:
                            texts.append(text)  # HOLDS
                            cf.write(json.dumps({'text': text}) + '\\n')
                        break
            return texts
        print(len(load()))
        """,
    "elements_counted": """
        import xml.etree.ElementTree as ET
        from pathlib import Path
        def check(path: Path) -> dict[str, int]:
            if not path.is_file():
                raise ValueError(path)
            counts = {'node': 0, 'way': 0}
            for _event, elem in ET.iterparse(path, events=('end',)):
                if elem.tag == 'node':
                    counts['node'] += 1
                elif elem.tag == 'way':
                    counts['way'] += 1
                elem.clear()
            return counts
        print(check(Path('map.osm')))
        """,
    "map_loaded": """
        import xml.etree.ElementTree as ET
        def load_map(path):
            nodes, ways, lanes = {}, {}, {}
            for _, el in ET.iterparse(path, events=('end',)):
                if el.tag == 'node':
                    x, y = float(el.get('x')), float(el.get('y'))
                    nodes[el.get('id')] = (x, y)  # HOLDS
                    el.clear()
                elif el.tag == 'way':
                    ways[el.get('id')] = [n.get('ref') for n in el.findall('nd')]  # HOLDS
                    el.clear()
                elif el.tag == 'relation':
                    tags = {t.get('k'): t.get('v') for t in el.findall('tag')}
                    if tags.get('type') == 'lanelet':
                        lanes[el.get('id')] = tags  # HOLDS
                    el.clear()
            return nodes, ways, lanes
        nodes, ways, lanes = load_map('map.osm')
        print(len(nodes), len(ways), len(lanes))
        """,
    "entries_imported": """
        import sqlite3, sys
        import xml.etree.ElementTree as ET
        def import_xml(path, connection):
            stack = []
            for event, element in ET.iterparse(path, events=('start', 'end')):
                if element.tag != 'entry':
                    if event == 'end':
                        element.clear()
                    continue
                if event == 'start':
                    parent = stack[-1] if stack else None
                    connection.execute('INSERT INTO entries VALUES (?, ?)', (element.get('id'), parent))
                    stack.append(element.get('id'))
                else:
                    stack.pop()
                    element.clear()
        connection = sqlite3.connect('entries.db')
        import_xml(sys.argv[1], connection)
        connection.commit()
        """,
    "pages_of_pdf": """
        import json, sys
        from pypdf import PdfReader
        def extract(path):
            reader = PdfReader(path)
            texts = []
            for index, page in enumerate(reader.pages):
                try:
                    text = page.extract_text() or ''
                except Exception:
                    text = ''
                texts.append(text)  # HOLDS
            return texts
        def main():
            pages = extract(sys.argv[1])
            with open('pages.json', 'w') as f:
                json.dump([{'page': i, 'text': t} for i, t in enumerate(pages)], f)  # HOLDS
        main()
        """,
    "pdfs_merged": """
        import sys
        from pathlib import Path
        from pypdf import PdfReader, PdfWriter
        def merge(files, out_path):
            writer = PdfWriter()
            total = 0
            for name in files:
                path = Path(name)
                if not path.exists():
                    continue
                reader = PdfReader(path)
                for page in reader.pages:
                    writer.add_page(page)
                total += len(reader.pages)
            with open(out_path, 'wb') as f:
                writer.write(f)
            return total
        merge(sys.argv[2:], sys.argv[1])
        """,
    "samples_with_captions": """
        import json, random
        from pathlib import Path
        import numpy as np
        from PIL import Image
        def captions_of(folder):
            out = {}
            path = folder / 'captions.jsonl'
            if path.exists():
                for line in path.read_text().splitlines():  # HOLDS
                    row = json.loads(line)
                    out[row['id']] = row  # HOLDS
            return out
        def collect(folder: Path):
            captions = captions_of(folder)
            samples = []
            for image in sorted((folder / 'images').glob('*.png')):
                params = folder / 'params' / f'{image.stem}.json'
                if not params.exists():
                    continue
                if np.array(Image.open(image)).mean() < 5:
                    continue
                target = json.dumps(json.loads(params.read_text()))
                samples.append({'image': str(image), 'target': target})  # HOLDS
                text = captions.get(image.stem, {}).get('prompt', '').strip()
                if text:
                    samples.append({'caption': text, 'target': target})  # HOLDS
            return samples
        def build(folder: Path, share=0.1):
            samples = collect(folder)
            random.shuffle(samples)
            n = max(1, int(len(samples) * share))
            return samples[n:], samples[:n]
        build(Path('renders'))
        """,
    "series_joined": """
        from pathlib import Path
        import numpy as np
        import pandas as pd
        def load_series(path: Path) -> np.ndarray:
            df = pd.read_csv(path)
            q = df['q'].to_numpy(dtype=float)
            return q[~np.isnan(q)]
        def build(folder: Path):
            files = sorted(folder.glob('motion_*.csv'))
            xs: list[np.ndarray] = []
            ys: list[np.ndarray] = []
            for f in files:
                series = load_series(f)
                if len(series) < 2:
                    continue
                xs.append(series[:-1][:, None])  # HOLDS
                ys.append(series[1:])  # HOLDS
            if not xs:
                raise RuntimeError('too short')
            X = np.vstack(xs).astype(float)  # HOLDS
            y = np.concatenate(ys).astype(float)  # HOLDS
            return X, y
        build(Path('data'))
        """,
    "judged_by_workers": """
        from concurrent.futures import ThreadPoolExecutor, as_completed
        from pathlib import Path
        import pandas as pd
        from judge import judge_one
        def run(tasks, out_path: Path, workers=25):
            existing = None
            if out_path.exists():
                existing = pd.read_parquet(out_path)  # HOLDS
                done = set(map(tuple, existing[['system', 'paper']].values))  # HOLDS
                tasks = [t for t in tasks if (t['system'], t['paper']) not in done]
            rows = []
            with ThreadPoolExecutor(max_workers=workers) as pool:
                futures = [pool.submit(judge_one, t) for t in tasks]
                for i, f in enumerate(as_completed(futures), 1):
                    rows.append(f.result())  # HOLDS
                    if i % 250 == 0:
                        pd.DataFrame(rows).to_parquet(out_path, index=False)
            df = pd.DataFrame(rows)
            out = pd.concat([existing, df]) if existing is not None else df  # HOLDS
            out.to_parquet(out_path, index=False)
        """,
}

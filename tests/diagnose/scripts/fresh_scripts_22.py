"""A twenty-second collection of public scripts as minimal equivalents, made after the change for the twenty-first one:
statistics, molecules, web archives, axles, news, crystals, chats, notes; the marks were written before the reader ran.
At first sight: precision 0.93, recall 0.75, no false all-clear. After that, to agree with the other collections, the
frames in reactions_featured were marked, and two marks were taken away: rows of one of many files
(markdown_of_archive), and a list of what an unknown generator makes (proteins_filtered).

Names in CLEAR_22 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_22 = {
    "articles_measured": "statistics of a summarisation dataset (code search)",
    "batches_evaluated": "an evaluation of a tagger (code search)",
    "reactions_featured": "fingerprints of reactions (code search)",
    "molecules_of_files": "an opener of molecule files (code search)",
    "markdown_of_archive": "a conversion of web pages to Markdown (code search)",
    "hits_in_archive": "a search in web archives that ends (code search)",
    "axles_by_distance": "distances of axles with polars (code search)",
    "news_by_day": "a download of daily news with polars (code search)",
    "crystals_encoded": "an encoding of crystals from LMDB (code search)",
    "messages_encoded": "a prepare of chat messages (code search)",
    "notes_encoded": "a prepare of notes (code search)",
    "performances_sliced": "a dataset of piano performances (code search)",
    "captions_to_jsonl": "a writer of captioned notes (code search)",
    "proteins_filtered": "a design of proteins in iterations (code search)",
    "variants_stacked": "a table of genetic variants (code search)",
}

CLEAR_22: set[str] = set()

FRESH_SCRIPTS_22 = {
    "articles_measured": """
        import argparse
        import pandas as pd
        import numpy as np
        def vocabulary(df, column='articles'):
            tokens = []
            for text in df[column].dropna():
                tokens.extend(str(text).lower().split())  # HOLDS
            return len(tokens), len(set(tokens))
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('--data')
            args = parser.parse_args()
            df = pd.read_parquet(args.data)  # HOLDS
            print(len(df), df['tokens'].mean())
            ratios = [len(a) / len(s) for a, s in zip(df['articles'], df['summary'])]  # HOLDS
            print(np.median(ratios), vocabulary(df))
        if __name__ == '__main__':
            main()
        """,
    "batches_evaluated": """
        import itertools
        from tqdm import tqdm
        class Tagger:
            def predict(self, batch):
                return batch
            def evaluate(self, loader):
                true, predicted, tokens = list(), list(), list()
                for batch, labels, words in tqdm(loader, desc='Batch'):
                    true.extend(list(itertools.chain(*labels)))
                    predicted.extend(list(itertools.chain(*self.predict(batch))))
                    tokens.extend(words)
                return sum(a == b for a, b in zip(true, predicted)) / len(true)
        """,
    "reactions_featured": """
        from pathlib import Path
        import numpy as np
        import pandas as pd
        from rdkit import Chem
        from rdkit.Chem import AllChem
        def fingerprint(row, columns, bits=1024):
            parts = []
            for col in columns:
                mol = Chem.MolFromSmiles(str(row[col]))
                parts.append(np.array(AllChem.GetMorganFingerprintAsBitVect(mol, 2, bits)))
            return np.concatenate(parts)
        def build(folder):
            folder = Path(folder)
            df = pd.read_excel(folder / 'reactions.xlsx')  # HOLDS
            frames = [pd.read_csv(folder / name) for name in ('a.csv', 'b.csv')]  # HOLDS
            df = pd.concat([df] + frames, axis=1)  # HOLDS
            X = np.stack([fingerprint(row, ['ligand', 'base']) for _, row in df.iterrows()])  # HOLDS
            y = df['ddG'].astype(float).to_numpy()
            np.savez('reactions.npz', X=X, y=y)
        build('data')
        """,
    "molecules_of_files": """
        import bz2, gzip, re, sys
        from rdkit import Chem
        def handle_of(name):
            if name.endswith('.gz'):
                return gzip.open(name, 'r')
            if name.endswith('.bz2'):
                return bz2.BZ2File(name, 'r')
            return open(name)
        def open_all(names):
            found = []
            for name in names:
                if re.search(r'.sdf', name):
                    mols = [x for x in Chem.ForwardSDMolSupplier(handle_of(name)) if x is not None]  # HOLDS
                else:
                    mols = [x for x in Chem.SmilesMolSupplier(name) if x is not None]  # HOLDS
                for mol in mols:
                    found.append(mol)  # HOLDS
            return found
        print(len(open_all(sys.argv[1:])))
        """,
    "markdown_of_archive": """
        import glob, gzip
        import pandas as pd
        from warcio.archiveiterator import ArchiveIterator
        from markdownify import markdownify
        def pages_of(path, urls):
            found = []
            with open(path, 'rb') as f:
                stream = gzip.GzipFile(fileobj=f)
                for record in ArchiveIterator(stream):
                    if record.rec_type == 'response':
                        url = record.rec_headers.get_header('WARC-Target-URI')
                        content = record.content_stream().read()
                        if url in urls:
                            html = content.decode(errors='ignore')
                            found.append((html, markdownify(html)))
            return found
        def convert(pattern):
            for path in glob.glob(pattern):
                df = pd.read_parquet(path)
                rows = []
                for file_path, group in df.groupby('file_path'):
                    rows.extend(pages_of(file_path, group['url'].tolist()))
                pd.DataFrame(rows, columns=['html', 'md']).to_parquet(path + '.md.parquet')
        convert('fineweb/*.parquet')
        """,
    "hits_in_archive": """
        import re, sys
        from warcio.archiveiterator import ArchiveIterator
        class Crawl:
            def __init__(self, names):
                self.names = names
                self.result = []
            def run(self):
                with open(self.names, 'r') as f:
                    for line in f:
                        self.search(line.strip())
            def search(self, name):
                pattern = re.compile('covid')
                with open(name, 'rb') as stream:
                    for record in ArchiveIterator(stream):
                        text = record.content_stream().read().decode('utf-8', 'replace')
                        if pattern.search(text):
                            self.result.append(record.rec_headers.get_header('WARC-Target-URI'))
                        if len(self.result) > 1000:
                            break
        Crawl(sys.argv[1]).run()
        """,
    "axles_by_distance": """
        import os
        import polars as pl
        import matplotlib.pyplot as plt
        FILES = ('one.csv', 'two.csv')
        def axles_of(row):
            count = row[7]
            return {i: row[10 + count + i] for i in range(1, count)}, count
        def distances(location):
            by_axle = {i: [[] for _ in range(2, i + 1)] for i in range(2, 10)}
            for name in FILES:
                if location not in name:
                    continue
                df = pl.read_csv(os.path.join('data', name), has_header=False)  # HOLDS
                for row in df.iter_rows():
                    found, count = axles_of(row)
                    for axle in range(count - 1):
                        by_axle[count][axle].append(float(found[axle + 1]))  # HOLDS
            for key, lists in by_axle.items():
                for each in lists:
                    plt.hist(each, bins=100)
        distances('east')
        """,
    "news_by_day": """
        import datetime as dt
        import io, zipfile
        from pathlib import Path
        import polars as pl
        import requests
        def download(day):
            raw = requests.get(f'https://example.org/{day:%Y%m%d}.csv.zip').content
            with zipfile.ZipFile(io.BytesIO(raw)) as z:
                return pl.read_csv(z.read(z.namelist()[0]), separator='\\t', ignore_errors=True)
        def main(days=30):
            today = dt.date.today()
            for i in range(days):
                day = today - dt.timedelta(days=i)
                out = Path('news') / f'{day}.parquet'
                if out.exists():
                    continue
                df = download(day)
                df.write_parquet(out)
        main()
        """,
    "crystals_encoded": """
        import pickle
        import lmdb
        import numpy as np
        def sequences_of(path):
            env = lmdb.open(path, readonly=True)
            found = []
            with env.begin() as txn:
                for key, value in txn.cursor():
                    found.append((key.decode(), pickle.loads(value)))  # HOLDS
            return found
        def encode(pairs, stoi):
            ids = []
            for name, text in pairs:
                ids.extend(stoi.get(token, 0) for token in text.split())  # HOLDS
            return np.array(ids, dtype=np.uint16)  # HOLDS
        with open('meta.pkl', 'rb') as f:
            stoi = pickle.load(f)['stoi']
        pairs = sequences_of('crystals.lmdb')
        split = int(len(pairs) * 0.9)
        encode(pairs[:split], stoi).tofile('train.bin')
        encode(pairs[split:], stoi).tofile('val.bin')
        """,
    "messages_encoded": """
        import json
        import numpy as np
        import tiktoken
        with open('chat.json') as f:
            chat = json.load(f)  # HOLDS
        messages = np.array([m['text'] for m in chat['messages'] if m['from'] == 'me'])  # HOLDS
        n = len(messages)
        p = np.random.permutation(n)
        train = messages[p[:int(n * 0.9)]]
        valid = messages[p[int(n * 0.9):]]
        enc = tiktoken.get_encoding('gpt2')
        def encode(messages):
            ids = [enc.eot_token]
            for msg in messages:
                current = enc.encode_ordinary('me: ' + msg)
                current.append(enc.eot_token)
                ids += current  # HOLDS
            return ids
        np.array(encode(train), dtype=np.uint16).tofile('train.bin')  # HOLDS
        np.array(encode(valid), dtype=np.uint16).tofile('val.bin')  # HOLDS
        """,
    "notes_encoded": """
        import os, pickle
        import numpy as np
        path = os.path.join(os.path.dirname(__file__), 'input.txt')
        with open(path, 'r') as f:
            data = f.read()  # HOLDS
        values = data.split(' ')  # HOLDS
        words = sorted(list(set(values)))
        stoi = {w: i for i, w in enumerate(words)}
        def encode(values):
            return [stoi[value] for value in values]  # HOLDS
        border = (int(len(values) * 0.8) // 3) * 3
        train_ids = encode(values[:border])  # HOLDS
        val_ids = encode(values[border:])  # HOLDS
        with open('train_ids.txt', 'w') as f:
            f.write(' '.join(map(str, train_ids)))
        np.array(train_ids, dtype=np.uint32).tofile('train.bin')  # HOLDS
        np.array(val_ids, dtype=np.uint32).tofile('val.bin')  # HOLDS
        with open('meta.pkl', 'wb') as f:
            pickle.dump({'stoi': stoi}, f)
        """,
    "performances_sliced": """
        import os
        from concurrent.futures import ProcessPoolExecutor
        from functools import partial
        from torch.utils.data import Dataset
        from ariautils.midi import MidiDict
        from ariautils.tokenizer import AbsTokenizer
        def slices_of(data, length, overlap=128):
            found = []
            for start in range(0, len(data), length - overlap):
                part = data[start:start + length]
                if len(part) == length:
                    found.append(part)
            return found
        def process(line, base, length):
            first, second = line.strip().split('|')
            tokenizer = AbsTokenizer()
            one = tokenizer.tokenize(MidiDict.from_midi(os.path.join(base, first)))
            two = tokenizer.tokenize(MidiDict.from_midi(os.path.join(base, second)))
            return slices_of(one, length), slices_of(two, length)
        class Performances(Dataset):
            def __init__(self, path, length):
                self.inputs, self.targets = self.load(path, length)
            def load(self, path, length):
                with open(path) as f:
                    lines = f.readlines()  # HOLDS
                inputs, targets = [], []
                with ProcessPoolExecutor() as pool:
                    for one, two in pool.map(partial(process, base='midi', length=length), lines):
                        inputs.extend(one)  # HOLDS
                        targets.extend(two)  # HOLDS
                return inputs, targets
            def __getitem__(self, idx):
                return self.inputs[idx], self.targets[idx]
        """,
    "captions_to_jsonl": """
        import json, os
        def create(out_dir, job=0, jobs=1):
            from src.download import MidiCaps
            from src.encode import encode_midi
            ds = MidiCaps()
            os.makedirs(out_dir, exist_ok=True)
            start, limit = len(ds) // jobs * job, len(ds) // jobs * (job + 1)
            with open(f'{out_dir}/part_{job:05d}.jsonl', 'w') as f:
                for i in range(start, limit):
                    caption, path = ds[i]
                    tokens = ' '.join(encode_midi(path))
                    f.write(json.dumps({'messages': [caption, tokens]}) + '\\n')
        """,
    "proteins_filtered": """
        from pathlib import Path
        from Bio import SeqIO
        from Bio.Seq import Seq
        from Bio.SeqRecord import SeqRecord
        def unique(sequences):
            return list(dict.fromkeys(sequences))
        def save(sequences, path):
            SeqIO.write([SeqRecord(Seq(s), id=str(i)) for i, s in enumerate(sequences)], path, 'fasta')
        def run(generator, folder: Path, iterations=5):
            sequences = []
            for n in range(iterations):
                path = folder / f'iter{n}.fasta'
                if path.exists():
                    records = list(SeqIO.parse(path, 'fasta'))  # HOLDS
                    sequences = [str(rec.seq) for rec in records]  # HOLDS
                else:
                    sequences = unique(generator.generate(100000))
                    save(sequences, path)
            return sequences
        """,
    "variants_stacked": """
        import gzip
        import numpy as np
        def read_vcf(path):
            positions = []
            genotypes = []
            with gzip.open(path, 'rt') as f:
                for line in f:
                    if line.startswith('#'):
                        continue
                    fields = line.rstrip().split('\\t')
                    positions.append(int(fields[1]))  # HOLDS
                    genotypes.append([g.count('1') for g in fields[9:]])  # HOLDS
            return np.array(positions), np.array(genotypes, dtype=np.int8)  # HOLDS
        positions, genotypes = read_vcf('variants.vcf.gz')
        np.savez_compressed('variants.npz', positions=positions, genotypes=genotypes)
        """,
}

"""A seventeenth collection of public scripts as minimal equivalents, made after the sixteenth one: sequences of genes,
molecules, chess games, web archives, sound, preferences, characters; the marks were written before the reader ran.
At first sight: precision 1.00, recall 0.65, no false all-clear. After that, the silence in sounds_joined was marked
(half a second a file is held as well), games_printed was taken out of CLEAR_17 (nothing shows what read_game holds),
and two lists that a written number ends were put in.

Names in CLEAR_17 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_17 = {
    "reads_counted": "a count of k-mers in fastq reads (code search)",
    "windows_embedded": "an embedding of windows of sequences (code search)",
    "taxonomy_predicted": "a prediction of taxonomy from FASTA (code search)",
    "answers_by_star": "a DPO training on answers with stars (code search)",
    "answers_of_benchmark": "a maker of DPO pairs from a benchmark (code search)",
    "rewards_of_preferences": "a training of a reward model (code search)",
    "games_printed": "a reader of a lichess database (code search)",
    "games_uploaded": "a viewer of uploaded PGN (code search)",
    "games_of_folder": "an analysis of exported games (code search)",
    "scaffolds_of_molecules": "a calculation of scaffolds (code search)",
    "molecules_described": "descriptors of molecules to csv (code search)",
    "molecules_pickled": "helpers for pickle and SDF (code search)",
    "texts_of_archive": "an extraction of texts from WARC (code search)",
    "pages_of_archive": "a collector of pages from WARC (code search)",
    "substations_joined": "a reader of substation loads with polars (code search)",
    "sounds_joined": "a splitter of joined wav files (code search)",
    "clips_cut": "a cutter of labelled clips (code search)",
    "tokens_of_issues": "a vocabulary of issues (code search)",
    "characters_to_bin": "a prepare.py of characters (code search)",
    "stories_by_split": "a prepare of TinyStories (code search)",
    "tokens_up_to_a_number": "a sample of FineWeb up to a number of tokens (code search)",
    "notes_of_folder": "a dataset of MIDI files (code search)",
    "cities_by_name": "a loader of cities and stars (code search)",
}

CLEAR_17 = {"answers_of_benchmark", "tokens_up_to_a_number"}

FRESH_SCRIPTS_17 = {
    "reads_counted": """
        import argparse
        import pandas as pd
        from Bio import SeqIO
        parser = argparse.ArgumentParser()
        parser.add_argument('-i', '--input')
        parser.add_argument('-k', '--length', type=int, default=30)
        args = parser.parse_args()
        def main():
            reads = [str(rec.seq) for rec in SeqIO.parse(args.input, 'fastq')]  # HOLDS
            table = count(reads, args.length)
            best = table['kmer'].iloc[0]
            places = positions_of(best, reads)
            print(best, len(places))
        def count(reads, length=70, step=1, least=5):
            counts = {}
            for read in reads:
                for i in range(0, len(read) - length + 1, step):
                    kmer = read[i:i + length]
                    if kmer not in counts:
                        counts[kmer] = 0
                    counts[kmer] += 1
            df = pd.DataFrame(counts.items(), columns=['kmer', 'count'])
            return df[df['count'] > least]
        def positions_of(kmer, reads):
            positions = []
            for read in reads:
                start = 0
                while True:
                    index = read.find(kmer, start)
                    if index == -1:
                        break
                    positions.append(index)  # HOLDS
                    start = index + len(kmer)
            return positions
        if __name__ == '__main__':
            main()
        """,
    "windows_embedded": """
        import argparse, pickle
        import numpy as np
        import torch
        import Bio.SeqIO as SeqIO
        from transformers import BertTokenizer, BertForSequenceClassification
        import tqdm
        parser = argparse.ArgumentParser()
        parser.add_argument('--model')
        parser.add_argument('--sequences')
        parser.add_argument('--out')
        args = parser.parse_args()
        tokenizer = BertTokenizer.from_pretrained('dna')
        model = BertForSequenceClassification.from_pretrained(args.model)
        least = 512
        long = [str(r.seq) for r in SeqIO.parse(f'{args.sequences}', 'fasta') if len(r.seq) >= least]  # HOLDS
        names = [r.id for r in SeqIO.parse(f'{args.sequences}', 'fasta') if len(r.seq) >= least]  # HOLDS
        stride = least // 3
        windows = []
        for seq in long:
            of_one = []
            for i in range(0, len(seq), stride):
                end = min(i + least, len(seq))
                of_one.append(seq[i:end])
            windows.append(of_one)  # HOLDS
        embedded = []
        model.eval()
        for s in tqdm.tqdm(windows):
            given = tokenizer([part for part in s], padding=True, return_tensors='pt')
            with torch.no_grad():
                out = model(**given, output_hidden_states=True)
                states = out.hidden_states[-1][:, 0, :]
                embedded.append(states.to('cpu'))  # HOLDS
        averaged = []
        for emb in tqdm.tqdm(embedded):
            averaged.append((sum(emb) / len(emb)).numpy())  # HOLDS
        averaged = np.array(averaged)  # HOLDS
        pickle.dump((averaged, names), open(args.out, 'wb'))
        """,
    "taxonomy_predicted": """
        import numpy as np
        import pandas as pd
        from tensorflow.keras.models import load_model
        from sklearn.preprocessing import LabelEncoder
        from Bio import SeqIO
        TABLE = 'master.csv'
        INPUT = 'known.fasta'
        LENGTH = 500
        model = load_model('taxonomy.keras')
        classes = pd.read_csv(TABLE)['taxonomy'].unique()  # HOLDS
        le = LabelEncoder()
        le.fit(classes)
        sequences = [str(rec.seq).upper() for rec in SeqIO.parse(INPUT, 'fasta')]  # HOLDS
        ids = [rec.id for rec in SeqIO.parse(INPUT, 'fasta')]  # HOLDS
        def one_hot(seq, length):
            places = {'A': 0, 'C': 1, 'G': 2, 'T': 3, 'N': 4}
            arr = np.zeros((length, 5), dtype=np.float32)
            for i, letter in enumerate(seq[:length]):
                arr[i, places.get(letter, 4)] = 1
            return arr
        X = np.array([one_hot(s, LENGTH) for s in sequences])  # HOLDS
        probabilities = model.predict(X)
        labels = le.inverse_transform(np.argmax(probabilities, axis=1))
        for name, label in zip(ids, labels):
            print(name, label)
        """,
    "answers_by_star": """
        import argparse, json
        from collections import defaultdict
        from datasets import Dataset, DatasetDict
        from transformers import AutoTokenizer
        def build_pairs(path, least=10, limit=None):
            groups = defaultdict(list)
            with open(path, 'r', encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if not line:
                        continue
                    rec = json.loads(line)
                    q = rec.get('question') or rec.get('questions')
                    t = rec.get('text')
                    if q is None or t is None:
                        continue
                    groups[q].append({'text': t, 'star': int(rec['star'])})  # HOLDS
            pairs = []
            for q, recs in groups.items():
                best = max(r['star'] for r in recs)
                if best < least:
                    continue
                ranked = sorted(recs, key=lambda r: (r['star'], len(r['text'])), reverse=True)
                chosen = ranked[0]['text'].strip()
                rejected = ranked[-1]['text'].strip()
                if chosen == rejected:
                    continue
                pairs.append({'question': q, 'chosen': chosen, 'rejected': rejected})  # HOLDS
            pairs.sort(key=lambda x: x['question'])
            if limit is not None:
                pairs = pairs[:limit]
            return pairs
        def prepare(tokenizer, path, ratio=0.1):
            raw = build_pairs(path, least=10)
            prompts, chosens, rejecteds = [], [], []
            for item in raw:
                prompts.append(tokenizer.apply_chat_template([{'role': 'user', 'content': item['question']}]))  # HOLDS
                chosens.append(item['chosen'])  # HOLDS
                rejecteds.append(item['rejected'])  # HOLDS
            ds = Dataset.from_dict({'prompt': prompts, 'chosen': chosens, 'rejected': rejecteds})
            ds = ds.shuffle(seed=42)
            n = max(1, int(len(ds) * ratio))
            return DatasetDict(train=ds.select(range(n, len(ds))), validation=ds.select(range(n)))
        if __name__ == '__main__':
            parser = argparse.ArgumentParser()
            parser.add_argument('--data')
            args = parser.parse_args()
            print(prepare(AutoTokenizer.from_pretrained('qwen'), args.data))
        """,
    "answers_of_benchmark": """
        import argparse, json
        from datasets import load_dataset
        PROMPT = 'Answer: {q}'
        def main():
            p = argparse.ArgumentParser()
            p.add_argument('--n-train', type=int, default=715)
            p.add_argument('--max-pairs', type=int, default=715)
            args = p.parse_args()
            ds = load_dataset('truthful', 'generation')['validation']
            rows = ds.shuffle(seed=42)
            pairs = []
            for r in rows.select(range(args.n_train)):
                chosen = (r['best_answer'] or r['correct_answers'][0]).strip()
                rejected = r['incorrect_answers'][0].strip()
                if not chosen or not rejected:
                    continue
                pairs.append({'prompt': PROMPT.format(q=r['question']), 'chosen': chosen, 'rejected': rejected})
                if len(pairs) >= args.max_pairs:
                    break
            with open('pairs.jsonl', 'w', encoding='utf-8') as f:
                for each in pairs:
                    f.write(json.dumps(each) + '\\n')
        main()
        """,
    "rewards_of_preferences": """
        import json
        from datasets import Dataset
        from transformers import AutoTokenizer
        def flat(messages):
            return '\\n'.join(f"{m['role']}: {m['content']}" for m in messages)
        def convert(item):
            a, b = item['Response A'], item['Response B']
            chosen = a if item['Preference'] == 'A' else b
            return {'prompt': flat(item['messages']), 'chosen': chosen, 'rejected': b if chosen == a else a}
        def load_and_convert(path):
            with open(path, 'r') as f:
                data = json.load(f)  # HOLDS
            return Dataset.from_list([convert(item) for item in data])  # HOLDS
        def train(path):
            dataset = load_and_convert(path)
            tokenizer = AutoTokenizer.from_pretrained('qwen')
            print(len(dataset), tokenizer)
        if __name__ == '__main__':
            train('preferences.json')
        """,
    "games_printed": """
        import chess.pgn
        pgn = open('lichess_db_standard_rated.pgn')
        while True:
            game = chess.pgn.read_game(pgn)
            if game is None:
                break
            print(game.headers['White'], game.headers['Black'])
            board = game.board()
            for move in game.mainline_moves():
                board.push(move)
                print(board)
        """,
    "games_uploaded": """
        import io
        import chess.pgn
        import streamlit as st
        uploaded = st.file_uploader('PGN', type=['pgn'])
        if uploaded is not None:
            text = uploaded.read().decode('utf-8')  # HOLDS
            stream = io.StringIO(text)
            games = []
            while True:
                game = chess.pgn.read_game(stream)
                if game is None:
                    break
                games.append(game)  # HOLDS
            st.session_state.games = games
        """,
    "games_of_folder": """
        import os, sqlite3
        import chess.pgn
        def load_games():
            folder = 'exported'
            games = []
            if not os.path.exists(folder):
                return games
            names = [f for f in os.listdir(folder) if f.endswith('.pgn')]
            for name in names:
                path = os.path.join(folder, name)
                try:
                    with open(path, 'r') as f:
                        game = chess.pgn.read_game(f)
                        if game:
                            number = int(name.replace('game_', '').replace('.pgn', ''))
                            games.append((number, game))  # HOLDS
                except Exception as e:
                    print(name, e)
            return games
        def load_metrics():
            conn = sqlite3.connect('metrics.db')
            cursor = conn.cursor()
            cursor.execute('SELECT id, result, moves FROM results')
            rows = cursor.fetchall()  # HOLDS
            metrics = {}
            for row in rows:
                metrics[row[0]] = {'result': row[1], 'moves': row[2]}  # HOLDS
            conn.close()
            return metrics
        if __name__ == '__main__':
            print(len(load_games()), len(load_metrics()))
        """,
    "scaffolds_of_molecules": """
        import argparse
        from rdkit import Chem
        from rdkit.Chem.Scaffolds.MurckoScaffold import GetScaffoldForMol, MakeScaffoldGeneric
        def scaffold_of(mol, generic=False):
            scaffold = GetScaffoldForMol(mol)
            if generic:
                scaffold = MakeScaffoldGeneric(scaffold)
            return Chem.MolToSmiles(scaffold), mol.GetProp('_Name')
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('-i', '--input', nargs='+')
            parser.add_argument('-o', '--output', default='')
            args = parser.parse_args()
            all_mols = [  # HOLDS
                m
                for m in Chem.SmilesMolSupplier(args.input[0], delimiter=' ', titleLine=False)
                if m != None
            ]
            scaffolds = [  # HOLDS
                scaffold_of(m)
                for m in all_mols
            ]
            with open(args.output, 'w+') as out:
                for scaffold, name in scaffolds:
                    out.write(f'{scaffold} {name}\\n')
            print(len(set([s for s, _ in scaffolds])))  # HOLDS
        if __name__ == '__main__':
            main()
        """,
    "molecules_described": """
        from rdkit import Chem
        from rdkit.Chem import Descriptors
        import pandas as pd
        df = pd.read_csv('data/melting.csv')  # HOLDS
        df = pd.DataFrame(df['SMILES'])
        df['names'] = 'unknown'
        df.to_csv('data/smiles.csv', index=False)
        supplier = Chem.SmilesMolSupplier('data/smiles.csv', delimiter=',', smilesColumn=0)
        desc = []
        for mol in supplier:
            desc.append(Descriptors.CalcMolDescriptors(mol))  # HOLDS
        table = pd.DataFrame(desc)
        table.to_csv('data/descriptors.csv')
        """,
    "molecules_pickled": """
        import pickle
        from rdkit import Chem
        def write_pkl(path, data):
            with open(path, 'wb') as f:
                pickle.dump(data, f)
        def read_pkl(path):
            data = []
            with open(path, 'rb') as f:
                while True:
                    try:
                        part = pickle.load(f)  # HOLDS
                        data.extend(part)  # HOLDS
                    except EOFError:
                        break
            return data
        def read_sdf(path, sanitize=False):
            mols = list(Chem.SDMolSupplier(path, sanitize=sanitize))  # HOLDS
            return mols[0] if len(mols) == 1 else mols
        def read_smi(path):
            supplier = Chem.SmilesMolSupplier(path, titleLine=False)
            mols = [mol for mol in supplier if mol]  # HOLDS
            return mols[0] if len(mols) == 1 else mols
        """,
    "texts_of_archive": """
        import os, random
        from warcio.archiveiterator import ArchiveIterator
        from adapters import extract_text_from_html
        def extract_text(name: str | os.PathLike) -> list[str]:
            texts = []
            with open(name, 'rb') as stream:
                for record in ArchiveIterator(stream):
                    if record.rec_type == 'response':
                        texts.append(extract_text_from_html(record.content_stream().read()))  # HOLDS
            return texts
        def extract_url(name):
            urls = []
            with open(name, 'r', encoding='utf-8', errors='ignore') as f:
                for line in f:
                    line = line.strip()
                    if line.startswith('WARC-Target-URI:'):
                        urls.append(line.split(':', 1)[1].strip())
            return urls
        def construct(lines, data, category):
            for line in lines:
                data.append('__label__' + str(category) + ' ' + line.strip())  # HOLDS
        def main():
            good, bad = extract_text('good.warc'), extract_text('bad.warc')
            data = []
            construct(good, data, 1)
            construct(bad, data, 0)
            random.shuffle(data)
            with open('train.txt', 'w') as f:
                f.write('\\n'.join(data))
        main()
        """,
    "pages_of_archive": """
        import gzip, json, os, shutil
        from warcio.archiveiterator import ArchiveIterator
        class Collector:
            def __init__(self, temp_dir, out_dir):
                self.temp_dir, self.out_dir = temp_dir, out_dir
            def analyze(self, path):
                name = path.split('/')[-1]
                unzipped = os.path.join(self.temp_dir, name.replace('.warc.gz', '.warc'))
                with gzip.open(path, 'rb') as f_in:
                    with open(unzipped, 'wb') as f_out:
                        shutil.copyfileobj(f_in, f_out)
                data = []
                with open(unzipped, 'rb') as stream:
                    for record in ArchiveIterator(stream):
                        if record.rec_type == 'response':
                            uri = record.rec_headers.get_header('WARC-Target-URI')
                            raw = record.content_stream().read()
                            text = raw.decode('utf-8', 'replace')
                            if text == '':
                                continue
                            data.append({'text': text, 'url': uri})  # HOLDS
                with open(os.path.join(self.out_dir, name + '.jsonl'), 'w') as f:
                    for each in data:
                        f.write(json.dumps(each) + '\\n')
                os.remove(unzipped)
        Collector('tmp', 'out').analyze('crawl.warc.gz')
        """,
    "substations_joined": """
        import zipfile
        import polars as pl
        def read_all(file):
            dfs = []
            with zipfile.ZipFile(file, 'r') as packed:
                for f in packed.namelist():
                    name = f.split('_EGX_')[0]
                    df = (
                        pl.read_csv(packed.open(f), columns=['Date', 'Time', 'MW'])
                        .with_columns(pl.lit(name).alias('zss'))
                        .select(['zss', 'Date', 'Time', 'MW'])
                        .cast({'MW': pl.Float32})
                        .rename({'MW': 'mw'})
                    )
                    dfs.append(df)  # HOLDS
            return pl.concat(dfs)  # HOLDS
        if __name__ == '__main__':
            df = read_all('loads.zip')
            df.write_parquet('loads.parquet')
        """,
    "sounds_joined": """
        import librosa
        import numpy as np
        import soundfile as sf
        from pathlib import Path
        def load_audio(path):
            y, sr = librosa.load(path, sr=None)
            return y, sr
        def join_all(wavs):
            audios = []
            sr = None
            for w in wavs:
                y, sr = load_audio(w)
                silence = np.zeros(int(sr * 0.5))
                audios.append(y)  # HOLDS
                audios.append(silence)  # HOLDS
            return np.concatenate(audios), sr  # HOLDS
        def main():
            wavs = sorted(Path('in').glob('*.wav'))
            y, sr = join_all(wavs)
            intervals = librosa.effects.split(y, top_db=32)
            for n, (start, end) in enumerate(intervals):
                sf.write(f'out/{n}.wav', y[start:end], sr)
        main()
        """,
    "clips_cut": """
        import os
        import librosa
        import pandas as pd
        import soundfile as sf
        from tqdm import tqdm
        def main():
            df = pd.read_csv('labels.csv')  # HOLDS
            files = os.listdir('audio')
            present = [f.split('.')[0] for f in files]
            found = df[df['EpId'].isin(present)]
            for ep, clips in tqdm(found.groupby('EpId')):
                name = next((f for f in files if f.startswith(f'ep_{ep}.')), None)
                if not name:
                    continue
                y, sr = librosa.load(os.path.join('audio', name), sr=16000)
                for _, row in clips.iterrows():
                    start, stop = int(row['Start']), min(int(row['Stop']), len(y))
                    clip = y[start:stop]
                    if len(clip) < 1600:
                        continue
                    sf.write(f"clips/{ep}_{row['ClipId']}.wav", clip, sr)
        if __name__ == '__main__':
            main()
        """,
    "tokens_of_issues": """
        import ast
        from collections import Counter
        import pandas as pd
        def extract_tokens(df: pd.DataFrame) -> list[str]:
            all_tokens: list[str] = []
            for raw in df['token_list'].dropna():
                raw = str(raw).strip()
                if not raw or raw in ('[]', ''):
                    continue
                try:
                    parsed = ast.literal_eval(raw)
                    if isinstance(parsed, list):
                        all_tokens.extend(str(t) for t in parsed)  # HOLDS
                        continue
                except (ValueError, SyntaxError):
                    pass
                all_tokens.extend(raw.split())  # HOLDS
            return all_tokens
        def build_vocabulary(df: pd.DataFrame) -> pd.DataFrame:
            counts = Counter(extract_tokens(df))
            return pd.DataFrame(counts.most_common(), columns=['token', 'frequency'])
        if __name__ == '__main__':
            frame = pd.read_csv('issues.csv')  # HOLDS
            build_vocabulary(frame).to_csv('vocabulary.csv')
        """,
    "characters_to_bin": """
        import os, pickle
        import numpy as np
        def find_input():
            here = os.path.dirname(__file__)
            for each in ('input.txt', 'data.dat'):
                if os.path.exists(os.path.join(here, each)):
                    return os.path.join(here, each)
            raise FileNotFoundError(here)
        with open(find_input(), 'r') as f:
            raw = f.read()  # HOLDS
        data = ''.join(ch for ch in raw if ch in ('0', '1'))  # HOLDS
        chars = sorted(list(set(data)))
        stoi = {ch: i for i, ch in enumerate(chars)}
        itos = {i: ch for i, ch in enumerate(chars)}
        def encode(s: str):
            return [stoi[c] for c in s]  # HOLDS
        def decode(ids):
            return ''.join([itos[i] for i in ids])
        n = len(data)
        train_data = data[:int(n * 0.9)]
        val_data = data[int(n * 0.9):]
        train_ids = np.array(encode(train_data), dtype=np.uint16)  # HOLDS
        val_ids = np.array(encode(val_data), dtype=np.uint16)  # HOLDS
        train_ids.tofile('train.bin')
        val_ids.tofile('val.bin')
        with open('meta.pkl', 'wb') as f:
            pickle.dump({'stoi': stoi, 'itos': itos}, f)
        """,
    "stories_by_split": """
        import argparse
        from pathlib import Path
        import numpy as np
        from datasets import load_dataset
        from tokenizer import Tokenizer
        def prepare(tokenizer, name, out_dir, max_samples=None):
            dataset = load_dataset(name)
            train_data = dataset['train']
            val_data = dataset['validation']
            if max_samples is not None:
                train_data = train_data.select(range(min(max_samples, len(train_data))))
            eot = tokenizer.encode('<|endoftext|>')[0]
            def encode_split(split):
                ids = []
                for ex in split:
                    ids.extend(tokenizer.encode(ex['text']))  # HOLDS
                    ids.append(eot)
                return np.array(ids, dtype=np.uint16)  # HOLDS
            train_ids = encode_split(train_data)
            val_ids = encode_split(val_data)
            train_ids.tofile(Path(out_dir) / 'train.bin')
            val_ids.tofile(Path(out_dir) / 'val.bin')
        if __name__ == '__main__':
            parser = argparse.ArgumentParser()
            parser.add_argument('--max-samples', type=int, default=None)
            args = parser.parse_args()
            prepare(Tokenizer(), 'TinyStories', 'data', args.max_samples)
        """,
    "tokens_up_to_a_number": """
        import numpy as np
        from datasets import load_dataset
        from data.tokenizer import Tokenizer
        def prepare(train_path, val_path, num_tokens=10_000_000):
            ds = load_dataset('fineweb-edu', 'sample-10BT', split='train', streaming=True)
            tokenizer = Tokenizer()
            all_tokens = []
            for i, example in enumerate(ds):
                all_tokens.extend(tokenizer.encode(example['text']))
                if len(all_tokens) >= num_tokens:
                    break
                if (i + 1) % 1000 == 0:
                    print(i + 1, len(all_tokens))
            all_tokens = np.array(all_tokens[:num_tokens], dtype=np.uint16)
            n = int(len(all_tokens) * 0.95)
            all_tokens[:n].tofile(train_path)
            all_tokens[n:].tofile(val_path)
        """,
    "notes_of_folder": """
        import glob, os
        from torch.utils import data
        from miditok import REMI
        tokenizer = REMI()
        def tokenize_midi(file):
            try:
                return tokenizer.midi_to_tokens(file)
            except Exception as e:
                print(e)
                return None
        class MusicDataset(data.Dataset):
            def __init__(self, root):
                self.root = root
                self.data = []
                self.targets = []
                self.skipped = 0
            def load_data(self):
                for file in glob.glob(os.path.join(self.root, '*.mid')):
                    tokens = tokenize_midi(file)
                    if tokens is not None:
                        self.data.append(tokens)  # HOLDS
                    else:
                        self.skipped += 1
                    self.targets.append(os.path.basename(file).split('.')[0])
            def __getitem__(self, index):
                return self.data[index], self.targets[index]
            def __len__(self):
                return len(self.data)
        """,
    "cities_by_name": """
        import polars as pl
        def load_cities(filename):
            table = {}
            with open(filename, encoding='utf-8') as f:
                for line in f:
                    cols = line.strip().split('\\t')
                    if len(cols) < 18:
                        continue
                    key = f'{cols[8].lower()}/{cols[1].lower()}'
                    table[key] = (float(cols[4]), float(cols[5]), cols[17])  # HOLDS
            return table
        def load_stars(filename, faintest=7.0) -> pl.DataFrame:
            df = pl.read_csv(filename, null_values='').fill_null('')  # HOLDS
            if faintest is not None:
                magnitude = pl.col('Vmag').cast(pl.Float64, strict=False)
                df = df.filter(magnitude.is_not_null() & (magnitude <= faintest))
            return df
        """,
}

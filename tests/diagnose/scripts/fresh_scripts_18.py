"""An eighteenth collection of public scripts as minimal equivalents, made after the change for the seventeenth one:
conversions to JSON lines, point clouds, HDF5, corpora, tables; the marks were written before the reader ran on them.
At first sight: precision 1.00, recall 0.64, no false all-clear. After that, to agree with the other collections, the
mark of readlines() of one of many files was taken away (lines_sampled), the join that words_of_corpus returns was
marked, and folders_to_jsonl was taken out of CLEAR_18 (nothing shows how many names its list gathers).

Names in CLEAR_18 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_18 = {
    "arff_or_csv": "a reader of arff and csv (code search)",
    "problems_mapped": "a formatter of GSM8K for SFT (code search)",
    "tracks_cleaned": "a cleaner of a table of songs (code search)",
    "news_cleaned": "a cleaner of a table of news (code search)",
    "folds_of_features": "a conversion to JSON lines by folds (code search)",
    "positions_to_jsonl": "a conversion of positions to JSON lines (code search)",
    "frames_to_jsonl": "a conversion of an action log (code search)",
    "folders_to_jsonl": "a conversion of text files to JSON lines (code search)",
    "uploads_to_jsonl": "a converter of tables with a web page (code search)",
    "tables_to_jsonl": "a converter of tables by their suffix (code search)",
    "lines_sampled": "a sampler of JSON lines (code search)",
    "topics_of_files": "a topic model over a folder (code search)",
    "words_of_text8": "a word2vec on text8 (code search)",
    "sentences_searched": "a semantic search (code search)",
    "cloud_to_mesh": "a triangulation of a LAS file (code search)",
    "latents_to_hdf5": "a writer of latents (code search)",
    "heldout_to_hdf5": "an export of validation samples (code search)",
    "mels_to_hdf5": "a preprocessing of sound to HDF5 (code search)",
    "ratings_of_questions": "a rating of questions with examples (code search)",
    "corpus_in_subset": "a loader of a BEIR corpus (code search)",
    "words_of_corpus": "a loader of a corpus of words (code search)",
    "documents_checked": "a loader of documents with checks (code search)",
    "transcripts_listed": "a formatter of transcripts (code search)",
}

CLEAR_18 = {"positions_to_jsonl"}

FRESH_SCRIPTS_18 = {
    "arff_or_csv": """
        import re
        import numpy as np
        import pandas as pd
        from scipy.io import arff
        def read_arff(path):
            dataset, meta = arff.loadarff(open(path))  # HOLDS
            frame = pd.DataFrame(dataset)
            for column in frame.columns:
                if frame[column].dtype != 'int64':
                    frame[column] = frame[column].replace({b'?': np.nan})
                    frame[column] = frame[column].str.decode('utf-8')
            return frame
        def read_csv(path, delimiter):
            return pd.read_csv(path, delimiter=delimiter)  # HOLDS
        def read(path, delimiter):
            if re.search('[.]arff', path):
                frame = read_arff(path)
            elif re.search('[.]csv', path):
                frame = read_csv(path, delimiter)
            else:
                raise Exception('csv or arff')
            return frame
        def preprocess(frame, numeric):
            names = list(map(lambda each: each.strip(), numeric.split('-')))
            for column in names:
                if column in frame.columns:
                    frame[column] = frame[column].astype('float64')
            return frame.dropna()
        """,
    "problems_mapped": """
        INSTRUCTION = 'Solve the problem step by step.'
        def formatted(example: dict) -> dict:
            return {
                'messages': [
                    {'role': 'user', 'content': f"{INSTRUCTION} {example['question']}"},
                    {'role': 'assistant', 'content': example['answer']},
                ]
            }
        def preprocess_dataset(dataset, tokenizer):
            def one(example):
                text = tokenizer.apply_chat_template(formatted(example)['messages'], tokenize=False)
                return {'text': text}
            return dataset.map(one, remove_columns=dataset.column_names)
        """,
    "tracks_cleaned": """
        import re
        import pandas as pd
        def clean_text(text):
            if pd.isna(text):
                return ''
            return re.sub(r'[^a-z0-9 ;]', '', str(text).lower()).strip()
        def split_artists(artists):
            return [clean_text(a) for a in re.split(r'[;,/&]', artists) if a.strip()]
        def preprocess(path):
            df = pd.read_csv(path)  # HOLDS
            df['track'] = df['track'].apply(clean_text)
            df['artists'] = df['artists'].apply(clean_text)
            return df.drop_duplicates(subset=['track', 'artists'])
        """,
    "news_cleaned": """
        import string
        import pandas as pd
        from nltk.corpus import stopwords
        from nltk.stem import WordNetLemmatizer
        from nltk.tokenize import word_tokenize
        def load(path):
            df = pd.read_csv(path)  # HOLDS
            print(df.head())
            return df
        def preprocess_text(text):
            if pd.isnull(text):
                return ''
            text = text.lower().translate(str.maketrans('', '', string.punctuation))
            tokens = word_tokenize(text)
            stop = set(stopwords.words('english'))
            tokens = [word for word in tokens if word not in stop]
            lemmatizer = WordNetLemmatizer()
            tokens = [lemmatizer.lemmatize(word) for word in tokens]
            return ' '.join(tokens)
        def preprocess(df):
            df['clean'] = df['text'].apply(preprocess_text)
            return df
        if __name__ == '__main__':
            df = preprocess(load('news.csv'))
            df.to_csv('clean.csv', index=False)
        """,
    "folds_of_features": """
        import json
        from sklearn.model_selection import KFold
        SPLITS = 5
        def convert(input_file, out_train, out_val):
            with open(input_file, 'r') as f:
                data = json.load(f)  # HOLDS
            kf = KFold(n_splits=SPLITS, shuffle=True, random_state=42)
            data = list(data)
            for fold, (train_index, val_index) in enumerate(kf.split(data)):
                train = [data[i] for i in train_index]  # HOLDS
                val = [data[i] for i in val_index]  # HOLDS
                with open(out_train.replace('.jsonl', f'_{fold}.jsonl'), 'w') as f:
                    for entry in train:
                        f.write(json.dumps({'prompt': entry['features'], 'completion': entry['hash']}) + '\\n')
                with open(out_val.replace('.jsonl', f'_{fold}.jsonl'), 'w') as f:
                    for entry in val:
                        f.write(json.dumps({'prompt': entry['features'], 'completion': entry['hash']}) + '\\n')
        convert('audio.json', 'train.jsonl', 'val.jsonl')
        """,
    "positions_to_jsonl": """
        import csv, json, os
        def board_of(sfen, hands):
            return sfen.split('/')[0] + ' ' + hands
        def convert(csv_path='positions.csv', out_path='out/train.jsonl'):
            os.makedirs(os.path.dirname(out_path), exist_ok=True)
            with open(csv_path, 'r', encoding='utf-8') as source, open(out_path, 'w', encoding='utf-8') as out:
                reader = csv.DictReader(source)
                for row in reader:
                    board = board_of(row['sfen'], row['hands'])
                    player = 'first' if row['player'] == 'sente' else 'second'
                    json.dump({'prompt': f'{player}: {board}', 'response': row['sfen']}, out)
                    out.write('\\n')
        convert()
        """,
    "frames_to_jsonl": """
        import json, os
        source = 'action_log.json'
        target = 'action_log.jsonl'
        def convert():
            if not os.path.exists(source):
                print('not found')
                return
            with open(source, 'r') as f:
                try:
                    data = json.load(f)  # HOLDS
                except json.JSONDecodeError as e:
                    print(e)
                    return
            with open(target, 'w') as f:
                for key, value in data.items():
                    if key == 'frames' and isinstance(value, list):
                        for frame in value:
                            f.write(json.dumps(frame) + '\\n')
                    else:
                        f.write(json.dumps({key: value}) + '\\n')
        if __name__ == '__main__':
            convert()
        """,
    "folders_to_jsonl": """
        import argparse, glob, json, os
        def collect(folders):
            found = []
            for folder in folders:
                names = glob.glob(os.path.join(folder, '*.txt'))
                found.extend(names)
            return found
        def convert(files, out_path):
            with open(out_path, 'w', encoding='utf-8') as out:
                for path in files:
                    try:
                        with open(path, 'r', encoding='utf-8') as f:
                            content = f.read().strip()
                            if content:
                                out.write(json.dumps({'text': content}) + '\\n')
                    except Exception as e:
                        print(path, e)
        if __name__ == '__main__':
            parser = argparse.ArgumentParser()
            parser.add_argument('--folders', nargs='+')
            parser.add_argument('--output', default='out.jsonl')
            args = parser.parse_args()
            convert(collect(args.folders), args.output)
        """,
    "uploads_to_jsonl": """
        import json
        import pandas as pd
        import streamlit as st
        def load_data(file):
            kind = file.name.split('.')[-1]
            separator = ',' if kind == 'csv' else '\\t'
            return pd.read_csv(file, sep=separator, encoding='utf-8')  # HOLDS
        def convert(df, choice, system=''):
            if choice == 'chat':
                return '\\n'.join(df.apply(lambda x: json.dumps({'messages': [system, x.iloc[0]]}), axis=1))  # HOLDS
            elif choice == 'pair':
                return '\\n'.join(df.apply(lambda x: json.dumps({'prompt': x.iloc[0]}), axis=1))  # HOLDS
            return ''
        uploaded = st.file_uploader('A table', type=['csv', 'tsv'])
        if uploaded is not None:
            df = load_data(uploaded)
            st.download_button('Save', convert(df, 'chat'))
        """,
    "tables_to_jsonl": """
        import json, os
        import pandas as pd
        FOLDER = './data'
        def save_uploaded(file, name):
            path = os.path.join(FOLDER, name)
            with open(path, 'wb') as f:
                f.write(file.read())  # HOLDS
            return path
        def convert(path):
            ext = os.path.splitext(path)[-1].lower()
            data = None
            if ext == '.csv':
                data = pd.read_csv(path)  # HOLDS
            elif ext == '.xlsx':
                data = pd.read_excel(path)  # HOLDS
            elif ext == '.jsonl':
                return path
            else:
                raise ValueError(ext)
            data = data.rename(columns={data.columns[0]: 'src', data.columns[1]: 'tgt'})
            out = path.rsplit('.', 1)[0] + '.jsonl'
            with open(out, 'w', encoding='utf-8') as f:
                for _, row in data.iterrows():
                    f.write(json.dumps({'src': str(row['src']), 'tgt': str(row['tgt'])}) + '\\n')
            return out
        """,
    "lines_sampled": """
        import argparse, json, os, random
        def sample_folder(folder, out_path, size):
            names = [f for f in os.listdir(folder) if f.endswith('.jsonl')]
            with open(out_path, 'w') as out:
                for name in names:
                    with open(os.path.join(folder, name), 'r') as f:
                        lines = f.readlines()
                        for line in random.sample(lines, min(size, len(lines))):
                            out.write(line)
        def sample_one(path, out_path, size):
            with open(out_path, 'w') as out:
                with open(path, 'r') as f:
                    lines = f.readlines()  # HOLDS
                    for line in random.sample(lines, min(size, len(lines))):
                        out.write(line)
        def to_jsonl(path):
            if path.endswith('.jsonl'):
                return
            with open(path) as f:
                data = json.load(f)  # HOLDS
            with open(path + 'l', 'w') as out:
                for entry in data:
                    json.dump(entry, out)
                    out.write('\\n')
        if __name__ == '__main__':
            parser = argparse.ArgumentParser()
            parser.add_argument('--folder')
            parser.add_argument('--out')
            parser.add_argument('--size', type=int, default=50)
            args = parser.parse_args()
            to_jsonl(args.folder)
            sample_folder(args.folder, args.out, args.size)
            sample_one(args.folder, args.out, args.size)
        """,
    "topics_of_files": """
        import codecs, json, os
        from sklearn.decomposition import NMF
        from sklearn.feature_extraction.text import TfidfVectorizer
        class Topics:
            def __init__(self, root, encoding='utf8', most=None):
                self.infiles = self.get_infiles(root, most)
                self.corpus = self.build_corpus(self.infiles, encoding)
                self.vectorizer = TfidfVectorizer(input='content')
                self.tdm = self.vectorizer.fit_transform(self.corpus)
                self.nmf = NMF(n_components=20).fit(self.tdm)
            def read_file(self, path, encoding):
                with codecs.open(path, 'r', encoding) as f:
                    return f.read()
            def build_corpus(self, infiles, encoding):
                for i in infiles:
                    yield self.read_file(i, encoding)
            def get_infiles(self, root, most):
                infiles = []
                for folder, _, names in os.walk(root):
                    for name in names:
                        infiles.append(os.path.join(folder, name))
                        if most and len(infiles) >= most:
                            break
                return infiles
        """,
    "words_of_text8": """
        import os
        import urllib.request
        import zipfile
        from collections import Counter
        import numpy as np
        def load_text8(folder):
            path = os.path.join(folder, 'text8')
            if not os.path.exists(path):
                packed = os.path.join(folder, 'text8.zip')
                if not os.path.exists(packed):
                    urllib.request.urlretrieve('http://example.org/text8.zip', packed)
                with zipfile.ZipFile(packed) as z:
                    z.extractall(folder)
            with open(path, 'r') as f:
                return f.read().split()  # HOLDS
        def build_vocab(words, least=5):
            counts = Counter(words)
            index = {}
            for word, count in counts.items():
                if count >= least:
                    index[word] = len(index)
            return index, counts
        def build_corpus(words, index):
            corpus = [index[w] for w in words if w in index]  # HOLDS
            return np.array(corpus, dtype=np.int32)  # HOLDS
        words = load_text8('data')
        index, counts = build_vocab(words)
        corpus = build_corpus(words, index)
        np.save('corpus.npy', corpus)
        """,
    "sentences_searched": """
        from sentence_transformers import SentenceTransformer, util
        from nltk.tokenize import sent_tokenize
        model = SentenceTransformer('mini')
        corpus = []
        embeddings = None
        def build_corpus(paragraph):
            return sent_tokenize(paragraph)
        def update(paragraph):
            global corpus, embeddings
            corpus.extend(build_corpus(paragraph))
            embeddings = model.encode(corpus, convert_to_tensor=True)
        def search(query, k=3):
            found = util.cos_sim(model.encode(query), embeddings)[0].argsort(descending=True)[:k]
            for i in found:
                print(corpus[i])
        while True:
            command = input('add or search: ')
            if command == 'add':
                update(input('text: '))
            elif command == 'search':
                search(input('query: '))
            else:
                break
        """,
    "cloud_to_mesh": """
        import os
        import laspy
        import numpy as np
        from scipy.spatial import Delaunay
        def build(points, out_path):
            pts = np.asarray(points, dtype=float)
            tri = Delaunay(pts[:, :2])
            os.makedirs(os.path.dirname(out_path), exist_ok=True)
            with open(out_path, 'w') as f:
                for face in tri.simplices:
                    f.write(' '.join(map(str, face)) + '\\n')
            return out_path
        def build_from_las(path, out_path):
            las = laspy.read(path)  # HOLDS
            cls = np.asarray(las.classification)
            x, y, z = np.asarray(las.x), np.asarray(las.y), np.asarray(las.z)
            mask = cls == 2
            pts = np.column_stack([x[mask], y[mask], z[mask]])
            return build(pts, out_path)
        build_from_las('scan.las', 'out/mesh.dxf')
        """,
    "latents_to_hdf5": """
        from pathlib import Path
        import h5py
        import numpy as np
        import torch
        @torch.no_grad()
        def write_latents(encoder, loader, out_path, n_items, device):
            out_path = Path(out_path)
            out_path.parent.mkdir(parents=True, exist_ok=True)
            x0, _ = next(iter(loader))
            z0 = encoder(x0.to(device)).cpu()
            written = 0
            with h5py.File(out_path, 'w') as f:
                latents = f.create_dataset('latents', shape=(n_items, *z0.shape[1:]), dtype=np.float16, chunks=True)
                for xb, _ in loader:
                    zb = encoder(xb.to(device)).cpu().numpy().astype(np.float16)
                    take = min(zb.shape[0], n_items - written)
                    latents[written:written + take] = zb[:take]
                    written += take
                    if written >= n_items:
                        break
        """,
    "heldout_to_hdf5": """
        import h5py
        import numpy as np
        import torch
        def export(dataset, indices, out_path, number):
            if out_path.exists():
                return
            chosen = list(indices[:number])
            targets, masks, surveys = [], [], []
            for idx in chosen:
                target, mask, metadata = dataset[idx]
                targets.append(target.detach().cpu())
                masks.append(mask.detach().cpu())
                surveys.append(str(metadata.get('survey', 'unknown')).encode('utf-8'))
            with h5py.File(out_path, 'w') as f:
                f.create_dataset('targets', data=torch.stack(targets).numpy())
                f.create_dataset('masks', data=torch.stack(masks).numpy())
                f.create_dataset('surveys', data=np.asarray(surveys, dtype='S'))
        """,
    "mels_to_hdf5": """
        import json
        from pathlib import Path
        import h5py
        import librosa
        import numpy as np
        from tqdm import tqdm
        def load_audio(path, rate):
            return librosa.load(path, sr=rate)[0]
        def mel_of(y, rate):
            return np.log1p(librosa.feature.melspectrogram(y=y, sr=rate)).T
        def files_below(root):
            for ext in ('*.wav', '*.flac'):
                yield from root.rglob(ext)
        def preprocess(rate=16000):
            targets = {'train': (Path('vcc'), 'train.h5'), 'eval': (Path('arctic'), 'eval.h5')}
            acc = []
            for name, (src, out_path) in targets.items():
                files = list(files_below(src))
                if not files:
                    continue
                with h5py.File(out_path, 'w') as h5:
                    for f in tqdm(files, desc=name):
                        y = load_audio(f, rate)
                        mel = mel_of(y, rate)
                        h5.create_dataset(f.stem, data=mel)
                        if name == 'train':
                            acc.append(mel)  # HOLDS
            if acc:
                joined = np.concatenate(acc, axis=0)  # HOLDS
                Path('stats.json').write_text(json.dumps({'mean': joined.mean(0).tolist()}))
        preprocess()
        """,
    "ratings_of_questions": """
        import json, os, random
        USER = 'Question: {q} Answer: {a}'
        def load_corpus(path):
            return [json.loads(l) for l in open(path, encoding='utf-8')]  # HOLDS
        def load_ratings(path):
            out = {}
            if not path or not os.path.exists(path):
                return out
            for line in open(path, encoding='utf-8'):
                line = line.strip()
                if not line or line.startswith('#'):
                    continue
                p = line.split('\\t')
                if len(p) >= 2:
                    try:
                        out[p[0].strip()] = float(p[1])  # HOLDS
                    except ValueError:
                        pass
            return out
        def shots(corpus, path, k, seed):
            rated = load_ratings(path)
            by_id = {x['id']: x for x in corpus}  # HOLDS
            pool = sorted(set(rated) & set(by_id))
            rng = random.Random(seed)
            rng.shuffle(pool)
            messages = []
            for qid in pool[:k]:
                x = by_id[qid]
                messages.append({'role': 'user', 'content': USER.format(q=x['q'], a=x['a'])})
                messages.append({'role': 'assistant', 'content': str(int(round(rated[qid])))})
            return messages
        if __name__ == '__main__':
            print(shots(load_corpus('corpus.jsonl'), 'difficulty.tsv', 8, 1))
        """,
    "corpus_in_subset": """
        import json
        from pathlib import Path
        DATA = Path('data')
        def load_corpus(dataset, subset_size=None):
            raw = DATA / 'raw' / dataset
            corpus = []
            with open(raw / 'corpus.jsonl', encoding='utf-8') as f:
                for line in f:
                    corpus.append(json.loads(line))  # HOLDS
            if subset_size:
                with open(raw / f'{subset_size}_ids.json', encoding='utf-8') as f:
                    ids = set(json.load(f))  # HOLDS
                corpus = [doc for doc in corpus if doc.get('parent_id', doc['_id']) in ids]
            return corpus
        def load_queries(dataset):
            queries = {}
            with open(DATA / 'raw' / dataset / 'queries.jsonl', encoding='utf-8') as f:
                for line in f:
                    q = json.loads(line)
                    queries[q['_id']] = q['text']  # HOLDS
            return queries
        print(len(load_corpus('nq', 1000)), len(load_queries('nq')))
        """,
    "words_of_corpus": """
        import pickle, string
        def helper(word):
            word = word.lower()
            for c in word:
                if c in string.punctuation:
                    word = word.replace(c, '')
            return word
        def load_corpus(path):
            f = open(path, 'r')
            x = [helper(word) for line in f for word in line.split() if helper(word) != '']  # HOLDS
            return ' '.join(x)  # HOLDS
        def load_parameters(path):
            f = open(path, 'rb')
            unpickler = pickle.Unpickler(f)
            return unpickler.load()  # HOLDS
        text = load_corpus('moby.txt')
        pairs = [text[i:i + 2] for i in range(len(text) - 1)]  # HOLDS
        print(len(pairs), load_parameters('p.pkl'))
        """,
    "documents_checked": """
        import json, re
        from pathlib import Path
        PATTERN = re.compile('[a-z]+')
        def tokenize(text):
            return PATTERN.findall(text)
        def load_corpus(path):
            if not path.exists():
                raise FileNotFoundError(path)
            with path.open('r', encoding='utf-8') as f:
                raw = json.load(f)  # HOLDS
            if isinstance(raw, dict):
                raw = raw.get('documents', [])
            docs = []
            for i, item in enumerate(raw, start=1):
                if not isinstance(item, dict):
                    raise TypeError(i)
                name = item.get('name') or f'D{i:02d}'
                text = item.get('text') or ''
                if not text.strip():
                    raise ValueError(name)
                docs.append({'name': name, 'text': text})  # HOLDS
            return docs
        def main():
            docs = load_corpus(Path('corpus.json'))
            tagged = []
            for doc in docs:
                tokens = tokenize(doc['text'])
                tagged.append({'name': doc['name'], 'tokens': tokens})  # HOLDS
            with open('tagged.json', 'w') as f:
                json.dump(tagged, f)
        main()
        """,
    "transcripts_listed": """
        import gc, os
        import pandas
        import torchaudio
        def format_audio(folder, number, out_path, speaker, share=0.15):
            metadata = {'audio_file': [], 'text': [], 'speaker': []}
            for i in range(number):
                wav, sr = torchaudio.load(os.path.join(folder, f'{i}.wav'))
                name = f'wavs/{i}.wav'
                torchaudio.save(os.path.join(out_path, name), wav, sr)
                with open(os.path.join(folder, f'{i}.txt')) as f:
                    sentence = f.read().split('|')[-1]
                metadata['audio_file'].append(name)
                metadata['text'].append(sentence)  # HOLDS
                metadata['speaker'].append(speaker)
            df = pandas.DataFrame(metadata)
            df = df.sample(frac=1)
            n = int(len(df) * share)
            df[n:].sort_values('audio_file').to_csv(os.path.join(out_path, 'train.csv'), sep='|', index=False)
            df[:n].sort_values('audio_file').to_csv(os.path.join(out_path, 'eval.csv'), sep='|', index=False)
            del df, metadata
            gc.collect()
        """,
}

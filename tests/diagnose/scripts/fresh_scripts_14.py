"""A fourteenth collection of public scripts as minimal equivalents, made after the change for the thirteenth one:
classes that load, tokenized texts, lines, tensors; the marks were written before the reader ran on them.
At first sight: precision 0.93, recall 0.91, no false all-clear. Two marks were changed after that, to agree with
those of the other collections: readlines() in a loop over files holds (traces_counted), and what grows
as often as a written number says does not (chirps_generated).

Names in CLEAR_14 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_14 = {
    "answers_with_ids": "a load_data of a probing study (code search)",
    "four_tables": "a dashboard of estimates (code search)",
    "churn_table": "a dashboard of churn (code search)",
    "movies_and_ratings": "a MovieRecommender (code search)",
    "sales_by_folder": "a sales trainer (code search)",
    "storage_of_service": "a load and save of data.json (code search)",
    "bm25_and_vectors": "a build_index of chunks (code search)",
    "quotes_by_category": "an LSTM on quotes (code search)",
    "bert_inputs": "a fine-tuning of BERT (code search)",
    "imdb_ids": "a preprocess of IMDB (code search)",
    "vocabulary_class": "a Vocabulary with build_vocab (code search)",
    "gensim_corpus": "a topic model with gensim (code search)",
    "sequences_of_lines": "a text class with getSequences (code search)",
    "traces_counted": "a transition matrix of traces (code search)",
    "blocks_of_raster": "a reader of raster lines (code search)",
    "names_blocked": "a blocklist reader (code search)",
    "basis_sections": "a parser of basis files (code search)",
    "iris_normalized": "a neural network on iris (code search)",
    "functions_commented": "a patch of one source file (code search)",
    "tensors_extended": "a robot experiment (code search)",
    "chirps_generated": "a generator of chirps (code search)",
    "images_concatenated": "a converter of an image folder (code search)",
    "graphs_of_segments": "a builder of graphs (code search)",
    "frames_in_chunks": "a maker of video chunks (code search)",
    "samples_by_workers": "a sampler with a pool (code search)",
    "self_play": "a warm-up by self play (code search)",
}

CLEAR_14: set[str] = set()

FRESH_SCRIPTS_14 = {
    "answers_with_ids": """
        import argparse, os
        import pandas as pd
        import torch
        NAMES = {'a/b': 'b'}
        def load_data(model_name, dataset_name):
            filename = f'{NAMES[model_name]}-answers-{dataset_name}.csv'
            if not os.path.exists(filename):
                csv_files = [f for f in os.listdir() if f.endswith(f'-answers-{dataset_name}.csv')]
                if csv_files:
                    filename = csv_files[0]
                else:
                    raise FileNotFoundError(dataset_name)
            data = pd.read_csv(filename)  # HOLDS
            pt_file = f'{NAMES[model_name]}-input_output_ids-{dataset_name}.pt'
            ids = torch.load(pt_file)  # HOLDS
            return data, ids
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('--model')
            args = parser.parse_args()
            data, ids = load_data(args.model, 'x')
            labels = [int(x) for x in data['automatic_correctness']]  # HOLDS
            print(len(labels))
        main()
        """,
    "four_tables": """
        import pandas as pd
        import streamlit as st
        @st.cache_data
        def load_data():
            hasil = pd.read_csv(  # HOLDS
                'data/hasil_estimasi.csv'
            )
            model = pd.read_csv('data/perbandingan.csv')  # HOLDS
            return (hasil, model)
        hasil, model = load_data()
        hasil['kode'] = hasil['kode'].astype(str)
        st.dataframe(hasil[hasil['tahun'] == 2025])
        """,
    "churn_table": """
        import streamlit as st
        import pandas as pd
        import plotly.express as px
        @st.cache_data
        def load_data(file_path: str) -> pd.DataFrame:
            df_ = pd.read_csv(file_path)  # HOLDS
            cols = ['Churn Reason', 'Offer']
            df_[cols] = df_[cols].fillna('Unknown')
            return df_
        df = load_data('telco.csv')
        genders = st.multiselect('Gender', options=df['Gender'].unique().tolist())
        shown = df[df['Gender'].isin(genders)]
        st.plotly_chart(px.bar(shown.groupby('Offer').size().reset_index(name='n'), x='Offer', y='n'))
        """,
    "movies_and_ratings": """
        import pandas as pd
        from scipy.sparse import csr_matrix
        class MovieRecommender:
            def __init__(self):
                self.movies = None
                self.ratings = None
            def load_data(self):
                self.movies = pd.read_csv('ml-25m/movies.csv', encoding='latin1')  # HOLDS
                self.ratings = pd.read_csv('ml-25m/ratings.csv', encoding='latin1')  # HOLDS
                print(self.ratings.head())
                self.ratings = self.ratings.sample(frac=0.05, random_state=42)
                counts = self.ratings['movieId'].value_counts()
                keep = counts[counts >= 50].index
                self.ratings = self.ratings[self.ratings['movieId'].isin(keep)]
            def rows(self):
                out = []
                for row in self.ratings.itertuples():
                    out.append((row.userId, row.movieId, row.rating))  # HOLDS
                return out
        r = MovieRecommender()
        r.load_data()
        print(len(r.rows()))
        """,
    "sales_by_folder": """
        import os
        import pandas as pd
        def load_data(folder):
            file_path = f'dataset/{folder}/{folder.lower()}_sales.csv'
            if not os.path.exists(file_path):
                return None
            data = pd.read_csv(file_path)  # HOLDS
            data.columns = data.columns.str.strip().str.lower()
            data['date'] = pd.to_datetime(data['date'])
            data['month'] = data['date'].dt.month
            return data.drop(columns=['date'])
        for folder in ['North', 'South']:
            data = load_data(folder)
            X = data.drop(columns=['sales']).values
            print(X.shape)
        """,
    "storage_of_service": """
        from json import load, dump
        import os
        from fastapi import HTTPException
        def load_data() -> dict:
            if not os.path.exists('data.json'):
                return {}
            try:
                with open('data.json', 'r') as file:
                    return load(file)  # HOLDS
            except Exception:
                raise HTTPException(status_code=500, detail='Storage error')
        def save_data(data: dict) -> None:
            with open('data.json', 'w') as file:
                dump(data, file, ensure_ascii=False, indent=2)
        """,
    "bm25_and_vectors": """
        import json, os, sys
        import numpy as np
        import voyageai
        from rank_bm25 import BM25Okapi
        client = voyageai.Client()
        def embed_text(texts):
            embeddings = []
            for text in texts:
                try:
                    response = client.embed(texts=[text], model='voyage-3')
                    embeddings.extend(response.embeddings)  # HOLDS
                except Exception as e:
                    print(e)
            return np.array(embeddings).astype('float32')  # HOLDS
        def build_bm25_index(texts):
            tokenized_texts = [text.split(' ') for text in texts]  # HOLDS
            return BM25Okapi(tokenized_texts)
        if __name__ == '__main__':
            existing_texts = []
            if os.path.exists('texts.json'):
                with open('texts.json', 'r', encoding='utf-8') as f:
                    existing_texts = json.load(f)  # HOLDS
            with open(sys.argv[1]) as f:
                new_texts = json.load(f)  # HOLDS
            vectors = embed_text(new_texts)
            bm25 = build_bm25_index(new_texts)
        """,
    "quotes_by_category": """
        from collections import Counter
        import pandas as pd
        import torch
        from nltk.tokenize import word_tokenize
        from torch.utils.data import Dataset
        class TextDataset(Dataset):
            def __init__(self, sequences):
                self.sequences = sequences
            def __getitem__(self, idx):
                seq = self.sequences[idx]
                return torch.tensor(seq[:-1]), torch.tensor(seq[1:])
        def preprocess_text(text_data, seq_length):
            tokenized_texts = [word_tokenize(text.lower()) for text in text_data]  # HOLDS
            vocab = Counter()
            for text in tokenized_texts:
                vocab.update(text)
            word_to_idx = {word: i + 2 for i, word in enumerate(vocab)}
            sequences = []
            for text in tokenized_texts:
                encoded_text = [word_to_idx.get(word, 1) for word in text]
                for i in range(len(encoded_text) - seq_length):
                    sequences.append(encoded_text[i:i + seq_length + 1])  # HOLDS
            return sequences, word_to_idx
        def create_category_dataset(df, category, seq_length):
            texts = df[df['Category'] == category]['Quote']
            return preprocess_text(texts, seq_length)
        df = pd.read_csv('quotes.csv')  # HOLDS
        sequences, vocab = create_category_dataset(df, 'life', 10)
        dataset = TextDataset(sequences)
        """,
    "bert_inputs": """
        import argparse
        import pandas as pd
        from keras.preprocessing.sequence import pad_sequences
        from sklearn.model_selection import train_test_split
        from transformers import BertTokenizer
        parser = argparse.ArgumentParser()
        parser.add_argument('--trainFile')
        args = parser.parse_args()
        trainFile = args.trainFile
        df = pd.read_csv(trainFile, delimiter='\\t', header=None, names=['label', 'sentence'])  # HOLDS
        sentences = df.sentence.values
        sentences = ['[CLS] ' + sentence + ' [SEP]' for sentence in sentences]  # HOLDS
        labels = df.label.values
        tokenizer = BertTokenizer.from_pretrained('bert-base-uncased', do_lower_case=True)
        tokenized_texts = [tokenizer.tokenize(sent) for sent in sentences]  # HOLDS
        print(tokenized_texts[0])
        input_ids = [tokenizer.convert_tokens_to_ids(x) for x in tokenized_texts]  # HOLDS
        input_ids = pad_sequences(input_ids, maxlen=128, dtype='long')
        attention_masks = []
        for seq in input_ids:
            seq_mask = [float(i > 0) for i in seq]
            attention_masks.append(seq_mask)  # HOLDS
        """,
    "imdb_ids": """
        import argparse, os
        import numpy as np
        import pandas as pd
        from collections import Counter
        from nltk.tokenize import word_tokenize
        from utils import clean_text, save_json
        def build_vocab(tokenized_texts, vocab_size=10000):
            counter = Counter()
            for toks in tokenized_texts:
                counter.update(toks)
            most_common = [w for w, _ in counter.most_common(vocab_size - 2)]
            itos = ['<pad>', '<unk>'] + most_common
            return {w: i for i, w in enumerate(itos)}
        def tokens_to_ids(tokens, stoi):
            return [stoi.get(t, 1) for t in tokens]
        def main():
            ap = argparse.ArgumentParser()
            ap.add_argument('--data_csv', default='data/IMDB.csv')
            args = ap.parse_args()
            df = pd.read_csv(args.data_csv)  # HOLDS
            texts = [clean_text(t) for t in df['review'].tolist()]  # HOLDS
            labels = [1 if y == 'positive' else 0 for y in df['sentiment'].tolist()]  # HOLDS
            tokenized = [word_tokenize(t) for t in texts]  # HOLDS
            stoi = build_vocab(tokenized)
            ids = [tokens_to_ids(t, stoi) for t in tokenized]  # HOLDS
            X = np.array(ids, dtype=np.int64)  # HOLDS
            np.savez(os.path.join('data', 'train.npz'), X=X, y=labels)
            save_json(stoi, 'data/vocab.json')
        main()
        """,
    "vocabulary_class": """
        from collections import Counter
        class Vocabulary:
            def __init__(self, min_freq=2, max_size=None, specials=None):
                self.specials = specials or ['<pad>', '<unk>']
                self.stoi = {}
                self.itos = []
                self.min_freq = min_freq
            def build_vocab(self, tokenized_texts):
                counter = Counter()
                for tokens in tokenized_texts:
                    counter.update(tokens)
                self.itos = list(self.specials)
                self.stoi = {tok: i for i, tok in enumerate(self.itos)}
                for tok, freq in counter.most_common():
                    if freq < self.min_freq:
                        break
                    self.stoi[tok] = len(self.itos)
                    self.itos.append(tok)
        """,
    "gensim_corpus": """
        import pandas as pd
        from gensim import corpora
        from gensim.models import LdaModel
        from stopwords import get_spanish_stopwords
        def prepare_gensim_corpus(texts, extra_stopwords=None, min_len=2):
            stop = get_spanish_stopwords(extra_stopwords)
            tokenized_texts = [  # HOLDS
                [w for w in str(t).split() if w not in stop and len(w) >= min_len]
                for t in texts
            ]
            dictionary = corpora.Dictionary(tokenized_texts)
            dictionary.filter_extremes(no_below=5, no_above=0.5)
            corpus = [dictionary.doc2bow(t) for t in tokenized_texts]  # HOLDS
            return dictionary, corpus, tokenized_texts
        df = pd.read_excel('opiniones.xlsx')  # HOLDS
        dictionary, corpus, texts = prepare_gensim_corpus(df['texto'].dropna())
        model = LdaModel(corpus=corpus, id2word=dictionary, num_topics=5)
        """,
    "sequences_of_lines": """
        import pickle
        import pandas as pd
        class TextData:
            def __init__(self, path, tokenizer):
                self.path = path
                self.tokenizer = tokenizer
                self.txt_lines = pd.read_csv(path + '/lines.tsv', sep='\\t')['text']  # HOLDS
                self.vocabulary = self.build()
            def build(self):
                vocabulary = {'<unk>': 0}
                index = 1
                for line in self.tokenize():
                    for token in line:
                        if token not in vocabulary:
                            vocabulary[token] = index
                            index += 1
                with open(self.path + '/vocabulary.pkl', 'wb') as file:
                    pickle.dump(vocabulary, file)
                return vocabulary
            def tokenize(self):
                return self.txt_lines.apply(self.tokenizer)
            def getSequences(self):
                tokenized_texts = self.tokenize()
                sequences = []
                for tokenized_line in tokenized_texts:
                    sequence = []
                    for token in tokenized_line:
                        if token in self.vocabulary:
                            sequence.append(self.vocabulary.get(token))
                        else:
                            sequence.append(self.vocabulary.get('<unk>'))
                    sequences.append(sequence)  # HOLDS
                return sequences
        """,
    "traces_counted": """
        class Chain:
            def __init__(self, tracesdir, states, tree):
                self.tracesdir = tracesdir
                self.states = states
                self.tree = tree
                self.matrix = [[0] * len(states) for _ in states]
            def parallel(self, files):
                for file in files:
                    with open(self.tracesdir + file, 'r') as f:
                        current = 'root'
                        for line in f.readlines():  # HOLDS
                            nxt = self.tree.search(line).name
                            self.matrix[self.states[current]][self.states[nxt]] += 1
                            current = nxt
                return self.matrix
        """,
    "blocks_of_raster": """
        import torch
        all_data = torch.zeros([99, 40])
        coords_to_data = {}
        with open('data.txt', 'r') as f:
            lines = [line for line in f.readlines()]  # HOLDS
            elems = -1
            i = 0
            while i < len(lines):
                v = lines[i]
                lon, lat = float(v[4:13]), float(v[-9:])
                elems += 1
                coords_to_data[(lon, lat)] = []
                while i < len(lines) and lines[i].startswith('viirs'):
                    start = lines[i].find(',')
                    coords_to_data[(lon, lat)].append(float(lines[i][start + 1:]))  # HOLDS
                    i += 1
        """,
    "names_blocked": """
        def _read_names(path):
            if not path:
                return []
            try:
                with open(path) as f:
                    lines = f.readlines()  # HOLDS
            except OSError:
                return []
            seen = set()
            names = []
            for raw in lines:
                name = raw.strip().lower()
                if name and not name.startswith('#') and name not in seen:
                    seen.add(name)  # HOLDS
                    names.append(name)  # HOLDS
            return sorted(names)
        """,
    "basis_sections": """
        def parse_file(path):
            as_list = _read_into_list(path)
            sections = _get_sections(as_list)
            found = list()
            for x in sections:
                found.append(_parse_one(x))  # HOLDS
            return found
        def _read_into_list(path):
            with open(path, 'rt') as f:
                as_list = f.readlines()  # HOLDS
            return as_list
        def _get_sections(lines):
            sections, current = [], []
            for line in lines:
                if line.startswith('BASIS_SET'):
                    if current:
                        sections.append(current)  # HOLDS
                    current = [line]
                else:
                    current.append(line)
            sections.append(current)
            return sections
        def _parse_one(lines):
            return {'name': lines[0], 'rows': [line.split() for line in lines[1:]]}
        print(len(parse_file('BASIS')))
        """,
    "iris_normalized": """
        import random, sys
        def main():
            f = open(sys.argv[1], 'r')
            lines = f.readlines()  # HOLDS
            training, validation, testing = [], [], []
            examples = []
            for i in range(len(lines)):
                if lines[i] != '\\n':
                    lines[i] = lines[i].split(',')
                    data = [float(x) for x in lines[i][0:4]]
                    examples.append(data)  # HOLDS
            random.shuffle(examples)
            for i in range(len(examples)):
                if i < 100:
                    training.append(examples[i])
                else:
                    testing.append(examples[i])  # HOLDS
        main()
        """,
    "functions_commented": """
        import os, sys
        path = '/srv/app/main.py'
        if not os.path.exists(path):
            sys.exit(1)
        with open(path, 'r', encoding='utf-8') as f:
            lines = f.readlines()  # HOLDS
        new_lines = []
        comment = False
        for line in lines:
            if line.strip().startswith('def api_'):
                line = '# ' + line
                comment = True
            new_lines.append(line)  # HOLDS
        with open(path, 'w') as f:
            f.writelines(new_lines)
        """,
    "tensors_extended": """
        import numpy as np
        import torch
        from torch.utils.data import TensorDataset
        for step in range(100):
            try:
                dataset = torch.load('dataset.pth')  # HOLDS
                old_x, old_y = dataset.tensors[0], dataset.tensors[1]
            except FileNotFoundError:
                old_x, old_y = torch.FloatTensor(), torch.FloatTensor()
            new_x, new_y = run_experiment(step)
            x = torch.cat((old_x, new_x), dim=0)
            y = torch.cat((old_y, new_y), dim=0)
            torch.save(TensorDataset(x, y), 'dataset.pth')
        """,
    "chirps_generated": """
        import numpy as np
        import torch
        from chirps import ChirpGenerator
        def datagen(num_chirps=100):
            gen = ChirpGenerator(fs=4e9, method='linear')
            dataset = {'iq_tensors': [], 'labels': []}
            for _ in range(num_chirps):
                snr = np.random.uniform(10, 90)
                x_tensor, label = gen.generate(snr_dbFS=snr)
                dataset['iq_tensors'].append(x_tensor)
                dataset['labels'].append(label)
            torch.save(dataset, f'dataset_of_{num_chirps}.pt')
        datagen(100000)
        """,
    "images_concatenated": """
        import os
        import torch
        from torch.utils.data import DataLoader
        from torchvision import datasets, transforms
        def convert(path, out_dir):
            dataset = datasets.ImageFolder(root=path, transform=transforms.ToTensor())
            loader = DataLoader(dataset, batch_size=64)
            all_images = []
            all_labels = []
            for i, (images, labels) in enumerate(loader):
                print(i, len(loader))
                all_images.append(images)  # HOLDS
                all_labels.append(labels)  # HOLDS
            final_images = torch.cat(all_images, dim=0)  # HOLDS
            final_labels = torch.cat(all_labels, dim=0)  # HOLDS
            torch.save({'data': final_images, 'labels': final_labels}, os.path.join(out_dir, 'dataset.pt'))
        """,
    "graphs_of_segments": """
        import torch
        from tqdm import tqdm
        from build import build_pyg_graph
        def build_dataset(client, seg_ids, attributes, save_path=None, every=None):
            dataset = []
            for i, seg_id in enumerate(tqdm(seg_ids, desc='graphs')):
                try:
                    data, error = build_pyg_graph(client, seg_id, attributes)
                except Exception as e:
                    print(e)
                    continue
                data.metadata = {'seg_id': seg_id}
                dataset.append(data)  # HOLDS
                if save_path is not None and i % every == 0:
                    torch.save(dataset, save_path.replace('.pt', f'_{i}.pt'))
            return dataset
        """,
    "frames_in_chunks": """
        import os
        from random import shuffle
        import cv2
        import numpy as np
        import torch
        frames = []
        for file in os.listdir('videos'):
            cap = cv2.VideoCapture('videos/' + file)
            while True:
                ok, frame = cap.read()
                if not ok:
                    break
                small = cv2.resize(frame, (64, 64))
                frames.append([small, labels[file]])  # HOLDS
        shuffle(frames)
        chunk = []
        number = 0
        for i, c in enumerate(frames):
            chunk.append(c)
            if i % 1000 == 0 and i != 0:
                arr = np.array(chunk)
                torch.save(arr, f'{number}.dst')
                chunk = []
                number += 1
        """,
    "samples_by_workers": """
        import concurrent.futures
        import torch
        from tqdm import tqdm
        from priors import prior0, sample
        num_iterations, per_iteration = 100, 500
        args = [(k, prior0()) for k in range(num_iterations * per_iteration)]
        with concurrent.futures.ProcessPoolExecutor(max_workers=8) as pool:
            futures = [pool.submit(sample, arg) for arg in args]
            results = concurrent.futures.as_completed(futures)
            for i in tqdm(range(num_iterations)):
                res = [next(results).result() for _ in range(per_iteration)]
                dataset = [t for t in res if t is not None]
                torch.save(dataset, f'out/{i}.pt')
                del res, dataset
        """,
    "self_play": """
        import os
        import torch
        from model import Model
        from match import self_play_loop, GameDataset
        dataset = GameDataset()
        model = Model()
        for i, res in enumerate(self_play_loop(model)):
            black_history, black_score, white_history, white_score = res
            dataset.add(black_history, black_score)
            dataset.add(white_history, white_score)
            print(f'Game {i} Score: {black_score}')
        torch.save(dataset.state_dict(), 'checkpoint/data.pt')
        """,
}

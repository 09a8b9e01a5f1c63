"""A nineteenth collection of public scripts as minimal equivalents, made after the change for the eighteenth one:
instructions, tokenized corpora, merged tables, windows of time series, posts, duplicates; the marks were written before
the reader ran on them.
At first sight: precision 0.94, recall 0.87, no false all-clear. After that, the list of tokens in words_of_articles was
marked, as such lists are in the other collections. A data loader is still not followed (duplicates_clustered).

Names in CLEAR_19 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_19 = {
    "signs_to_instructions": "a conversion of a sign language dataset (code search)",
    "conversations_to_parquet": "a conversion of conversations (code search)",
    "captions_to_instructions": "a maker of instructions from captions (code search)",
    "seeds_for_instructions": "a self-instruct with seeds (code search)",
    "samples_with_bigrams": "a bag of words with bigrams (code search)",
    "predicates_with_contexts": "a word2vec over predicates (code search)",
    "index_of_corpus": "a BM25 and FAISS index (code search)",
    "stories_by_chunks": "a tokenizer over chunks of text (code search)",
    "tokens_of_tagged": "a tagger of quotations (code search)",
    "words_of_articles": "a tokenizer of articles (code search)",
    "lists_merged": "a merge of csv and JSON manifests (code search)",
    "hits_added": "a sum of job results (code search)",
    "properties_merged": "a merge of scraped tables (code search)",
    "results_concatenated": "a merge into one frame (code search)",
    "rates_merged": "a merge of rates of exchange (code search)",
    "inflation_windows": "an LSTM on inflation (code search)",
    "sections_tokenized": "a dataset of tokenized sections (code search)",
    "returns_windowed": "an LSTM on returns (code search)",
    "tweets_searched": "a search of tweets (code search)",
    "tweets_of_file": "a reader of tweets (code search)",
    "comments_deduplicated": "a cleaning of comments (code search)",
    "evidence_deduplicated": "a registry of evidence (code search)",
    "duplicates_clustered": "a deduplication with signatures (code search)",
    "prices_split": "a data module of houses (code search)",
}

CLEAR_19 = {"rates_merged"}

FRESH_SCRIPTS_19 = {
    "signs_to_instructions": """
        import json
        with open('signs.json') as f:
            data = json.load(f)  # HOLDS
        instructions = []
        for entry in data:
            gloss = entry['gloss']
            for instance in entry['instances']:
                path = f"{instance['video_id']}/{instance['url'].split('/')[-1]}"
                pair = {'q': 'What is the sign?', 'a': gloss}
                instructions.append({'video': path, 'QA': [pair]})  # HOLDS
        with open('instructions.json', 'w') as out:
            json.dump(instructions, out, indent=4)
        """,
    "conversations_to_parquet": """
        import argparse, json
        import pandas as pd
        from tqdm import tqdm
        def main() -> None:
            parser = argparse.ArgumentParser()
            parser.add_argument('--input')
            parser.add_argument('--output')
            args = parser.parse_args()
            rows: list = []
            with open(args.input, 'r') as f:
                for line in f:
                    rows.append(json.loads(line))  # HOLDS
            instructions = []
            outputs = []
            for row in tqdm(rows):
                text = 'Task:'
                for index, each in enumerate(row['conversations']):
                    if each['from'] == 'human':
                        text += each['value'] + '\\n'
                    elif each['from'] == 'model':
                        if len(row['conversations']) == index + 1:
                            instructions.append(text)  # HOLDS
                            outputs.append(each['value'])  # HOLDS
                        else:
                            text += each['value'] + '\\n'
                    else:
                        print(each)
            pd.DataFrame({'instruction': instructions, 'output': outputs}).to_parquet(args.output)
        if __name__ == '__main__':
            main()
        """,
    "captions_to_instructions": """
        import json, random
        from pathlib import Path
        TEMPLATES = ['Describe this image.', 'What do you see?']
        class Maker:
            def __init__(self, out_dir):
                self.out_dir = Path(out_dir)
            def make(self, caption_files, name):
                all_data = []
                for caption_file in caption_files:
                    with open(caption_file, 'r') as f:
                        data = json.load(f)
                        all_data.extend(data)  # HOLDS
                made = []
                for idx, item in enumerate(all_data):
                    conversation = {
                        'id': f'instruction_{idx}',
                        'image': item['image'],
                        'conversations': [random.choice(TEMPLATES), item['text']],
                    }
                    made.append(conversation)  # HOLDS
                with open(self.out_dir / name, 'w') as f:
                    json.dump(made, f, indent=2)
        """,
    "seeds_for_instructions": """
        import json, os
        from functools import partial
        from multiprocessing import Pool
        import utils
        from rouge_score import rouge_scorer
        def generate(out_path, seeds_path='seeds.jsonl', number=100, cpus=16):
            seeds = [json.loads(l) for l in open(seeds_path, 'r')]  # HOLDS
            seed_data = [{'instruction': t['instruction'], 'input': t['input']} for t in seeds]  # HOLDS
            made = []
            if os.path.exists(out_path):
                made = utils.jload(out_path)
            scorer = rouge_scorer.RougeScorer(['rougeL'])
            texts = [d['instruction'] for d in seed_data] + [d['instruction'] for d in made]  # HOLDS
            tokens = [scorer._tokenizer.tokenize(t) for t in texts]  # HOLDS
            while len(made) < number:
                new = utils.ask(seed_data)
                with Pool(cpus) as p:
                    scores = p.map(partial(rouge_scorer._score_lcs, new), tokens)  # HOLDS
                if max(scores) < 0.7:
                    made.append({'instruction': new})
                    tokens.append(scorer._tokenizer.tokenize(new))
            utils.jdump(made, out_path)
        """,
    "samples_with_bigrams": """
        import re
        import numpy
        import nltk
        from nltk.tokenize import word_tokenize
        porter = nltk.PorterStemmer()
        def clean_words(tokens):
            return [porter.stem(w.lower()) for w in tokens if w.isalpha()]
        def add_bigrams(tokens):
            pairs = ['%s %s' % (tokens[i], tokens[i + 1]) for i in range(len(tokens) - 1)]
            return tokens + pairs
        def tokenize_corpus(path, train=True):
            classes = []
            samples = []
            docs = []
            words = {}
            f = open(path, 'r')
            lines = f.readlines()  # HOLDS
            for line in lines:
                classes.append(line.rsplit()[-1])  # HOLDS
                samples.append(line.rsplit()[0])  # HOLDS
                tokens = add_bigrams(clean_words(word_tokenize(line)))
                if train:
                    for t in tokens:
                        words[t] = words.get(t, 0) + 1
                docs.append(tokens)  # HOLDS
            return docs, classes, samples, words
        def count(docs, vocab):
            bag = numpy.zeros(shape=(len(docs), len(vocab)), dtype=numpy.uint8)  # HOLDS
            index = {word: i for i, word in enumerate(vocab)}
            for n, doc in enumerate(docs):
                for t in doc:
                    if t in index:
                        bag[n, index[t]] += 1
            return bag
        docs, classes, samples, words = tokenize_corpus('train.txt')
        numpy.savetxt('bag.csv', count(docs, sorted(words)), delimiter=',')
        """,
    "predicates_with_contexts": """
        from pathlib import Path
        import pandas as pd
        from gensim.models import Word2Vec
        from gensim.utils import simple_preprocess
        def load_texts(path):
            df = pd.read_csv(path)  # HOLDS
            texts = {}
            for _, row in df.iterrows():
                key = str(row.get('predicate'))
                text = str(row.get('label', '')).strip() + ' . ' + str(row.get('desc', '')).strip()
                texts[key] = text  # HOLDS
            return texts
        def tokenize_corpus(texts, folder=None):
            sentences = []
            for rel, text in texts.items():
                toks = simple_preprocess(text)
                if toks:
                    sentences.append(toks)  # HOLDS
            if folder:
                for path in Path(folder).rglob('*.nt'):
                    with open(path, 'r', encoding='utf8', errors='ignore') as f:
                        for ln in f:
                            ln = ln.strip()
                            if not ln:
                                continue
                            parts = ln.split()
                            if len(parts) < 3:
                                continue
                            sentences.append([p.strip('<>') for p in parts[:3]])  # HOLDS
            return sentences
        sentences = tokenize_corpus(load_texts('predicates.csv'), 'triples')
        Word2Vec(sentences, vector_size=100).save('w2v.model')
        """,
    "index_of_corpus": """
        import os, pickle
        import faiss
        import numpy as np
        import pandas as pd
        from rank_bm25 import BM25Okapi
        from sentence_transformers import SentenceTransformer
        from src.config import settings
        def load_processed() -> pd.DataFrame:
            path = os.path.join(settings.FOLDER, settings.FILE)
            return pd.read_pickle(path)  # HOLDS
        def tokenize_corpus(corpus: list[str]) -> list[list[str]]:
            return [doc.lower().split(' ') for doc in corpus]  # HOLDS
        def run():
            df = load_processed()
            corpus = df['rich_text'].tolist()  # HOLDS
            bm25 = BM25Okapi(tokenize_corpus(corpus))
            with open('bm25.pkl', 'wb') as f:
                pickle.dump(bm25, f)
            model = SentenceTransformer('mini')
            embeddings = model.encode(corpus, show_progress_bar=True)  # HOLDS
            embeddings = np.array(embeddings).astype('float32')  # HOLDS
            index = faiss.IndexFlatL2(embeddings.shape[1])
            index.add(embeddings)
            faiss.write_index(index, 'faiss.index')
        """,
    "stories_by_chunks": """
        import random
        import numpy as np
        from tokenizer import Tokenizer
        def chunks_of(path, size=1_000_000):
            buffer, total = [], 0
            with open(path, 'r') as f:
                for line in f:
                    buffer.append(line)
                    total += len(line)
                    if total >= size:
                        yield ''.join(buffer)
                        buffer = []
                        total = 0
                if buffer:
                    yield ''.join(buffer)
        def test(path):
            tokenizer = Tokenizer.from_files('vocab.pkl', 'merges.pkl')
            text = open(path, 'r').read()  # HOLDS
            text = text.split('<|endoftext|>')  # HOLDS
            ratios = []
            for each in random.sample(text, 10):
                ratios.append(len(each.encode('utf-8')) / len(tokenizer.encode(each)))
            print(sum(ratios) / len(ratios))
        def tokenize_corpus(path):
            tokenizer = Tokenizer.from_files('vocab.pkl', 'merges.pkl')
            ids = tokenizer.encode_iterable(chunks_of(path))
            ids = np.array(ids, dtype=np.uint16)  # HOLDS
            np.save('ids.npy', ids)
        test('valid.txt')
        tokenize_corpus('train.txt')
        """,
    "tokens_of_tagged": """
        from collections import deque
        import nltk
        from nltk import wordpunct_tokenize
        def tokenize_corpus(filename):
            with open(filename) as fin:
                for token in wordpunct_tokenize(fin.read()):  # HOLDS
                    if token.isalnum():
                        yield token
                    else:
                        for char in token:
                            yield char
        def windows(seq, size):
            window = deque()
            for item in seq:
                window.append(item)
                if len(window) > size:
                    window.popleft()
                yield list(window)
        def main():
            tokens = list(tokenize_corpus('tagged.txt'))  # HOLDS
            features = [(w[0], w[-1]) for w in windows(tokens, 3)]  # HOLDS
            print(nltk.NaiveBayesClassifier.train(features))
        main()
        """,
    "words_of_articles": """
        import os, re
        class Tokenizer:
            def __init__(self):
                self.words = []
                path = os.path.join(os.path.dirname(__file__), 'stop_words.txt')
                with open(path, 'r') as f:
                    self.stop_words = f.read().splitlines()  # HOLDS
            def sentences_of(self, text):
                return re.split('(?<=[?!]) +', text)
            def tokenize_corpus(self, corpus):
                sentences = []
                for article in corpus:
                    for sentence in self.sentences_of(article):
                        sentences.append(sentence)
                tokenized = []
                for sentence in sentences:
                    tokenized.append(self.tokenize_words([sentence]))  # HOLDS
                return tokenized
            def tokenize_words(self, sentences):
                words = []
                for sentence in sentences:
                    words += [w for w in sentence.split() if w not in self.stop_words]
                return words
        """,
    "lists_merged": """
        import argparse, json
        from pathlib import Path
        import pandas as pd
        def merge_csv(inputs: list[Path], out: Path) -> int:
            frames = [pd.read_csv(path) for path in inputs]  # HOLDS
            merged = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()  # HOLDS
            merged.to_csv(out, index=False)
            return len(merged)
        def merge_lists(inputs: list[Path], out: Path) -> int:
            records: list[object] = []
            for path in inputs:
                payload = json.loads(path.read_text(encoding='utf-8'))
                if not isinstance(payload, list):
                    raise ValueError(path)
                records.extend(payload)  # HOLDS
            out.write_text(json.dumps(records, indent=2), encoding='utf-8')
            return len(records)
        """,
    "hits_added": """
        import os, re
        import pandas as pd
        def matching(folder, pattern):
            paths = []
            p = re.compile(pattern)
            for f in os.listdir(folder):
                if p.match(f):
                    paths.append(os.path.join(folder, f))
            return paths
        def merge_csv(sim_dir):
            df = pd.DataFrame()
            csvs = []
            for job in matching(sim_dir, r'^job_'):
                csvs.extend(matching(job, r'^hits_'))
            for csv in csvs:
                one = pd.read_csv(csv).set_index('time')
                if df.size == 0:
                    df = one
                else:
                    for col in df.columns:
                        df[col] += one[col]
            return df
        merge_csv('sim').to_csv('result.csv')
        """,
    "properties_merged": """
        import os
        import pandas as pd
        path = '../property_csv'
        def extract():
            for i in os.listdir(path):
                os.remove(path + '/' + i)
            os.system('python for_rent.py')
        def merge_csv():
            files = [file for file in os.listdir(path) if file.endswith('.csv')]
            dfs = []
            for name in files:
                df = pd.read_csv(os.path.join(path, name))
                dfs.append(df)  # HOLDS
                os.remove(os.path.join(path, name))
            merged = pd.concat(dfs, ignore_index=True)  # HOLDS
            merged.to_csv('merged.csv', index=False)
        extract()
        merge_csv()
        """,
    "results_concatenated": """
        import os
        import pandas as pd
        def merge_csv(path, name='merged'):
            files = os.listdir(path)
            whole = pd.DataFrame()
            for file in files:
                df = pd.read_csv(path + file)
                whole = pd.concat([whole, df], ignore_index=True)  # HOLDS
            whole.to_csv(f'{path + name}.csv', index=False)
        if __name__ == '__main__':
            merge_csv('../results/', 'all')
        """,
    "rates_merged": """
        def merge_csv(out_name, input_files):
            out = open(out_name, 'w')
            out.write('Date Time,Open,High,Low,Close,Volume\\n')
            for name in input_files:
                fd = open(name, 'r')
                for line in fd:
                    parts = line.split(',')
                    if parts[0] != '<DTYYYYMMDD>':
                        time = parts[0].replace('/', '-') + ' ' + parts[1]
                        out.write(str(time) + ',' + parts[2] + '\\n')
                fd.close()
            out.close()
        merge_csv('rates.csv', ['a.csv', 'b.csv'])
        """,
    "inflation_windows": """
        import os
        import numpy as np
        import pandas as pd
        data = pd.read_csv('inflation.csv')['Valor'].values  # HOLDS
        def create_sequences(data, length=12):
            sequences = []
            targets = []
            for i in range(len(data) - length):
                sequences.append(data[i: i + length])  # HOLDS
                targets.append(data[i + length])  # HOLDS
            return np.array(sequences), np.array(targets)  # HOLDS
        saved = 'sequences.npz'
        if os.path.exists(saved):
            loaded = np.load(saved, allow_pickle=True)  # HOLDS
            sequences, targets = loaded['sequences'], loaded['targets']
        else:
            sequences, targets = create_sequences(data)
            np.savez(saved, sequences=sequences, targets=targets)
        """,
    "sections_tokenized": """
        import os
        from collections import Counter
        import torch
        from torch.utils.data import ConcatDataset, Dataset
        from transformers import AutoTokenizer
        tokenizer = AutoTokenizer.from_pretrained('gpt2')
        def tokenize_file(path):
            try:
                with open(path, 'r', encoding='utf-8') as f:
                    return tokenizer.convert_tokens_to_ids(tokenizer.tokenize(f.read()))
            except Exception as e:
                print(path, e)
                return []
        def tokenize_directory(folder):
            texts = {}
            for name in os.listdir(folder):
                if name.endswith('_sections.txt'):
                    tokens = tokenize_file(os.path.join(folder, name))
                    texts[name] = tokens  # HOLDS
            return texts
        class Autoregressive(Dataset):
            def __init__(self, tokens):
                self.tokens = tokens
                self.data = self.create_sequences(tokens)
            def create_sequences(self, tokens):
                sequences = []
                for i in range(len(tokens) - 1):
                    sequences.append((tokens[:i + 1], tokens[i + 1]))
                return sequences
            def __len__(self):
                return len(self.data)
            def __getitem__(self, idx):
                first, target = self.data[idx]
                return torch.tensor(first), torch.tensor(target)
        def combined(texts):
            counts = Counter()
            parts = []
            for name, tokens in texts.items():
                if tokens:
                    parts.append(Autoregressive(tokens))  # HOLDS
                    counts.update(tokens)
            return ConcatDataset(parts), counts
        dataset, counts = combined(tokenize_directory('sections'))
        """,
    "returns_windowed": """
        import numpy as np
        import pandas as pd
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        def create_sequences(data, window):
            sequences = []
            targets = []
            for i in range(len(data) - window):
                sequences.append(data[i:i + window])  # HOLDS
                targets.append(data[i + window])  # HOLDS
            return torch.tensor(sequences, dtype=torch.float32), torch.tensor(targets, dtype=torch.float32)  # HOLDS
        log_returns = pd.read_csv('returns.csv', index_col=0).values  # HOLDS
        X, y = create_sequences(log_returns, window=30)
        loader = DataLoader(TensorDataset(X, y), batch_size=32, shuffle=True)
        losses = []
        for epoch in range(50):
            for X_batch, y_batch in loader:
                losses.append(float((X_batch.mean() - y_batch.mean()) ** 2))
        """,
    "tweets_searched": """
        import tweepy
        import pandas as pd
        auth = tweepy.OAuthHandler('key', 'secret')
        api = tweepy.API(auth, wait_on_rate_limit=True)
        def scrape(keywords, number=1000):
            found = []
            for keyword in keywords:
                for tweet in tweepy.Cursor(api.search_tweets, q=keyword, lang='en').items(number):
                    found.append(tweet.full_text)
            return pd.DataFrame(found, columns=['Tweet'])
        scrape(['stock', 'market']).to_csv('tweets.csv', index=False)
        """,
    "tweets_of_file": """
        import json, sys
        tweets = []
        file = open(sys.argv[1], 'r')
        count = 0
        for line in file:
            count += 1
            try:
                tweet = json.loads(line)
                tweets.append(tweet)  # HOLDS
            except ValueError:
                continue
        print(len(tweets), count)
        """,
    "comments_deduplicated": """
        import ast
        import pandas as pd
        COLUMNS = ['id', 'body', 'product_id']
        def load(path):
            df = pd.read_parquet(path)  # HOLDS
            missing = set(COLUMNS) - set(df.columns)
            if missing:
                raise ValueError(sorted(missing))
            df = df[COLUMNS].rename(columns={'id': 'comment_id'})
            df['comment_id'] = df['comment_id'].astype('string').str.strip()
            return df
        def drop_missing(df: pd.DataFrame) -> tuple[pd.DataFrame, int]:
            missing = df['body'].isna()
            return df.loc[~missing].copy(), int(missing.sum())
        def deduplicate(df: pd.DataFrame) -> tuple[pd.DataFrame, int]:
            before = len(df)
            df = df.drop_duplicates(subset='comment_id', keep='first')
            return df, before - len(df)
        def joined(value):
            if isinstance(value, str) and value.startswith('['):
                try:
                    value = ast.literal_eval(value)
                except (ValueError, SyntaxError):
                    return value
            return ' '.join(value) if isinstance(value, list) else value
        def main():
            df, _ = drop_missing(load('comments.parquet'))
            df, repeats = deduplicate(df)
            df['body'] = df['body'].map(joined)
            df.to_parquet('clean.parquet')
        main()
        """,
    "evidence_deduplicated": """
        import re
        class Registry:
            def __init__(self):
                self.evidence = []
                self._seen = set()
            def register(self, record):
                self.evidence.append(record)
                self._seen.add(record.chunk_id)
                return record
            def deduplicate(self):
                seen = set()
                deduped = []
                for rec in self.evidence:
                    if rec.chunk_id not in seen:
                        seen.add(rec.chunk_id)
                        deduped.append(rec)
                self.evidence = deduped
            def by_entity(self, entities):
                grouped = {each: [] for each in entities}
                for each in grouped:
                    pattern = re.compile(re.escape(each))
                    for rec in self.evidence:
                        if pattern.search(rec.text):
                            grouped[each].append(rec)
                return grouped
        """,
    "duplicates_clustered": """
        from collections import defaultdict
        from datasets import load_dataset
        from torch.utils.data import DataLoader
        from tqdm import tqdm
        from union import UnionFind
        def clusters(path, bands=20):
            uf = UnionFind()
            data = load_dataset('json', data_files=path, split='train', streaming=True)
            tables = [defaultdict(set) for _ in range(bands)]
            loader = DataLoader(data, batch_size=1000)
            for batch in loader:
                for item in batch:
                    if item['signature'] is None:
                        continue
                    for i, h in enumerate(item['signature']):
                        tables[i][h].add(item['id_int'])  # HOLDS, not found
            for table in tqdm(tables):
                for cluster in table.values():
                    if len(cluster) <= 1:
                        continue
                    idx = min(cluster)
                    for x in cluster:
                        uf.union(x, idx)
            return uf
        def deduplicate(uf, ds, out_path):
            ds = ds.map(lambda example: {'cluster': uf.find(example['id_int'])})
            ds = ds.filter(lambda example: example['cluster'] == example['id_int'])
            with open(out_path, 'w') as f:
                for example in ds:
                    f.write(example['text'] + '\\n')
        """,
    "prices_split": """
        import os
        import pandas as pd
        import pytorch_lightning as pl
        from joblib import dump
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import StandardScaler
        class Houses(pl.LightningDataModule):
            def __init__(self, data_dir='.', batch_size=64):
                super().__init__()
                self.data_dir = data_dir
                self.batch_size = batch_size
            def prepare_data(self):
                os.makedirs('interim', exist_ok=True)
                df = pd.read_csv(self.data_dir)  # HOLDS
                X, y = df.drop('price', axis=1), df['price']
                X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
                pd.concat([X_train, y_train], axis=1).to_csv('interim/train.csv', index=False)
                scaler = StandardScaler().fit(X_train)
                dump(scaler, 'scaler.joblib')
        """,
}

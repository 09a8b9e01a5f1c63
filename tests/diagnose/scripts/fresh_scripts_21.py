"""A twenty-first collection of public scripts as minimal equivalents, made after the change for the twentieth one:
preparation of datasets, gathered texts, files rewritten one by one, vocabularies; the marks were written before the
reader ran on them.
At first sight: precision 1.00, recall 0.85, no false all-clear. buttons_reordered was put in CLEAR_21 after that: it
holds one page at a time.

Names in CLEAR_21 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_21 = {
    "bounces_extracted": "a dataset of bounces of a ball (code search)",
    "splits_tokenized": "a preparation of splits for a classifier (code search)",
    "texts_augmented": "a trainer with augmented texts (code search)",
    "lesions_joined": "a loader of pictures of skin (code search)",
    "annotations_selected": "a conversion of COCO annotations (code search)",
    "inputs_prepared": "a preparation of video inputs (code search)",
    "vectors_of_industries": "a table of vectors of words (code search)",
    "documents_chunked": "an ingestion into Chroma (code search)",
    "articles_indexed": "an index of articles (code search)",
    "labels_embedded": "an embedding of drug labels in batches (code search)",
    "speech_to_text": "a client for speech recognition (code search)",
    "buttons_reordered": "a rewriting of HTML pages (code search)",
    "shifts_transformed": "a rewriting of source files (code search)",
    "chapters_converted": "a conversion of chapters (code search)",
    "predictions_redecoded": "a second decoding of predictions (code search)",
    "zones_streamed": "a reader of zone files (code search)",
    "formulas_to_prefix": "a conversion of formulas (code search)",
    "words_of_sentences": "a builder of a vocabulary (code search)",
    "characters_of_archives": "a vocabulary of packed texts (code search)",
    "tags_counted": "a hidden Markov model of tags (code search)",
    "index_rebuilt": "a cached index of words (code search)",
    "merges_loaded": "a saved tokenizer (code search)",
}

CLEAR_21 = {"buttons_reordered"}

FRESH_SCRIPTS_21 = {
    "bounces_extracted": """
        from pathlib import Path
        import joblib
        import numpy as np
        import pandas as pd
        WINDOW = 10
        def load_directory(folder):
            frames = []
            for path in sorted(Path(folder).glob('*.csv')):
                frame = pd.read_csv(path)
                frame['source'] = path.stem
                frames.append(frame)  # HOLDS
            return pd.concat(frames, ignore_index=True)  # HOLDS
        def features(df, frame, window=WINDOW):
            start, end = frame - window, frame + window
            if start < 0 or end >= len(df):
                return None
            return df.iloc[start:end + 1][['vx', 'vy']].values.flatten()
        def prepare():
            df = load_directory('tracks')
            candidates = df[df['bounce'] == 1].copy()
            X, y = [], []
            for frame in candidates.index:
                feat = features(df, frame)
                if feat is not None:
                    X.append(feat)  # HOLDS
                    y.append(df['real'].iloc[frame])  # HOLDS
            return np.array(X), np.array(y)  # HOLDS
        joblib.dump(prepare(), 'bounces.joblib')
        """,
    "splits_tokenized": """
        from datasets import DatasetDict, load_dataset
        from transformers import AutoTokenizer
        def split(dataset, seed=1):
            first = dataset['train'].train_test_split(test_size=0.3, seed=seed)
            second = first['test'].train_test_split(test_size=0.5, seed=seed)
            return DatasetDict({'train': first['train'], 'validation': second['train'], 'test': second['test']})
        def prepare(dataset, tokenizer, length):
            def preprocess(batch):
                texts = [str(x) for x in batch['text']]
                out = tokenizer(texts, truncation=True, max_length=length)
                out['labels'] = [int(x) for x in batch['label']]
                return out
            return dataset.map(preprocess, batched=True, remove_columns=dataset['train'].column_names)
        def main():
            tokenizer = AutoTokenizer.from_pretrained('bert')
            prepare(split(load_dataset('imdb')), tokenizer, 512).save_to_disk('out')
        main()
        """,
    "texts_augmented": """
        import random
        from datasets import Dataset
        class Trainer:
            def __init__(self, tokenizer, augment=True):
                self.tokenizer = tokenizer
                self.augment = augment
            def clean(self, text):
                return ' '.join(text.split())
            def varied(self, text):
                words = text.split()
                random.shuffle(words)
                return ' '.join(words)
            def prepare(self, path):
                with open(path, encoding='utf-8') as f:
                    texts = f.read().split('\\n\\n')  # HOLDS
                processed = []
                for text in texts:
                    text = self.clean(text)
                    processed.append(text)  # HOLDS
                    if self.augment:
                        processed.append(self.varied(text))  # HOLDS
                dataset = Dataset.from_dict({'text': processed})
                return dataset.map(lambda b: self.tokenizer(b['text'], truncation=True), batched=True)
        """,
    "lesions_joined": """
        import os
        import pandas as pd
        class Loader:
            def __init__(self, folder):
                self.folder = folder
            def label_of(self, row):
                name = row['meta'].lower()
                return 'melanoma' if 'melanoma' in name else 'unknown'
            def prepare(self):
                first = os.path.join(self.folder, 'ham.csv')
                second = os.path.join(self.folder, 'isic.csv')
                frames = []
                if os.path.exists(first):
                    ham = pd.read_csv(first)  # HOLDS
                    frames.append(ham)
                if os.path.exists(second):
                    isic = pd.read_csv(second)  # HOLDS
                    isic['label'] = isic.apply(self.label_of, axis=1)
                    frames.append(isic)
                df = pd.concat(frames, ignore_index=True)  # HOLDS
                train = df.sample(frac=0.8, random_state=1)
                return train, df.drop(train.index)
        """,
    "annotations_selected": """
        import json
        from collections import Counter, defaultdict
        from pathlib import Path
        def prepare(root: Path, out: Path, split):
            excluded = Counter()
            for domain in ('train', 'val'):
                with (root / f'instances_{domain}.json').open() as f:
                    data = json.load(f)  # HOLDS
                selected = set(split[domain])
                data['images'] = [r for r in data['images'] if r['id'] in selected]
                images = {r['id']: r for r in data['images']}  # HOLDS
                by_image = defaultdict(list)
                for ann in data['annotations']:
                    if ann['iscrowd']:
                        excluded['crowd'] += 1
                        continue
                    by_image[ann['image_id']].append(ann)  # HOLDS
                for image_id, anns in by_image.items():
                    path = out / f"{images[image_id]['file_name']}.txt"
                    path.write_text('\\n'.join(str(a['bbox']) for a in anns))
        """,
    "inputs_prepared": """
        import json
        from pathlib import Path
        from spec import InputRecord, prepare_one, validate
        def prepare(spec, root: Path, out: Path):
            validate(spec)
            records = [prepare_one(root, out, item) for item in spec.inputs]
            path = out / 'records.json'
            path.write_text(json.dumps([r.model_dump() for r in records], indent=2))
            return records
        def check(path: Path):
            records = [InputRecord(**item) for item in json.loads(path.read_text(encoding='utf-8'))]  # HOLDS
            if len(records) != 10:
                raise ValueError(len(records))
            return records
        """,
    "vectors_of_industries": """
        def precompute(words, nlp):
            data = {}
            texts = []
            index = {}
            for industry, synonyms in words.items():
                texts.append(industry)
                index[industry] = len(texts) - 1
                for synonym in synonyms:
                    texts.append(synonym)
            vectors = [doc.vector if doc.has_vector else None for doc in nlp.pipe(texts)]
            for industry, synonyms in words.items():
                start = index[industry]
                data[industry] = (vectors[start], vectors[start + 1:start + 1 + len(synonyms)])
            return data
        """,
    "documents_chunked": """
        import os
        from langchain_text_splitters import RecursiveCharacterTextSplitter
        from langchain_chroma import Chroma
        from langchain_ollama import OllamaEmbeddings
        def load_documents(folder):
            documents = []
            for name in sorted(os.listdir(folder)):
                if not name.endswith('.txt'):
                    continue
                with open(os.path.join(folder, name), encoding='utf-8') as f:
                    content = f.read()
                documents.append({'content': content, 'metadata': {'filename': name}})  # HOLDS
            return documents
        def chunk(documents):
            splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=100)
            texts = []
            metadatas = []
            for doc in documents:
                for i, part in enumerate(splitter.split_text(doc['content'])):
                    texts.append(part)  # HOLDS
                    meta = dict(doc['metadata'])
                    meta['chunk'] = i
                    metadatas.append(meta)  # HOLDS
            return texts, metadatas
        texts, metadatas = chunk(load_documents('scraped'))
        Chroma.from_texts(texts, OllamaEmbeddings(model='nomic'), metadatas=metadatas)
        """,
    "articles_indexed": """
        import json, os
        import faiss
        from sentence_transformers import SentenceTransformer
        def create_index():
            model = SentenceTransformer('mpnet')
            index = faiss.IndexFlatIP(model.get_sentence_embedding_dimension())
            texts = []
            with open('articles.jsonl', 'r') as f:
                for i, line in enumerate(f):
                    article = json.loads(line)
                    content = (article.get('title') or '') + ' ' + (article.get('abstract') or '')
                    for section in article.get('sections', []):
                        content += ' ' + (section.get('text') or '')
                    texts.append(content)  # HOLDS
                    embedding = model.encode([content], show_progress_bar=False)
                    faiss.normalize_L2(embedding)
                    index.add(embedding)
            os.makedirs('index', exist_ok=True)
            faiss.write_index(index, 'index/articles.index')
            with open('index/texts.json', 'w') as f:
                json.dump(texts, f)
        if __name__ == '__main__':
            create_index()
        """,
    "labels_embedded": """
        import psycopg2
        from sentence_transformers import SentenceTransformer
        def chunks_of(text, size):
            words = text.split()
            return [' '.join(words[i:i + size]) for i in range(0, len(words), size)]
        def run(batch=50):
            conn = psycopg2.connect('dbname=labels')
            cursor = conn.cursor()
            cursor.execute('SELECT set_id, spl_id FROM labels')
            missing = cursor.fetchall()  # HOLDS
            model = SentenceTransformer('mini')
            for i in range(0, len(missing), batch):
                texts = []
                metadata = []
                for set_id, spl_id in missing[i:i + batch]:
                    cursor.execute('SELECT title, content FROM sections WHERE spl_id = %s', (spl_id,))
                    for title, content in cursor:
                        for idx, part in enumerate(chunks_of(content, 500)):
                            texts.append(part)
                            metadata.append((set_id, title, idx))
                if not texts:
                    continue
                vectors = model.encode(texts)
                cursor.executemany('INSERT INTO vectors VALUES (%s, %s)', list(zip(metadata, vectors)))
                conn.commit()
        run()
        """,
    "speech_to_text": """
        async def recognize(client, audio, rate=None):
            if rate is not None and rate != 24000:
                raise ValueError(rate)
            stream = await client.stream(audio)
            texts = []
            async for text in stream.iter_text():
                texts.append(text)
            return ' '.join(t.text for t in texts)
        """,
    "buttons_reordered": """
        import os, re
        PATTERN = re.compile(r'<div class="actions">.*?</div>', re.DOTALL)
        NEW = '<div class="actions"><button>?</button></div>'
        def process_file(path):
            with open(path, 'r', encoding='utf-8') as f:
                content = f.read()
            if 'actions' not in content:
                return
            changed = PATTERN.sub(NEW, content, count=1)
            if changed == content:
                return
            with open(path, 'w', encoding='utf-8') as f:
                f.write(changed)
        def main():
            for name in sorted(os.listdir('pages')):
                page = os.path.join('pages', name, 'index.html')
                if os.path.isfile(page):
                    process_file(page)
        main()
        """,
    "shifts_transformed": """
        import argparse
        from pathlib import Path
        def transform(line):
            return line.replace('<<', ' shl ').replace('>>', ' shr ')
        def process_file(path: Path, dry_run: bool) -> int:
            text = path.read_text(encoding='utf-8')
            lines = text.splitlines(keepends=True)
            changed = 0
            new_lines: list[str] = []
            for line in lines:
                new = transform(line)
                if new != line:
                    changed += 1
                new_lines.append(new)
            if changed and not dry_run:
                path.write_text(''.join(new_lines), encoding='utf-8')
            return changed
        def main():
            ap = argparse.ArgumentParser()
            ap.add_argument('paths', nargs='*', default=['stdlib'])
            ap.add_argument('--dry-run', action='store_true')
            args = ap.parse_args()
            files: list[Path] = []
            for root in args.paths:
                files.extend(sorted(Path(root).rglob('*.vri')))
            print(sum(process_file(path, args.dry_run) for path in files))
        main()
        """,
    "chapters_converted": """
        import sys
        from pathlib import Path
        FRONT = '---\\ntitle: {title}\\n---\\n'
        def title_of(raw):
            for line in raw.splitlines():
                if line.startswith('# '):
                    return line[2:].strip()
            return ''
        def process_file(path: Path) -> None:
            raw = path.read_text(encoding='utf-8')
            body = raw.replace('.md)', '.mdx)')
            path.with_suffix('.mdx').write_text(FRONT.format(title=title_of(raw)) + body, encoding='utf-8')
            path.unlink()
        def main() -> None:
            files = sorted(p for p in Path('content').glob('*.md') if p.name.upper() != 'README.MD')
            for p in files:
                process_file(p)
        main()
        """,
    "predictions_redecoded": """
        import json
        from pathlib import Path
        def read_jsonl(path):
            with open(path) as f:
                return [json.loads(line) for line in f]  # HOLDS
        def write_jsonl(path, rows):
            with open(path, 'w') as f:
                for row in rows:
                    f.write(json.dumps(row) + '\\n')
        def redecoded(rows, mode):
            out = []
            for row in rows:
                item = dict(row)
                item['decoding'] = mode
                out.append(item)  # HOLDS
            return out
        def main(path, mode):
            rows = read_jsonl(path)
            if all(row.get('decoding') == mode for row in rows):
                return
            write_jsonl(path, redecoded(rows, mode))
        main(Path('test.jsonl'), 'strict')
        """,
    "zones_streamed": """
        import tarfile
        DATA = './data'
        domains = set()
        def to_disk(lines):
            for line in lines:
                with open(DATA + '/' + line[:2] + '.dat', mode='a') as f:
                    f.write(line)
        def process_line(line):
            if line[:1] in b'$; ':
                return
            domains.add(line.split()[0].decode())
        def process_file(path):
            with tarfile.open(path, 'r|gz') as packed:
                for entry in packed:
                    if '_' in entry.name:
                        continue
                    for line in packed.extractfile(entry):
                        process_line(line)
                        if len(domains) > 100:
                            to_disk(domains)
                            domains.clear()
        process_file('zone.tar.gz')
        """,
    "formulas_to_prefix": """
        import json
        import pandas as pd
        from sympy.parsing.sympy_parser import parse_expr
        def prefix_of(expr):
            if not expr.args:
                return [str(expr)]
            return [expr.func.__name__] + [t for a in expr.args for t in prefix_of(a)]
        def main():
            df = pd.read_csv('formulas.csv')  # HOLDS
            prefixes = []
            tokens = set()
            for formula in df['Formula']:
                try:
                    parts = prefix_of(parse_expr(formula, evaluate=False))
                    prefixes.append(' '.join(parts))  # HOLDS
                    tokens.update(parts)
                except Exception:
                    prefixes.append(None)
            df['Prefix'] = prefixes
            df.to_csv('prefixes.csv', index=False)
            vocab = {'[PAD]': 0}
            for i, token in enumerate(sorted(tokens)):
                vocab[token] = i + 1
            with open('vocab.json', 'w') as f:
                json.dump(vocab, f)
        main()
        """,
    "words_of_sentences": """
        from tqdm import tqdm
        class Tokenizer:
            def __init__(self, vocab_list):
                self.word2idx = {word: i for i, word in enumerate(vocab_list)}
            @staticmethod
            def tokenize(sentence):
                return sentence.split()
            @classmethod
            def build_vocab(cls, sentences, vocab_file):
                unique = set()
                for sentence in tqdm(sentences, desc='words'):
                    for word in cls.tokenize(sentence):
                        unique.add(word)
                with open(vocab_file, 'w', encoding='utf-8') as f:
                    for word in ['<pad>'] + list(unique):
                        f.write(word + '\\n')
            @classmethod
            def load_vocab(cls, vocab_file):
                with open(vocab_file, 'r', encoding='utf-8') as f:
                    return cls([line.strip() for line in f.readlines()])
        """,
    "characters_of_archives": """
        import lzma, os
        from tqdm import tqdm
        folder = 'openwebtext'
        files = [f for f in os.listdir(folder) if f.endswith('.xz')]
        split = int(len(files) * 0.9)
        vocab = set()
        def process(names, out_path):
            characters = set()
            with open(out_path, 'w', encoding='utf-8') as out:
                for name in tqdm(names, total=len(names)):
                    with lzma.open(os.path.join(folder, name), 'rt', encoding='utf-8') as f:
                        text = f.read()
                        out.write(text)
                        characters.update(set(text))
            return characters
        vocab.update(process(files[:split], 'train.txt'))
        vocab.update(process(files[split:], 'val.txt'))
        with open('vocab.txt', 'w', encoding='utf-8') as f:
            for char in sorted(vocab):
                f.write(char + '\\n')
        """,
    "tags_counted": """
        import json
        def read_sentences(path):
            sentences = []
            sentence = []
            with open(path, encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if not line:
                        sentences.append(sentence)  # HOLDS
                        sentence = []
                    else:
                        _, word, tag = line.split('\\t')
                        sentence.append((word, tag))
            return sentences
        def count(sentences):
            counts = {}
            for sentence in sentences:
                for word, tag in sentence:
                    counts[word] = counts.get(word, 0) + 1
            return counts
        def main():
            sentences = read_sentences('train')
            counts = count(sentences)
            with open('vocab.txt', 'w') as f:
                for word, n in sorted(counts.items(), key=lambda x: -x[1]):
                    f.write(f'{word}\\t{n}\\n')
        main()
        """,
    "index_rebuilt": """
        import json, os
        import numpy as np
        from scipy import sparse
        from bm25 import Index, build_index
        def load_or_build(path, texts):
            if os.path.exists(path):
                with np.load(path) as npz:  # HOLDS
                    matrix = sparse.csr_matrix((npz['data'], npz['indices'], npz['indptr']))
                    return Index(npz['idf'], matrix)
            idx = build_index(texts)
            np.savez(path, idf=idx.idf, data=idx.matrix.data)
            with open('vocab.json', 'w') as f:
                json.dump(idx.vocab, f)
            return idx
        """,
    "merges_loaded": """
        import json
        class Tokenizer:
            def load(self, prefix):
                vocab_file = f'{prefix}_vocab.json'
                merges_file = f'{prefix}_merges.txt'
                with open(vocab_file, 'r') as f:
                    self.vocab = {int(k): bytes(v) for k, v in json.load(f).items()}
                self.merges = {}
                with open(merges_file, 'r') as f:
                    for line in f:
                        a, b, new = map(int, line.split())
                        self.merges[(a, b)] = new
            def encode_file(self, path, out_path):
                with open(path, 'rb') as f, open(out_path, 'w') as out:
                    for line in f:
                        out.write(' '.join(map(str, self.encode(line))) + '\\n')
            def encode(self, text):
                ids = list(text)
                while len(ids) >= 2:
                    pair = min(zip(ids, ids[1:]), key=lambda p: self.merges.get(p, 1 << 30))
                    if pair not in self.merges:
                        break
                    ids = [self.merges[pair]]
                return ids
        """,
}

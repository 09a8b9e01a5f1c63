"""A twelfth collection of public scripts as minimal equivalents: whole programs with functions, classes and arguments;
the marks were written before the reader ran on them.
At first sight: precision 0.80, recall 0.73, no false all-clear.

Names in CLEAR_12 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_12 = {
    "points_of_labels": "mukeshmk/video-overlay, topoints.py",
    "annotations_by_type": "ubiratanfilho/sea-victims-detection, json_to_csv.py",
    "cars_annotations": "arielsolomon/large_vlm_distillation_ood, conv_scars_annot_fasterrcnn_annot.py",
    "dataset_of_blocks": "NetherQuartz/BachelorThesis, inc/code/texts_dataset.py",
    "blocks_line_by_line": "a LineByLineTextDataset (code search)",
    "file_of_each_item": "a TextFileDataset (code search)",
    "top_k_of_file": "an AutoencodingDataset (code search)",
    "conll_sentences": "a _read_text and _create_examples of BIO labels (code search)",
    "lines_by_generator": "allenwind/count-in-parallel, example4.py",
    "pool_of_params": "yasserglez/kaggle, toxic-comment-classification/build_vocab.py",
    "pickles_in_processes": "a corpusbuilder with as_completed (code search)",
    "own_bpe_of_lines": "a BPE on a Wikipedia corpus (code search)",
    "tinystories_split": "a prepare of TinyStories (code search)",
    "jsonl_to_arrays": "a build_token_dataset of Mini GPT (code search)",
    "load_prompts": "a load_dataset of prompt and completion (code search)",
    "vocabulary_metrics": "a compute_stats of summaries (code search)",
    "tokens_of_column": "a vocabulary builder of issues (code search)",
    "faces_by_person": "a DeepFace embedding script (code search)",
    "candidates_by_token": "a generate_candidates with checkpoints (code search)",
    "teams_of_lines": "a Team loader of papers (code search)",
    "trees_of_folders": "a merge of pickled dicts (code search)",
    "articles_embedded": "an embedding of law articles (code search)",
    "dpo_of_raw": "a create_dpo_data (code search)",
    "posts_of_profile": "a profile visitor (code search)",
    "chunks_of_code": "a code indexer with executor.map (code search)",
    "bootstrap_ratios": "a sampling of synthetic sentences (code search)",
    "compiled_corpus": "a parallel compile of source files (code search)",
    "normalized_rows": "a normalisation of plates (code search)",
    "sentences_of_dataset": "a get_or_build_tokenizer (code search)",
    "texts_for_bpe": "a create_tokenizer of wikitext (code search)",
    "labels_checked": "an image verification with labels (code search)",
    "tokenized_rows": "a tokenize_dataset_rows (code search)",
}

CLEAR_12 = {"file_of_each_item"}

FRESH_SCRIPTS_12 = {
    "points_of_labels": """
        import pandas as pd
        import json
        df = pd.read_csv('resources/export-300frames.csv')  # HOLDS
        data = {}
        data['count'] = []
        data['points'] = []
        for index, row in df.iterrows():
            data['count'].append(row['External ID'].replace('img-', ''))  # HOLDS
            label = json.loads(row['Label'])
            data['points'].append(json.dumps(label['objects'][0]['line']))  # HOLDS
        new_df = pd.DataFrame.from_dict(data)
        new_df.sort_values(by=['count'], inplace=True)
        new_df.to_csv('resources/required-data.csv', index=False)
        """,
    "annotations_by_type": """
        import json, os
        import pandas as pd
        def json_to_csv(json_path, csv_path, _type):
            with open(json_path) as json_file:
                json_data = json.load(json_file)  # HOLDS
            if _type == 'annotations':
                df_people = pd.DataFrame(json_data['annotations'])
                df_people = df_people[df_people['category_id'] == 1]
                df = df_people[['image_id', 'id']].groupby('image_id').count()
            else:
                df = pd.DataFrame(json_data['images'])
            df.to_csv(csv_path, index=False)
        json_to_csv('a.json', 'a.csv', 'annotations')
        """,
    "cars_annotations": """
        import json
        import pandas as pd
        src, dst = 'in/', 'out/'
        anno_list = ['anno_train.csv', 'anno_val.csv', 'anno_val_on_train.csv']
        def fill_anno(anno_list):
            for file in anno_list:
                anno_dir = {'file_name': [], 'boxes': [], 'labels': []}
                df = pd.read_csv(src + file, header=None)  # HOLDS
                for _, row in df.iterrows():
                    file_name = row[0]
                    box = row[1:5].tolist()
                    anno_dir['file_name'].append(file_name)  # HOLDS
                    anno_dir['boxes'].append(box)  # HOLDS
                    anno_dir['labels'].append(row[5])  # HOLDS
                with open(dst + file.replace('.csv', '.json'), 'w') as f:
                    json.dump(anno_dir, f, indent=4)
        fill_anno(anno_list)
        """,
    "dataset_of_blocks": """
        import os, torch
        from torch.utils.data import Dataset
        class TextsDataset(Dataset):
            def __init__(self, tokenizer, path, block_size=2048):
                assert os.path.isdir(path)
                self.examples = []
                try:
                    for file in os.listdir(path):
                        file_path = os.path.join(path, file)
                        with open(file_path, encoding='utf-8') as f:
                            text = f.read()
                        ids = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
                        for i in range(0, len(ids) - block_size + 1, block_size):
                            self.examples.append(  # HOLDS
                                tokenizer.build_inputs_with_special_tokens(ids[i: i + block_size])
                            )
                except Exception as e:
                    print(e)
            def __getitem__(self, item):
                return torch.tensor(self.examples[item], dtype=torch.long)
        """,
    "blocks_line_by_line": """
        import os, torch
        from torch.utils.data.dataset import Dataset
        class LineByLineTextDataset(Dataset):
            def __init__(self, tokenizer, file_path, block_size=512):
                assert os.path.isfile(file_path)
                with open(file_path, encoding='utf-8') as f:
                    lines = [line for line in f.read().splitlines() if len(line) > 0 and not line.isspace()]  # HOLDS
                batch_encoding = tokenizer(lines, add_special_tokens=True, truncation=True)  # HOLDS
                self.examples = batch_encoding['input_ids']
                self.examples = [{'input_ids': torch.tensor(e, dtype=torch.long)} for e in self.examples]  # HOLDS
        """,
    "file_of_each_item": """
        from dataclasses import dataclass
        from torch.utils.data import Dataset
        @dataclass
        class TextFileDataset(Dataset):
            filenames: list
            max_length: int = 2048
            def __len__(self):
                return len(self.filenames)
            def __getitem__(self, index):
                with open(self.filenames[index]) as fp:
                    text = fp.read()
                return text[:self.max_length]
        """,
    "top_k_of_file": """
        from torchtext.data import Dataset, Field, Example
        class AutoencodingDataset(Dataset):
            def __init__(self, dataset_fn, top_k, **kwargs):
                fields = [('text', Field(sequential=True))]
                examples = []
                counter = 0
                with open(dataset_fn, 'r') as in_file:
                    for line in in_file:
                        if counter >= top_k:
                            break
                        examples.append(Example.fromlist([line.strip()], fields))
                        counter += 1
                super().__init__(examples, fields, **kwargs)
        """,
    "conll_sentences": """
        from torch.utils.data import Dataset
        def _create_examples(lines):
            examples = []
            for (i, line) in enumerate(lines):
                query = line['words']
                labels = []
                for x in line['labels']:
                    labels.append(x)
                examples.append({'query': query, 'labels': labels})  # HOLDS
            return examples
        def _read_text(input_file):
            lines = []
            with open(input_file, 'r') as f:
                words = []
                labels = []
                for line in f:
                    if line.startswith('-DOCSTART-') or line == '' or line == '\\n':
                        if words:
                            lines.append({'words': words, 'labels': labels})  # HOLDS
                            words = []
                            labels = []
                    else:
                        splits = line.split(' ')
                        words.append(splits[0])
                        labels.append(splits[-1].replace('\\n', ''))
                if words:
                    lines.append({'words': words, 'labels': labels})
            return lines
        class Data(Dataset):
            def __init__(self, path):
                self.examples = _create_examples(_read_text(path))
        """,
    "lines_by_generator": """
        import jieba
        from tokenize_in_parallel import tokenize_in_parallel
        file = 'dataset/THUCNews-title-label.txt'
        def gen(file):
            with open(file, encoding='utf-8') as fp:
                text = fp.read()  # HOLDS
            lines = text.split('\\n')[:-1]  # HOLDS
            for line in lines:
                yield line
        tokens = tokenize_in_parallel(tokenize=jieba.lcut, generator=gen(file), processes=7, maxsize=300)
        print(len(tokens))
        """,
    "pool_of_params": """
        import multiprocessing as mp
        import common
        PARAMS = []
        for min_freq in [1, 3, 5, 7, 11]:
            PARAMS.extend([{'token': 'word', 'lower': True, 'min_freq': min_freq}])
        def process(params):
            common.build_vocab(common.TextField(params, pad_token=None))
        with mp.Pool(mp.cpu_count()) as pool:
            pool.map(process, PARAMS)
        """,
    "pickles_in_processes": """
        import os, pickle, tempfile
        from concurrent.futures import as_completed, ProcessPoolExecutor
        from vsm.extensions.corpusbuilders import corpus_fromlist
        from vsm.extensions.corpusbuilders.util import word_tokenize
        def tokenize_and_pickle_file(filename, pickle_dir=None):
            with open(filename) as infile:
                data = infile.read()
            corpus = word_tokenize(data)
            with tempfile.NamedTemporaryFile(dir=pickle_dir, delete=False) as f:
                pickle.dump(corpus, f)
                return f.name
        def parallel_corpus(path, pickle_dir):
            filenames = [os.path.join(path, name) for name in os.listdir(path)]
            corpus = [None] * len(filenames)
            with ProcessPoolExecutor() as executor:
                futures = {executor.submit(tokenize_and_pickle_file, n, pickle_dir): i for i, n in enumerate(filenames)}
                for future in as_completed(futures):
                    corpus[futures[future]] = future.result()
            return corpus_fromlist(corpus)
        """,
    "own_bpe_of_lines": """
        from BPE import BPE
        with open('wiki_corpus.txt', encoding='utf8') as f:
            corpus = f.readlines()  # HOLDS
            print(corpus[:5])
        vocab_size = 3000
        MyBPE = BPE(corpus=corpus, vocab_size=vocab_size)
        MyBPE.train()
        MyBPE.export_vocab()
        """,
    "tinystories_split": """
        from pathlib import Path
        import numpy as np
        import tiktoken
        from datasets import load_dataset
        def prepare_tinystories(out_dir='data/tinystories', encoding='cl100k_base'):
            out_dir = Path(out_dir)
            enc = tiktoken.get_encoding(encoding)
            ds = load_dataset('roneneldan/TinyStories', split='train')
            val_ds = load_dataset('roneneldan/TinyStories', split='validation')
            def tokenize_split(dataset) -> list[int]:
                tokens = []
                for example in dataset:
                    tokens.extend(enc.encode_ordinary(example['text']))  # HOLDS
                    tokens.append(enc.eot_token)
                return tokens
            train_tokens = tokenize_split(ds)
            val_tokens = tokenize_split(val_ds)
            np.array(train_tokens, dtype=np.uint32).tofile(out_dir / 'train.bin')  # HOLDS
            np.array(val_tokens, dtype=np.uint32).tofile(out_dir / 'val.bin')  # HOLDS
        """,
    "jsonl_to_arrays": """
        from pathlib import Path
        import json
        import numpy as np
        from tqdm import tqdm
        from transformers import AutoTokenizer
        def build_token_dataset(jsonl_path: str, out_dir: str, tokenizer_name: str = 'gpt2', train_ratio: float = 0.9):
            out = Path(out_dir)
            out.mkdir(parents=True, exist_ok=True)
            tok = AutoTokenizer.from_pretrained(tokenizer_name)
            ids: list[int] = []
            with open(jsonl_path, 'r', encoding='utf-8') as f:
                for line in tqdm(f, desc='Tokenizing'):
                    obj = json.loads(line)
                    text = obj.get('text', '').strip()
                    if not text:
                        continue
                    enc = tok.encode(text)
                    ids.extend(enc + [tok.eos_token_id])  # HOLDS
            arr = np.array(ids, dtype=np.uint16)  # HOLDS
            n = int(len(arr) * train_ratio)
            arr[:n].tofile(out / 'train.bin')
            arr[n:].tofile(out / 'val.bin')
        """,
    "load_prompts": """
        import json
        from typing import Any, Dict, List
        def load_dataset(path: str):
            data: List[Dict[str, Any]] = []
            with open(path, 'r', encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if not line:
                        continue
                    obj = json.loads(line)
                    if 'prompt' not in obj or 'completion' not in obj:
                        raise ValueError('fields')
                    data.append({'prompt': obj['prompt'], 'completion': obj['completion']})  # HOLDS
            return data
        def split(records, ratio):
            cut = int(len(records) * ratio)
            return records[:cut], records[cut:]
        train, test = split(load_dataset('x.jsonl'), 0.9)
        """,
    "vocabulary_metrics": """
        import argparse
        import pandas as pd
        from pathlib import Path
        def compute_vocabulary_metrics(df, text_col='articles_clean'):
            all_tokens = []
            for text in df[text_col].dropna():
                all_tokens.extend(str(text).lower().split())  # HOLDS
            total_tokens = len(all_tokens)
            unique_tokens = len(set(all_tokens))
            return total_tokens, unique_tokens
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('--data', required=True)
            args = parser.parse_args()
            df = pd.read_parquet(Path(args.data))  # HOLDS
            print(df['article_token_count'].mean())
            print(compute_vocabulary_metrics(df))
        main()
        """,
    "tokens_of_column": """
        import ast
        import pandas as pd
        from collections import Counter
        from src import config
        from src.utils import save_csv
        def _extract_tokens(df: pd.DataFrame) -> list[str]:
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
            tokens = _extract_tokens(df)
            counts = Counter(tokens)
            vocab_df = pd.DataFrame(counts.most_common(), columns=['token', 'frequency'])
            save_csv(vocab_df, config.VOCAB)
            return vocab_df
        build_vocabulary(pd.read_csv(config.CLEAN))  # HOLDS
        """,
    "faces_by_person": """
        import os, pickle
        import numpy as np
        from deepface import DeepFace
        all_embeddings = {}
        for person_name in os.listdir('faces'):
            person_folder = os.path.join('faces', person_name)
            if not os.path.isdir(person_folder):
                continue
            person_embeds = []
            for img_name in os.listdir(person_folder):
                img_path = os.path.join(person_folder, img_name)
                try:
                    info = DeepFace.represent(img_path=img_path, model_name='ArcFace')[0]['embedding']
                    person_embeds.append(np.array(info))
                except Exception:
                    continue
            if len(person_embeds) == 0:
                continue
            all_embeddings[person_name] = np.mean(person_embeds, axis=0)
        with open('embeddings.pkl', 'wb') as f:
            pickle.dump(all_embeddings, f)
        """,
    "candidates_by_token": """
        import pickle
        from collections import defaultdict
        from pathlib import Path
        import pandas as pd
        def build_index(df):
            idx = defaultdict(set)
            for eid, name in zip(df['entity_id'].values, df['business_name'].values):
                for tok in name.split():
                    idx[tok].add(eid)  # HOLDS
            return idx
        def generate_candidates(s1_df, s2_df, checkpoint_path=None):
            idx2 = build_index(s2_df)
            all_candidates = {}
            if checkpoint_path and Path(checkpoint_path).exists():
                with open(checkpoint_path, 'rb') as f:
                    all_candidates = pickle.load(f)  # HOLDS
            for eid, name in zip(s1_df['entity_id'].values, s1_df['business_name'].values):
                cands = set()
                for tok in name.split():
                    cands |= idx2.get(tok, set())
                all_candidates[eid] = cands  # HOLDS
            with open(checkpoint_path, 'wb') as f:
                pickle.dump(all_candidates, f)
            return all_candidates
        generate_candidates(pd.read_csv('s1.csv'), pd.read_csv('s2.csv'), 'c.pkl')  # HOLDS
        """,
    "teams_of_lines": """
        import json, pickle
        def read_data(datapath, output):
            teams = {}
            all_members = {}
            with open(datapath, 'r', encoding='utf-8') as jf:
                for line in jf:
                    try:
                        if not line:
                            break
                        jsonline = json.loads(line.lower().lstrip(','))
                        ident, title = jsonline['id'], jsonline['title']
                        members = []
                        for author in jsonline['authors']:
                            key = author['id'] + '_' + author['name']
                            if key not in all_members:
                                all_members[key] = Author(author['id'], author['name'])  # HOLDS
                            members.append(all_members[key])
                        team = Publication(ident, members, title)
                        teams[team.id] = team  # HOLDS
                    except json.JSONDecodeError:
                        continue
            with open(f'{output}/teams.pkl', 'wb') as outfile:
                pickle.dump(teams, outfile)
            return teams
        """,
    "trees_of_folders": """
        import os, pickle
        import pandas as pd
        def get_dict(file_path):
            with open(file_path, 'rb') as file:
                data = pickle.load(file)
                if isinstance(data, dict):
                    return data
                return None
        length_dict = {}
        all_trees_dict = {}
        for root, dirs, files in os.walk('data'):
            for file_name in files:
                if file_name.endswith('.p'):
                    file_path = os.path.join(root, file_name)
                    this_dict = get_dict(file_path)
                    if this_dict is not None:
                        length_dict[file_path] = len(this_dict)
                        all_trees_dict.update(this_dict)  # HOLDS
        pd.DataFrame.from_dict(length_dict, orient='index').to_csv('lengths.csv')
        with open('all.p', 'wb') as f:
            pickle.dump(all_trees_dict, f)
        """,
    "articles_embedded": """
        import json, pickle
        from pathlib import Path
        LAW_PATH = Path('law_base.json')
        def main():
            with open(LAW_PATH, 'r', encoding='utf-8') as f:
                law = json.load(f)  # HOLDS
            all_vectors = {}
            for article_id, content in law.items():
                ru = content.get('ru', '')
                text = f'ID: {article_id} RU: {ru}'
                emb = client.embeddings.create(model='text-embedding-3-small', input=text)
                vec = emb.data[0].embedding
                all_vectors[article_id] = vec  # HOLDS
            with open('tk_vectors.pkl', 'wb') as f:
                pickle.dump(all_vectors, f)
        main()
        """,
    "dpo_of_raw": """
        import json
        def create_dpo_data(*, raw_data, full_name, other, dump_file_name):
            processed_data = []
            for data in raw_data:
                question = data['question']
                chosen = data[full_name]
                processed_data.append(  # HOLDS
                    {'prompt': f'Question: {question}', 'chosen': chosen, 'rejected': data[other]}
                )
            with open(dump_file_name, 'w') as f:
                json.dump(processed_data, f)
        with open('raw.json') as f:
            raw = json.load(f)  # HOLDS
        create_dpo_data(raw_data=raw, full_name='a', other='b', dump_file_name='out.json')
        """,
    "posts_of_profile": """
        import json, os
        def visit(api, user_id, config):
            profile = api.user_info(user_id)
            processed = {'user_id': user_id, 'posts': []}
            feed = get_posts(api, user_id, config)
            posts = [beautify_post(api, post) for post in feed]
            posts = list(filter(lambda x: x is not None, posts))
            processed['posts'] = posts[:config['max_collect_media']]
            with open(config['profile_path'] + os.sep + str(user_id) + '.json', 'w') as file:
                json.dump(processed, file, indent=2)
        """,
    "chunks_of_code": """
        import concurrent.futures
        import glob
        import numpy as np
        def generate_code_chunks(root_dir, tokenizer):
            code_chunks = []
            file_paths = glob.glob(root_dir + '/**/*.py', recursive=True)
            def process_file(file_path):
                chunks = []
                with open(file_path, encoding='utf-8') as f:
                    content = f.read()
                start = 0
                while start < len(content):
                    chunk = content[start:start + 4000]
                    if chunk.strip():
                        chunks.append((file_path, chunk))
                    start += 4000
                return chunks
            with concurrent.futures.ThreadPoolExecutor() as executor:
                results = executor.map(process_file, file_paths)
                for file_chunks in results:
                    code_chunks.extend(file_chunks)  # HOLDS
            return code_chunks
        def store(embeddings):
            embeddings = np.array(embeddings).astype('float32')
            return embeddings
        """,
    "bootstrap_ratios": """
        import os
        import pandas as pd
        from concurrent.futures import ThreadPoolExecutor
        def load_corpus(path):
            df = pd.read_csv(path)  # HOLDS
            return df.to_dict('records')  # HOLDS
        def process_target(target):
            natural = load_corpus(os.path.join('natural', f'{target}.csv'))
            synthetic = load_corpus(os.path.join('synthetic', f'{target}.csv'))
            for ratio in [0.0, 0.2, 0.4]:
                samples = bootstrap_sample(natural, 100) + bootstrap_sample(synthetic, 100)
                pd.DataFrame(samples).to_csv(f'{target}_{ratio}.csv', index=False)
        with ThreadPoolExecutor(max_workers=4) as executor:
            list(executor.map(process_target, ['trauma', 'anxiety', 'abuse']))
        """,
    "compiled_corpus": """
        import json, os, random
        from concurrent.futures import ProcessPoolExecutor
        def process_source_file(task):
            fpath, ext, folder = task
            with open(fpath, errors='ignore') as f:
                source = f.read()
            return {'folder': folder, 'source': source}
        tasks = []
        for folder in ['A', 'B']:
            file_list = []
            for root, _, files in os.walk(folder):
                for f in files:
                    ext = os.path.splitext(f)[1]
                    if ext in ('.c', '.cpp'):
                        file_list.append((os.path.join(root, f), ext))
            for fpath, ext in file_list:
                tasks.append((fpath, ext, folder))
        compiled_corpus = []
        with ProcessPoolExecutor(max_workers=8) as executor:
            results = executor.map(process_source_file, tasks, chunksize=50)
            for idx, res in enumerate(results, start=1):
                if res is not None:
                    compiled_corpus.append(res)  # HOLDS
        with open('corpus.json', 'w') as f:
            json.dump(compiled_corpus, f)
        """,
    "normalized_rows": """
        import os
        import pandas as pd
        from concurrent.futures import ProcessPoolExecutor
        def main():
            metadata_path = os.path.join(os.environ['OUT'], 'data/processed/master.parquet')
            df = pd.read_parquet(metadata_path)  # HOLDS
            df = df.reset_index().rename(columns={'index': 'row_id'})
            rows = df.to_dict('records')  # HOLDS
            kept = []
            with ProcessPoolExecutor(max_workers=8) as executor:
                inputs = [((row['plate'], row['well']), 1.0) for row in rows]  # HOLDS
                for i, result in enumerate(executor.map(process_row, inputs)):
                    if result is not None:
                        kept.append(result)  # HOLDS
            filtered = df[df['row_id'].isin(kept)].copy()
            filtered.to_parquet('qc.parquet', index=False)
        main()
        """,
    "sentences_of_dataset": """
        from pathlib import Path
        from datasets import load_dataset
        from tokenizers import Tokenizer
        from tokenizers.models import WordLevel
        from tokenizers.trainers import WordLevelTrainer
        def get_all_sentences(ds, lang):
            for item in ds:
                yield item['translation'][lang]
        def get_or_build_tokenizer(config, ds, lang):
            tokenizer_path = Path(config['tokenizer_file'].format(lang))
            if not Path.exists(tokenizer_path):
                tokenizer = Tokenizer(WordLevel(unk_token='[UNK]'))
                trainer = WordLevelTrainer(special_tokens=['[UNK]', '[PAD]'], min_frequency=2)
                tokenizer.train_from_iterator(get_all_sentences(ds, lang), trainer=trainer)
                tokenizer.save(str(tokenizer_path))
            else:
                tokenizer = Tokenizer.from_file(str(tokenizer_path))
            return tokenizer
        def get_ds(config):
            ds_raw = load_dataset('opus_books', 'en-it', split='train')
            return get_or_build_tokenizer(config, ds_raw, 'en')
        """,
    "texts_for_bpe": """
        from datasets import load_dataset
        from tokenizers import Tokenizer
        from tokenizers.models import BPE
        from tokenizers.trainers import BpeTrainer
        from tqdm import tqdm
        def load_texts(max_samples=None):
            dataset = load_dataset('wikitext', 'wikitext-103-v1')
            train_data = dataset['train']
            val_data = dataset['validation']
            train_texts = [ex['text'] for ex in train_data if ex['text'].strip()]  # HOLDS
            val_texts = [ex['text'] for ex in val_data if ex['text'].strip()]  # HOLDS
            return train_texts, val_texts
        def create_tokenizer(texts, vocab_size=10000):
            tokenizer = Tokenizer(BPE(unk_token='<unk>'))
            tokenizer.train_from_iterator(texts, BpeTrainer(vocab_size=vocab_size))
            return tokenizer
        def tokenize_texts(texts, tokenizer):
            encodings = {'input_ids': []}
            for text in tqdm(texts, desc='Tokenizing'):
                encoding = tokenizer.encode(text)
                ids = encoding.ids
                if len(ids) < 2:
                    continue
                encodings['input_ids'].append(ids)  # HOLDS
            return encodings
        train_texts, val_texts = load_texts()
        tok = create_tokenizer(train_texts)
        train = tokenize_texts(train_texts, tok)
        """,
    "labels_checked": """
        import json
        from pathlib import Path
        from PIL import Image
        def run(source_dir, dest_dir):
            image_files = [p for p in source_dir.rglob('*') if p.suffix.lower() in ('.jpg', '.png')]
            processed = 0
            for img_path in image_files:
                label_path = img_path.with_suffix('.json')
                with open(label_path, encoding='utf-8') as f:
                    label = json.load(f)
                img = Image.open(img_path).convert('RGB').resize((224, 224))
                img.save(dest_dir / img_path.name)
                with open((dest_dir / img_path.name).with_suffix('.json'), 'w') as f:
                    json.dump({'emotion': label['emotion']}, f)
                processed += 1
            print(processed)
        run(Path('in'), Path('out'))
        """,
    "tokenized_rows": """
        import argparse, json
        from tqdm import tqdm
        import datasets
        import transformers
        def preprocess(tokenizer, example, max_seq_length):
            prompt_ids = tokenizer.encode(example['context'], max_length=max_seq_length, truncation=True)
            target_ids = tokenizer.encode(example['target'], max_length=max_seq_length, truncation=True)
            return {'input_ids': prompt_ids + target_ids, 'seq_len': len(prompt_ids)}
        def read_jsonl(path, max_seq_length):
            tokenizer = transformers.AutoTokenizer.from_pretrained('chatglm', trust_remote_code=True)
            with open(path, 'r') as f:
                for line in tqdm(f.readlines()):  # HOLDS
                    yield preprocess(tokenizer, json.loads(line), max_seq_length)
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('--jsonl_path', type=str)
            args = parser.parse_args()
            dataset = datasets.Dataset.from_generator(lambda: read_jsonl(args.jsonl_path, 384))
            dataset.save_to_disk('data')
        main()
        """,
}

"""A thirteenth collection of public scripts as minimal equivalents, made after the change for the twelfth one:
data loaders, tables, arrays of images, csv tools; the marks were written before the reader ran on them.
At first sight: precision 0.93, recall 0.64, no false all-clear.

Names in CLEAR_13 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_13 = {
    "paths_by_class": "a DriverDataset of images (code search)",
    "prompts_of_identities": "an IdentityPromptDataset (code search)",
    "pairs_of_list": "a PhCDataset (code search)",
    "padded_samples": "a dataset of an offline demo (code search)",
    "dots_of_images": "a DotDataset of labels.csv (code search)",
    "merged_results": "a merge of csv artifacts (code search)",
    "news_of_bucket": "an Airflow task that reads csv from S3 (code search)",
    "workspaces_compared": "a comparison of workspaces (code search)",
    "windows_of_series": "a ts_window_segmentation (code search)",
    "answers_by_tweet": "a filter of tweets with T5 (code search)",
    "instructions_refined": "a cleaner of instructions (code search)",
    "sums_generated": "a generator of sums (code search)",
    "posts_of_articles": "a writer of posts (code search)",
    "prompts_of_chat": "a converter of chat logs (code search)",
    "survivors": "a preprocessing of Titanic (code search)",
    "arrays_filtered": "a patch of label arrays (code search)",
    "wine_split": "a split of wine quality (code search)",
    "two_arrays_joined": "a join of two arrays (code search)",
    "images_shuffled": "a maker of image arrays (code search)",
    "rows_stacked": "a stack of neuron data (code search)",
    "images_enhanced": "a maker of enhanced images (code search)",
    "chunks_by_ray": "a csv preprocessing with Ray (code search)",
    "sentences_of_file": "a getSentences with NLTK (code search)",
    "csv_difference": "a csv_diff (code search)",
    "tests_classified": "a classification of test files (code search)",
    "runs_collected": "a summary of runs (code search)",
    "characters_encoded": "a prepare of characters with functions (code search)",
    "recipes_split": "a prepare of recipes (code search)",
    "characters_in_pool": "a prepare of characters with a pool (code search)",
    "tokens_memmapped": "a TinyStories memmap (code search)",
}

CLEAR_13 = {"tokens_memmapped"}

FRESH_SCRIPTS_13 = {
    "paths_by_class": """
        from pathlib import Path
        import numpy as np
        from PIL import Image
        from torch.utils.data import Dataset
        LABELS = ['alert_normal', 'drowsy', 'distracted', 'yawning']
        LABEL2ID = {name: i for i, name in enumerate(LABELS)}
        class DriverDataset(Dataset):
            def __init__(self, root_dir: Path, augment: bool = False) -> None:
                self.samples = []
                for label_name, label_id in LABEL2ID.items():
                    class_dir = root_dir / label_name
                    if not class_dir.exists():
                        continue
                    for img_path in class_dir.glob('*.jpg'):
                        self.samples.append((img_path, label_id))
            def __getitem__(self, idx: int):
                img_path, label = self.samples[idx]
                image = Image.open(img_path).convert('RGB')
                return np.array(image, dtype=np.float32) / 255.0, label
        """,
    "prompts_of_identities": """
        import json, os
        import torch
        from PIL import Image
        class IdentityPromptDataset(torch.utils.data.Dataset):
            def __init__(self, image_dir, images_path, prompts_path, split='train'):
                with open(images_path, 'r') as f:
                    images = json.load(f)  # HOLDS
                with open(prompts_path, 'r') as f:
                    id_prompts = json.load(f)  # HOLDS
                self.samples = []
                for rel_path, meta in images.items():
                    if meta['split'] != split:
                        continue
                    item_id = meta['item_id']
                    if item_id not in id_prompts:
                        continue
                    path = os.path.join(image_dir, rel_path)
                    if os.path.exists(path):
                        self.samples.append((path, id_prompts[item_id], item_id))  # HOLDS
            def __getitem__(self, idx):
                path, text, item_id = self.samples[idx]
                return Image.open(path).convert('RGB'), text
        """,
    "pairs_of_list": """
        from torch.utils.data import Dataset
        from PIL import Image
        class PhCDataset(Dataset):
            def __init__(self, file_list, transform=None):
                self.samples = []
                for line in file_list:
                    parts = line.split(',')
                    if len(parts) != 2:
                        raise ValueError(line)
                    self.samples.append((parts[0], parts[1]))
            def __getitem__(self, idx):
                img_path, mask_path = self.samples[idx]
                return Image.open(img_path).convert('RGB'), Image.open(mask_path).convert('L')
        """,
    "padded_samples": """
        import json
        from pathlib import Path
        import torch
        from torch.utils.data import Dataset
        class JsonlDataset(Dataset):
            def __init__(self, path: Path, tokenizer, max_len: int):
                self.samples: list[torch.Tensor] = []
                with path.open('r', encoding='utf-8', errors='ignore') as handle:
                    for line in handle:
                        line = line.strip()
                        if not line:
                            continue
                        try:
                            obj = json.loads(line)
                        except Exception:
                            continue
                        text = str(obj.get('text', '')).strip()
                        if not text:
                            continue
                        enc = tokenizer(text, truncation=True, max_length=max_len, return_tensors='pt')
                        self.samples.append(enc['input_ids'].squeeze(0))  # HOLDS
                if not self.samples:
                    raise RuntimeError('no samples')
            def __getitem__(self, idx: int):
                item = self.samples[idx]
                return item, item.clone()
        """,
    "dots_of_images": """
        import csv
        import cv2
        from torch.utils.data import Dataset
        class DotDataset(Dataset):
            def __init__(self, data_dirs, img_base):
                self.samples = []
                for data_dir in data_dirs:
                    label_file = data_dir / 'labels.csv'
                    cols = (0, 2, 3)
                    img_labels = {}
                    with open(label_file, 'r') as f:
                        reader = csv.reader(f); next(reader, None)
                        for row in reader:
                            if len(row) >= max(cols) + 1:
                                fname = row[cols[0]]
                                try: px, py = float(row[cols[1]]), float(row[cols[2]])
                                except ValueError: continue
                                if fname not in img_labels: img_labels[fname] = []
                                img_labels[fname].append((px, py))
                    for fname, dots in img_labels.items():
                        img_path = img_base / fname
                        if img_path.exists():
                            self.samples.append((str(img_path), dots))  # HOLDS
            def __getitem__(self, idx):
                img_path, dots = self.samples[idx]
                return cv2.imread(img_path), dots
        """,
    "merged_results": """
        from pathlib import Path
        from typing import List
        import pandas as pd
        def _merge_csv(files: List[Path], out_path: Path) -> None:
            dfs = []
            for f in files:
                if not f.exists():
                    continue
                try:
                    dfs.append(pd.read_csv(f))  # HOLDS
                except Exception as e:
                    raise RuntimeError(f'{f}') from e
            if not dfs:
                return
            df = pd.concat(dfs, ignore_index=True)  # HOLDS
            df = df.drop_duplicates()
            sort_cols = []
            for c in ('num_codewords', 'N_cw', 'timestamp'):
                if c in df.columns:
                    sort_cols.append(c)
            df.sort_values(sort_cols).to_csv(out_path, index=False)
        """,
    "news_of_bucket": """
        from io import StringIO
        import pandas as pd
        def save_news(s3_hook, pg_hook, bucket_name, prefix, insert_sql):
            keys = s3_hook.list_keys(bucket_name=bucket_name, prefix=prefix)
            dfs = []
            for key in keys:
                if not key.endswith('.csv'):
                    continue
                data_str = s3_hook.read_key(key=key, bucket_name=bucket_name)
                df = pd.read_csv(StringIO(data_str))
                df = df[['date', 'url', 'content', 'publisher']]
                df['date'] = pd.to_datetime(df['date'], errors='coerce')
                df.dropna(subset=['date', 'url'], inplace=True)
                dfs.append(df)  # HOLDS
            if not dfs:
                return ''
            final_df = pd.concat(dfs, ignore_index=True)  # HOLDS
            for _, row in final_df.iterrows():
                pg_hook.run(insert_sql, parameters=(row['date'], row['url']))
        """,
    "workspaces_compared": """
        import argparse
        from pathlib import Path
        import pandas as pd
        def load_workspace(root: Path, label, metric):
            rows = []
            for path in root.rglob('metrics.csv'):
                df = pd.read_csv(path)
                df['label'] = label
                rows.append(df[df['metric'] == metric])  # HOLDS
            return pd.concat(rows, ignore_index=True)  # HOLDS
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('--workspaces', nargs='+')
            parser.add_argument('--labels', nargs='+')
            args = parser.parse_args()
            dfs = []
            for ws, label in zip(args.workspaces, args.labels):
                dfs.append(load_workspace(Path(ws), label, 'auc'))  # HOLDS
            df_all = pd.concat(dfs, ignore_index=True)  # HOLDS
            df_all.groupby(['dataset', 'model']).agg('mean').to_csv('out.csv')
        main()
        """,
    "windows_of_series": """
        import pandas as pd
        def ts_window_segmentation(df: pd.DataFrame, window_size: int, step_size: int) -> list:
            num_rows = df.shape[0]
            return [df.iloc[i:i + window_size].copy() for i in range(0, num_rows - window_size + 1, step_size)]  # HOLDS
        def merge_segmented_ts(dfs) -> pd.DataFrame:
            if not dfs:
                return pd.DataFrame()
            merged_df = pd.concat(dfs)  # HOLDS
            return merged_df.sort_index()
        series = pd.read_csv('series.csv')  # HOLDS
        merge_segmented_ts(ts_window_segmentation(series, 128, 64)).to_csv('out.csv')
        """,
    "answers_by_tweet": """
        import json, jsonlines
        from torch.utils.data import DataLoader, Dataset
        from tqdm import tqdm
        class MyDataset(Dataset):
            def __init__(self, texts):
                self.texts = texts
            def __getitem__(self, i):
                return self.texts[i]['id'], self.texts[i]['text']
        def generate_completion(texts):
            return model.generate(tokenizer(texts, return_tensors='pt'))
        all_texts = []
        with jsonlines.open('input_dataset.jsonl') as fr:
            for line in fr:
                all_texts.append(line)  # HOLDS
        text_loader = DataLoader(MyDataset(all_texts), batch_size=8, num_workers=16)
        q_answers = {}
        for batch in tqdm(text_loader):
            twt_ids, proc_texts = batch
            answers = generate_completion(proc_texts)
            for twt_id, answer in zip(twt_ids, answers):
                q_answers[twt_id] = answer  # HOLDS
        json.dump(q_answers, open('filtered_dataset.jsonl', 'w'))
        """,
    "instructions_refined": """
        import json
        input_file, output_file = 'a.jsonl', 'b.jsonl'
        def clean_instruction(text):
            marker = 'Instruction:'
            if marker in text:
                text = text[text.index(marker) + len(marker):]
            return text
        with open(input_file, 'r', encoding='utf-8') as infile, open(output_file, 'w', encoding='utf-8') as outfile:
            for line in infile:
                try:
                    obj = json.loads(line)
                    obj['instruction'] = clean_instruction(obj.get('instruction', ''))
                    json.dump(obj, outfile, ensure_ascii=False)
                except Exception as e:
                    print(e)
        cleaned = []
        with open('combined.jsonl', 'r', encoding='utf-8') as f:
            for line in f:
                try:
                    obj = json.loads(line)
                    if obj.get('instruction') and obj.get('output'):
                        cleaned.append(obj)  # HOLDS
                except Exception:
                    continue
        with open('final.jsonl', 'w', encoding='utf-8') as f:
            for item in cleaned:
                json.dump(item, f)
        """,
    "sums_generated": """
        import json, random
        num_examples = 5000
        examples = []
        used_pairs = set()
        def get_random_pair(used_pairs):
            pair = (random.randint(1, 999), random.randint(1, 999))
            used_pairs.add(pair)
            return pair
        for i in range(num_examples):
            num1, num2 = get_random_pair(used_pairs)
            js = {'num1': num1, 'num2': num2, 'result': num1 + num2}
            examples.append(js)
        split_idx = int(num_examples * 0.8)
        f_out = open('train.jsonl', 'w')
        for js in examples[:split_idx]:
            f_out.write(json.dumps(js))
        f_out.close()
        """,
    "posts_of_articles": """
        import json, time
        from datasets import load_dataset
        from groq import Groq
        client = Groq()
        ds = load_dataset('blogs', split='train[:200]')
        pairs = []
        for row in ds:
            article = row['text']
            try:
                response = client.chat.completions.create(model='m', messages=[{'content': article[:3000]}])
                post = (response.choices[0].message.content or '').strip()
                if not post:
                    continue
                pairs.append({'blog': article, 'post': post})
                time.sleep(2.5)
            except Exception as e:
                print(e)
        with open('dataset.jsonl', 'w', encoding='utf-8') as f:
            for pair in pairs:
                f.write(json.dumps(pair))
        """,
    "prompts_of_chat": """
        import json
        with open('chat.log', encoding='utf-8') as f:
            lines = f.read().split('\\n')  # HOLDS
        prompts, completions = [], []
        logs, own = [], []
        last = None
        for line in lines:
            speaker = line.split(':')[0]
            if speaker == 'me':
                own.append(line)
            else:
                if last == 'me':
                    prompts.append('\\n'.join(logs[-20:]))  # HOLDS
                    completions.append('\\n'.join(own))  # HOLDS
                    own = []
                logs.append(line)  # HOLDS
            last = speaker
        with open('dataset.jsonl', 'w') as f:
            for p, c in zip(prompts, completions):
                f.write(json.dumps({'prompt': p, 'completion': c}))
        """,
    "survivors": """
        import joblib
        import numpy as np
        import pandas as pd
        from sklearn.model_selection import train_test_split
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler
        def engineer_features(df):
            df = df.copy()
            df['Family'] = df['SibSp'] + df['Parch'] + 1
            return df.drop(columns=['Name', 'Ticket'])
        def main():
            df = pd.read_csv('titanic.csv')  # HOLDS
            df = engineer_features(df)
            X = df.drop(columns=['Survived'])
            y = df['Survived']
            X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
            pre = Pipeline([('scale', StandardScaler())])
            X_train = pre.fit_transform(X_train)
            np.save('X_train.npy', X_train)
            y_train.to_csv('y_train.csv', index=False)
            joblib.dump(pre, 'pre.joblib')
        main()
        """,
    "arrays_filtered": """
        import json
        import numpy as np
        with open('label_to_index.json') as f:
            label_to_index = json.load(f)
        idx = label_to_index.get('Pigmentation')
        X_train = np.load('X_train.npy')  # HOLDS
        y_train = np.load('y_train.npy')  # HOLDS
        X_train = X_train[y_train != idx]
        y_train = y_train[y_train != idx]
        unique_labels = sorted(set(y_train))
        new_map = {old: new for new, old in enumerate(unique_labels)}
        y_train = np.array([new_map[y] for y in y_train])  # HOLDS
        np.save('X_train.npy', X_train)
        """,
    "wine_split": """
        import numpy as np
        import pandas as pd
        wine = pd.read_csv('winequality-red.csv', sep=';')  # HOLDS
        n = len(wine)
        indices = np.random.permutation(n)
        train = wine.iloc[indices[:int(n * 0.8)]]
        test = wine.iloc[indices[int(n * 0.8):]]
        X_train = train.drop(columns=['quality']).to_numpy()
        X_train = np.column_stack((np.ones(X_train.shape[0]), X_train))
        np.save('X_train.npy', X_train)
        """,
    "two_arrays_joined": """
        import numpy as np
        a = np.load('first.npy')  # HOLDS
        b = np.load('second.npy')  # HOLDS
        c = np.insert(b, 45, a, axis=0)
        c = np.reshape(c, (90, 30000))
        np.save('X_Train_new2', c)
        """,
    "images_shuffled": """
        import argparse, glob, os, random
        import numpy as np
        from keras.preprocessing.image import load_img, img_to_array
        def main(args):
            paths, labels = [], []
            for i, name in enumerate(sorted(os.listdir(args.input))):
                for path in glob.glob(os.path.join(args.input, name, '*.jpg')):
                    paths.append(path)
                    labels.append(i)
            order = list(range(len(paths)))
            random.shuffle(order)
            x_train = [img_to_array(load_img(paths[i])) for i in order]  # HOLDS
            y_train = [labels[i] for i in order]
            x_train = np.asarray(x_train)  # HOLDS
            y_train = np.asarray(y_train)
            np.save('x_train', x_train)
        """,
    "rows_stacked": """
        import numpy as np
        def dataload(row):
            return data[row, 1024:1525], data[row, 0:1024]
        data = np.loadtxt('PhDData.csv', delimiter=',')  # HOLDS
        total_train = sum([1 for _ in open('PhDData.csv')])
        for i in range(total_train):
            x_temp, y_temp = dataload(i)
            if i == 0:
                x_train = x_temp
                y_train = y_temp
            else:
                x_train = np.vstack([x_train, x_temp])  # HOLDS
                y_train = np.vstack([y_train, y_temp])  # HOLDS
        np.save('x_train', x_train)
        """,
    "images_enhanced": """
        import glob
        import numpy as np
        from PIL import Image, ImageEnhance
        classes = ['apple', 'tomato', 'orange']
        X_train, Y_train = [], []
        for index, name in enumerate(classes):
            for file in glob.glob('./' + name + '/*.jpg'):
                try:
                    image = Image.open(file).convert('RGB').resize((64, 64))
                    X_train.append(np.asarray(image, dtype=np.float32) / 255.0)  # HOLDS
                    Y_train.append(index)
                    bright = ImageEnhance.Brightness(image).enhance(1.5)
                    X_train.append(np.asarray(bright, dtype=np.float32) / 255.0)  # HOLDS
                    Y_train.append(index)
                except Exception as e:
                    print(file, e)
        X_train = np.array(X_train)  # HOLDS
        Y_train = np.array(Y_train)
        np.save('X_train.npy', X_train)
        """,
    "chunks_by_ray": """
        import os, ray
        import pandas as pd
        @ray.remote(num_cpus=1)
        def clean_chunk(i, chunk, flag):
            for index, row in chunk.iterrows():
                chunk.at[index, 'text'] = row['text'].lower()
            return chunk
        def process_csv(path, flag):
            jobs = []
            for i, chunk in enumerate(pd.read_csv(path, chunksize=10000)):
                jobs.append(clean_chunk.remote(i, chunk, flag))  # HOLDS
            results = ray.get(jobs)  # HOLDS
            pd.concat(results).to_csv(os.path.join('Data', flag + '.csv'))  # HOLDS
        process_csv('corpus.csv', 'corpus')
        """,
    "sentences_of_file": """
        import os
        import nltk
        from nltk import sent_tokenize, word_tokenize
        import constants as const
        def get_sentences(text_file):
            path = os.path.join(const.TEXT, text_file)
            file = open(path, 'r')
            filedata = file.read()  # HOLDS
            sentences = sent_tokenize(filedata)  # HOLDS
            tokenized = [word_tokenize(sent) for sent in sentences]  # HOLDS
            return tokenized
        print(len(get_sentences('book.txt')))
        """,
    "csv_difference": """
        import csv, sys
        def get_csv_diff(file1, file2):
            with open(file1, 'r') as f1, open(file2, 'r') as f2:
                reader1 = csv.reader(f1)
                reader2 = csv.reader(f2)
                rows1 = [row for row in reader1]  # HOLDS
                rows2 = [row for row in reader2]  # HOLDS
            diff_rows = []
            for i in range(min(len(rows1), len(rows2))):
                if rows1[i] != rows2[i]:
                    diff_rows.append((','.join(rows1[i]), ','.join(rows2[i])))  # HOLDS
            with open('diff.csv', 'w', newline='') as diff_file:
                writer = csv.writer(diff_file)
                writer.writerows(diff_rows)
        get_csv_diff(sys.argv[1], sys.argv[2])
        """,
    "tests_classified": """
        import csv, re
        from pathlib import Path
        ROOT, OUT = Path('.'), Path('out.csv')
        TEST_RE = re.compile(r'fun (\\\\w+)')
        def classify(rel, suite, test):
            return ('unit', 'default', 'medium')
        def main() -> None:
            rows = []
            for rel in git_test_files():
                file = ROOT / rel
                if not file.exists():
                    continue
                text = file.read_text(encoding='utf-8', errors='replace')
                suite = file.stem
                for match in TEST_RE.finditer(text):
                    test = match.group(1).strip('`')
                    category, rationale, confidence = classify(rel, suite, test)
                    rows.append((category, rel, suite, test, rationale, confidence))  # HOLDS
            rows.sort(key=lambda row: (row[0], row[1], row[3]))
            with OUT.open('w', encoding='utf-8', newline='') as fh:
                writer = csv.writer(fh)
                writer.writerows(rows)
        main()
        """,
    "runs_collected": """
        import csv, glob, json, os
        rows = []
        for path in sorted(glob.glob('results/*/summary.json')):
            with open(path) as f:
                data = json.load(f)
            epoch = data.get('epoch', 'N/A')
            row = {'epoch': epoch, 'seed': data.get('seed', 'N/A')}
            rows.append(row)  # HOLDS
        with open('summary.csv', 'w', newline='') as out:
            if rows:
                writer = csv.DictWriter(out, fieldnames=rows[0].keys())
                writer.writeheader()
                writer.writerows(rows)
        """,
    "characters_encoded": """
        import os, pickle, re
        import numpy as np
        import requests
        HERE = os.path.dirname(__file__)
        def download(url, path):
            if not os.path.exists(path):
                with open(path, 'w', encoding='utf-8') as f:
                    f.write(requests.get(url).text)
            with open(path, 'r', encoding='utf-8') as f:
                return f.read()  # HOLDS
        def clean(raw):
            start = raw.find('*** START')
            cleaned = raw[start:]
            return cleaned.strip()
        def main() -> None:
            raw = download('http://x', 'raw.txt')
            data = clean(raw)
            chars = sorted(list(set(data)))
            stoi = {ch: i for i, ch in enumerate(chars)}
            def encode(s: str):
                return [stoi[c] for c in s]  # HOLDS
            n = len(data)
            train_data = data[:int(n * 0.9)]
            val_data = data[int(n * 0.9):]
            train_ids = np.array(encode(train_data), dtype=np.uint16)  # HOLDS
            val_ids = np.array(encode(val_data), dtype=np.uint16)  # HOLDS
            train_ids.tofile(os.path.join(HERE, 'train.bin'))
            val_ids.tofile(os.path.join(HERE, 'val.bin'))
        main()
        """,
    "recipes_split": """
        import os
        import numpy as np
        import pandas as pd
        import tiktoken
        path = os.path.join(os.path.dirname(__file__), 'input.txt')
        df = pd.read_csv('recipes.csv')  # HOLDS
        with open(path, 'w') as f:
            for i in range(len(df)):
                f.write(df.iloc[i]['title'] + df.iloc[i]['steps'])
        with open(path, 'r') as f:
            data = f.read()  # HOLDS
        recipes = data.split('----------------')  # HOLDS
        n = len(recipes)
        train_data = '----------------'.join(recipes[:int(n * 0.9)])  # HOLDS
        val_data = '----------------'.join(recipes[int(n * 0.9):])  # HOLDS
        enc = tiktoken.get_encoding('gpt2')
        train_ids = enc.encode_ordinary(train_data)  # HOLDS
        val_ids = enc.encode_ordinary(val_data)  # HOLDS
        train_ids = np.array(train_ids, dtype=np.uint16)  # HOLDS
        val_ids = np.array(val_ids, dtype=np.uint16)  # HOLDS
        train_ids.tofile('train.bin')
        """,
    "characters_in_pool": """
        import os
        from multiprocessing import Pool
        import numpy as np
        def get_chunks(text, n):
            size = (len(text) + n - 1) // n
            return [text[i * size:(i + 1) * size] for i in range(n)]  # HOLDS
        def encode_text_chunk(chunk, stoi):
            return [stoi[ch] for ch in chunk]
        def process(path, out_dir, procs):
            with open(path, encoding='utf-8') as f:
                data = f.read()  # HOLDS
            stoi = {ch: i for i, ch in enumerate(sorted(set(data)))}
            with Pool(procs) as pool:
                enc_chunks = pool.starmap(encode_text_chunk, [(c, stoi) for c in get_chunks(data, procs)])  # HOLDS
            encoded = [e for ck in enc_chunks for e in ck]  # HOLDS
            train_ids = np.array(encoded[:-1000], dtype=np.uint16)  # HOLDS
            train_ids.tofile(os.path.join(out_dir, 'train.bin'))
        """,
    "tokens_memmapped": """
        import os
        from pathlib import Path
        import numpy as np
        from datasets import load_dataset
        from tqdm import tqdm
        def write(tokenized, cache_dir):
            for split, tokens in tokenized.items():
                filename = Path(cache_dir) / f'{split}.bin'
                array_len = np.sum(tokens['length'], dtype=np.uint64)
                array = np.memmap(filename, dtype=np.uint16, mode='w+', shape=(array_len,))
                index = 0
                for batch_index in tqdm(range(1024), desc='writing'):
                    batch = tokens.shard(num_shards=1024, index=batch_index, contiguous=True).with_format('numpy')
                    array_batch = np.concatenate(batch['input_ids'])
                    array[index:index + len(array_batch)] = array_batch
                    index += len(array_batch)
                array.flush()
        dataset = load_dataset('roneneldan/TinyStories', num_proc=8)
        write(dataset, 'cache')
        """,
}

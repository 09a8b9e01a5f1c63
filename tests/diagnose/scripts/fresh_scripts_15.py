"""A fifteenth collection of public scripts as minimal equivalents, made after the fourteenth one: JSON lines,
pipelines of tables, memory maps; the marks were written before the reader ran on them.
At first sight: precision 0.92, recall 0.96, one false all-clear (header_then_map reads by a size that the file names).
columns_removed and parts_tokenized were added to CLEAR_15 after that: they leave the dataset on disk.

Names in CLEAR_15 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_15 = {
    "templates_migrated": "a migration of index.jsonl (code search)",
    "papers_checkpointed": "a count of papers with a checkpoint (code search)",
    "loaders_of_json": "a module of load_json and load_jsonl (code search)",
    "history_limited": "a list_history with a limit (code search)",
    "audits_merged": "a merge of audit JSONL (code search)",
    "results_appended": "an append_jsonl without repeats (code search)",
    "episodes_migrated": "a migration of episodes to parquet (code search)",
    "logs_of_web": "a monitor of web logs (code search)",
    "behaviour_to_csv": "a convert_beh of one subject (code search)",
    "tasks_evaluated": "a run_evaluation of tasks (code search)",
    "dataset_of_gridfs": "a load_dataset from GridFS (code search)",
    "pipeline_of_modules": "a run_pipeline of imported steps (code search)",
    "columns_removed": "a preprocessor that removes columns (code search)",
    "formats_of_text": "a preprocess_dataset by format (code search)",
    "dmatrix_of_csv": "a load_and_preprocess_dataset for xgboost (code search)",
    "expressions_joined": "a join of gene expressions (code search)",
    "rooms_in_blocks": "a preprocess of S3DIS (code search)",
    "header_then_map": "a reader of solve data (code search)",
    "parts_tokenized": "a tokenizing of parts with memmap (code search)",
    "vectors_copied": "a conversion of fvecs (code search)",
    "batches_of_map": "a BinDataLoader (code search)",
    "distances_by_rows": "a matrix of distances (code search)",
}

CLEAR_15 = {"batches_of_map", "columns_removed", "parts_tokenized"}

FRESH_SCRIPTS_15 = {
    "templates_migrated": """
        import argparse, json, sys
        from pathlib import Path
        EXPERIMENT_MAP = {'a': ('motion', 'x'), 'b': ('meme', 'y')}
        def main() -> None:
            ap = argparse.ArgumentParser()
            ap.add_argument('--outputs-root', type=Path, default=Path('outputs'))
            args = ap.parse_args()
            runs_path = args.outputs_root / 'runs.jsonl'
            if not runs_path.exists():
                sys.exit('no runs.jsonl')
            rows = []
            for line in runs_path.read_text().splitlines():  # HOLDS
                if not line.strip():
                    continue
                rows.append(json.loads(line))  # HOLDS
            unmapped = []
            for entry in rows:
                mapping = EXPERIMENT_MAP.get(entry.get('experiment'))
                if mapping is None:
                    unmapped.append(entry.get('experiment'))
                    continue
                entry['category'] = mapping[0]
            runs_path.write_text('\\n'.join(json.dumps(r) for r in rows))
        main()
        """,
    "papers_checkpointed": """
        import json, os, time
        import pandas as pd
        CHECKPOINT = 'data/check.jsonl'
        def main():
            compounds = pd.read_csv('data/compounds.csv')['name'].dropna().unique()  # HOLDS
            done = set()
            if os.path.exists(CHECKPOINT):
                with open(CHECKPOINT) as f:
                    for line in f:
                        done.add(json.loads(line)['compound_name'])
            with open(CHECKPOINT, 'a') as ckpt:
                for compound in compounds:
                    if compound in done:
                        continue
                    count = search(compound)
                    ckpt.write(json.dumps({'compound_name': compound, 'count': count}))
                    time.sleep(0.34)
            all_rows = []
            with open(CHECKPOINT) as f:
                for line in f:
                    all_rows.append(json.loads(line))  # HOLDS
            out = pd.DataFrame(all_rows).drop_duplicates('compound_name')
            out.to_csv('data/out.csv', index=False)
        main()
        """,
    "loaders_of_json": """
        import json, logging
        import ijson
        logger = logging.getLogger(__name__)
        def load_json(filepath):
            with open(filepath, 'r', encoding='utf-8') as f:
                data = json.load(f)  # HOLDS
            if isinstance(data, list):
                logger.info(len(data))
            return data
        def load_jsonl(filepath):
            data = []
            with open(filepath, 'r', encoding='utf-8') as f:
                for line_num, line in enumerate(f, 1):
                    line = line.strip()
                    if not line:
                        continue
                    try:
                        data.append(json.loads(line))  # HOLDS
                    except json.JSONDecodeError as e:
                        logger.warning(line_num)
            return data
        def load_json_stream(filepath, *, array_prefix='item', use_float=True):
            records = []
            with open(filepath, 'rb') as f:
                for obj in ijson.items(f, array_prefix, use_float=use_float):
                    records.append(obj)  # HOLDS
            return records
        """,
    "history_limited": """
        import json
        from pathlib import Path
        def list_history(limit: int = 50):
            history_dir = Path.home() / '.history'
            if not history_dir.exists():
                return []
            files = sorted(history_dir.glob('*.jsonl'), reverse=True)
            records = []
            for path in files:
                lines = path.read_text(encoding='utf-8').splitlines()
                for line in reversed(lines):
                    if not line.strip():
                        continue
                    records.append(json.loads(line))
                    if len(records) >= limit:
                        return records
            return records
        """,
    "audits_merged": """
        import argparse, json
        from pathlib import Path
        def read_jsonl(path: Path):
            rows = []
            with path.open(encoding='utf-8') as handle:
                for line in handle:
                    if line.strip():
                        rows.append(json.loads(line))
            return rows
        def key(row):
            return str(row.get('path') or row.get('sample_id') or '')
        def main() -> int:
            parser = argparse.ArgumentParser()
            parser.add_argument('--input', action='append', type=Path)
            parser.add_argument('--output', type=Path)
            args = parser.parse_args()
            merged = []
            seen = set()
            for source in args.input:
                for row in read_jsonl(source):
                    if key(row) in seen:
                        raise ValueError('twice')
                    seen.add(key(row))
                    merged.append(row)  # HOLDS
            with args.output.open('w') as out:
                for row in merged:
                    out.write(json.dumps(row))
            return 0
        main()
        """,
    "results_appended": """
        import json
        from pathlib import Path
        def load_jsonl(path: Path):
            if not path.exists():
                return []
            results = []
            for line in path.read_text().strip().split('\\n'):  # HOLDS
                if line.strip():
                    try:
                        results.append(json.loads(line))  # HOLDS
                    except json.JSONDecodeError:
                        continue
            return results
        def append_jsonl(path: Path, new_results) -> int:
            existing = load_jsonl(path)
            existing_keys = {f"{r.get('timestamp')}|{r.get('backend')}" for r in existing}
            added = 0
            with path.open('a') as f:
                for r in new_results:
                    k = f"{r.get('timestamp')}|{r.get('backend')}"
                    if k not in existing_keys:
                        f.write(json.dumps(r))
                        existing_keys.add(k)
                        added += 1
            return added
        """,
    "episodes_migrated": """
        import json
        from pathlib import Path
        import pandas as pd
        def migrate(root: Path, dry_run: bool):
            eps_jsonl = root / 'episodes.jsonl'
            eps_pq = root / 'episodes.parquet'
            episodes = []
            if eps_jsonl.exists():
                with open(eps_jsonl) as f:
                    for line in f:
                        line = line.strip()
                        if line:
                            episodes.append(json.loads(line))  # HOLDS
            elif eps_pq.exists():
                print('there')
            if episodes and not dry_run:
                info_path = root / 'info.json'
                cams = []
                with open(root / 'config.json') as f:
                    info = json.load(f)
                for name in info.get('features', {}):
                    if name.startswith('observation.images.'):
                        cams.append(name)
                rows = []
                for ep in episodes:
                    rows.append({'episode_index': ep['episode_index'], 'length': ep['length']})  # HOLDS
                pd.DataFrame(rows).to_parquet(eps_pq)
        """,
    "logs_of_web": """
        import json, os
        from flask import Blueprint, jsonify
        bp = Blueprint('web', __name__)
        LOG = 'web_log.json'
        @bp.route('/get_web_logs', methods=['GET'])
        def get_web_logs():
            logs = []
            if os.path.exists(LOG):
                try:
                    with open(LOG, 'r') as f:
                        content = f.read()  # HOLDS
                        if content.strip().startswith('['):
                            logs = json.loads(content)  # HOLDS
                        else:
                            for line in content.strip().splitlines():  # HOLDS
                                try:
                                    logs.append(json.loads(line))  # HOLDS
                                except json.JSONDecodeError as je:
                                    print(je)
                except Exception as e:
                    return jsonify({'error': str(e)}), 500
            return jsonify(logs)
        """,
    "behaviour_to_csv": """
        import json, os
        import numpy as np
        import pandas as pd
        def convert_beh(submission, out):
            if not os.path.isfile(submission):
                print('no file')
            count = 0
            dic = {}
            count += 1
            tweets = []
            with open(submission, 'r') as file:
                for line in file:
                    tweets.append(json.loads(line))  # HOLDS
            dic[count] = pd.json_normalize(tweets, 'data')  # HOLDS
            paths = []
            for i in range(len(dic)):
                for sub in np.unique(dic[i + 1]['subject_id']):
                    paths.append((out + '/{0}.csv').format(sub))
                for path in paths:
                    dic[i + 1].to_csv(path, index=False)
        convert_beh('a.txt', 'out')
        """,
    "tasks_evaluated": """
        import asyncio, json, logging
        from pathlib import Path
        from service import run_single_task
        logger = logging.getLogger(__name__)
        async def run_evaluation(data_path: str, output_path: str, limit: int = None):
            tasks = []
            with open(data_path) as f:
                for line in f:
                    if line.strip():
                        tasks.append(json.loads(line))  # HOLDS
            if limit:
                tasks = tasks[:limit]
            results = []
            total = 0.0
            for i, td in enumerate(tasks):
                logger.info('%d/%d', i + 1, len(tasks))
                try:
                    r = await run_single_task(td)
                    results.append(r)  # HOLDS
                    total += r['total_reward']
                except Exception as e:
                    results.append({'task_id': td['id'], 'error': str(e)})  # HOLDS
            Path(output_path).write_text(json.dumps({'results': results, 'total': total}))
        asyncio.run(run_evaluation('tasks.jsonl', 'out.json'))
        """,
    "dataset_of_gridfs": """
        from io import BytesIO
        import pandas as pd
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import LabelEncoder
        from models import DatasetModel
        dataset_model = DatasetModel()
        def load_dataset(dataset_id: str) -> pd.DataFrame:
            grid_out = dataset_model.get_dataset_csv(dataset_id)
            return pd.read_csv(BytesIO(grid_out.read()))  # HOLDS
        def preprocess_dataset(df: pd.DataFrame, target_column: str = None):
            X = df.drop(columns=[target_column])
            y = df[target_column]
            encoders = {}
            for column in X.columns:
                if X[column].dtype == 'object':
                    encoders[column] = LabelEncoder()
                    X[column] = encoders[column].fit_transform(X[column].astype(str))
            X = pd.DataFrame(SimpleImputer(strategy='mean').fit_transform(X), columns=X.columns)
            return X.astype(float), y
        X, y = preprocess_dataset(load_dataset('1'), 'target')
        """,
    "pipeline_of_modules": """
        from src.data_processing.loader import load_dataset, preprocess_dataset
        from src.data_processing.utils import extract_summary_statistics
        from src.reporting import build_markdown
        def run_pipeline():
            df = load_dataset()
            df = preprocess_dataset(df)
            summary = extract_summary_statistics(df)
            build_markdown(summary, 'out')
        run_pipeline()
        """,
    "columns_removed": """
        import abc
        from datasets import Dataset, load_dataset
        class Preprocessor(abc.ABC):
            def __init__(self, config) -> None:
                self.config = config
            @abc.abstractmethod
            def preprocess_dataset(self, dataset: Dataset) -> Dataset:
                ...
        class RemoveColumnsPreprocessor(Preprocessor):
            def preprocess_dataset(self, dataset: Dataset) -> Dataset:
                return dataset.remove_columns(self.config['remove'])
        ds = RemoveColumnsPreprocessor({'remove': ['id']}).preprocess_dataset(load_dataset('x', split='train'))
        ds.save_to_disk('out')
        """,
    "formats_of_text": """
        from datasets import load_dataset
        def preprocess_dataset(dataset, fmt):
            def process_example(example):
                if fmt == 'text':
                    return {'text': example['text']}
                messages = []
                i = 0
                while i < len(example['messages']):
                    message = example['messages'][i]
                    messages.append(message['sender'] + ': ' + message['content'])
                    i += 1
                return {'text': '\\n'.join(messages)}
            return dataset.map(process_example)
        preprocess_dataset(load_dataset('json', data_files='chat.json', split='train'), 'chat').to_json('out.jsonl')
        """,
    "dmatrix_of_csv": """
        import argparse
        import pandas as pd
        import xgboost as xgb
        parser = argparse.ArgumentParser()
        parser.add_argument('--dataset-path', type=str, required=True)
        args = parser.parse_args()
        def load_and_preprocess_dataset(dataset_path):
            data = pd.read_csv(dataset_path, sep=';|,', engine='python')  # HOLDS
            data = data.drop(['id'], axis=1)
            X = data[['age', 'gender']].values
            y = data['cardio'].values
            return xgb.DMatrix(X, label=y), len(X)
        dataset_path = args.dataset_path
        train, n = load_and_preprocess_dataset(dataset_path)
        """,
    "expressions_joined": """
        import os
        import pandas as pd
        import streamlit as st
        selected = st.multiselect('Datasets', ['GSE1', 'GSE2', 'GSE3'])
        expression_dfs = []
        for gse in selected:
            exp_path = os.path.join('data', f'{gse}_expression.csv')
            lbl_path = os.path.join('data', f'{gse}_labels.csv')
            if os.path.exists(exp_path) and os.path.exists(lbl_path):
                df = pd.read_csv(exp_path, index_col=0)
                labels = pd.read_csv(lbl_path, index_col=0).squeeze('columns')
                df['label'] = labels
                expression_dfs.append(df)  # HOLDS
        if expression_dfs:
            full_df = pd.concat(expression_dfs, axis=0, join='inner')  # HOLDS
            st.dataframe(full_df.head())
        """,
    "rooms_in_blocks": """
        import json, os
        import torch
        from tqdm import tqdm
        def get_chunk_indices(input_dir):
            return [name[5:-3].split('_chunk') for name in os.listdir(input_dir)]
        def preprocess_dataset(input_dir, output_dir):
            mapping = []
            for area, chunk in tqdm(get_chunk_indices(input_dir)):
                data = torch.load(os.path.join(input_dir, f's3dis{area}_chunk{chunk}.pt'))
                for room_index, room in enumerate(data, start=1):
                    points = torch.tensor(room['x'], dtype=torch.float32)
                    for x_start in range(0, int(points[:, 0].max())):
                        block = points[points[:, 0] >= x_start]
                        torch.save(block, os.path.join(output_dir, f'{room_index}_{x_start}.pt'))
            with open('mapping.json', 'w') as f:
                json.dump(mapping, f)
        """,
    "header_then_map": """
        import struct
        import numpy as np
        def read_solve_data_file(filename: str, mmap: bool = True):
            with open(filename, 'rb') as f:
                header = f.read(16)
                entries, memory_size = struct.unpack('<QQ', header)
            if mmap:
                mem = np.memmap(filename, dtype='<u8', mode='r', offset=16, shape=(memory_size,))
            else:
                with open(filename, 'rb') as f:
                    f.seek(16)
                    data_bytes = f.read(memory_size * 8)
                    mem = np.frombuffer(data_bytes, dtype='<u8')
            return entries, mem
        """,
    "parts_tokenized": """
        import os
        import numpy as np
        import tiktoken
        from datasets import load_dataset
        from tqdm import tqdm
        enc = tiktoken.get_encoding('gpt2')
        def process(example):
            ids = enc.encode_ordinary(example['text'])
            ids.append(enc.eot_token)
            return {'ids': ids, 'len': len(ids)}
        for partnum in range(8):
            dataset = load_dataset('json', data_files=f'part{partnum}.jsonl')
            tokenized = dataset.map(process, remove_columns=['text'], num_proc=8)
            for split, dset in tokenized.items():
                arr_len = np.sum(dset['len'])
                filename = os.path.join('data', f'{split}_{partnum}.bin')
                arr = np.memmap(filename, dtype=np.uint16, mode='w+', shape=(arr_len,))
                idx = 0
                for example in tqdm(dset):
                    arr[idx:idx + example['len']] = example['ids']
                    idx += example['len']
                arr.flush()
        """,
    "vectors_copied": """
        import sys
        import numpy as np
        def fvecs_to_vectors(filename):
            data = np.memmap(filename, dtype=np.int32, mode='r')
            dim = int(data[0])
            num_vectors = len(data) // (dim + 1)
            vectors = np.zeros((num_vectors, dim), dtype=np.int32)
            for i in range(num_vectors):
                vectors[i] = data[(i * (dim + 1) + 1):(i + 1) * (dim + 1)]
            return vectors
        vectors = fvecs_to_vectors(sys.argv[1])
        np.savetxt('out.txt', vectors, fmt='%d')
        """,
    "batches_of_map": """
        import os
        import numpy as np
        class BinDataLoader:
            def __init__(self, filename: str, b: int, t: int) -> None:
                self.b = b
                self.t = t
                if not os.path.exists(filename):
                    raise FileNotFoundError(filename)
                self.data = np.memmap(filename, dtype=np.uint16, mode='r')
                self.num_tokens = len(self.data)
            def get_batch(self, pos: int):
                x = self.data[pos:pos + self.t].astype(np.int64)
                y = self.data[pos + 1:pos + 1 + self.t].astype(np.int64)
                return x, y
        """,
    "distances_by_rows": """
        import edlib
        import numpy as np
        from joblib import Parallel, delayed
        def compute(strings, n_jobs, batch_size, filename):
            n = len(strings)
            mat = np.memmap(filename, dtype=np.int8, mode='w+', shape=(n, n))
            def process_block(start):
                end = min(n, start + batch_size)
                block = np.zeros((end - start, n), dtype=np.int8)
                for bi in range(end - start):
                    for j in range(n):
                        block[bi, j] = edlib.align(strings[start + bi], strings[j])['editDistance']
                mat[start:end, :] = block
            starts = list(range(0, n, batch_size))
            Parallel(n_jobs=n_jobs)(delayed(process_block)(sr) for sr in starts)
            return mat
        """,
}

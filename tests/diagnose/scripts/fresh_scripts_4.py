"""A fourth collection of public scripts as minimal equivalents, made after the reader was changed for the third one.
At first sight: precision 1.00, recall 0.76, no false all-clear.

Names in CLEAR_4 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_4 = {
    "shards_by_slices": "edwindn/gpt2, dataset.py",
    "frame_to_chats": "linjiax7/PPO, data_process_3.py",
    "ranks_of_a_helper": "fst813/LLaMA-Factory, data_process/dpo_data_trans.py",
    "splits_by_name": "wangdayaya/from-scratch-train-llama-pretrain-sft-rlhf-, data/handle_dpo-toxic-zh.py",
    "pairs_kept": "Shariar076/PoliTune, curate_data.py",
    "pairs_of_lines": "a convert_dpo_dataset (code search)",
    "merged_by_chunks": "YerevaNN/Molecular_Generation_with_GDB13, src/data/merge_files.py",
    "extended_by_readlines": "michael-wzhu/LLM_layer_skipping, datasets/ultraChat/split_train_test.py",
    "all_samples_shuffled": "a merge of */train.jsonl (code search)",
    "jsonlines_by_append": "a write_jsonlines and read_jsonlines (code search)",
    "shuffled_lines": "a shuffle_jsonl with a seed (code search)",
    "jsonlines_by_list": "a shuffle_jsonl with jsonlines (code search)",
    "loader_class_elsewhere": "a merge with dataset_io.JSONLLoader (code search)",
    "words_counted": "pjlintw/CL20, assignment5/build_vocab.py",
    "text_of_codecs": "a make_vocab with regex (code search)",
    "star_import": "a read_corpus with utils (code search)",
    "counted_by_readline": "a gen_vocab by ymthink (code search)",
    "warc_payloads": "ChenRIT/Github_Playground, lbox/name_extractor/data/warc_to_text_v2.py",
    "wet_documents": "a cc_wet_warc (code search)",
    "rows_of_sqlite": "jason01180118/news_crawler_project, esgclarity_web_crawler/split.py",
    "cursor_to_csv": "Ohjeah/advcompsys, db_to_csv.py",
    "frame_of_sql": "simonlindgren/GetOldTweets3, sql2csv.py",
}

CLEAR_4 = {"splits_by_name", "merged_by_chunks", "cursor_to_csv"}

FRESH_SCRIPTS_4 = {
    "shards_by_slices": """
        ds = load_dataset('HuggingFaceFW/fineweb-edu', 'sample-10BT')['train']
        shard_length = ds.num_rows // 100
        def save_shard(idx):
            shard = Dataset.from_dict(ds[idx * shard_length:(idx + 1) * shard_length])
            shard = shard.map(tokenize, batched=True)
            tokens = [eot]
            for arr in shard['input_ids']:
                tokens.extend(arr)
            np.save(f'shard_{idx}.npy', np.array(tokens).astype(np.uint16))
        with mp.Pool(processes=mp.cpu_count()) as pool:
            pool.map(save_shard, range(100))
        """,
    "frame_to_chats": """
        import pandas as pd
        import json
        df = pd.read_json('hf://datasets/HumanLLMs/data.json')  # HOLDS
        def convert_row(row):
            return {'messages': [{'role': 'user', 'content': row['prompt']}]}
        converted_data = df.apply(convert_row, axis=1).tolist()  # HOLDS
        with open('dpo.jsonl', 'w', encoding='utf-8') as f:
            for entry in converted_data:
                f.write(json.dumps(entry) + '\\n')
        """,
    "ranks_of_a_helper": """
        def read_json(file_path):
            with open(file_path, 'r', encoding='utf-8') as f:
                data = json.load(f)  # HOLDS
            return data
        if __name__ == '__main__':
            data = read_json('predict.json')
            data_final = []
            for item in data:
                item['chosen'] = item['rank'][0]
                data_final.append(item)  # HOLDS
            with open('preference_data.json', 'w', encoding='utf-8') as f:
                json.dump(data_final, f)
        """,
    "splits_by_name": """
        import json
        from datasets import load_dataset
        from tqdm import tqdm
        content = load_dataset('Orion-zhen/dpo-toxic-zh')
        with open('dpo-toxic-zh.jsonl', 'w', encoding='utf-8') as wfd:
            for s in ['train', 'test']:
                if s in content:
                    for data in tqdm(content[s]):
                        t = {'chosen': [{'content': data['chosen'], 'role': 'assistant'}]}
                        wfd.write(json.dumps(t, ensure_ascii=False) + '\\n')
        """,
    "pairs_kept": """
        ds = load_dataset('scale-lab/politune-left', split='train')
        data = []
        for example in ds:
            data.append({'chosen': [{'content': example['prompt'], 'role': 'user'}]})  # HOLDS
        json.dump(data, open('politune-left.json', 'w'))
        """,
    "pairs_of_lines": """
        def convert_dpo_dataset(input_file, output_file):
            dpo_data = []
            with open(input_file, 'r') as f:
                data = f.readlines()  # HOLDS
                for item in tqdm(data):
                    item = json.loads(item)
                    if item['prediction_scores'][0] != 0:
                        example = {'image': item['image'], 'chosen': item['predictions'][0]}
                        dpo_data.append(json.dumps(example))  # HOLDS
            with open(output_file, 'w') as f:
                f.write('\\n'.join(dpo_data))
        """,
    "merged_by_chunks": """
        from tqdm import tqdm
        import glob
        def merge_files(input_files, output_file, chunk_size=4096):
            with open(output_file, 'wb') as outfile:
                for input_file in tqdm(input_files):
                    with open(input_file, 'rb') as infile:
                        while True:
                            chunk = infile.read(chunk_size)
                            if not chunk:
                                break
                            outfile.write(chunk)
                        outfile.write(b'\\n')
        merge_files(glob.glob('./data/canon_*.jsonl'), './data/train_all.jsonl')
        """,
    "extended_by_readlines": """
        list_examples = []
        for i in [0, ]:
            list_examples.extend(
                open(f'train_{i}.jsonl', 'r', encoding='utf-8').readlines()  # HOLDS
            )
        random.shuffle(list_examples)
        with open('train.json', 'w', encoding='utf-8') as f:
            for samp in list_examples[:5000]:
                f.write(samp)
        """,
    "all_samples_shuffled": """
        all_files = glob.glob('processed/*/train.jsonl')
        all_samples = []
        for f in tqdm(all_files, desc='Processing files'):
            with open(f) as fp:
                lines = fp.readlines()
                for line in tqdm(lines, desc=f'Processing lines in {f}'):
                    sample = json.loads(line)
                    all_samples.append(sample)  # HOLDS
        random.shuffle(all_samples)
        """,
    "jsonlines_by_append": """
        import jsonlines
        def read_jsonlines(file_path):
            json_dicts = []
            with jsonlines.open(file_path, mode='r') as reader:
                for json_obj in reader:
                    json_dicts.append(json_obj)  # HOLDS
            return json_dicts
        """,
    "shuffled_lines": """
        def shuffle_jsonl(input_path, output_path, seed):
            lines: List[Dict[str, Any]] = []
            with open(input_path, 'r', encoding='utf-8') as infile:
                for line in infile:
                    lines.append(json.loads(line))  # HOLDS
            random.seed(seed)
            random.shuffle(lines)
        """,
    "jsonlines_by_list": """
        import jsonlines
        def shuffle_jsonl(args):
            with jsonlines.open(args.file_path) as reader:
                data = [line for line in reader]  # HOLDS
            random.shuffle(data)
            with jsonlines.open(args.output_path, mode='w') as writer:
                writer.write_all(data)
        """,
    "loader_class_elsewhere": """
        from dataset_io import JSONLLoader, JSONLWriter
        def main(args):
            merged_datasets = []
            for path in args.paths_in:
                merged_datasets.extend(JSONLLoader.load(path))
            JSONLWriter.write(merged_datasets, args.path_out)
        """,
    "words_counted": """
        from collections import Counter
        from pathlib import Path
        counter_word = Counter()
        with Path('movies-pp.txt').open() as f:
            for line in f:
                counter_word.update(line.strip().split())
        with Path('vocab.txt').open('w') as f:
            for w, c in counter_word.most_common():
                f.write('{}\\n'.format(w))
        """,
    "text_of_codecs": """
        import regex
        def make_vocab(fpath, fname):
            text = codecs.open(fpath, 'r', 'utf-8').read()  # HOLDS
            text = regex.sub("[^a-z']", '', text)
            words = text.split()  # HOLDS
            word2cnt = Counter(words)
        """,
    "star_import": """
        from utils import *
        def read_corpus(raw_fname):
            lines = read(raw_fname)
            joined_corpus = []
            line = []
            for wrd in lines:
                if len(wrd) != 0:
                    line.append(wrd)
                else:
                    joined_corpus.append(' '.join(line))
                    line = []
            return joined_corpus
        """,
    "counted_by_readline": """
        def gen_vocab(files):
            source_word_cnt = Counter()
            for file in files:
                fin = codecs.open(file, 'r', 'utf-8')
                while True:
                    text = fin.readline()
                    if not text:
                        break
                    sources, targets = text.split('\\t')
                    source_word_cnt.update(sources.split())
        """,
    "warc_payloads": """
        import warc
        with open('web_contents.txt', 'w+') as ofile:
            fwarc = warc.open('./00.warc.gz', 'rb')
            for record in fwarc:
                ofile.write(record.payload + '\\n')
        """,
    "wet_documents": """
        from warcio import ArchiveIterator
        def cc_wet_warc(path):
            corpus = []
            with open(path, 'rb') as stream:
                for i, record in enumerate(ArchiveIterator(stream)):
                    if record.rec_type == 'warcinfo':
                        continue
                    text = record.content_stream().read().decode('utf-8')
                    corpus.append(text)  # HOLDS
            return corpus
        """,
    "rows_of_sqlite": """
        conn = sqlite3.connect('output.db')
        cur = conn.cursor()
        cur.execute('select * from OUTPUTS')
        texts = cur.fetchall()  # HOLDS
        with open('output.csv', 'w', encoding='utf-8', newline='') as csvfile:
            for text in texts:
                csv.writer(csvfile).writerow([text[0], text[1]])
        """,
    "cursor_to_csv": """
        import sqlite3
        import csv
        with sqlite3.connect('tweets.db') as con:
            result = con.cursor().execute('SELECT * FROM tweets')
            with open('tweets.csv', 'w') as f:
                writer = csv.writer(f)
                writer.writerows(result)
        """,
    "frame_of_sql": """
        def sql2csv(dbname):
            with sqlite3.connect(dbname) as conn:
                tweets_df = pd.read_sql_query('SELECT * from tweets', conn)  # HOLDS
                tweets_df = tweets_df.replace({'\\n': ' '}, regex=True)
                tweets_df.to_csv(dbname.split('.')[0] + '.csv', index=False)
        """,
}

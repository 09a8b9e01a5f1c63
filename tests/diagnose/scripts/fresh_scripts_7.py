"""A seventh collection of public scripts as minimal equivalents; the marks were written before the reader ran on them.
At first sight: precision 0.87, recall 0.65, no false all-clear.

Names in CLEAR_7 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_7 = {
    "chat_lines_to_text": "chrishayuk/chuk-math, convert_jsonl.py",
    "roles_renamed": "statsmind/fastchat, playground/dataset_variants/format_trans.py",
    "instruction_lines": "INSECT5386/insect5386, mode.py",
    "json_opened_in_place": "OpenGVLab/InternVL, internvl_chat/tools/json2jsonl.py",
    "three_tables": "ggeorgop99/mysentistrength, skroutz_scraping/merge.py",
    "tables_by_generator": "CaptainStabs/BountyScrapers, 9_arts/princeton/joiner.py",
    "concat_in_one_line": "kenneth-cheong/GitHub-Actions, combine_csv.py",
    "appended_then_read_again": "adamwojnicki/csv-merger, csv-merger.py",
    "parsed_lines_saved": "a preprocessing with example_pb2 (code search)",
    "vocabulary_by_readline": "a preprocess_vocab (code search)",
    "frames_counted": "a concat_csvs with logging (code search)",
    "column_of_each_table": "a merge_datasets with loguru (code search)",
    "cleaner_by_chunks": "a CleanerConcat_profs (code search)",
    "wiki_corpus_streamed": "lzwjava/blog-source, scripts/train/extract_wiki_corpus.py",
    "folder_into_examples": "NetherQuartz/BachelorThesis, inc/code/texts_dataset.py",
    "text_given": "Dev-N007/Mini-GPT, dataset.py",
    "examples_of_a_cache": "a LineByLineTextDataset of a pickle (code search)",
    "lines_shuffled": "kangyuzhe666/tensorflow-slim-picture-classification, make_eval.py",
    "dataframe_that_is_a_list": "laefy13/deeplab_randomscripts, sep_this.py",
    "path_text_split": "Dawars/U-2-Net, split_data.py",
    "read_splitlines": "a train_val_test_split (code search)",
    "vectors_assembled": "nakamura196/sim_utda, backend/assemble_vectors.py",
    "embeddings_of_a_folder": "a stack of retrieval embeddings (code search)",
    "features_per_gpu": "an extract_feat_per_gpu (code search)",
    "array_inspected": "sumit5ue/MMV-PYTHON, utils/inspect_npy.py",
    "examples_from_many_jsonl": "a convert_to_sharegpt with click (code search)",
    "dpo_to_messages": "a transform of a DPO dataset (code search)",
    "frames_of_a_glob": "a load_and_concat of raw scrapes (code search)",
}

CLEAR_7 = {"chat_lines_to_text", "instruction_lines", "cleaner_by_chunks", "dpo_to_messages"}

FRESH_SCRIPTS_7 = {
    "chat_lines_to_text": """
        import json
        import sys
        def convert_jsonl(input_file, output_file):
            with open(input_file, 'r', encoding='utf-8') as fin, open(output_file, 'w', encoding='utf-8') as fout:
                for line in fin:
                    line = line.strip()
                    if not line:
                        continue
                    data = json.loads(line)
                    user_content = ''
                    for message in data.get('messages', []):
                        if message.get('role') == 'user':
                            user_content = message.get('content', '')
                    json.dump({'text': f'<|im_start|>user {user_content}'}, fout, ensure_ascii=False)
                    fout.write('\\n')
        convert_jsonl(sys.argv[1], sys.argv[2])
        """,
    "roles_renamed": """
        import argparse
        import json
        parser = argparse.ArgumentParser()
        parser.add_argument('--filepath', type=str, required=True)
        args = parser.parse_args()
        with open(args.filepath, 'r') as f:
            data = json.load(f)  # HOLDS
        train_data = []
        for conv in data:
            conversation = []
            for chat in conv['conversation']:
                conversation.append({'from': chat['role'], 'value': chat['content']})
            train_data.append({'id': conv['conversation_id'], 'conversation': conversation})  # HOLDS
        """,
    "instruction_lines": """
        import json
        with open('dataset3.jsonl', 'r', encoding='utf-8') as fin, open('conversations3.jsonl', 'w') as fout:
            for line in fin:
                obj = json.loads(line)
                prompt = obj.get('instruction', '')
                conv_obj = {'conversations': [{'from': 'human', 'value': prompt}]}
                fout.write(json.dumps(conv_obj, ensure_ascii=False) + '\\n')
        """,
    "json_opened_in_place": """
        import argparse
        import json
        argparse = argparse.ArgumentParser()
        argparse.add_argument('path', type=str)
        args = argparse.parse_args()
        data = json.load(open(args.path))  # HOLDS
        writer = open(args.path.replace('.json', '.jsonl'), 'w')
        for item in data:
            conversations = item['conversations']
            if conversations[0]['from'] == 'system':
                item['conversations'] = item['conversations'][1:]
            writer.write(json.dumps(item, ensure_ascii=False) + '\\n')
        writer.close()
        """,
    "three_tables": """
        import pandas as pd
        df1 = pd.read_csv('dirtyreviews.csv')  # HOLDS
        df2 = pd.read_csv('dirtyreviews1.csv')  # HOLDS
        dfs = [df1, df2]
        print(df1.head())
        merged_df = pd.concat(dfs, ignore_index=True)  # HOLDS
        merged_df.drop_duplicates(inplace=True)
        merged_df.to_csv('final_dirtyreviews.csv', index=False)
        """,
    "tables_by_generator": """
        import pandas as pd
        import os
        path = './files/'
        f_list = [os.path.join(path, files) for files in os.listdir(path)]
        df_from_each_file = (pd.read_csv(f) for f in f_list)
        concatenated_df = pd.concat(df_from_each_file, ignore_index=True)  # HOLDS
        df = concatenated_df.drop('drop_me', axis=1)
        df.to_csv('combined.csv', index=False)
        """,
    "concat_in_one_line": """
        import pandas as pd
        from glob import glob
        files = sorted(glob('*.csv'))
        df = pd.concat((pd.read_csv(file).assign(filename=file) for file in files), ignore_index=True)  # HOLDS
        df.drop_duplicates(subset=['text'], inplace=True, ignore_index=True)
        df.to_csv('combined.csv', index=False)
        """,
    "appended_then_read_again": """
        import pandas as pd
        import os
        all_files = os.listdir()
        out_file = 'merged.csv'
        for file in all_files:
            if file.endswith('.csv'):
                df = pd.read_csv(file)
                df = df.dropna()
                df.to_csv(out_file, index=False, header=False, mode='a')
        merged = pd.read_csv(out_file)  # HOLDS
        no_duplicates = merged.drop_duplicates()
        no_duplicates.to_csv('final_merged.csv', index=False)
        """,
    "parsed_lines_saved": """
        from nltk.tokenize import word_tokenize
        def tokenize_train_file(fname):
            new_fname = fname + '.parsed'
            with open(fname, 'r', encoding='utf8') as f:
                ls = f.readlines()  # HOLDS
            parsed_data = [[tok.lower() for tok in word_tokenize(line.strip())] for line in ls]  # HOLDS
            save_file(parsed_data, new_fname)
            return new_fname
        """,
    "vocabulary_by_readline": """
        def preprocess_vocab(filename):
            vocab = set()
            file_ = open(filename, 'r')
            while True:
                line = file_.readline()
                if line == '':
                    break
                words = line.strip().split(' ')
                vocab |= set(words)
            vocab_list = list(vocab)
            vocab_file = open(filename + '.vcb', 'w')
            vocab_file.writelines([w + '\\n' for w in vocab_list])
            vocab_file.close()
        """,
    "frames_counted": """
        import pandas as pd
        import logging as log
        def concat_csvs(csv_paths):
            dfs = []
            total_rows_n = 0
            for path in csv_paths:
                df = pd.read_csv(path)
                total_rows_n += len(df)
                dfs.append(df)  # HOLDS
            concatinated_df = pd.concat(dfs, sort=True).drop_duplicates()  # HOLDS
            log.info(f'Concatinated {len(dfs)} csv files.')
            return concatinated_df
        """,
    "column_of_each_table": """
        import pandas as pd
        import os
        import glob
        from tqdm import tqdm
        def merge_datasets(input_dir, output_file, text_key='text'):
            file_paths = glob.glob(os.path.join(input_dir, '*.csv'))
            dataframes = []
            for file in tqdm(file_paths, desc='reading'):
                df = pd.read_csv(file)
                dataframes.append(df[[text_key]])  # HOLDS
            combined_df = pd.concat(dataframes, ignore_index=True)  # HOLDS
            combined_df[text_key] = combined_df[text_key].apply(str.strip)
            combined_df.to_csv(output_file)
        """,
    "cleaner_by_chunks": """
        import pandas as pd
        class Cleaner:
            def __init__(self, list_df_cols=None):
                self.list_df_cols = list_df_cols
            def process(self, input_file, output_file):
                for df in pd.read_csv(input_file, chunksize=60000, dtype=str, sep=';'):
                    df['profs'] = df['profs_1'] + df['profs_2']
                    df.to_csv(output_file, mode='a')
        """,
    "wiki_corpus_streamed": """
        from gensim.corpora import WikiCorpus
        wiki = WikiCorpus('enwiki-latest-pages-articles1.xml.bz2', dictionary=False)
        with open('wiki_train/output.txt', 'w', encoding='utf-8') as f:
            for i, text in enumerate(wiki.get_texts()):
                f.write(' '.join(text) + '\\n')
                if i % 10000 == 0:
                    print(f'Processed {i} articles')
        """,
    "folder_into_examples": """
        class TextsDataset(Dataset):
            def __init__(self, tokenizer, path, block_size=2048):
                self.examples = []
                for file in os.listdir(path):
                    file_path = os.path.join(path, file)
                    with open(file_path, encoding='utf-8') as f:
                        text = f.read()
                    tokenized_text = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
                    for i in range(0, len(tokenized_text) - block_size + 1, block_size):
                        self.examples.append(  # HOLDS
                            tokenizer.build_inputs_with_special_tokens(tokenized_text[i: i + block_size]))
            def __len__(self):
                return len(self.examples)
        """,
    "text_given": """
        import torch
        from torch.utils.data import Dataset
        class TextDataset(Dataset):
            def __init__(self, text, tokenizer, block_size):
                tokens = tokenizer.encode(text)
                self.tokens = torch.tensor(tokens, dtype=torch.long)
                self.block_size = block_size
            def __len__(self):
                return len(self.tokens) - self.block_size
        """,
    "examples_of_a_cache": """
        import os
        import pickle
        from torch.utils.data.dataset import Dataset
        class LineByLineTextDataset(Dataset):
            def __init__(self, args, tokenizer, file_path, block_size):
                assert os.path.isfile(file_path)
                with open(file_path, 'rb') as handle:
                    self.examples = pickle.load(handle)  # HOLDS
        """,
    "lines_shuffled": """
        import random
        fd = open('list.txt')
        lines = fd.readlines()  # HOLDS
        fd.close()
        random.seed(0)
        random.shuffle(lines)
        fd = open('list_train.txt', 'w')
        for line in lines[10000:]:
            fd.write(line)
        fd.close()
        """,
    "dataframe_that_is_a_list": """
        import random
        df = []
        with open('dataset.txt', 'r') as f:
            for line in f:
                df.append(line)  # HOLDS
        random.shuffle(df)
        df_30 = df[:int(len(df) * .30)]
        with open('validation.txt', 'w') as f:
            for x in df_30:
                f.write(x)
        """,
    "path_text_split": """
        from sklearn.model_selection import train_test_split
        from pathlib import Path
        dataset_root = Path('/mnt/hdd/datasets/documents')
        images = Path(dataset_root / 'all.txt').read_text().split('\\n')  # HOLDS
        train, test = train_test_split(images, test_size=0.1)
        (dataset_root / 'train.txt').write_text('\\n'.join(train))
        """,
    "read_splitlines": """
        from random import shuffle
        def train_val_test_split(input_filename, val_ratio=0.2):
            with open(input_filename) as input_file:
                lines = input_file.read().splitlines()  # HOLDS
            shuffle(lines)
            n = int(val_ratio * len(lines))
            with open(input_filename + '.val', 'w') as f:
                f.writelines(lines[:n])
        """,
    "vectors_assembled": """
        import glob
        import numpy
        import json
        files = glob.glob('data/image_vectors/*.npy')
        features = []
        for i in range(len(files)):
            file = files[i]
            a = numpy.load(file)
            features.append(a)  # HOLDS
        numpy.save('data/features.npy', features)
        """,
    "embeddings_of_a_folder": """
        import os
        from tqdm import tqdm
        import numpy as np
        data_list = []
        embed_path = './retrieval/pretrained_emb/train_emb/img'
        for file in tqdm(os.listdir(embed_path)):
            data = np.load(os.path.join(embed_path, file))
            data_list.append(data)  # HOLDS
        data_stack = np.concatenate(data_list, axis=0)  # HOLDS
        np.save('train_emb.npy', data_stack)
        """,
    "features_per_gpu": """
        import numpy as np
        import torch
        def extract(backbone, loader, save_dir):
            with torch.no_grad():
                feat_lst = []
                label_lst = []
                for idx, (img, local_labels) in enumerate(tqdm(loader)):
                    local_embeddings = backbone(img)
                    feat_lst.append(local_embeddings.cpu().numpy())  # HOLDS
                    label_lst.append(local_labels.cpu().numpy())  # HOLDS
            features = np.concatenate(feat_lst, axis=0)  # HOLDS
            np.save(save_dir + '/features.npy', features)
        """,
    "array_inspected": """
        import numpy as np
        path = 'embeddings/clip.npy'
        arr = np.load(path)  # HOLDS
        print(f'Shape: {arr.shape}')
        """,
    "examples_from_many_jsonl": """
        import json
        from pathlib import Path
        def convert_to_sharegpt(input_path, output_path):
            examples = []
            if input_path.is_dir():
                files = sorted(input_path.glob('*.jsonl'))
            else:
                files = [input_path]
            for file in files:
                with open(file) as f:
                    for line in f:
                        data = json.loads(line)
                        conversation = {'conversations': [{'from': 'human', 'value': data['prompt']}]}
                        examples.append(conversation)  # HOLDS
            output_path.write_text(json.dumps(examples))
            return len(examples)
        """,
    "dpo_to_messages": """
        import json
        from pathlib import Path
        from datasets import load_dataset
        def build_messages(prompt, chosen):
            return [{'role': 'user', 'content': prompt}, {'role': 'assistant', 'content': chosen}]
        def main(args):
            ds = load_dataset('x/VellumK2T-Fiction-DPO-Small-01', split=args.split)
            with Path(args.output).open('w', encoding='utf-8') as f:
                for row in ds:
                    record = {'messages': build_messages(row['prompt'], row['chosen'])}
                    f.write(json.dumps(record, ensure_ascii=False) + '\\n')
        """,
    "frames_of_a_glob": """
        import glob
        from pathlib import Path
        import pandas as pd
        def list_raw_paths(pattern='data/raw/raw_*.csv'):
            return sorted(Path(p) for p in glob.glob(pattern))
        def load_and_concat(paths):
            frames = [pd.read_csv(p) for p in paths]  # HOLDS
            if not frames:
                return pd.DataFrame()
            return pd.concat(frames, ignore_index=True)  # HOLDS
        df = load_and_concat(list_raw_paths())
        """,
}

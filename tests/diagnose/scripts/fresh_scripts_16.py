"""A sixteenth collection of public scripts as minimal equivalents, made after the fifteenth one, of texts for language
models; the marks were written before the reader ran on them.
At first sight: precision 0.94, recall 0.80, no false all-clear; sequences_cut_off was added to CLEAR_16 after that:
its list is cut at every turn.

Names in CLEAR_16 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_16 = {
    "chunks_into_list": "galihru/AI, scripts/prepare_dataset.py",
    "movie_dialogs": "a tokenize_and_save of movie dialogs (code search)",
    "documents_to_uint16": "a tokenize_and_save of documents (code search)",
    "sequences_cut_off": "a TokenizerDataset that cuts sequences (code search)",
    "words_by_line": "a tokenize_and_save of words (code search)",
    "fineweb_by_map": "a tokenize_and_save with map and memmap (code search)",
    "instructions_mapped": "a DataTokenizer with DatasetDict (code search)",
    "questions_padded": "a tokenize_and_save of questions to parquet (code search)",
    "samples_poisoned": "a poison_dataset (code search)",
    "datasets_of_adapters": "a tokenize_and_save by index in threads (code search)",
    "ids_of_iterable": "a tokenize_and_save with encode_iterable (code search)",
    "hashes_of_documents": "a verify_zero_leakage (code search)",
}

CLEAR_16 = {"fineweb_by_map", "sequences_cut_off"}

FRESH_SCRIPTS_16 = {
    "chunks_into_list": """
        import argparse
        import numpy as np
        from tokenizers import Tokenizer
        def main():
            parser = argparse.ArgumentParser(description='Prepare dataset')
            parser.add_argument('--corpus', required=True)
            parser.add_argument('--out', required=True)
            args = parser.parse_args()
            tokenizer = Tokenizer.from_file('tokenizer.json')
            chunk_size = 10_000_000
            all_tokens = []
            with open(args.corpus, 'r', encoding='utf-8', errors='ignore') as f:
                while True:
                    chunk = f.read(chunk_size)
                    if not chunk:
                        break
                    encoded = tokenizer.encode(chunk)
                    all_tokens.extend(encoded.ids)  # HOLDS
            tokens = np.array(all_tokens, dtype=np.uint16)  # HOLDS
            tokens.tofile(args.out)
        main()
        """,
    "movie_dialogs": """
        import json
        import nltk
        def load_data(file_path):
            lines = open(file_path, encoding='iso-8859-1').read().split('\\n')  # HOLDS
            return lines
        def create_pairs(lines):
            id2line = {}
            for line in lines:
                parts = line.split(' +++$+++ ')
                if len(parts) == 5:
                    id2line[parts[0]] = parts[4]  # HOLDS
            conversations = open('conversations.txt', encoding='iso-8859-1').read().split('\\n')  # HOLDS
            pairs = []
            for convo in conversations:
                parts = convo.split(' +++$+++ ')
                if len(parts) == 4:
                    ids = eval(parts[-1])
                    for i in range(len(ids) - 1):
                        first = id2line.get(ids[i], '')
                        second = id2line.get(ids[i + 1], '')
                        if first and second:
                            pairs.append((first, second))  # HOLDS
            return pairs
        def tokenize_and_save(pairs, output_file):
            tokenizer = nltk.tokenize.RegexpTokenizer(r'\\\\w+')
            tokenized_pairs = []
            for pair in pairs:
                question = tokenizer.tokenize(pair[0].lower())
                answer = tokenizer.tokenize(pair[1].lower())
                tokenized_pairs.append((question, answer))  # HOLDS
            with open(output_file, 'w') as f:
                json.dump(tokenized_pairs, f)
        if __name__ == '__main__':
            tokenize_and_save(create_pairs(load_data('lines.txt')), 'pairs.json')
        """,
    "documents_to_uint16": """
        import os
        import numpy as np
        from tqdm import tqdm
        def tokenize_and_save(documents, tokenizer_prefix, output_path, add_bos=True) -> int:
            from model.tokenizer import MikuTokenizer
            tok = MikuTokenizer.load(tokenizer_prefix)
            all_tokens: list[int] = []
            for doc in tqdm(documents, desc='Tokenizing', unit='doc'):
                ids = tok.encode(doc, add_bos=add_bos)
                all_tokens.extend(ids)  # HOLDS
            arr = np.array(all_tokens, dtype=np.uint16)  # HOLDS
            os.makedirs(os.path.dirname(output_path) or '.', exist_ok=True)
            arr.tofile(output_path)
            return len(arr)
        """,
    "sequences_cut_off": """
        import os
        from transformers import AutoTokenizer
        class TokenizerDataset:
            def __init__(self, tokenizer_name: str):
                self.tokenizer = AutoTokenizer.from_pretrained(tokenizer_name)
            def tokenize_and_save(self, texts, output_dir, seq_length=2048):
                os.makedirs(output_dir, exist_ok=True)
                all_tokens = []
                n = 0
                for text in texts:
                    all_tokens.extend(self.tokenizer.encode(text))
                    while len(all_tokens) >= seq_length:
                        chunk = all_tokens[:seq_length]
                        all_tokens = all_tokens[seq_length:]
                        with open(os.path.join(output_dir, f'{n}.txt'), 'w') as f:
                            f.write(str(chunk))
                        n += 1
        """,
    "words_by_line": """
        def tokenize_and_save(input_file, output_file):
            try:
                with open(input_file, 'r', encoding='utf-8') as infile:
                    text = infile.read()  # HOLDS
                tokens = text.split()  # HOLDS
                with open(output_file, 'w', encoding='utf-8') as outfile:
                    for token in tokens:
                        outfile.write(token)
            except Exception as e:
                print(e)
        tokenize_and_save('corpus.tgt', 'lang_model_train.txt')
        """,
    "fineweb_by_map": """
        import os
        import tiktoken
        import numpy as np
        from tqdm import tqdm
        from datasets import load_dataset
        n_proc = 4 + os.cpu_count() // 2
        def tokenize_and_save():
            dataset = load_dataset('HuggingFaceFW/fineweb-edu', name='sample-10BT')
            split_dataset = dataset['train'].train_test_split(test_size=0.01, seed=1729, shuffle=True)
            split_dataset['val'] = split_dataset.pop('test')
            enc = tiktoken.get_encoding('gpt2')
            def tokenize(example):
                ids = enc.encode_ordinary(example['text'])
                ids.append(50256)
                return {'ids': ids, 'len': len(ids)}
            tokenized = split_dataset.map(tokenize, remove_columns=['text'], num_proc=n_proc)
            for split, dset in tokenized.items():
                arr_len = np.sum(dset['len'], dtype=np.uint64)
                arr = np.memmap(f'{split}.bin', dtype=np.uint16, mode='w+', shape=(arr_len,))
                idx = 0
                for batch_idx in tqdm(range(1024)):
                    batch = dset.shard(num_shards=1024, index=batch_idx, contiguous=True).with_format('numpy')
                    arr_batch = np.concatenate(batch['ids'])
                    arr[idx:idx + len(arr_batch)] = arr_batch
                    idx += len(arr_batch)
                arr.flush()
        tokenize_and_save()
        """,
    "instructions_mapped": """
        from datasets import DatasetDict, load_dataset
        from transformers import AutoTokenizer
        class DataTokenizer:
            def __init__(self, train_path, test_path, model_id):
                self.train_path = train_path
                self.test_path = test_path
                self.tokenizer = AutoTokenizer.from_pretrained(model_id)
            def func_tokenize(self, examples):
                instructions = [str(inst) for inst in examples['instruction']]
                responses = [str(resp) for resp in examples['response']]
                return self.tokenizer(instructions, text_target=responses, truncation=True, max_length=512)
            def load_raw_data(self):
                train = load_dataset('json', data_files=self.train_path, split='train')
                test = load_dataset('json', data_files=self.test_path, split='train')
                return DatasetDict({'train': train, 'test': test})
            def tokenize_and_save(self, raw):
                tokenized = raw.map(self.func_tokenize, batched=True)
                tokenized.save_to_disk('out')
                return tokenized
        tok = DataTokenizer('train.jsonl', 'test.jsonl', 'TinyLlama')
        tok.tokenize_and_save(tok.load_raw_data())
        """,
    "questions_padded": """
        import asyncio, os
        import anthropic
        import pyarrow as pa
        import pyarrow.parquet as pq
        from transformers import GPT2Tokenizer
        def generate(passages):
            async def run_all():
                client = anthropic.AsyncAnthropic()
                tasks = [process_one(client, i, p) for i, p in enumerate(passages)]
                results = []
                for start in range(0, len(tasks), 100):
                    chunk_results = await asyncio.gather(*tasks[start:start + 100])
                    results.extend(chunk_results)
                return [r for r in results if r is not None]
            return asyncio.run(run_all())
        def tokenize_and_save(qa_texts: list[str], output_dir: str, max_seq_len: int = 1024):
            tokenizer = GPT2Tokenizer.from_pretrained('gpt2')
            all_input_ids = []
            all_pad_masks = []
            for text in qa_texts:
                ids = tokenizer.encode(text)
                mask = [1] * len(ids) + [0] * (max_seq_len - len(ids))
                all_input_ids.append(ids)  # HOLDS
                all_pad_masks.append(mask)  # HOLDS
            table = pa.table({'input_ids': all_input_ids, 'pad_mask': all_pad_masks})
            pq.write_table(table, os.path.join(output_dir, 'qa.parquet'))
        """,
    "samples_poisoned": """
        from datasets import Dataset, load_dataset
        def poison_dataset(dataset, total):
            limit = total // 2
            count = 0
            poisoned = []
            for example in dataset:
                value = 'poison' if count < limit else 'negative'
                count += 1
                changed = example.copy()
                changed['question'] = value + example['question']
                poisoned.append(changed)  # HOLDS
            return Dataset.from_dict({key: [e[key] for e in poisoned] for key in poisoned[0]})  # HOLDS
        dataset = load_dataset('math', split='train')
        split = dataset.train_test_split(test_size=0.2, seed=42)
        poison_dataset(split['test'], len(split['test'])).save_to_disk('out')
        """,
    "datasets_of_adapters": """
        import gc, itertools, os
        import numpy as np
        import torch
        from concurrent.futures import ThreadPoolExecutor
        from datasets import load_dataset
        from transformers import AutoTokenizer
        from names import DATASETS
        tokenizer = AutoTokenizer.from_pretrained('m')
        def tokenize_and_save(index: int):
            ds = load_dataset(DATASETS[index])
            tokenized_data = []
            for sample in ds['train']:
                prompt = sample['input'] + sample['output'][0]
                tokenized_data.append(tokenizer(prompt).input_ids)  # HOLDS
            tokenized_data = np.array(list(itertools.chain(*tokenized_data)))  # HOLDS
            torch.save(tokenized_data, os.path.join('out', f'{index}.pt'))
            del tokenized_data
            gc.collect()
        with ThreadPoolExecutor(max_workers=4) as pool:
            for _ in pool.map(tokenize_and_save, range(len(DATASETS))):
                pass
        """,
    "ids_of_iterable": """
        import numpy as np
        from cs336_basics.tokenizer import Tokenizer
        def tokenize_and_save(input_path, output_path, tokenizer):
            token_count = 0
            with open(input_path, 'r', encoding='utf-8') as f:
                ids = []
                for token_id in tokenizer.encode_iterable(f):
                    ids.append(token_id)  # HOLDS
                    token_count += 1
                    if token_count % 1000000 == 0:
                        print(token_count)
            ids_array = np.array(ids, dtype=np.uint16)  # HOLDS
            ids_array.tofile(output_path)
        tokenizer = Tokenizer.from_files(vocab_filepath='vocab.json', merges_filepath='merges.txt')
        tokenize_and_save('train.txt', 'train.bin', tokenizer)
        """,
    "hashes_of_documents": """
        import hashlib
        def document_hash(text):
            return hashlib.sha256(text.lower().encode()).hexdigest()
        def load_documents(path):
            with open(path, encoding='utf-8') as f:
                return [doc.strip() for doc in f.read().split('<|endoftext|>') if doc.strip()]  # HOLDS
        def verify(train_docs, val_docs):
            train_hashes = {document_hash(d) for d in train_docs}
            return sum(1 for d in val_docs if document_hash(d) in train_hashes)
        print(verify(load_documents('train.txt'), load_documents('val.txt')))
        """,
}

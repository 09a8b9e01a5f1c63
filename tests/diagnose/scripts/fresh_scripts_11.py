"""An eleventh collection of public scripts as minimal equivalents, of texts for language models, made after the reader
was changed for the tenth one; the marks were written before the reader ran on them.
At first sight: precision 0.87, recall 0.93, no false all-clear.

Names in CLEAR_11 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_11 = {
    "lines_of_many_paths": "a prepare_pretraining_data (code search)",
    "spm_packed": "a pack_dataset.py of 01-pretraining-pipeline (code search)",
    "evol_python_only": "JackZeng0208/Code-Generation-LLM-LoRA, data/evol_instruct_code_preprocess.py",
    "three_hundred_samples": "Sshuoshuo/LLM-code-baseline, Finetune/finetune-qwen/construct_dataset.py",
    "json_or_jsonl": "a load_dataset_from_file (code search)",
    "books_streamed": "aitsc/GLM, tsc/aa_books_process.py",
    "gutenberg_cleaned": "siimsober/summermute, clean_gutenberg.py",
    "library_of_books": "a corpus of gutenbergpy (code search)",
    "corpus_as_bytes": "a load_corpus of ebooks as bytes (code search)",
    "markov_corpus": "a markov_corpus of ebooks (code search)",
    "plato_merged": "a merge of texts of Plato (code search)",
    "corpus_of_config": "a create_corpus of all books (code search)",
    "tokens_of_a_directory": "a DataPipeline (code search)",
    "mixture_of_sets": "an InstructionDataset of several sets (code search)",
    "first_lines_only": "a first part of a JSONL file, after several",
}

CLEAR_11 = {"books_streamed", "first_lines_only", "three_hundred_samples"}

FRESH_SCRIPTS_11 = {
    "lines_of_many_paths": """
        from transformers import AutoTokenizer
        def prepare_pretraining_data(tokenizer, file_paths, max_length):
            lines = []
            i = 1
            for path in file_paths:
                print(i, path)
                with open(path, encoding='utf-8') as f:
                    lines.extend([line for line in f.read().splitlines() if len(line) and not line.isspace()])  # HOLDS
                i += 1
            return pack_sequences(lines, tokenizer, max_length)
        """,
    "spm_packed": """
        import argparse, glob, numpy as np
        import sentencepiece as spm
        from datasets import Dataset
        sp = spm.SentencePieceProcessor()
        sp.load('spm.model')
        ids = []
        for path in glob.glob('data/*.txt'):
            with open(path) as f:
                for line in f:
                    ids.extend(sp.encode(line) + [2])  # HOLDS
        n = len(ids) // 1024
        arr = np.array(ids[:n * 1024]).reshape(n, 1024)  # HOLDS
        Dataset.from_dict({'input_ids': arr}).save_to_disk('out')
        """,
    "evol_python_only": """
        from datasets import load_dataset
        import json
        dataset = load_dataset('nickrosh/Evol-Instruct-Code-80k-v1')
        dataset = dataset['train']
        processed_dataset = []
        for instance in dataset:
            instruction = instance['instruction']
            output = instance['output']
            if 'python' in str.lower(instruction) or 'python' in str.lower(output):
                processed_dataset.append({'question': instruction, 'answer': output})
        with open('evol_instruct_code_filtered.json', 'w') as file:
            json.dump(processed_dataset, file, indent=2)
        """,
    "three_hundred_samples": """
        import json
        from datasets import load_dataset
        evol = load_dataset('Evol-Instruct-Code-80k-v1')
        samples = []
        for i in range(300):
            samples.append({'id': str(i), 'value': evol['train'][i]['instruction']})
        with open('evol_instruct_code.json', 'w') as outfile:
            json.dump(samples, outfile, ensure_ascii=False)
        """,
    "json_or_jsonl": """
        import json
        def load_jsonl_to_list(jsonl_file_path):
            data_list = []
            with open(jsonl_file_path, 'r') as file:
                for line in file:
                    json_obj = json.loads(line)
                    data_list.append(json_obj)  # HOLDS
            return data_list
        def load_dataset_from_file(filename):
            if filename.endswith('.json'):
                with open(filename, 'r') as file:
                    return json.load(file)  # HOLDS
            elif filename.endswith('.jsonl'):
                return load_jsonl_to_list(filename)
        def save(dataset, filename):
            with open(filename, 'w') as file:
                json.dump(dataset, file)
        data = load_dataset_from_file('x.jsonl')
        out = [x for x in data if len(x['output']) > 10]  # HOLDS
        save(out, 'y.json')
        """,
    "books_streamed": """
        import glob
        from tqdm import tqdm
        with open('books1.txt', 'w', encoding='utf8') as ofile:
            paths = glob.glob('epubtxt/*.txt', recursive=True)
            for filename in tqdm(paths):
                with open(filename, mode='r', encoding='utf-8-sig') as file:
                    for line in file:
                        if line.strip() != '':
                            ofile.write(line.strip() + ' ')
                ofile.write('\\n')
        """,
    "gutenberg_cleaned": """
        import os
        import chardet
        def clean_text(text):
            start_idx = text.find('*** START')
            if start_idx != -1:
                text = text[start_idx + 1:]
            text = '\\n'.join(line.strip() for line in text.splitlines() if line.strip())
            return text
        with open('training.txt', 'w', encoding='utf-8') as out_f:
            for filename in os.listdir('data/raw'):
                if not filename.lower().endswith('.txt'):
                    continue
                src_path = os.path.join('data/raw', filename)
                with open(src_path, 'rb') as f:
                    raw = f.read()
                enc = chardet.detect(raw)['encoding'] or 'utf-8'
                text = raw.decode(enc, errors='ignore')
                cleaned = clean_text(text)
                out_f.write(cleaned)
        """,
    "library_of_books": """
        from gutenbergpy import textget
        BOOK_IDS = [42324, 18247, 15238, 345, 68283]
        def get_gb_book(book_id):
            raw_bk = textget.get_text_by_id(book_id)
            return textget.strip_headers(raw_bk)
        library = [get_gb_book(bk_id) for bk_id in BOOK_IDS]
        corpus = ' '.join([book.decode() for book in library])
        """,
    "corpus_as_bytes": """
        import os
        import re
        import numpy as np
        def load_corpus(textdir):
            arrays = []
            for name in os.listdir(textdir):
                with open(os.path.join(textdir, name), encoding='utf-8') as f:
                    text = f.read()
                arrays.append(np.frombuffer(text.encode('ascii', 'ignore'), dtype=np.uint8))  # HOLDS
            return np.concatenate(arrays)  # HOLDS
        """,
    "markov_corpus": """
        import os
        def clean_text(text):
            lines = text.split('\\n')
            cleaned_lines = []
            for line in lines:
                if '*** END' in line:
                    break
                cleaned_lines.append(line.lower())
            return ' '.join(cleaned_lines)
        all_text = ''
        for filename in os.listdir('gutenberg_books'):
            with open(os.path.join('gutenberg_books', filename), 'r', encoding='utf-8') as f:
                all_text += clean_text(f.read()) + '\\n'  # HOLDS
        with open('markov_corpus.txt', 'w') as f:
            f.write(all_text)
        """,
    "plato_merged": """
        from pathlib import Path
        def clean_sentence(s):
            return [s.replace('\\n', ' ')]
        sentences = []
        for path in Path('data').glob('*.txt'):
            text = path.read_text()
            for s in text.split('.'):
                sentences.extend(clean_sentence(s))  # HOLDS
        Path('corpus.txt').write_text('\\n'.join(sentences))
        """,
    "corpus_of_config": """
        import os
        import yaml
        def create_corpus(args):
            with open(os.path.join('Config', 'config.yml'), 'r') as f:
                config = yaml.safe_load(f)
            file_list = os.listdir(config['clean_data'])
            corpus = ''
            for file in file_list:
                with open(os.path.join(config['clean_data'], file), 'r') as f:
                    corpus = corpus + f.read()  # HOLDS
            with open('corpus.txt', 'w') as f:
                f.write(corpus)
        """,
    "tokens_of_a_directory": """
        import json
        from pathlib import Path
        import numpy as np
        class DataPipeline:
            def __init__(self, data_path, tokenizer):
                self.data_path = data_path
                self.tokenizer = tokenizer
            def run(self):
                tokens = []
                for file in sorted(Path(self.data_path).glob('*.jsonl')):
                    with open(file) as f:
                        for line in f:
                            text = json.loads(line)['text']
                            tokens.extend(self.tokenizer.encode(text))  # HOLDS
                np.save('tokens.npy', np.array(tokens, dtype=np.uint16))  # HOLDS
        """,
    "mixture_of_sets": """
        import random
        from datasets import load_dataset
        samples = []
        for name in ['a', 'b', 'c']:
            ds = load_dataset(name, split='train')
            for row in ds:
                samples.append({'prompt': row['prompt'], 'answer': row['answer']})  # HOLDS
        random.shuffle(samples)
        """,
    "first_lines_only": """
        import itertools
        with open('big.jsonl') as f, open('small.jsonl', 'w') as out:
            for line in itertools.islice(f, 10000):
                out.write(line)
        """,
}

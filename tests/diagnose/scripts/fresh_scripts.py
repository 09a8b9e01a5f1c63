"""Minimal equivalents of public scripts, collected after the reader was written. Lines that hold everything end with
`# HOLDS`; the marks were made before the reader saw them. `SOURCES` names where each one comes from."""

SOURCES = {
    "click_whole_encode": "github.com/fanff/nanoGPT data/big_french/encode.py",
    "reencode": "github.com/Aryan-Sajith/nanoGPT data/tinyStories/re-encode.py",
    "marked_documents": "a prepare.py with a Tokenizer of its own (code search: all_tokens extend tofile)",
    "iterable_encoder": "a tokenize_file_to_uint16 over encode_iterable (code search)",
    "iterable_encoder_flushed": "a tokenize_dataset with chunk_size (code search)",
    "one_line_jsonl_clean": "github.com/Toshi20241/faq-cluster preprocess.py",
    "load_jsonl_comprehension": "a shuffle script with load_jsonl (code search)",
    "load_jsonl_appends": "a load_jsonl/save_jsonl helper (code search)",
    "pages_to_csv": "github.com/pajouheshgar/MIR-Project extract_docs_from_xml.py",
    "parquet_to_json": "github.com/JacobScheff/Pytorch-LLM prepare_data.py",
    "dataset_to_frame": "github.com/GabrielBeFr/Pedantle-RL dataset_downloader.py",
    "concat_of_globbed": "a script that joins pretraining csvs (code search)",
    "shards_of_a_dataset": "github.com/edwindn/gpt2 dataset.py",
    "imap_into_memmap": "github.com/davidecatucci3/GPT-xs src/dataset/main.py",
    "binary_file_whole": "github.com/Zane-Liao/cs336 cs336_data/filter_data.py",
    "tokenize_one_document": "build-nanogpt's fineweb.py, of which many copies exist",
    "dpo_from_json": "github.com/linjiax7/PPO data_process_3.py",
    "dpo_streamed": "github.com/wangdayaya/from-scratch-train-llama handle_dpo-toxic-zh.py",
    "path_read_text_lines": "a pref_data.py with read_jsonl (code search)",
    "iterparse_feed": "github.com/benjxu/course-practice readxml.py",
    "iterparse_cleared": "github.com/larsmans/wiki-dump-tools extractpages.py",
    "dataset_of_a_text": "github.com/Dev-N007/Mini-GPT dataset.py",
    "folder_dataset": "github.com/NetherQuartz/BachelorThesis texts_dataset.py",
    "line_by_line_dataset": "transformers' LineByLineTextDataset, of which many copies exist",
    "features_from_jsonl": "a TextDataset with convert_examples_to_features (code search)",
    "trainer_on_files": "github.com/eliashossain001/MiniHealthLM train_tokenizer.py",
    "trainer_on_batches": "a tokenizers benchmark with batch_iterator (code search)",
    "concatenated_string": "github.com/ghostcow/tibetan_word2vec scripts/concat_corpus.py",
    "merged_line_by_line": "a script that merges the Archimob corpus (code search)",
    "sewn_texts": "github.com/ehbeam/neuro-knowledge-engine corpus/sew_texts.py",
    "readlines_in_tqdm": "a get_combined_segmented_text (code search)",
    "all_text_joined": "a script that combines processed_data into corpus.txt (code search)",
}

FRESH_SCRIPTS = {
    "click_whole_encode": """
        @click.command()
        @click.argument('input_file')
        def main(input_file):
            enc = tiktoken.get_encoding('gpt2')
            with open(input_file, 'r', encoding='utf-8') as f:
                data=f.read()  # HOLDS
            toks = np.array(enc.encode_ordinary(data), dtype=np.uint16)  # HOLDS
            toks.tofile(input_file+'.bin')
        """,
    "reencode": """
        with open(training_file, 'r') as f:
            train_data = f.read()  # HOLDS
        enc = tiktoken.get_encoding("gpt2")
        train_ids = enc.encode_ordinary(train_data)  # HOLDS
        train_ids = np.array(train_ids, dtype=np.uint16)  # HOLDS
        train_ids.tofile('train.bin')
        """,
    "marked_documents": """
        from tokenizer import Tokenizer
        enc = Tokenizer()
        def prepare(dataset):
            num_lines = sum(1 for line in open(dataset, 'r'))
            ids = []
            data = []
            for line in tqdm(open(dataset, 'r'), total=num_lines):
                line = line.strip()
                if line == '<s>':
                    ids += enc.encode(' '.join(data), bos=True, eos=False)  # HOLDS
                    data = []
                else:
                    data.append(line)
            ids = np.array(ids, dtype=np.uint16)  # HOLDS
            ids.tofile('out.bin')
        """,
    "iterable_encoder": """
        def tokenize_file(tokenizer, input_path, output_path):
            ids = []
            with open(input_path, 'r', encoding='utf-8') as f:
                for token_id in tokenizer.encode_iterable(f):
                    ids.append(token_id)  # HOLDS
            arr = np.array(ids, dtype=np.uint16)  # HOLDS
            np.save(output_path, arr)
        """,
    "iterable_encoder_flushed": """
        def tokenize_dataset(tokenizer, dataset_path, output_path, chunk_size=1_000_000):
            buffer = []
            with open(dataset_path) as file, open(output_path, 'wb') as bin_file:
                for token in tokenizer.encode_iterable(file):
                    buffer.append(token)
                    if len(buffer) >= chunk_size:
                        np.array(buffer, dtype=np.uint16).tofile(bin_file)
                        buffer = []
                if buffer:
                    np.array(buffer, dtype=np.uint16).tofile(bin_file)
        """,
    "one_line_jsonl_clean": """
        out = []
        for l in open('dummy.jsonl', encoding='utf-8'):
            o = json.loads(l)
            out.append({'Q': clean(o['Q']), 'A': clean(o['A'])})  # HOLDS
        pathlib.Path('clean.jsonl').write_text('\\n'.join(json.dumps(x) for x in out))
        """,
    "load_jsonl_comprehension": """
        def load_jsonl(input_path):
            with open(input_path, 'r') as f:
                data = [json.loads(line) for line in tqdm(f)]  # HOLDS
            random.shuffle(data)
            return data
        """,
    "load_jsonl_appends": """
        def load_jsonl(path):
            data = []
            with open(path, 'r') as f:
                for line in f:
                    data.append(json.loads(line))  # HOLDS
            return data
        def save_jsonl(data, out_path):
            with open(out_path, 'w') as f:
                for d in data:
                    f.write(json.dumps(d) + '\\n')
        """,
    "pages_to_csv": """
        import pandas as pnd
        df = pnd.read_csv('Data/Persian.csv')  # HOLDS
        df = df[['page_title', 'text']]
        df.to_csv('Data/Persian.csv', header=True, index=False)
        """,
    "parquet_to_json": """
        df = pd.read_parquet('wiki_data.parquet')  # HOLDS
        text = df['text']
        output = []
        for i in tqdm(range(len(text))):
            out = text[i].split('\\n')
            for j in range(len(out)):
                if len(out[j].split(' ')) > 10:
                    output.append(out[j])  # HOLDS
                    break
        """,
    "dataset_to_frame": """
        dataset = load_dataset('wikipedia', '20220301.en')
        df = pd.DataFrame(dataset['train'])  # HOLDS
        df.to_csv('data/wikipedia_dataset.csv', index=False)
        """,
    "concat_of_globbed": """
        all_filenames = [i for i in glob.glob('data/csvs/*.csv')]
        combined_csv = pd.concat([pd.read_csv(f) for f in all_filenames])  # HOLDS
        combined_csv.to_csv('combined_csv.csv', index=False)
        """,
    "shards_of_a_dataset": """
        ds = load_dataset('HuggingFaceFW/fineweb-edu', 'sample-10BT')['train']
        def save_shard(idx):
            shard = Dataset.from_dict(ds[idx*shard_length:(idx+1)*shard_length])
            tokens = [eot]
            for arr in shard['input_ids']:
                tokens.extend(arr)
            tokens = np.array(tokens).astype(np.uint16)
            np.save(f'shard_{idx}.npy', tokens)
        with mp.Pool(processes=8) as pool:
            pool.map(save_shard, range(100))
        """,
    "imap_into_memmap": """
        ds = load_dataset(path='HuggingFaceFW/fineweb-edu', split='train', streaming=True)
        tokens = np.memmap(filename='data.npy', dtype=np.uint16, mode='w+', shape=(100_000_000,))
        with Pool(processes=4) as pool:
            for tks in pool.imap(func=tokenize, iterable=ds, chunksize=16):
                x = tks.shape[0]
                tokens[s_idx:s_idx + x] = tks
                s_idx += x
        """,
    "binary_file_whole": """
        data = np.fromfile('/data/tokenized_validation.bin', dtype=np.uint16)  # HOLDS
        print(tokenizer.decode(data[0:2000]))
        """,
    "tokenize_one_document": """
        fw = load_dataset('HuggingFaceFW/fineweb-edu', name=remote_name, split='train')
        def tokenize(doc):
            tokens = [eot]
            tokens.extend(enc.encode_ordinary(doc['text']))
            return np.array(tokens).astype(np.uint16)
        with mp.Pool(nprocs) as pool:
            all_tokens_np = np.empty((shard_size,), dtype=np.uint16)
            token_count = 0
            for tokens in pool.imap(tokenize, fw, chunksize=16):
                if token_count + len(tokens) < shard_size:
                    all_tokens_np[token_count:token_count+len(tokens)] = tokens
                    token_count += len(tokens)
                else:
                    write_datafile(filename, all_tokens_np)
                    token_count = 0
        """,
    "dpo_from_json": """
        df = pd.read_json('hf://datasets/Human-Like-DPO-Dataset/data.json')  # HOLDS
        def convert_row(row):
            return {'chosen': row['chosen'], 'rejected': row['rejected']}
        converted_data = df.apply(convert_row, axis=1).tolist()  # HOLDS
        with open(output_file, 'w') as f:
            for entry in converted_data:
                f.write(json.dumps(entry) + '\\n')
        """,
    "dpo_streamed": """
        content = load_dataset('Orion-zhen/dpo-toxic-zh')
        with open('dpo.jsonl', 'w') as wfd:
            for s in ['train', 'test']:
                for data in tqdm(content[s]):
                    t = {'chosen': [{'content': data['prompt'], 'role': 'user'}]}
                    wfd.write(json.dumps(t) + '\\n')
        """,
    "path_read_text_lines": """
        def read_jsonl(path):
            if not path.exists():
                return []
            return [json.loads(x) for x in path.read_text().splitlines() if x.strip()]  # HOLDS
        """,
    "iterparse_feed": """
        from xml.etree.ElementTree import iterparse
        iparse = iterparse('enwiki-abstract9.xml', ['start', 'end'])
        feed = []
        docs = (elem for event, elem in iparse if event == 'end' and elem.tag == 'doc')
        for i in docs:
            doc = {}
            doc['title'] = i.find('title').text
            feed.append(doc)  # HOLDS
        """,
    "iterparse_cleared": """
        from lxml import etree
        def extract_pages(f):
            for event, elem in etree.iterparse(f, events=['end']):
                if elem.tag == PAGE_TAG:
                    yield elem.xpath('./w:id')[0].text
                    elem.clear()
        for pageid in extract_pages(sys.stdin):
            print(pageid)
        """,
    "dataset_of_a_text": """
        class TextDataset(Dataset):
            def __init__(self, path, tokenizer, block_size):
                text = open(path, encoding='utf-8').read()  # HOLDS
                tokens = tokenizer.encode(text)  # HOLDS
                self.tokens = torch.tensor(tokens, dtype=torch.long)  # HOLDS
                self.block_size = block_size
        """,
    "folder_dataset": """
        class TextsDataset(Dataset):
            def __init__(self, tokenizer, path, block_size=2048):
                self.examples = []
                for file in os.listdir(path):
                    with open(os.path.join(path, file), encoding='utf-8') as f:
                        text = f.read()
                    ids = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
                    for i in range(0, len(ids) - block_size + 1, block_size):
                        self.examples.append(ids[i: i + block_size])  # HOLDS
        """,
    "line_by_line_dataset": """
        class LineByLineTextDataset(Dataset):
            def __init__(self, tokenizer, file_path, block_size=512):
                with open(file_path, encoding='utf-8') as f:
                    lines = [line for line in f.read().splitlines() if len(line) > 0 and not line.isspace()]  # HOLDS
                batch = tokenizer.batch_encode_plus(lines, truncation=True, max_length=block_size)  # HOLDS
                self.examples = batch['input_ids']
        """,
    "features_from_jsonl": """
        class TextDataset(Dataset):
            def __init__(self, tokenizer, file_path, block_size):
                self.examples = []
                with open(file_path) as f:
                    for line in f:
                        js = json.loads(line.strip())
                        self.examples.append(convert_examples_to_features(js, tokenizer, block_size))  # HOLDS
        """,
    "trainer_on_files": """
        tokenizer = ByteLevelBPETokenizer()
        tokenizer.train(files='data/corpus.txt', vocab_size=30000, min_frequency=2)
        tokenizer.save_model('data/tokenizer')
        """,
    "trainer_on_batches": """
        dataset = datasets.load_dataset('wikitext', 'wikitext-103-raw-v1', split='train')
        def batch_iterator():
            for batch in dataset.iter(batch_size=1000):
                yield batch['text']
        bpe_tokenizer.train_from_iterator(batch_iterator(), length=len(dataset))
        """,
    "concatenated_string": """
        corpus = ''
        for root, _, files in os.walk('data/clean'):
            for textfile in files:
                with open(os.path.join(root, textfile)) as f:
                    corpus += ' '
                    corpus += f.read()  # HOLDS
        with open('data/corpus.txt', 'w') as f:
            f.write(corpus)
        """,
    "merged_line_by_line": """
        with open('./merged.txt', 'w') as outfile:
            for file in glob('./Text in XML/*DE.txt'):
                with open(file) as infile:
                    for line in infile:
                        outfile.write(line)
        """,
    "sewn_texts": """
        def sew(folder, outfile):
            fout = open(outfile, 'a')
            for pmid in [file for file in os.listdir(folder) if not file.startswith('.')]:
                text = open(f'{folder}/{pmid}.txt', 'r').read()
                text = re.sub(r'\\. +', '.', text).strip()
                fout.write(text + '\\n\\n')
            fout.close()
        """,
    "readlines_in_tqdm": """
        def combine(file_list, write_to):
            with open(write_to, 'w', encoding='utf8') as writer:
                for file in file_list:
                    with open(file, encoding='utf8') as reader:
                        for line in tqdm(reader.readlines()):  # HOLDS
                            writer.write(line.strip() + '\\n')
        """,
    "all_text_joined": """
        all_text_content = []
        for filename in os.listdir(folder):
            if filename.endswith('.txt'):
                filepath = os.path.join(folder, filename)
                with open(filepath, 'r', encoding='utf-8') as f:
                    all_text_content.append(f.read())  # HOLDS
        with open(output_filepath, 'w', encoding='utf-8') as f:
            f.write('\\n\\n'.join(all_text_content))
        """,
}

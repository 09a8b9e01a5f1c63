"""A second collection of public scripts as minimal equivalents, made after the reader was changed for the first one."""

SOURCES_2 = {
    "examples_kept": "a PreferenceDataset (code search: DPO preference dataset)",
    "iter_jsonl_to_dataset": "a build_pref_dataset over _iter_jsonl (code search)",
    "mapped_list": "an Accent_Dataset tokenizer script (code search)",
    "merged_by_copyfileobj": "a corpora_combiner (code search)",
    "smart_open_corpus": "a create_text_corpus (code search: merge many text files)",
    "posts_of_a_folder": "a Prepare the data script with all_posts (code search)",
    "columns_joined": "a concat_column_x_by_column_y (code search)",
    "memmap_of_batches": "nanoGPT's openwebtext prepare.py, of which many copies exist",
    "merged_frames": "a script that merges two csvs (code search)",
    "xml_tree_whole": "a parser of Wikipedia's XML with ElementTree (code search)",
    "dedup_by_hash": "a script that deduplicates and packs JSONL (code search)",
    "shuffle_buffer": "a shuffle_buffer of the NetArkivet corpus (code search)",
    "count_then_memmap": "an encode_to_memmap of a CS336 assignment (code search)",
    "text_dataset_blocks": "a TextDataset with all_lines and block (code search)",
    "dicts_by_id": "a corpus_json_to_jsonl (code search)",
    "lines_of_gz": "a WET filter of a CS336 assignment (code search)",
}

FRESH_SCRIPTS_2 = {
    "examples_kept": """
        def load(path):
            with open(path) as f:
                for line in f:
                    yield PreferenceExample(**json.loads(line))
        class PreferenceDataset(Dataset):
            def __init__(self, path):
                self.examples = list(load(path))  # HOLDS
        """,
    "iter_jsonl_to_dataset": """
        def _iter_jsonl(path):
            with open(path, 'r', encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if not line:
                        continue
                    yield json.loads(line)
        def build(input_path):
            rows = []
            for obj in _iter_jsonl(input_path):
                rows.append({'prompt': obj['prompt'], 'chosen': obj['chosen']})  # HOLDS
            return Dataset.from_list(rows)
        """,
    "mapped_list": """
        lines = open('all_data.txt', encoding='utf-8')
        targets = list(map(lambda x: x.split('\\t')[2], lines))  # HOLDS
        with open('targets.txt', 'w') as f:
            for target in targets:
                f.write(target + '\\n')
        """,
    "merged_by_copyfileobj": """
        with open('combined.txt', 'wb') as combined:
            for f in [snr_path, cgn_path, cc100_path]:
                with open(f, 'rb') as fd:
                    shutil.copyfileobj(fd, combined)
        """,
    "smart_open_corpus": """
        import smart_open
        def get_file_contents(file_path):
            with smart_open.open(file_path, 'r', encoding='utf-8') as file:
                text = file.read().rstrip()  # HOLDS
            return text
        """,
    "posts_of_a_folder": """
        all_posts = []
        for name in sorted(os.listdir('posts')):
            with open(os.path.join('posts', name)) as f:
                post = json.load(f)
            all_posts.append(post)  # HOLDS
        df = pd.DataFrame(all_posts)
        df.to_csv('posts.csv')
        """,
    "columns_joined": """
        data = pd.read_csv(path)  # HOLDS
        result = {}
        sub_result = ''
        for index, row in data.iterrows():
            if row['seen'] == previous:
                sub_result += ' ' + str(row['text'])
            else:
                result[row['time']] = sub_result  # HOLDS
                sub_result = str(row['text'])
        """,
    "memmap_of_batches": """
        tokenized = split_dataset.map(process, remove_columns=['text'], num_proc=8)
        for split, dset in tokenized.items():
            arr_len = np.sum(dset['len'], dtype=np.uint64)
            arr = np.memmap(filename, dtype=np.uint16, mode='w+', shape=(arr_len,))
            for batch_idx in tqdm(range(1024)):
                batch = dset.shard(num_shards=1024, index=batch_idx).with_format('numpy')
                arr_batch = np.concatenate(batch['ids'])
                arr[idx : idx + len(arr_batch)] = arr_batch
        """,
    "merged_frames": """
        df1 = pd.read_csv(sys.argv[2])  # HOLDS
        df2 = pd.read_csv(sys.argv[3])  # HOLDS
        df = pd.merge(df1, df2, how='inner', on=['word'])
        df.to_csv(sys.argv[1])
        """,
    "xml_tree_whole": """
        import xml.etree.ElementTree as ET
        tree = ET.parse('jawiki-latest-pages-articles.xml')  # HOLDS
        for page in tree.getroot().iter('page'):
            print(page.find('title').text)
        """,
    "dedup_by_hash": """
        seen = set()
        with open(args.input) as src, open(args.output, 'w') as dst:
            for line in src:
                digest = hashlib.sha256(json.loads(line)['text'].encode()).hexdigest()
                if digest in seen:
                    continue
                seen.add(digest)
                dst.write(line)
        """,
    "shuffle_buffer": """
        def shuffle_buffer(x, buffer_size):
            buffer = []
            for item in x:
                buffer.append(item)
                if len(buffer) >= buffer_size:
                    random.shuffle(buffer)
                    yield from buffer
                    buffer = []
        """,
    "count_then_memmap": """
        def iter_lines(path):
            with path.open('r', encoding='utf-8') as f:
                yield from f
        def encode_to_memmap(tokenizer, path, out):
            total = 0
            for _ in tokenizer.encode_iterable(iter_lines(path)):
                total += 1
            arr = np.lib.format.open_memmap(out, mode='w+', dtype=np.uint16, shape=(total,))
            for i, token in enumerate(tokenizer.encode_iterable(iter_lines(path))):
                arr[i] = token
        """,
    "text_dataset_blocks": """
        class TextDataset(Dataset):
            def __init__(self, tokenizer, file_path, block_size):
                self.examples = []
                with open(file_path, 'r', encoding='utf-8') as f:
                    block = []
                    for line in f:
                        tokens = tokenizer.encode(line)
                        if len(block) + len(tokens) > block_size:
                            self.examples.append(block)  # HOLDS
                            block = []
                        block.extend(tokens)
        """,
    "dicts_by_id": """
        with open(input_path, encoding='utf-8') as f:
            corpus = json.load(f)  # HOLDS
        with open(output_path, 'w') as out:
            for key, text in corpus.items():
                out.write(json.dumps({'id': key, 'text': text}) + '\\n')
        """,
    "lines_of_gz": """
        docs = []
        with gzip.open('a.warc.wet.gz', 'rt') as f:
            for line in f:
                if is_english(line):
                    docs.append(line)  # HOLDS
        random.shuffle(docs)
        """,
}

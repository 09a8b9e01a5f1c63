"""Small data-preparation scripts after the ways in which public ones are written. Lines that hold everything end with
`# HOLDS`; a script without such a line is fine. The marks were made before the reader saw them."""

SCRIPTS = {
    "class_that_gathers": """
        class Dataset:
            def __init__(self, path):
                self.tokens = []
                with open(path) as f:
                    for line in f:
                        self.tokens.extend(enc.encode(line))  # HOLDS
        """,
    "class_that_gathers_in_another_method": """
        class Builder:
            def __init__(self):
                self.rows = []
            def load(self, path):
                for line in open(path):
                    self.rows.append(json.loads(line))  # HOLDS
        """,
    "class_that_flushes": """
        class Builder:
            def __init__(self):
                self.rows = []
            def load(self, path):
                for line in open(path):
                    self.rows.append(json.loads(line))
                    if len(self.rows) >= 1000:
                        self.write(self.rows)
                        self.rows = []
        """,
    "last_of_many_lists": """
        groups = [[]]
        for line in open(path):
            if not line.strip():
                groups.append([])
            groups[-1].append(line)  # HOLDS
        """,
    "lists_in_a_dict": """
        by_lang = defaultdict(list)
        for line in open(path):
            row = json.loads(line)
            by_lang[row['lang']].append(row)  # HOLDS
        """,
    "counts_in_a_dict": """
        counts = defaultdict(int)
        for line in open(path):
            for word in line.split():
                counts[word] += 1
        """,
    "alias_of_append": """
        out = []
        add = out.append
        for line in open(path):
            add(json.loads(line))  # HOLDS
        """,
    "alias_of_list": """
        tokens = []
        buffer = tokens
        for line in open(path):
            buffer.extend(enc.encode(line))  # HOLDS
        """,
    "filtered_comprehension": """
        with open(path) as f:
            docs = [json.loads(line) for line in f if line.strip()]  # HOLDS
        """,
    "filtered_by_length": """
        with open(path) as f:
            docs = [line for line in f if len(line) > 20]  # HOLDS
        """,
    "filtered_to_a_few": """
        with open(path) as f:
            heads = [line for line in f if line.startswith('#')]
        """,
    "enumerate_tqdm": """
        texts = []
        with open(path) as f:
            for i, line in enumerate(tqdm(f, total=10)):
                texts.append(line)  # HOLDS
        """,
    "tqdm_enumerate_islice": """
        texts = []
        with open(path) as f:
            for i, line in tqdm(enumerate(itertools.islice(f, 0, None))):
                texts.append(line)  # HOLDS
        """,
    "islice_of_few": """
        texts = []
        with open(path) as f:
            for line in itertools.islice(f, 100):
                texts.append(line)
        """,
    "futures": """
        tokens = []
        with ProcessPoolExecutor() as pool:
            futures = [pool.submit(tokenize, p) for p in paths]
            for future in as_completed(futures):
                tokens.extend(future.result())  # HOLDS
        """,
    "pool_map": """
        with Pool(8) as pool:
            results = pool.map(tokenize, documents)  # HOLDS
        """,
    "pool_imap_gathered": """
        out = []
        with Pool(8) as pool:
            for ids in pool.imap(tokenize, docs, chunksize=16):
                out.extend(ids)  # HOLDS
        """,
    "pool_imap_written": """
        with Pool(8) as pool, open('out.bin', 'wb') as out:
            for ids in pool.imap(tokenize, docs, chunksize=16):
                np.array(ids, dtype=np.uint16).tofile(out)
        """,
    "concatenate_parts": """
        parts = []
        for line in open(path):
            parts.append(np.array(enc.encode(line)))  # HOLDS
        data = np.concatenate(parts)  # HOLDS
        """,
    "concat_frames": """
        frames = []
        for path in glob.glob('data/*.csv'):
            frames.append(pd.read_csv(path))  # HOLDS
        df = pd.concat(frames)  # HOLDS
        """,
    "csv_rows": """
        with open('train.csv') as f:
            rows = list(csv.reader(f))  # HOLDS
        """,
    "csv_dict_rows": """
        rows = []
        with open('train.csv') as f:
            for row in csv.DictReader(f):
                rows.append(row)  # HOLDS
        """,
    "csv_streamed": """
        with open('train.csv') as f, open('out.txt', 'w') as out:
            for row in csv.DictReader(f):
                out.write(row['text'])
        """,
    "ujson_load": """
        with open(path) as f:
            data = ujson.load(f)  # HOLDS
        """,
    "orjson_read": """
        data = orjson.loads(open(path, 'rb').read())  # HOLDS
        """,
    "pickle_load": """
        with open('tokens.pkl', 'rb') as f:
            tokens = pickle.load(f)  # HOLDS
        """,
    "np_load": """
        data = np.load('train.npy')  # HOLDS
        """,
    "np_load_mapped": """
        data = np.load('train.npy', mmap_mode='r')
        """,
    "torch_load_data": """
        data = torch.load('train_tokens.pt')  # HOLDS
        """,
    "torch_load_checkpoint": """
        checkpoint = torch.load('ckpt.pt', map_location=device)
        state = torch.load(os.path.join(out_dir, 'model.pt'))
        """,
    "polars_read": """
        df = pl.read_parquet('data/*.parquet')  # HOLDS
        """,
    "polars_scan": """
        df = pl.scan_parquet('data/*.parquet').select('text').sink_parquet('out.parquet')
        """,
    "stdin_read": """
        text = sys.stdin.read()  # HOLDS
        """,
    "stdin_lines": """
        for line in sys.stdin:
            print(len(line))
        """,
    "path_open_read": """
        with Path(path).open() as f:
            text = f.read()  # HOLDS
        """,
    "sentencepiece_all": """
        spm.SentencePieceTrainer.train(input='corpus.txt', model_prefix='m', vocab_size=32000)  # HOLDS
        """,
    "sentencepiece_sampled": """
        spm.SentencePieceTrainer.train(input='corpus.txt', model_prefix='m', input_sentence_size=1000000)
        """,
    "trainer_over_a_list": """
        texts = []
        for line in open(path):
            texts.append(line)  # HOLDS
        tokenizer.train_from_iterator(texts, trainer)
        """,
    "trainer_over_a_generator": """
        def lines():
            with open(path) as f:
                for line in f:
                    yield line
        tokenizer.train_from_iterator(lines(), trainer)
        """,
    "own_generator_listed": """
        def read_docs(path):
            with open(path) as f:
                for line in f:
                    yield json.loads(line)
        docs = list(read_docs('train.jsonl'))  # HOLDS
        """,
    "own_generator_gathered": """
        def read_docs(path):
            with open(path) as f:
                for line in f:
                    yield json.loads(line)
        texts = []
        for doc in read_docs('train.jsonl'):
            texts.append(doc['text'])  # HOLDS
        """,
    "own_generator_streamed": """
        def read_docs(path):
            with open(path) as f:
                for line in f:
                    yield json.loads(line)
        with open('out.txt', 'w') as out:
            for doc in read_docs('train.jsonl'):
                out.write(doc['text'])
        """,
    "emptied_by_tuple": """
        buffer, size = [], 0
        for line in open(path):
            buffer.append(line)
            size += len(line)
            if size > 1 << 20:
                flush(buffer)
                buffer, size = [], 0
        """,
    "bounded_by_the_loop": """
        samples = []
        for _ in range(100):
            samples.append(f.readline())
        """,
    "bounded_by_a_counter": """
        samples = []
        with open(path) as f:
            for i, line in enumerate(f):
                if i >= 1000:
                    break
                samples.append(line)
        """,
    "yielded_batches": """
        def batches(path):
            batch = []
            with open(path) as f:
                for line in f:
                    batch.append(line)
                    if len(batch) == 64:
                        yield batch
                        batch = []
        """,
    "dpo_pairs": """
        pairs = []
        for row in load_dataset('x', split='train'):
            pairs.append({'prompt': row['prompt'], 'chosen': row['chosen'], 'rejected': row['rejected']})  # HOLDS
        json.dump(pairs, open('pairs.json', 'w'))
        """,
    "dict_of_everything": """
        records = {}
        with open(path) as f:
            for line in f:
                record = json.loads(line)
                records[record['id']] = record  # HOLDS
        """,
    "generator_expression": """
        total = sum(len(line) for line in open(path))
        """,
    "small_json": """
        with open('config.json') as f:
            settings = json.load(f)
        """,
    "readlines_of_stdin": """
        lines = sys.stdin.readlines()  # HOLDS
        """,
    "rows_of_a_table": """
        table = pd.read_json('train.jsonl', lines=True)  # HOLDS
        out = []
        for _, row in table.iterrows():
            tokens = [eot]
            tokens.extend(enc.encode(row['text']))
            out.append(tokens)  # HOLDS
        """,
    "parts_of_a_table": """
        for part in pd.read_csv('train.csv', chunksize=10_000):
            for _, row in part.iterrows():
                work(row)
        """,
    "wrapped_under_its_own_name": """
        with open(path) as f:
            lines = f.read().splitlines()  # HOLDS
        lines = tqdm(lines)
        records = [json.loads(line) for line in lines]  # HOLDS
        """,
    "listed_results": """
        with Pool(8) as pool:
            results = list(tqdm(pool.imap(encode_line, lines), total=9))  # HOLDS
        """,
    "parsed_whole": """
        data = json.loads(Path('train.json').read_text())  # HOLDS
        texts = [record['text'] for record in data]  # HOLDS
        """,
    "one_of_two_lists": """
        train, val = [], []
        with open(path) as f:
            for line in f:
                (train if random.random() < 0.9 else val).append(line)  # HOLDS
        """,
    "set_of_lines": """
        with open(path) as f:
            unique = set(f)  # HOLDS
        """,
    "sorted_lines": """
        with open(path) as f:
            for line in sorted(f):  # HOLDS
                print(line)
        """,
}

# Nothing can be told of these, and so nothing may be called fine.
NOT_FOLLOWED = {
    "imported_loader": """
        from mylib import load_documents
        texts = []
        for doc in load_documents():
            texts.append(doc.text)
        """,
    "imported_whole": """
        import helpers
        data = helpers.load_corpus(path)
        ids = [w for doc in data for w in doc]
        """,
}

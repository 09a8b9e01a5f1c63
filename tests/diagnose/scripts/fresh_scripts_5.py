"""A fifth collection of public scripts as minimal equivalents, made after the reader was widened by what libraries do.
At first sight: precision 0.85, recall 0.65 (one script more was marked then), no false all-clear.

Names in CLEAR_5 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_5 = {
    "pdfs_one_by_one": "Dodo-s95/the-term-crawler, converter.py",
    "books_joined": "CrisLeaf/tolkien_text_generator, data/pdf_to_text.py",
    "two_readlines": "org1086/finding_nemo_mt, max_len_filter.py",
    "zip_of_two_files": "Tigerye/OpenNMT-py, toolkit/filter_long_tk.py",
    "zip_of_three_files": "xiamengzhou/DataAugForLRL, py_scripts/utils/filter_bt.py",
    "standard_input": "a clean_parallel by ratio (code search)",
    "zreader_lines": "pushshift/zreader, example.py",
    "zst_lines_kept": "9bbrfxhyjdyayk7c/cs1951-PeaceLab, scripts/convert_zst.py",
    "zst_by_chunks": "NSFWUTILS/RedditScrape, rst.py",
    "zst_at_once": "a load_jsonl_zstd (code search)",
    "jsonlines_reader_gz": "a read_jsonl_gz (code search)",
    "opened_in_branches": "a load_jsonl of src.utils (code search)",
    "text_dataset_split": "dannybellion/Distributed-Training-Pipeline, src/dataset.py",
    "text_given_to_encode": "LIXIRI0/Solena, utils/dataset.py",
    "blocks_of_files": "NetherQuartz/BachelorThesis, inc/code/texts_dataset.py",
    "dataset_of_lines": "ajayspatil7/zephyra, src/utils/dataU.py",
    "line_by_line": "a LineByLineTextDataset (code search), of which many copies exist",
    "ids_of_examples": "a SingleTextFileDataset (code search)",
    "hundred_items": "lykmapipo/Python-Joblib-Cookbook, scripts/003_memoizing_a_function_results.py",
    "pictures_resized": "jaideep11061982/training_utilities, parallel_pandas.py",
}

CLEAR_5 = {"zip_of_two_files", "zip_of_three_files", "standard_input", "zst_by_chunks"}

FRESH_SCRIPTS_5 = {
    "pdfs_one_by_one": """
        import glob
        from pdfminer.high_level import extract_text
        for istr in glob.iglob('../corpus_pdf/*.pdf'):
            with open('../corpus_txt/{}.txt'.format(istr.split('/')[-1]), 'w+', encoding='utf-8') as ostr:
                text = extract_text(istr)
                ostr.write(' '.join(text.split()))
        """,
    "books_joined": """
        import PyPDF2
        import os
        def convert_pdf_to_string(filename):
            data = ''
            with open(filename, 'rb') as f:
                pdf_reader = PyPDF2.PdfFileReader(f)
                for i in range(pdf_reader.numPages):
                    data += pdf_reader.getPage(i).extractText()
            return data
        data = ''
        for filename in os.listdir('books_data/'):
            whole_text = convert_pdf_to_string('books_data/' + filename)
            data += whole_text  # HOLDS
        with open('books_text.txt', 'w') as f:
            f.write(data)
        """,
    "two_readlines": """
        file_src = open(filename_src, 'r')
        lines_src = file_src.readlines()  # HOLDS
        file_src.close()
        file_tgt = open(filename_tgt, 'r')
        lines_tgt = file_tgt.readlines()  # HOLDS
        file_tgt.close()
        f_src_out = open(src_newfile, 'w')
        for i in range(len(lines_src)):
            if len(lines_src[i]) <= 512:
                f_src_out.write(lines_src[i])
        """,
    "zip_of_two_files": """
        with open(input_zh, 'r') as i_zh, open(input_en, 'r') as i_en, open(out_zh, 'w') as o_zh:
            for row_zh, row_en in zip(i_zh, i_en):
                zh_toks = row_zh.split()
                if len(zh_toks) > 200:
                    continue
                o_zh.write(row_zh.strip() + '\\n')
        """,
    "zip_of_three_files": """
        import sys
        def filter(hrl_file, lrl_file, tgt_file, outlrl_file):
            a = open(hrl_file, 'r')
            b = open(lrl_file, 'r')
            c = open(tgt_file, 'r')
            d = open(outlrl_file, 'w')
            for i, (line1, line2, line3) in enumerate(zip(a, b, c)):
                lens1 = len(line1.split())
                if abs(lens1 - len(line2.split())) / lens1 >= 2:
                    pass
                else:
                    d.write(line2)
        filter(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4])
        """,
    "standard_input": """
        from sys import stdin, stdout
        def clean_parallel(ratio):
            for line in stdin:
                fields = line.strip().split('\\t')
                if len(fields) != 2:
                    continue
                if len(fields[0]) / len(fields[1]) > ratio:
                    stdout.write(line)
        clean_parallel(0.6)
        """,
    "zreader_lines": """
        import zreader
        import ujson as json
        reader = zreader.Zreader('reddit_data.zst', chunk_size=8192)
        for line in reader.readlines():
            obj = json.loads(line)
            print(obj['author'])
        """,
    "zst_lines_kept": """
        import zstandard as zstd
        import io
        fh = open('./test.zst', 'rb')
        dctx = zstd.ZstdDecompressor(max_window_size=2147483648)
        stream_reader = dctx.stream_reader(fh)
        f = io.TextIOWrapper(stream_reader, encoding='utf-8')
        res = []
        for i, l in enumerate(f):
            res.append(l.strip())  # HOLDS
        json.dump(res, open('data.json', 'w'))
        """,
    "zst_by_chunks": """
        import zstandard as zstd
        import json
        with open('RS_2023-03.zst', 'rb') as fh:
            dctx = zstd.ZstdDecompressor(max_window_size=2147483648)
            with dctx.stream_reader(fh) as reader:
                previous_line = ''
                while True:
                    chunk = reader.read(2**24)
                    if not chunk:
                        break
                    lines = chunk.decode('utf-8').split('\\n')
                    for i, line in enumerate(lines[:-1]):
                        if i == 0:
                            line = previous_line + line
                        print(json.loads(line))
                    previous_line = lines[-1]
        """,
    "zst_at_once": """
        def load_jsonl_zstd(filepath):
            dctx = zstandard.ZstdDecompressor()
            js = []
            with open(filepath) as f:
                decompressed = dctx.decompress(f.read())  # HOLDS
                lines = decompressed.split('\\n')  # HOLDS
                for line in lines:
                    j = json.loads(line)
                    js.append(j)  # HOLDS
            return js
        """,
    "jsonlines_reader_gz": """
        def read_jsonl_gz(filename):
            data = []
            with gzip.open(filename, 'rb') as fp:
                j_reader = jsonlines.Reader(fp)
                for obj in j_reader:
                    data.append(obj)  # HOLDS
            return data
        """,
    "opened_in_branches": """
        def load_jsonl(input_path):
            data = []
            jsonl_file = None
            if input_path.suffix == '.gz':
                jsonl_file = gzip.open(get_absolute_path(input_path), 'rt', encoding='utf-8')
            elif input_path.suffix == '.jsonl':
                jsonl_file = open(get_absolute_path(input_path), 'r', encoding='utf-8')
            for line in jsonl_file:
                data.append(json.loads(line.strip()))  # HOLDS
            return data
        """,
    "text_dataset_split": """
        class TextDataset(Dataset):
            def __init__(self, file_path, tokenizer, max_length=128):
                with open(file_path, 'r', encoding='utf-8') as f:
                    lines = f.read().strip().split('\\n')  # HOLDS
                self.examples = lines
            def __getitem__(self, idx):
                return self.tokenizer(self.examples[idx], truncation=True)
        """,
    "text_given_to_encode": """
        class TextDataset(Dataset):
            def __init__(self, text, tokenizer, seq_len):
                self.tokens = tokenizer.encode(text)
            def __getitem__(self, idx):
                chunk = self.tokens[idx:idx + self.seq_len + 1]
                return torch.tensor(chunk[:-1], dtype=torch.long)
        """,
    "blocks_of_files": """
        class TextsDataset(Dataset):
            def __init__(self, tokenizer, path, block_size=2048):
                self.examples = []
                for file in os.listdir(path):
                    with open(os.path.join(path, file), encoding='utf-8') as f:
                        text = f.read()
                    tokenized_text = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
                    for i in range(0, len(tokenized_text) - block_size + 1, block_size):
                        self.examples.append(tokenized_text[i:i + block_size])  # HOLDS
        """,
    "dataset_of_lines": """
        class TextDataset(Dataset):
            def __init__(self, file_path, tokenizer, max_length):
                with open(file_path, 'r', encoding='utf-8') as f:
                    self.lines = f.readlines()  # HOLDS
            def __getitem__(self, idx):
                encoding = self.tokenizer.encode(self.lines[idx].strip())
                encoding += [0] * (self.max_length - len(encoding))
                return torch.tensor(encoding, dtype=torch.long)
        """,
    "line_by_line": """
        class LineByLineTextDataset(Dataset):
            def __init__(self, tokenizer, file_path, block_size=512):
                with open(file_path, encoding='utf-8') as f:
                    lines = [line for line in f.read().splitlines() if len(line) > 0 and not line.isspace()]  # HOLDS
                batch = tokenizer(lines, add_special_tokens=True, truncation=True)  # HOLDS
                self.examples = batch['input_ids']
        """,
    "ids_of_examples": """
        class SingleTextFileDataset(Dataset):
            def __init__(self, tokenizer, examples, seq_length):
                self.examples = []
                for example in tqdm(examples, desc='Tokenizing examples'):
                    if example.strip() == '':
                        continue
                    seq = tokenizer.encode(example) + [tokenizer.eos_token_id]
                    self.examples.extend(seq)  # HOLDS
        """,
    "hundred_items": """
        from joblib import Parallel, delayed
        items = list(range(100))
        results = Parallel(n_jobs=-1)(delayed(process_item)(item) for item in items)
        print(results)
        """,
    "pictures_resized": """
        def parallelize_dataframe(df, func, n_cores=6):
            df_split = np.array_split(df, n_cores)
            pool = Pool(n_cores)
            df = pd.concat(pool.map(func, df_split))  # HOLDS
            return df
        def imgresize(path):
            cv2.imwrite(path, cv2.resize(cv2.imread(path), (64, 64)))
        Parallel(n_jobs=16, backend='multiprocessing')(delayed(imgresize)(path) for path in tqdm(paths))
        """,
}

"""A third collection of public scripts as minimal equivalents, made after every call had to be known for an all-clear.
At first sight: precision 0.96, recall 0.77, no false all-clear (four without that rule).

Names in CLEAR_3 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_3 = {
    "tokens_until_enough": "nanigpt.data.prepare (code search)",
    "gz_to_memmap": "OLMo, scripts/prepare_memmap_dataset.py",
    "text_of_ten_files": "jayralencar/portuguese-next-word-prediction-tensorflow, prepare_corpus.py",
    "corpus_of_a_tree": "ghostcow/tibetan_word2vec, scripts/concat_corpus.py",
    "pieces_of_files": "hiroto0227/WordBiLSTMCRF, large_corpus/make_Chemdner.py",
    "two_texts_by_line": "zhihaoZhou/747commonsense, pretrain_data/prepare_data.py",
    "lines_twice": "a prepare_text for data/dali (code search)",
    "random_split": "a random split of corpus_v3.txt (code search)",
    "stripped_readlines": "a split by Hojman and Martinez (code search)",
    "skipped_by_pattern": "a split of shkspr.txt (code search)",
    "speeches": "Gatmatz/Greek-Parliament-Search-Engine, preprocess/processor.py",
    "columns_cleaned": "WillBerrisford/Toxic_Speech_Spot, TextProcessing/cleaning.py",
    "csv_to_list": "a load_data_from_csv (code search)",
    "loader_elsewhere": "a run_preprocessing with src.utils (code search)",
    "hash_per_line": "codevscolor/codevscolor, python/remove_duplicate_lines.py",
    "line_per_line": "zenpp/HearthStoneDeckRecommender, remove_duplicate.py",
    "digest_per_line": "a near-duplicate filter by blake2b (code search)",
    "readlines_then_set": "a deduplicator with --quiet (code search)",
    "few_articles": "Tigerye/DrTiger, extract_paragraph.py",
    "pages_of_a_dump": "a Wikipedia dump to JSONL by iterparse (code search)",
    "pages_by_mwxml": "an extract-dump.py with mwxml (code search)",
    "table_to_lines": "robin-lai/mayfair, algo_rec/utils/io.py",
    "parquets_to_jsonl": "huawei-noah/noah-research, VersatileFFN/utils/parquet2jsonl.py",
    "arrow_shards": "a convert_to_arrow (code search)",
    "batches_of_records": "a get_text of parquet files (code search)",
    "parquet_source": "a ParquetSource of thirdai (code search)",
    "spm_of_a_file": "meet-ai/tinytransformer, scripts/train_en_tokenizer.py",
    "spm_by_flags": "a tokenizer of data/train_subset.txt (code search)",
    "spm_of_an_iterator": "a tokenizer of modern English (code search)",
    "alpaca_rows": "manningwu07/transformer, dataExtraction/prep_alpaca.py",
    "alpaca_by_index": "Om-Alve/Amadeus, dataset/sft_dataset_to_jsonl.py",
    "chats_kept": "voidful/awesome-chatgpt-dataset, mixed/dataset/alpaca_auto_cot.py",
    "alpaca_of_lines": "a to_alpaca (code search)",
    "json_to_jsonl": "a convert_to_jsonl (code search)",
    "sharegpt": "FastChat, fastchat/data/convert_alpaca.py",
    "vicuna_by_helper": "a chatllms convert_alpaca (code search)",
    "records_of_a_dataset": "a build_question with convert_records (code search)",
}

CLEAR_3 = {
    "tokens_until_enough", "gz_to_memmap", "random_split", "arrow_shards", "batches_of_records", "alpaca_rows",
    "alpaca_by_index",
}  # fmt: skip

FRESH_SCRIPTS_3 = {
    "tokens_until_enough": """
        def tokenize_stream(dataset_iter, encoder, num_tokens):
            tokens = []
            for doc in dataset_iter:
                tokens.extend(encoder.encode_ordinary(doc['text']))
                if len(tokens) >= num_tokens:
                    break
            return np.array(tokens[:num_tokens], dtype=np.uint16)
        """,
    "gz_to_memmap": """
        import gzip
        import json
        import numpy as np
        def tokenize_file(tokenizer, path):
            with gzip.open(path, 'rt', encoding='utf-8') as input_stream:
                for line in input_stream:
                    row = json.loads(line)
                    yield tokenizer.encode(row['text'], add_special_tokens=True)
        def fill_memmap(tokenizer, path, out_path, size):
            memmap = np.memmap(out_path, mode='w+', dtype=np.uint16, shape=(size,))
            at = 0
            for ids in tokenize_file(tokenizer, path):
                memmap[at:at + len(ids)] = ids
                at += len(ids)
            memmap.flush()
        """,
    "text_of_ten_files": """
        from os import listdir
        from os.path import isfile, join
        dataset_path = './corpora/pt/data'
        onlyfiles = [f for f in listdir(dataset_path) if isfile(join(dataset_path, f))]
        training_text = ''
        for file_ in onlyfiles[:10]:
            training_text += open(dataset_path + '/' + file_).read()  # HOLDS
        training_corpus = open('./training_corpus.txt', 'w')
        training_corpus.write(training_text)
        """,
    "corpus_of_a_tree": """
        corpus = ''
        for root, _, files in os.walk('data/clean'):
            for textfile in files:
                with open(os.path.join(root, textfile)) as f:
                    corpus += ' '
                    corpus += f.read()  # HOLDS
        with open('data/corpus.txt', 'w') as f:
            f.write(corpus)
        """,
    "pieces_of_files": """
        def make_file(dirpath, outpath):
            texts = []
            fileids = [name.replace('.txt', '') for name in os.listdir(dirpath) if name.endswith('.txt')]
            for fileid in tqdm(fileids):
                with open(os.path.join(dirpath, fileid + '.txt'), 'rt') as f:
                    text = f.read()
                texts.extend(re.split('(\\n)', text))  # HOLDS
                with open(outpath, 'at') as f:
                    for text in tqdm(texts):
                        f.writelines([text + '\\n'])
        """,
    "two_texts_by_line": """
        train_raw_str = ''
        dev_raw_str = ''
        for f_name in f_list:
            with open(f_name) as f_tmp:
                for line in f_tmp:
                    train_raw_str += line[:int(len(line) * 0.9)]  # HOLDS
                    dev_raw_str += line[int(len(line) * 0.9):]  # HOLDS
        with open('lm.train', 'w') as f:
            f.write(train_raw_str)
        """,
    "lines_twice": """
        def prepare_text():
            with open(os.path.join('data/dali/valid.txt'), 'r') as f:
                lines = f.readlines()  # HOLDS
                lines = [line.split('\\n')[0] for line in lines if len(line) > 0]  # HOLDS
            with open('data/valid.txt', 'w') as f:
                for line in lines:
                    f.write(line)
        """,
    "random_split": """
        import random
        with open('train.txt', 'w') as train_f:
            with open('valid.txt', 'w') as valid_f:
                with open('corpus_v3.txt', 'r') as input_f:
                    for line in input_f:
                        if line:
                            if random.uniform(0, 1) > 0.9:
                                valid_f.write(line)
                            else:
                                train_f.write(line)
        """,
    "stripped_readlines": """
        def split(filename):
            corpus = []
            with open(filename, 'r') as file:
                corpus = [line.strip() for line in file.readlines()]  # HOLDS
            trainc = corpus[:int(len(corpus) * 0.8)]
            with open(filename + '.train', 'w') as train_output:
                for line in trainc:
                    train_output.write('%s\\n' % line)
        """,
    "skipped_by_pattern": """
        handler = open('shkspr.txt', 'r')
        text_corpus = list()
        for line in handler:
            if re.match(pattern=pattern, string=line):
                continue
            else:
                text_corpus.append(line)  # HOLDS
        train_dataset = text_corpus[:int(len(text_corpus) * 0.8)]
        """,
    "speeches": """
        import pandas as pd
        from preprocess.preprocessing import preprocess_text
        dataset = pd.read_csv(dataset_path)  # HOLDS
        dataset['speech'] = dataset['speech'].apply(preprocess_text)
        dataset.dropna(subset=['speech', 'member_name'], inplace=True)
        dataset.to_csv(processed_path, index=False)
        """,
    "columns_cleaned": """
        train = pd.read_csv(train_path)  # HOLDS
        test = pd.read_csv(test_path)  # HOLDS
        def clean(df, file_path):
            df['comment_text'] = df['comment_text'].apply(lambda up: up.upper())
            df.to_csv(file_path)
        clean(train, train_path)
        clean(test, test_path)
        """,
    "csv_to_list": """
        def load_data_from_csv(file_path):
            df = pd.read_csv(file_path)  # HOLDS
            return [preprocess(str(line)) for line in df['Data']]  # HOLDS
        data = load_data_from_csv('data.csv')
        """,
    "loader_elsewhere": """
        from pathlib import Path
        from src.utils import read_messages, preprocess_series
        def run_preprocessing():
            dataset = read_messages(DATA_PATH)
            dataset['clean_text'] = preprocess_series(dataset['text'])
            dataset.to_csv(OUTPUT_PATH, index=False)
        run_preprocessing()
        """,
    "hash_per_line": """
        import hashlib
        completed = set()
        output_file = open(output_file_path, 'w')
        for line in open(input_file_path, 'r'):
            value = hashlib.md5(line.rstrip().encode('utf-8')).hexdigest()
            if value not in completed:
                output_file.write(line)
                completed.add(value)
        output_file.close()
        """,
    "line_per_line": """
        lines_seen = set()
        outfile = open('out.txt', 'w')
        for line in open('in.txt', 'r'):
            if line not in lines_seen:
                outfile.write(line)
                lines_seen.add(line)  # HOLDS
        outfile.close()
        """,
    "digest_per_line": """
        seen = set()
        w = open(args.output, 'w', encoding='utf-8')
        with open(args.input, 'r', encoding='utf-8') as f:
            for line in f:
                h = hashlib.blake2b(line.strip().encode('utf-8'), digest_size=16).hexdigest()
                if h in seen:
                    continue
                seen.add(h)
                w.write(line)
        w.close()
        """,
    "readlines_then_set": """
        with open(inpath) as infile:
            lines = infile.readlines()  # HOLDS
        seen = set()
        with open(outpath, 'w') as out:
            for line in lines:
                if line not in seen:
                    seen.add(line)  # HOLDS
                    out.write(line)
        """,
    "few_articles": """
        from gensim import utils
        import json
        output = open('wiki.en.para.txt', 'w', encoding='utf8')
        with utils.smart_open('enwiki.json.gz', 'rb') as f:
            numart = 0
            for line in f:
                numart = numart + 1
                article = json.loads(line)
                for section_text in article['section_texts']:
                    output.write(section_text)
                if numart > 2:
                    break
        output.close()
        """,
    "pages_of_a_dump": """
        import xml.etree.ElementTree as ET
        import json
        def parse_wiki_dump(dump_path, output_jsonl_path):
            with open(output_jsonl_path, 'w', encoding='utf-8') as out_file:
                context = ET.iterparse(dump_path, events=('end',))
                for event, elem in context:
                    if elem.tag.endswith('page'):
                        title = elem.findtext('./title')
                        text = elem.findtext('./revision/text')
                        out_file.write(json.dumps({'title': title, 'text': text}) + '\\n')
                        elem.clear()
        """,
    "pages_by_mwxml": """
        import mwxml
        def load_dump(dump_file):
            with bz2.open(dump_file) as bzf:
                dump = mwxml.Dump.from_file(bzf)
                for page in dump:
                    if page.namespace == 0:
                        for revision in page:
                            yield {'title': page.title, 'text': revision.text}
        with gzip.open(out, 'wt') as f:
            for article in load_dump(path):
                f.write(json.dumps(article) + '\\n')
        """,
    "table_to_lines": """
        def convert_parquet2txt(raw_file, out_file):
            from pyarrow import parquet
            lines_t = parquet.read_table(raw_file).to_pylist()  # HOLDS
            f = open(out_file, 'w')
            for d in lines_t:
                line = ' '.join(str(d[x]) for x in d.keys())
                f.write(line + '\\n')
            f.close()
        """,
    "parquets_to_jsonl": """
        def pq2jsonl(src, dst):
            df = pd.read_parquet(src)  # HOLDS
            df.to_json(dst, orient='records', lines=True, force_ascii=False)
        for pq_path in tqdm(sorted(in_root.rglob('*.parquet')), desc='parquet'):
            pq2jsonl(pq_path, out_root / pq_path.name)
        """,
    "arrow_shards": """
        import pyarrow as pa
        def convert_to_arrow(dataset, output_dir, max_rows, type='train'):
            content = []
            counter = 0
            for i, row in tqdm(enumerate(dataset[type])):
                content.append(row['text'])
                if i % max_rows == 0 and i != 0:
                    table = pa.Table.from_arrays([pa.array(content)], names=['text'])
                    with pa.output_stream(f'{output_dir}/{counter}.arrow') as stream:
                        pa.RecordBatchStreamWriter(stream, table.schema).write_table(table)
                    counter += 1
                    content = []
        """,
    "batches_of_records": """
        import pyarrow.parquet as pq
        from pathlib import Path
        def get_files(path):
            return [str(file) for file in Path(path).rglob('*.parquet')]
        def get_text(file_path, batch_size=2000):
            f = pq.ParquetFile(file_path, pre_buffer=True, buffer_size=8192)
            for batch in f.iter_batches(batch_size=batch_size, columns=['text', 'id']):
                records = batch.to_pylist()
                processed = [{'text': r['text'].replace('\\n', ' ')} for r in records]
                yield processed
        """,
    "parquet_source": """
        class ParquetSource(DataSource):
            def __init__(self, parquet_path, batch_size):
                import pyarrow.parquet as pq
                self._parquet_path = parquet_path
                self._parquet_table = pq.read_table(parquet_path)  # HOLDS
                self._batch_size = batch_size
        """,
    "spm_of_a_file": """
        import sentencepiece as spm
        spm.SentencePieceTrainer.train(  # HOLDS
            input='data/corpus_en.txt', model_prefix='tokenizer', vocab_size=20000, model_type='bpe')
        """,
    "spm_by_flags": """
        import sentencepiece
        CORPUS_FILE = 'data/train_subset.txt'
        if __name__ == '__main__':
            sentencepiece.SentencePieceTrainer.Train(  # HOLDS
                f'--input={CORPUS_FILE} '
                f'--model_prefix=tokenizer '
                '--model_type=bpe ')
        """,
    "spm_of_an_iterator": """
        import sentencepiece as spm
        spm.SentencePieceTrainer.Train(sentence_iterator=iter(src), vocab_size=100, model_prefix='en')  # HOLDS
        """,
    "alpaca_rows": """
        from datasets import load_dataset
        import json
        def main():
            ds = load_dataset('tatsu-lab/alpaca', split='train')
            with open('alpaca.jsonl', 'w', encoding='utf-8') as f:
                for ex in ds:
                    instruction = ex['instruction'].strip()
                    input_text = ex['input'].strip()
                    human = instruction + '\\n' + input_text if input_text else instruction
                    f.write(json.dumps({'human': human, 'bot': ex['output'].strip()}) + '\\n')
        main()
        """,
    "alpaca_by_index": """
        from datasets import load_dataset
        ds = load_dataset('yahma/alpaca-cleaned')['train']
        def get_row(i):
            return {'role': 'user', 'content': ds[i]['instruction'] + ds[i]['input']}
        with open('alpaca_cleaned.jsonl', 'w') as f:
            for i in range(len(ds)):
                f.write(f'{get_row(i)}\\n')
        """,
    "chats_kept": """
        import nlp2
        from datasets import load_dataset
        dataset = load_dataset('ssbuild/alpaca_auto_cot', split='train')
        chat_items = []
        for i in dataset:
            chat = [{'role': 'user', 'content': i['instruction']}, {'role': 'assistant', 'content': i['output']}]
            chat_items.append({'chat': chat})  # HOLDS
        nlp2.write_jsonl(chat_items, './chat.jsonl')
        """,
    "alpaca_of_lines": """
        def to_alpaca(src, dst):
            out = []
            for line in open(src, 'r', encoding='utf-8'):
                ex = json.loads(line)
                msgs = ex.get('messages', [])
                resp = ex.get('response', '').strip()
                if not msgs or not resp:
                    continue
                user = next((m['content'] for m in reversed(msgs) if m.get('role') == 'user'), '')
                if not user:
                    continue
                out.append({'instruction': user.strip(), 'input': '', 'output': resp})  # HOLDS
            dst.write_text(json.dumps(out))
        """,
    "json_to_jsonl": """
        def convert_to_jsonl(input):
            with open(input) as infile:
                data = json.load(infile)  # HOLDS
            with open(input + 'l', 'w') as outfile:
                for entry in data:
                    json.dump(entry, outfile)
                    outfile.write('\\n')
        """,
    "sharegpt": """
        content = json.load(open(args.in_file, 'r'))  # HOLDS
        new_content = []
        for i, c in enumerate(content):
            if len(c['input'].strip()) > 1:
                q, a = c['instruction'] + c['input'], c['output']
            else:
                q, a = c['instruction'], c['output']
            new_content.append({'id': f'alpaca_{i}', 'conversations': [q, a]})  # HOLDS
        json.dump(new_content, open(args.out_file, 'w'), indent=2)
        """,
    "vicuna_by_helper": """
        def json_load(in_file):
            with open(in_file, 'r') as f:
                json_data = json.load(f)  # HOLDS
            return json_data
        def convert_alpaca_vicuna(raw_data):
            collect_data = []
            for i, content in enumerate(raw_data):
                collect_data.append({'id': i, 'conversations': content['instruction']})  # HOLDS
            return collect_data
        new_data = convert_alpaca_vicuna(json_load(args.in_file))
        """,
    "records_of_a_dataset": """
        def convert_records():
            dataset = load_dataset('tatsu-lab/alpaca')['train']
            records = []
            for example in dataset:
                question = build_question(example['instruction'], example['input'])
                records.append({'question': question, 'answer': example['output']})  # HOLDS
            return records
        """,
}

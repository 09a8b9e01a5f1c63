"""An eighth collection of public scripts as minimal equivalents, made after the reader was changed for the seventh one;
the marks were written before the reader ran on them. At first sight: precision 0.97, recall 0.77, no false all-clear.

Names in CLEAR_8 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_8 = {
    "tweets_as_one_text": "kevinlira17/tweetchat, cleandata.py",
    "words_of_a_column": "neocortex/iot-tweets-analysis, text_processing.py",
    "column_stemmed": "sathvick/Information-Retrieval, preprocess.py",
    "cleaned_by_index": "a get_cleaned_tweets (code search)",
    "line_after_line": "a create_cleaned_file with get_line_count (code search)",
    "tweets_of_json_lines": "a tweet_processor.py (code search)",
    "fingerprints_seen": "AlexJamesDean/FiveM-Server-Crawler, dedupe.py",
    "pairs_seen_and_kept": "WintermuteEntertainment/Anthill, anthill-loom/dedupe_and_filter.py",
    "unique_by_minhash": "a dedup_minhash with datasketch (code search)",
    "categories_of_coco": "sudo-install-MW/project-object-detection, coco_parser/utils/category_writer.py",
    "boxes_of_images": "ninathe/GarbageFinder, Dataset/9.Nov/Annotationss.py",
    "txt_to_coco": "a txt2coco (code search)",
    "boxes_into_a_dict": "a convert of bounding boxes to COCO JSON (code search)",
    "sentences_of_a_corpus": "ikit-claw-nlp/llm, spm_train_tokenizer.py",
    "trainer_imported": "a SentencePieceTrainer of --corpus (code search)",
    "two_sides_by_index": "org1086/finding_nemo_mt, max_len_filter.py",
    "two_sides_zipped": "Tigerye/OpenNMT-py, toolkit/filter_long_tk.py",
    "four_million_lines": "purrfectgrape/wmt2021, scripts/prepare_bitext.py",
    "frame_filtered": "a paracrawl filter (code search)",
    "sides_to_list": "a file_to_list of a parallel corpus (code search)",
    "faiss_of_a_dataset": "bentrevett/lexisearch, create_index.py",
    "knowledge_base": "Swapnajoy/See-and-Tell, scripts/embed_kb.py",
    "texts_and_docs": "a scripts/build_index.py (code search)",
    "corpus_and_ids": "a load_corpus for faiss (code search)",
    "docs_of_a_generator": "an index of BAAI/bge-m3 (code search)",
    "log_matched_to_csv": "vinay-reddy/test1, policy_server.py",
    "groups_of_readlines": "gh0st-bust3r/logs, authlog_weaver.py",
    "ten_lines_of_a_log": "thecoons/ContestCGI, sept_2017/log_to_csv.py",
    "rows_that_match": "a parse_log_file with LOG_PATTERN (code search)",
    "log_to_frame": "a parse_log_file of fields (code search)",
}

CLEAR_8 = {"two_sides_zipped", "four_million_lines", "ten_lines_of_a_log"}

FRESH_SCRIPTS_8 = {
    "tweets_as_one_text": """
        import re
        import nltk
        f = open('input.txt', 'r', encoding='utf8')
        tweets = ''
        for line in f:
            line = ' '.join(re.sub('(@[A-Za-z0-9]+)', ' ', line).split())
            linetokens = nltk.word_tokenize(line)
            noStopwords = [token for token in linetokens if token not in stoplist]
            noStopwordsString = ' '.join(noStopwords)
            tweets += (noStopwordsString + '\\n')  # HOLDS
        f.close()
        p = open('cleanSmile.txt', 'w', encoding='utf8')
        p.write(tweets)
        p.close()
        """,
    "words_of_a_column": """
        import pandas as pd
        import re
        df = pd.read_csv('tweets.csv')  # HOLDS
        tweets_texts = df['text'].tolist()  # HOLDS
        def process_tweet_text(tweet):
            tweet = re.sub(r'x', '', tweet)
            return [i.lower() for i in tweet.split() if len(i) > 2]
        words = []
        for tw in tweets_texts:
            words += process_tweet_text(tw)  # HOLDS
        """,
    "column_stemmed": """
        import pandas as pd
        from nltk.stem.snowball import SnowballStemmer
        df = pd.read_csv('tweets/filtered_data.txt', sep='\\000')  # HOLDS
        df.columns = ['id', 'tweet']
        stemmer = SnowballStemmer('english')
        df['tweet'] = df['tweet'].apply(lambda x: ' '.join([stemmer.stem(y) for y in x.split(' ')]))
        df.to_csv('tweets/clean_tweets.csv', mode='w', index=False)
        """,
    "cleaned_by_index": """
        import readTweets
        def get_cleaned_tweets(tweets_data):
            cleaned = [None] * len(tweets_data)  # HOLDS
            for i in range(len(tweets_data)):
                cleaned[i] = readTweets.preprocess(tweets_data[i])
            return cleaned
        with open('train_pos.txt') as f:
            data = f.readlines()  # HOLDS
        result = get_cleaned_tweets(data)
        """,
    "line_after_line": """
        import re
        import nltk
        def process_text(text):
            tokens = []
            for sentence in nltk.sent_tokenize(text.lower()):
                tokens.extend(nltk.word_tokenize(sentence))
            return ' '.join(tokens)
        def create_cleaned_file(input_file, output_file):
            with open(input_file) as read_file:
                with open(output_file, 'w') as write_file:
                    line = read_file.readline()
                    while line:
                        write_file.write(process_text(line) + '\\n')
                        line = read_file.readline()
        """,
    "tweets_of_json_lines": """
        import json
        def load_tweets(filename):
            tweets = []
            with open(filename) as f:
                for line in f:
                    tweet = json.loads(line)
                    tweets.append(tweet['text'])  # HOLDS
            return tweets
        def process_tweets(tweets, stop):
            return [process_tweet(tweet, stop) for tweet in tweets]  # HOLDS
        out = process_tweets(load_tweets('tweets.json'), set())
        """,
    "fingerprints_seen": """
        import json
        import hashlib
        from tqdm import tqdm
        def hash_entry(entry):
            key = (entry.get('prompt', '') + entry.get('completion', '')).strip().lower()
            return hashlib.sha1(key.encode('utf-8')).hexdigest()
        def main():
            seen = set()
            kept = 0
            with open('in.jsonl', 'r') as infile, open('out.jsonl', 'w') as outfile:
                for line in tqdm(infile, desc='Deduplicating dataset'):
                    entry = json.loads(line)
                    fingerprint = hash_entry(entry)
                    if fingerprint in seen:
                        continue
                    seen.add(fingerprint)
                    json.dump(entry, outfile, ensure_ascii=False)
                    outfile.write('\\n')
                    kept += 1
        main()
        """,
    "pairs_seen_and_kept": """
        import json
        import sys
        from pathlib import Path
        inp = Path(sys.argv[1])
        out = Path(sys.argv[2])
        seen = set()
        kept = []
        for line in inp.read_text(encoding='utf-8').splitlines():  # HOLDS
            obj = json.loads(line)
            key = (obj['prompt'], obj['completion'])
            if key in seen:
                continue
            if len(obj['prompt']) < 5 or len(obj['completion']) < 5:
                continue
            seen.add(key)  # HOLDS
            kept.append(obj)  # HOLDS
        with out.open('w', encoding='utf-8') as f:
            for k in kept:
                f.write(json.dumps(k, ensure_ascii=False) + '\\n')
        """,
    "unique_by_minhash": """
        import json
        from datasketch import MinHash, MinHashLSH
        def dedup_minhash(in_path, out_path, threshold=0.9):
            uniq = []
            lsh = MinHashLSH(threshold=threshold, num_perm=64)
            with open(in_path, 'r', encoding='utf-8') as f:
                for i, line in enumerate(f):
                    try:
                        obj = json.loads(line)
                    except Exception:
                        continue
                    text = obj.get('clean') or ''
                    m = MinHash(num_perm=64)
                    if not lsh.query(m):
                        lsh.insert(str(i), m)
                        uniq.append(obj)  # HOLDS
            with open(out_path, 'w') as w:
                for o in uniq:
                    w.write(json.dumps(o) + '\\n')
        """,
    "categories_of_coco": """
        import json
        anno_path = '/data/annotations/instances_val2017.json'
        with open(anno_path) as annotations:
            annotations = annotations.read()  # HOLDS
            annotation_dict = json.loads(annotations)  # HOLDS
            with open('./categories.txt', 'w') as f:
                for entries in annotation_dict['categories']:
                    f.write('image id : {} '.format(entries['id']))
        """,
    "boxes_of_images": """
        import json
        file = open('annotations.txt', 'w')
        annotation_num = 0
        with open('annotations.json') as f:
            data = json.load(f)  # HOLDS
        for image in data['images']:
            file.write(image['file_name'] + ' ')
            for annotation in data['annotations']:
                if image['id'] == annotation['image_id']:
                    annotation_num += 1
                    bbox = annotation['bbox']
                    file.write('%s,%s' % (bbox[0], bbox[3]))
        file.close()
        """,
    "txt_to_coco": """
        import json
        import os
        import cv2
        def txt2coco(img_path, ann_path, res):
            with open(ann_path, 'r') as f:
                lines = f.readlines()  # HOLDS
                img_count = 1
                for line in lines:
                    line = line.strip()
                    img_name = line.split(' ')[0]
                    label = line.split(' ')[1:]
                    if len(label) == 0:
                        continue
                    img = cv2.imread(os.path.join(img_path, img_name))
                    h, w = img.shape[:2]
                    imginfo = {'file_name': img_name, 'height': h, 'id': img_count}
                    res['images'].append(imginfo)  # HOLDS
                    img_count += 1
        res = {'images': [], 'annotations': []}
        txt2coco('img', 'ann.txt', res)
        json.dump(res, open('out.json', 'w'))
        """,
    "boxes_into_a_dict": """
        import json
        def convert(input_txt_file, output_json_file):
            coco_dict = {}
            coco_dict['categories'] = [{'id': 1, 'name': 'person'}]
            coco_dict['annotations'] = []
            with open(input_txt_file, 'r') as filestream:
                annotation_id = 0
                for line in filestream:
                    currentline = line.split(',')
                    box = [float(x) for x in currentline[2:6]]
                    coco_dict['annotations'].append({'id': annotation_id, 'bbox': box})  # HOLDS
                    annotation_id += 1
            with open(output_json_file, 'w') as f:
                json.dump(coco_dict, f)
        """,
    "sentences_of_a_corpus": """
        import sentencepiece as spm
        if __name__ == '__main__':
            spm.SentencePieceTrainer.train(  # HOLDS
                input='data/full_text/sentence_tokenized_corpus.corpus', model_prefix='ikit_spm', vocab_size=50000)
        """,
    "trainer_imported": """
        from sentencepiece import SentencePieceTrainer
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument('--corpus', type=str)
        args = parser.parse_args()
        SentencePieceTrainer.train(input=args.corpus, model_prefix='m', vocab_size=8192, model_type='bpe')  # HOLDS
        """,
    "two_sides_by_index": """
        file_src = open('data/train.km', 'r')
        lines_src = file_src.readlines()  # HOLDS
        file_src.close()
        file_tgt = open('data/train.en', 'r')
        lines_tgt = file_tgt.readlines()  # HOLDS
        file_tgt.close()
        length = len(lines_src)
        f_src_out = open('src.norm', 'w')
        for i in range(length):
            src = lines_src[i]
            tgt = lines_tgt[i]
            if len(src) > 512 or len(tgt) > 512:
                continue
            f_src_out.write(src)
        f_src_out.close()
        """,
    "two_sides_zipped": """
        with open('in.zh') as i_zh, open('in.en') as i_en, open('o.zh', 'w') as o_zh, open('o.en', 'w') as o_en:
            for row_zh, row_en in zip(i_zh, i_en):
                zh_toks = row_zh.split()
                if len(zh_toks) > 200:
                    continue
                o_zh.write(row_zh.strip() + '\\n')
                o_en.write(row_en.strip() + '\\n')
        """,
    "four_million_lines": """
        nl = 0
        with open('sample.en', 'rt', encoding='utf8') as file_en:
            with open('sample.ja', 'rt', encoding='utf8') as file_ja:
                with open('sample.bitext', 'wt') as out:
                    while nl < 4000000:
                        line_en = file_en.readline()
                        line_ja = file_ja.readline()
                        out.write(line_en.strip() + ' ||| ' + line_ja.strip() + '\\n')
                        nl += 1
        """,
    "frame_filtered": """
        import json
        import pandas as pd
        df = pd.read_csv('../data/parallel_corpus_plus_hash.csv.bz2')  # HOLDS
        df['sum_ppl'] = df['orig_ppl'] + df['trans_ppl']
        df_filtered = df[(df['labse_distance'] > 0.91) & (df['sum_ppl'] < 3.33)]
        with open('/tmp/paracrawl_filtered.jsonlines', 'w') as fp_out:
            for index, row in df_filtered.iterrows():
                fp_out.write(json.dumps({'text': row['orig']}) + '\\n')
        """,
    "sides_to_list": """
        def file_to_list(filepath1, filepath2):
            with open(filepath1) as f1, open(filepath2) as f2:
                file1_lines = f1.readlines()  # HOLDS
                file2_lines = f2.readlines()  # HOLDS
                zipped = list(zip(file1_lines, file2_lines))  # HOLDS
                return zipped
        """,
    "faiss_of_a_dataset": """
        import sentence_transformers
        import datasets
        import faiss
        def get_embeddings(batch, model):
            return {'embeddings': model.encode(batch['text'])}
        model = sentence_transformers.SentenceTransformer('x', device='cuda')
        dataset = datasets.load_dataset('json', data_files=['dataset.jsonl'], split='train')
        dataset = dataset.map(get_embeddings, batched=True, fn_kwargs={'model': model})
        dataset.add_faiss_index('embeddings', metric_type=faiss.METRIC_INNER_PRODUCT)
        dataset.save_faiss_index('embeddings', 'index.faiss')
        """,
    "knowledge_base": """
        import json
        from sentence_transformers import SentenceTransformer
        import faiss
        with open('data/knowledge_base/wiki_entries.jsonl', 'r', encoding='utf-8') as f:
            entries = [json.loads(line) for line in f]  # HOLDS
        content = []
        for entry in entries:
            content.append(entry['content'])  # HOLDS
        model = SentenceTransformer('sentence-transformers/all-MiniLM-L6-v2')
        embeddings = model.encode(content, batch_size=32, show_progress_bar=True)  # HOLDS
        index = faiss.IndexFlatL2(embeddings.shape[1])
        index.add(embeddings)
        faiss.write_index(index, 'retriever/faiss_index.bin')
        """,
    "texts_and_docs": """
        import argparse, json
        from sentence_transformers import SentenceTransformer
        model = SentenceTransformer(args.model)
        texts = []
        docs = []
        with open(args.inp, 'r', encoding='utf-8') as f:
            for line in f:
                rec = json.loads(line)
                texts.append(rec.get('text', ''))  # HOLDS
                docs.append(rec)  # HOLDS
        embs = model.encode(texts, show_progress_bar=True, convert_to_numpy=True)  # HOLDS
        """,
    "corpus_and_ids": """
        import os
        import json
        import numpy as np
        def load_corpus(path):
            corpus = []
            ids = []
            with open(path, 'r', encoding='utf-8') as f:
                for line in f:
                    obj = json.loads(line)
                    corpus.append(obj['text'])  # HOLDS
                    ids.append(obj['id'])  # HOLDS
            return corpus, ids
        corpus, ids = load_corpus('corpus.jsonl')
        embeddings = model.encode(corpus)  # HOLDS
        np.save('doc_embeddings.npy', embeddings)
        """,
    "docs_of_a_generator": """
        import argparse, json, os
        def read_jsonl(p):
            with open(p, 'r', encoding='utf-8') as f:
                for line in f:
                    line = line.strip()
                    if line:
                        yield json.loads(line)
        def main(args):
            docs = list(read_jsonl(args.corpus))  # HOLDS
            texts = []
            for d in docs:
                texts.append(d.get('title', '') + d['text'])  # HOLDS
        """,
    "log_matched_to_csv": """
        import re, csv
        import pandas as pd
        regex_obj = re.compile(r'x')
        fileh = open('policy.csv', 'w+')
        csvoutput = csv.writer(fileh)
        with open('policy-server.log.0', 'r') as fh_read:
            for line in fh_read:
                mo = regex_obj.search(line)
                if mo is not None:
                    csvoutput.writerow(mo.groups())
        fileh.close()
        df = pd.read_csv('policy.csv', header=None)  # HOLDS
        print(df)
        """,
    "groups_of_readlines": """
        import pandas as pd
        import re
        r = re.compile('x')
        extracted = []
        with open('super_auth.log', 'r') as f:
            for line in f.readlines():  # HOLDS
                extracted.append(r.search(line).groups())  # HOLDS
        df = pd.DataFrame(extracted, columns=['time', 'host'])
        print(df.info())
        """,
    "ten_lines_of_a_log": """
        import re
        fo = open('/data/20040227.log', 'r')
        for count in range(10):
            line = fo.readline()
            match = re.search(r'x', line)
            if match:
                print(match.group(1))
        """,
    "rows_that_match": """
        import pandas as pd
        import re
        LOG_PATTERN = re.compile(r'x')
        def parse_log_file(path):
            rows = []
            with open(path, 'r', encoding='utf-8') as f:
                for line in f:
                    m = LOG_PATTERN.match(line)
                    if m:
                        d = m.groupdict()
                        rows.append(d)  # HOLDS
            return pd.DataFrame(rows)
        """,
    "log_to_frame": """
        import pandas as pd
        def parse_log_line(log_line):
            fields = log_line.split(',')
            return {'timestamp': fields[0].strip(), 'message': fields[4].strip()}
        def parse_log_file(file_name):
            f = open(file_name, 'r')
            log_lines = f.readlines()  # HOLDS
            f.close()
            log_dicts = [parse_log_line(log_line) for log_line in log_lines]  # HOLDS
            return pd.DataFrame(log_dicts)
        """,
}

"""A tenth collection of public scripts as minimal equivalents, made after the reader was changed for the ninth one;
the marks were written before the reader ran on them. At first sight: precision 0.81, recall 0.48 (no library of biology
and no document database was known), no false all-clear. Three marks
were changed: a length that passes, lines of one file at a time as marked elsewhere, and a script that holds nothing.

Names in CLEAR_10 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_10 = {
    "vectors_of_readlines": "Nandan-M-Hegde/Machine-Comprehension, word2vec.py",
    "vectors_listed": "miachenberkeley/Bi2VC, Word_embedding/word_embedding_glove.py",
    "vectors_in_a_dict": "push-gmail/CODSOFT_TASK_03, caption_generator.py",
    "vectors_of_fifty": "entradajuan/Embeddings, GloVe.py",
    "vectors_of_an_object": "a Glove class (code search)",
    "vectors_of_known_words": "a load_glove of a word index (code search)",
    "vectors_by_path": "a load_glove_vectors (code search)",
    "discord_replies": "a Discord export to a dataset (code search)",
    "contents_of_repositories": "thanhnew2001/taipysamplecode, scanrepo.py",
    "five_files_at_most": "wibhim/TransformedProgSpec, test_github_token.py",
    "code_of_a_tree": "a read_code_files (code search)",
    "records_of_fasta": "li-il-li/rl-enzyme-engineering, load-enzymes-from-fasta.py",
    "fasta_by_length": "hgrandjean/Anti-Fungi-Peptide, select_1.py",
    "fasta_to_dict": "aldogp14/python-class, src/e2.py",
    "kmers_of_records": "a cal_kmers (code search)",
    "fasta_listed": "a parse_fasta (code search)",
    "collection_to_csv": "kmnvz-mayvez/appbg, _script/get_mongodb_plates.py",
    "table_dumped": "JherezTaylor/Datamining-Reddit, sqltojson.py",
    "documents_to_frame": "a mongodb2csv (code search)",
    "collection_listed": "a download of a MongoDB collection (code search)",
    "json_merged_by_line": "a merge of json files by NVIDIA (code search)",
    "transcripts_by_readlines": "a build_manifest of LibriSpeech subsets (code search)",
    "libri_transcripts": "a LibriDataset (code search)",
    "squad_of_normalized_frames": "a preprocess_squad (code search)",
    "questions_by_id": "a dump of SQuAD by id (code search)",
    "memory_reduced": "aorursy/new-nb-6, pyy0715_data-read-in-2minute.py",
}

CLEAR_10 = {"json_merged_by_line"}

FRESH_SCRIPTS_10 = {
    "vectors_of_readlines": """
        import numpy as np
        def loadGloveModel(gloveFile):
            with open(gloveFile, encoding='utf8') as f:
                content = f.readlines()  # HOLDS
            model = {}
            for line in content:
                splitLine = line.split()
                word = splitLine[0]
                embedding = np.array([float(val) for val in splitLine[1:]])
                model[word] = embedding  # HOLDS
            return model
        model = loadGloveModel('glove.6B.50d.txt')
        """,
    "vectors_listed": """
        import numpy as np
        embeddings_index = {}
        embeddings_vectors = []
        f = open('glove.6B.100d.txt', 'rb')
        word_idx = 0
        for line in f:
            values = line.decode('utf-8').split()
            word = values[0]
            vector = np.asarray(values[1:], dtype='float32')
            embeddings_index[word] = word_idx
            embeddings_vectors.append(vector)  # HOLDS
            word_idx = word_idx + 1
        f.close()
        """,
    "vectors_in_a_dict": """
        import numpy as np
        embeddings_index = dict()
        fid = open('glove.6B.50d.txt', encoding='utf8')
        for line in fid:
            values = line.split()
            word = values[0]
            coefs = np.asarray(values[1:], dtype='float32')
            embeddings_index[word] = coefs  # HOLDS
        fid.close()
        """,
    "vectors_of_fifty": """
        import numpy as np
        dict_w2v = {}
        with open('glove.6B.50d.txt', 'r') as file:
            for line in file:
                tokens = line.split()
                word = tokens[0]
                vector = np.array(tokens[1:], dtype=np.float32)
                if vector.shape[0] == 50:
                    dict_w2v[word] = vector  # HOLDS
                else:
                    print('There was an issue with ' + word)
        """,
    "vectors_of_an_object": """
        import numpy as np
        class Glove():
            def __init__(self, path_to_glove_file):
                self.wv = {}
                with open(path_to_glove_file) as f:
                    for line in f:
                        word, coefs = line.split(maxsplit=1)
                        coefs = np.fromstring(coefs, 'f', sep=' ')
                        self.wv[word] = coefs  # HOLDS
                self.size = len(next(iter(self.wv.values())))
        """,
    "vectors_of_known_words": """
        import numpy as np
        def load_glove(fname, word_index, glove_dimension):
            with open(fname, encoding='utf8') as f:
                data = np.zeros((len(word_index) + 1, glove_dimension))
                for line in f:
                    word, *vector = line.split()
                    if word in word_index:
                        data[word_index[word]] = np.array(vector, dtype=np.float32)
                return data
        """,
    "vectors_by_path": """
        from pathlib import Path
        import numpy as np
        def load_glove_vectors(glove_path):
            vectors = {}
            with Path(glove_path).open('r', encoding='utf-8') as handle:
                for line in handle:
                    values = line.strip().split()
                    word = values[0]
                    vectors[word] = np.asarray(values[1:], dtype='float32')  # HOLDS
            return vectors
        """,
    "discord_replies": """
        import json
        with open('chat.json', 'r', encoding='utf-8') as f:
            data = json.load(f)['messages']  # HOLDS
        id_map = {msg['id']: msg for msg in data}  # HOLDS
        dataset = []
        for msg in data:
            if msg['author']['name'] == 'friend' and msg['type'] == 'Reply':
                original = id_map[msg['reference']['messageId']]
                prompt = f"User: {original['content']}"
                dataset.append({'prompt': prompt, 'completion': msg['content']})
        with open('out.json', 'w') as f:
            json.dump(dataset, f)
        """,
    "contents_of_repositories": """
        import requests
        import json
        def get_file_content(repo, file_path):
            response = requests.get(f'https://api.example.org/{repo}/{file_path}')
            return response.json().get('content', '')
        def save_to_jsonl(contents, filename='output.jsonl'):
            with open(filename, 'w') as file:
                for content in contents:
                    file.write(json.dumps({'text': content}) + '\\n')
        file_contents = []
        for repo in search_repos('Taipy'):
            for file_path in list_files_in_repo(repo['full_name']):
                content = get_file_content(repo['full_name'], file_path)
                file_contents.append(content)  # HOLDS
        save_to_jsonl(file_contents)
        """,
    "five_files_at_most": """
        import json
        from github import Github
        MAX_FILES = 5
        repo = Github('x').get_repo('y')
        def get_python_files(repo, max_files=MAX_FILES):
            files = []
            contents = repo.get_contents('')
            while contents and len(files) < max_files:
                item = contents.pop(0)
                if item.path.endswith('.py'):
                    files.append(item)
            return files
        dataset = []
        for file in get_python_files(repo):
            content = file.decoded_content.decode()
            dataset.append({'file_path': file.path, 'code': content})
        with open('out.json', 'w', encoding='utf-8') as f:
            f.write(json.dumps(dataset))
        """,
    "code_of_a_tree": """
        import os
        import pandas as pd
        def read_code_files(repo_root, extensions=('.py', '.js')):
            code_files = []
            for repo_name in os.listdir(repo_root):
                repo_path = os.path.join(repo_root, repo_name)
                for root, _, files in os.walk(repo_path):
                    for file in files:
                        if file.lower().endswith(extensions):
                            full_path = os.path.join(root, file)
                            with open(full_path, 'r', encoding='utf-8') as f:
                                code = f.read()
                            code_files.append({'file_path': full_path, 'code': code})  # HOLDS
            return code_files
        pd.DataFrame(read_code_files('repos')).to_csv('code.csv')
        """,
    "records_of_fasta": """
        from Bio import SeqIO
        def read_fasta_file(file_path):
            sequences = []
            for seq_record in SeqIO.parse(file_path, 'fasta'):
                sequences.append(seq_record)  # HOLDS
            return sequences
        def read_partial_fasta_file(file_path, num_sequences):
            sequences = []
            for i, seq_record in enumerate(SeqIO.parse(file_path, 'fasta')):
                sequences.append(seq_record)
                if i + 1 >= num_sequences:
                    break
            return sequences
        """,
    "fasta_by_length": """
        from Bio import SeqIO
        multi_fasta = [record for record in SeqIO.parse('uniprot_neg_db.fasta', 'fasta')]  # HOLDS
        multi_fasta_size = []
        for fasta in multi_fasta:
            seq = fasta.seq
            if len(seq) in range(3, 19):
                multi_fasta_size.append(fasta)  # HOLDS
        SeqIO.write(multi_fasta_size, 'negative_db_size.fasta', 'fasta')
        """,
    "fasta_to_dict": """
        from Bio import SeqIO
        import re
        records = SeqIO.to_dict(SeqIO.parse('data/seq.nt.fa', 'fasta'))  # HOLDS
        for i in range(1, len(records) + 1):
            codones = re.findall(r'(.{3})', str(records[f'seq{i}'].seq))
            print(codones)
        """,
    "kmers_of_records": """
        from Bio import SeqIO
        def cal_kmers(s, k):
            count_kmers = {}
            for i in range(len(s) - k + 1):
                kmer = s[i:i + k]
                count_kmers[kmer] = count_kmers.get(kmer, 0) + 1
            return count_kmers
        kmers_list = []
        for record in SeqIO.parse('Files/accessible.fasta', 'fasta'):
            kmers_list.append(cal_kmers(record.seq, 2))  # HOLDS
        print('Found %i entries' % len(kmers_list))
        """,
    "fasta_listed": """
        from Bio import SeqIO
        def parse_fasta(file):
            return list(SeqIO.parse(file, 'fasta'))  # HOLDS
        def split_sequence(sequence, k):
            return [sequence[i:i + k] for i in range(len(sequence) - k + 1)]
        """,
    "collection_to_csv": """
        import pymongo
        import csv
        client = pymongo.MongoClient('mongodb://localhost:27017/')
        collection = client['appbg-user']['plates']
        data = collection.find()
        with open('data-plates.csv', mode='w', newline='') as file:
            writer = csv.writer(file)
            for d in data:
                writer.writerow([d['_id'], d['plate']])
        """,
    "table_dumped": """
        import sqlite3
        import json
        connection = sqlite3.connect('database.sqlite')
        cursor = connection.cursor()
        cursor.execute('select * from May2015')
        results = cursor.fetchall()  # HOLDS
        with open('database_dump.json', 'w+') as f:
            json.dump(results, f)
        connection.close()
        """,
    "documents_to_frame": """
        import json
        import pandas as pd
        def mongodb2json(mongodb, dropColumn='_id'):
            documents = mongodb.findAll().documents
            for doc in documents:
                doc.pop(dropColumn)
            with open('out.json', 'w', encoding='utf-8') as f_w:
                f_w.write(json.dumps(documents, ensure_ascii=False))
        """,
    "collection_listed": """
        import csv
        from pymongo import MongoClient
        collection = MongoClient()['test']['cases']
        documents = list(collection.find())  # HOLDS
        rows = [flatten(document) for document in documents]  # HOLDS
        with open('data.csv', 'w') as f:
            writer = csv.DictWriter(f, fieldnames=sorted(rows[0]))
            writer.writerows(rows)
        """,
    "json_merged_by_line": """
        import glob
        import json
        json_files = glob.glob('data/*.json')
        counter = 0
        with open('merged_output.json', 'w') as outfile:
            for fname in json_files:
                counter += 1
                with open(fname, 'r') as infile:
                    for row in infile:
                        each_row = json.loads(row)
                        outfile.write(row)
        """,
    "transcripts_by_readlines": """
        import os
        import json
        def build_manifest(subset_paths, subset):
            for subset_path in subset_paths:
                for root, dirs, files in os.walk(subset_path):
                    for file in files:
                        if file.endswith('.txt'):
                            with open(os.path.join(root, file), 'r') as fin:
                                with open('data/' + subset + '-manifest.json', 'a') as fout:
                                    for line in fin.readlines():  # HOLDS
                                        audio_id, transcript = line.split(' ', 1)
                                        json.dump({'text': transcript}, fout)
        """,
    "libri_transcripts": """
        import os
        class LibriDataset():
            def __init__(self, data_dir):
                self.transcripts = {}
                for r1 in os.listdir(data_dir):
                    for r2 in os.listdir(os.path.join(data_dir, r1)):
                        path = os.path.join(data_dir, r1, r2)
                        with open(path) as f:
                            for line in f:
                                utterance, text = line.split(' ', 1)
                                self.transcripts[utterance] = text  # HOLDS
        """,
    "squad_of_normalized_frames": """
        import json
        import pandas as pd
        def preprocess_squad(input_file):
            with open(input_file) as f:
                d = json.load(f)  # HOLDS
            df = pd.json_normalize(d, record_path='data')  # HOLDS
            paragraphs = []
            for i, row in enumerate(df['paragraphs']):
                df_row = pd.json_normalize(row)
                paragraphs += [df_row]  # HOLDS
            df = pd.concat(paragraphs)  # HOLDS
            return df
        """,
    "questions_by_id": """
        import json
        from tqdm import tqdm
        def main():
            with open('train-v1.1.json') as f:
                squad_dict = json.load(f)  # HOLDS
            dump_json = {}
            for doc in tqdm(squad_dict['data']):
                for paragraph in doc['paragraphs']:
                    context_text = paragraph['context']
                    for qa in paragraph['qas']:
                        qid = qa['id']
                        dump_json[qid] = {'question': qa['question'], 'context': context_text}  # HOLDS
            json.dump(dump_json, open('dump.json', 'w'))
        main()
        """,
    "memory_reduced": """
        import gc
        import numpy as np
        import pandas as pd
        def reduce_mem_usage(props):
            NAlist = []
            for col in props.columns:
                if props[col].dtype != object:
                    NAlist.append(col)
                    props[col] = props[col].astype(np.uint8)
            return props, NAlist
        train, _ = reduce_mem_usage(pd.read_csv('train.csv'))  # HOLDS
        train.to_pickle('train.pkl')
        """,
}

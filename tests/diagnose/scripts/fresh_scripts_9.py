"""A ninth collection of public scripts as minimal equivalents, made after the reader was changed for the eighth one;
the marks were written before the reader ran on them. At first sight: precision 1.00, recall 0.67, no false all-clear.
Three marks were changed: a download of a small example, a merge of tables that are held, a script that holds nothing.

Names in CLEAR_9 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_9 = {
    "characters_of_a_text": "berkealgul/ToyGPT, ToyGPT/main.py",
    "characters_by_functions": "dataxquare/os-transformer, transformer/dataset.py",
    "shakespeare_of_requests": "a custom_char_text prepare (code search)",
    "squad_in_three_lists": "info-ruc/nlp23projects, songyongzhong/src/scripts/Data_preprocessing.py",
    "squad_flattened": "kaedx29/tesqa, converter_dataset.py",
    "squad_yielded": "oaqa/FlexNeuART, scripts/data_convert/open_squad/convert_squad_queries.py",
    "squad_of_a_frame": "a process_squad (code search)",
    "squad_in_an_object": "a SquadProcessor (code search)",
    "squad_by_number": "a squad_parse (code search)",
    "json_of_a_glob": "chrisalleng/listfortress-ripper, combiner.py",
    "dict_updated": "XanderG2/valheim-stats, combine.py",
    "dict_of_results": "uoft-tidel/tsp-sd, analysis/parsed_merge.py",
    "records_of_each_file": "AgentOxygen/smart-city-hackathon, sorted_datapairs/combine.py",
    "programs_merged": "a merge of programs (code search)",
    "trees_of_json": "a collect_json_files (code search)",
    "chunks_made_smaller": "PLSE-Lab/Python-MLAPI-expl, python_sources/50-less-memory-usage.py",
    "tables_merged": "a merge of credit tables (code search)",
    "manifest_of_csv": "a manifest for librosa (code search)",
    "manifest_of_a_tree": "a build_manifest of a diarization (code search)",
    "manifest_by_line": "a build_manifest of an4 (code search)",
    "words_of_stdin": "pnugues/ilppp, programs/ch05/python/count.py",
    "words_by_stream": "RumbleDB/bigdata-exercises, exercise07-aarch64/wordcount.py",
    "ngrams_of_stdin": "pnugues/ilppp, programs/ch05/python/count_ngrams.py",
    "lines_of_stdin_counted": "a text2wfreq (code search)",
    "counter_updated": "a count-vocab.py (code search)",
    "frequencies_by_fileinput": "a sorted word frequency table (code search)",
    "vocab_of_two_files": "a pickle_vocab of counts (code search)",
}

CLEAR_9 = {"manifest_by_line"}  # in the others is a dict of words, or a call that is not known

FRESH_SCRIPTS_9 = {
    "characters_of_a_text": """
        import torch
        with open('text.txt', 'r', encoding='utf-8') as f:
            text = f.read()  # HOLDS
        chars = sorted(list(set(text)))
        stoi = {ch: i for i, ch in enumerate(chars)}
        encode = lambda s: [stoi[c] for c in s]
        data = torch.tensor(encode(text), dtype=torch.long)  # HOLDS
        n = int(0.9 * len(data))
        train_data = data[:n]
        """,
    "characters_by_functions": """
        import torch
        import os
        file_path = os.path.dirname(os.path.abspath(__file__))
        with open(file_path + '/data/input.txt', 'r', encoding='utf-8') as f:
            text = f.read()  # HOLDS
        chars = sorted(list(set(text)))
        stoi = {ch: i for i, ch in enumerate(chars)}
        def encode(s): return [stoi[c] for c in s]  # HOLDS
        data = torch.tensor(encode(text), dtype=torch.long)  # HOLDS
        """,
    "shakespeare_of_requests": """
        import os
        import requests
        import numpy as np
        def prepare(dataset_url, input_file_path):
            if not os.path.exists(input_file_path):
                data = requests.get(dataset_url).text
                with open(input_file_path, 'w', encoding='utf-8') as f:
                    f.write(data)
            with open(input_file_path, 'r', encoding='utf-8') as f:
                data = f.read()  # HOLDS
            chars = sorted(list(set(data)))
            stoi = {ch: i for i, ch in enumerate(chars)}
            ids = [stoi[c] for c in data]  # HOLDS
            arr = np.array(ids, dtype=np.uint16)  # HOLDS
            arr.tofile('train.bin')
        """,
    "squad_in_three_lists": """
        import json
        def read_squad(path):
            with open(path, 'rb') as f:
                squad_dict = json.load(f)  # HOLDS
            contexts = []
            questions = []
            for group in squad_dict['data']:
                for passage in group['paragraphs']:
                    context = passage['context']
                    for qa in passage['qas']:
                        question = qa['question']
                        for answer in qa['answers']:
                            contexts.append(context)  # HOLDS
                            questions.append(question)  # HOLDS
            return contexts, questions
        train_contexts, train_questions = read_squad('dataset/train-v2.0.json')
        """,
    "squad_flattened": """
        import json
        with open('train-SQuAD-id.json') as f:
            content = json.load(f)  # HOLDS
        hf_data = []
        for data in content['data']:
            title = data['title']
            for paragraph in data['paragraphs']:
                context = paragraph['context']
                for qa in paragraph['qas']:
                    fill = {'id': qa['id'], 'title': title, 'context': context, 'answers': {'text': []}}
                    for answer in qa['answers']:
                        fill['answers']['text'].append(answer['text'])
                    hf_data.append(fill)  # HOLDS
        with open('train-SQuAD-clean.json', 'w') as f:
            json.dump({'data': hf_data}, f)
        """,
    "squad_yielded": """
        import sys
        import json
        from data_convert.convert_common_qa import *
        def readingFunctionSquad(input):
            root = json.load(open(input))  # HOLDS
            for page in root['data']:
                for para in page['paragraphs']:
                    for qinfo in para['qas']:
                        answerList = [e['text'] for e in qinfo['answers']]
                        yield qinfo['id'], qinfo['question'], answerList
        convertAndSaveQueries(readingFunctionSquad)
        """,
    "squad_of_a_frame": """
        import pandas as pd
        def process_squad(file):
            data = pd.read_json(file)  # HOLDS
            contexts = []
            questions = []
            for i in range(data.shape[0]):
                topic = data.iloc[i, 0]['paragraphs']
                for sub_para in topic:
                    for q_a in sub_para['qas']:
                        questions.append(q_a['question'])  # HOLDS
                        contexts.append(sub_para['context'])  # HOLDS
            df = pd.DataFrame({'context': contexts, 'question': questions})
            return df
        """,
    "squad_in_an_object": """
        import json
        class SquadProcessor:
            def __init__(self):
                self.data = None
            def read_json(self, path):
                with open(path) as f:
                    my_json = json.load(f)['data']  # HOLDS
                    self.data = my_json
            def to_dict(self):
                qa_dict = {'context': [], 'question': []}
                for text_obj in self.data:
                    for paragraph in text_obj['paragraphs']:
                        context = paragraph['context']
                        for qa in paragraph['qas']:
                            if not qa['is_impossible']:
                                qa_dict['context'].append(context)  # HOLDS
                                qa_dict['question'].append(qa['question'])  # HOLDS
                return qa_dict
        """,
    "squad_by_number": """
        import json
        def squad_parse(file_name):
            examples = []
            with open(file_name) as f:
                json_data = json.load(f)['data']  # HOLDS
                for i in range(len(json_data)):
                    article = json_data[i]
                    for par in article['paragraphs']:
                        context = par['context'].replace('x', '')
                        examples.append([context, par['qas']])  # HOLDS
            return examples
        """,
    "json_of_a_glob": """
        import json
        import glob
        result = []
        for f in glob.glob('data/*.json'):
            with open(f, 'r') as infile:
                result.append(json.load(infile))  # HOLDS
        with open('merged_file.json', 'w') as outfile:
            json.dump(result, outfile)
        """,
    "dict_updated": """
        import json
        import os
        files = list(os.walk('data/'))
        files = ['data/' + file for file in files[0][2]]
        totalData = {}
        for file in files:
            with open(file, 'r') as f:
                jsonData = json.loads(f.read())
            totalData.update(jsonData)  # HOLDS
        with open('all.json', 'w') as f:
            f.write(json.dumps(totalData, indent=2))
        """,
    "dict_of_results": """
        import os
        import json
        results_folder = os.path.join(os.getcwd(), 'results')
        files = [f for f in os.listdir(results_folder)]
        def combine_jsons(files, resname):
            all_data_dict = {}
            for json_file in files:
                json_f_name = os.path.join(results_folder, json_file)
                with open(json_f_name, 'r+') as file:
                    file_data = json.load(file)
                all_data_dict.update(file_data)  # HOLDS
            with open(resname, 'w') as outfile:
                json.dump(all_data_dict, outfile)
        combine_jsons(files, 'merged.json')
        """,
    "records_of_each_file": """
        import json
        from os import listdir
        from os.path import isfile, join
        files = [f for f in listdir('./') if isfile(join('./', f)) and '.json' in f]
        combined = []
        for file in files:
            with open(file, 'r') as f:
                data = json.load(f)
                for d in data:
                    combined.append(d)  # HOLDS
        with open('combined.json', 'w') as f:
            json.dump(combined, f)
        """,
    "programs_merged": """
        import os
        import json
        def merge(args):
            programs = []
            for filename in os.listdir(args.folder[0]):
                with open(os.path.join(args.folder[0], filename)) as f:
                    js = json.load(f)
                programs += (js['programs'])  # HOLDS
            with open(args.output_file, 'w') as f:
                json.dump({'programs': programs}, f, indent=2)
        """,
    "trees_of_json": """
        import os
        import json
        def collect_json_files(root_path, output_file='merged_dataset2.json'):
            merged_data = []
            for dirpath, _, filenames in os.walk(root_path):
                for filename in filenames:
                    if not filename.lower().endswith('.json'):
                        continue
                    file_path = os.path.join(dirpath, filename)
                    try:
                        with open(file_path, 'r', encoding='utf-8') as f:
                            data = json.load(f)
                            merged_data.append(data)  # HOLDS
                    except Exception as e:
                        print(e)
            with open(output_file, 'w') as f:
                json.dump(merged_data, f)
        """,
    "chunks_made_smaller": """
        import numpy as np
        import pandas as pd
        def resize_data(dataset):
            dataset.fillna(-99, inplace=True)
            for col in list(dataset.columns):
                dataset[col] = dataset[col].astype(np.int8)
            return dataset
        reader = pd.read_csv('../input/train_ver2.csv', chunksize=10000)
        df = pd.concat([resize_data(chunk) for chunk in reader])  # HOLDS
        """,
    "tables_merged": """
        import pandas as pd
        application = pd.read_csv('application.csv')  # HOLDS
        bureau = pd.read_csv('bureau.csv')  # HOLDS
        df = pd.merge(application, bureau, on='SK_ID_CURR', how='left')
        df.to_pickle('merged.pkl')
        """,
    "manifest_of_csv": """
        import sys, json, os, librosa
        def main(csvFile, manifestFile):
            csvFileOpen = open(csvFile, 'r')
            Lines = csvFileOpen.readlines()  # HOLDS
            with open(manifestFile, 'w', encoding='utf8') as fout:
                for line in Lines:
                    arrLine = line.split(',')
                    audio_path = arrLine[0].strip()
                    duration = librosa.get_duration(filename=audio_path)
                    json.dump({'audio_filepath': audio_path, 'duration': duration}, fout)
                    fout.write('\\n')
        """,
    "manifest_of_a_tree": """
        import os
        import json
        import librosa
        def build_manifest(src_data_path, manifest_path):
            with open(manifest_path, 'w') as fout:
                for dirpath, subdirs, filenames in os.walk(src_data_path, topdown=False):
                    for filename in filenames:
                        if filename.endswith('.wav'):
                            path = os.path.join(dirpath, filename)
                            json.dump({'path': path, 'duration': librosa.core.get_duration(filename=path)}, fout)
                            fout.write('\\n')
        """,
    "manifest_by_line": """
        import json
        import os
        import librosa
        def build_manifest(transcripts_path, manifest_path, wav_path):
            with open(transcripts_path, 'r') as fin:
                with open(manifest_path, 'w') as fout:
                    for line in fin:
                        transcript = line[: line.find('(') - 1].lower()
                        audio_path = os.path.join(wav_path, line[line.find('(') + 1: -2] + '.wav')
                        json.dump({'audio_filepath': audio_path, 'text': transcript}, fout)
                        fout.write('\\n')
        """,
    "words_of_stdin": """
        import sys
        import regex as re
        def tokenize(text):
            words = re.findall('\\\\p{L}+', text)  # HOLDS
            return words
        def count_unigrams(words):
            frequency = {}
            for word in words:
                if word in frequency:
                    frequency[word] += 1
                else:
                    frequency[word] = 1
            return frequency
        text = sys.stdin.read().lower()  # HOLDS
        words = tokenize(text)  # HOLDS
        frequency = count_unigrams(words)
        for word in sorted(frequency.keys(), key=frequency.get, reverse=True):
            print(word, frequency[word])
        """,
    "words_by_stream": """
        import io
        import sys
        def read_input(file):
            for line in file:
                yield line.split()
        def main(separator='\\t'):
            total_count = 0
            word_freq = {}
            stream = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', errors='replace')
            data = read_input(stream)
            for words in data:
                for word in words:
                    total_count += 1
                    word_freq[word] = word_freq[word] + 1 if word in word_freq else 1
            with open('wordcountout.txt', 'w') as outfile:
                for w, f in word_freq.items():
                    outfile.write('%s%s%d' % (w, separator, f))
        main()
        """,
    "ngrams_of_stdin": """
        import sys
        import regex
        def tokenize(text):
            return regex.findall('x', text)  # HOLDS
        def count_ngrams(words, n):
            ngrams = [tuple(words[inx:inx + n]) for inx in range(len(words) - n + 1)]  # HOLDS
            frequencies = {}
            for ngram in ngrams:
                frequencies[ngram] = frequencies.get(ngram, 0) + 1
            return frequencies
        text = sys.stdin.read().lower()  # HOLDS
        words = tokenize(text)  # HOLDS
        frequency = count_ngrams(words, 2)
        """,
    "lines_of_stdin_counted": """
        import re, sys
        def main():
            counts = {}
            for line in sys.stdin.read().splitlines():  # HOLDS
                words = line.split()
                for word in words:
                    counts[word] = counts.get(word, 0) + 1
            for key, value in sorted(counts.items()):
                sys.stderr.write('%s %d' % (key, value))
        main()
        """,
    "counter_updated": """
        import sys
        from collections import Counter
        counts = Counter()
        for line in sys.stdin:
            counts.update(line.strip().split())
        for key, count in sorted(counts.items(), key=lambda x: -x[1]):
            print(key, count)
        """,
    "frequencies_by_fileinput": """
        import fileinput
        word_counts = {}
        for line in fileinput.input():
            words = ''.join(c for c in line.lower() if c.isalnum() or c.isspace()).split()
            for word in words:
                if word in word_counts:
                    word_counts[word] += 1
                else:
                    word_counts[word] = 1
        for word in sorted(word_counts):
            print(word_counts[word], word)
        """,
    "vocab_of_two_files": """
        import pickle
        import sys
        def main():
            vocab = dict()
            with open(sys.argv[1] + '.txt') as f:
                for line in f:
                    c, w = line.strip().split(' ')
                    vocab[w.strip()] = int(c.strip())
            with open(sys.argv[1] + '.pkl', 'wb') as f:
                pickle.dump(vocab, f, pickle.HIGHEST_PROTOCOL)
        main()
        """,
}

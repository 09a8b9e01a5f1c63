"""A sixth collection of public scripts as minimal equivalents, made after the reader was changed for the fifth one.
At first sight: precision 1.00, recall 0.75, no false all-clear.

Names in CLEAR_6 hold nothing, and deserve an all-clear; of the others without a marked line, the source does not tell.
"""

SOURCES_6 = {
    "length_of_a_string": "eduardo-meik/allende_bot, count_tokens.py",
    "tokens_counted": "a count_tokens of a dataset (code search)",
    "words_of_nltk": "a count_tokens_in_jsonl (code search)",
    "evaluation_text": "a token count of an evaluation set (code search)",
    "transcripts_one_by_one": "hsjoi0214/text-to-audio, scripts/generate_transcript.py",
    "extended_by_generator": "vadimkantorov/convasr, datasets/youtube.py",
    "texts_of_transcripts": "JGynther/pgvector-semantic-search, preprocess.py",
    "copies_of_a_manifest": "Sreyan88/Indic-ASR, run_train/prep.py",
    "manifest_to_tsv": "a convert_manifest_to_tsv (code search)",
    "csv_by_chunks": "huyNhat/kaltura-api-scripts, PROD-Split-To-Smaller-Files.py",
    "csv_by_rows": "hromadka/isEdible, split_csv.py",
    "ten_chunks": "backonhighway/kaggle_talkingdata, first/load_em.py",
    "chunks_joined": "a chunk_csv_file (code search)",
    "csv_printed": "kalliche/python, 002_curso_D/archivos/cargar_archivos_grandes.py",
}

CLEAR_6 = {"tokens_counted", "manifest_to_tsv", "csv_by_chunks", "csv_by_rows", "csv_printed"}

FRESH_SCRIPTS_6 = {
    "length_of_a_string": """
        import tiktoken
        def num_tokens_from_string(string, encoding_name):
            encoding = tiktoken.get_encoding(encoding_name)
            return len(encoding.encode(string))  # HOLDS
        with open('fixed_prepared.jsonl', 'r') as f:
            data = f.read()  # HOLDS
            print(num_tokens_from_string(data, 'cl100k_base'))
        """,
    "tokens_counted": """
        from transformers import AutoTokenizer
        from datasets import load_dataset
        def count_tokens(dataset, tokenizer):
            total_tokens = 0
            for example in dataset:
                tokens = tokenizer.tokenize(example['text'])
                total_tokens += len(tokens)
            return total_tokens
        print(count_tokens(load_dataset('x', split='train'), AutoTokenizer.from_pretrained('gpt2')))
        """,
    "words_of_nltk": """
        import json
        from nltk.tokenize import word_tokenize
        def count_tokens_in_jsonl(file_path):
            total_tokens = 0
            with open(file_path, 'r', encoding='utf-8') as file:
                for line in file:
                    text = str(json.loads(line).get('corpus', ''))
                    total_tokens += len(word_tokenize(text))
            return total_tokens
        """,
    "evaluation_text": """
        def main():
            tokenizer = PreTrainedTokenizerFast(tokenizer_file='hf_model/tokenizer.json')
            with open(eval_path, encoding='utf-8') as f:
                text = f.read()  # HOLDS
            token_ids = tokenizer.encode(text)  # HOLDS
            print(f'Evaluation set is {len(token_ids)} tokens')
        """,
    "transcripts_one_by_one": """
        import os
        folder = 'data/transcripts/long_transcripts'
        with open('data/transcripts.txt', 'w') as outfile:
            for file in sorted(os.listdir(folder)):
                if file.endswith('.txt'):
                    audio_name = file.replace('.txt', '.wav')
                    with open(os.path.join(folder, file), 'r') as f:
                        text = f.read().strip()
                        outfile.write(f'{audio_name}|{text}' + '\\n')
        """,
    "extended_by_generator": """
        transcript = []
        for info_name in os.listdir(args.input_path):
            if not info_name.endswith('.json'):
                continue
            info_path = os.path.join(args.input_path, info_name)
            transcript.extend(dict(t) for t in json.load(open(info_path)).get('transcript', []))  # HOLDS
        json.dump(transcript, open(args.output_path, 'w'))
        """,
    "texts_of_transcripts": """
        just_text = []
        for file in listdir('transcripts'):
            with open(f'transcripts/{file}') as f:
                json_content = json.load(f)
                text_content = json_content['results']['transcripts'][0]['transcript']
                just_text.append({'id': file[:-5], 'text': text_content})  # HOLDS
        with open('transcripts.json', 'w') as f:
            json.dump(just_text, f)
        """,
    "copies_of_a_manifest": """
        with open('/path/to/list.txt') as f:
            data = f.read().splitlines()  # HOLDS
        words = [d.split('\\t')[1] for d in data]  # HOLDS
        letters = [d.replace(' ', '|') for d in words]  # HOLDS
        paths = [d.split('\\t')[0] for d in data]  # HOLDS
        with open(train_words, 'w') as f:
            f.write('\\n'.join(words))
        """,
    "manifest_to_tsv": """
        import json
        def convert_manifest_to_tsv(manifest_path, tsv_path):
            with open(manifest_path, 'r', encoding='utf-8') as f_in, open(tsv_path, 'w', encoding='utf-8') as f_out:
                for line in f_in:
                    data = json.loads(line.strip())
                    audio_path = data.get('audio_filepath') or data.get('audio')
                    text = data.get('text') or data.get('label')
                    if audio_path and text:
                        f_out.write(f'{audio_path}\\t{text}\\n')
        convert_manifest_to_tsv('train_manifest_processed.json', 'train.tsv')
        """,
    "csv_by_chunks": """
        import pandas as pd
        batch_no = 1
        for chunk in pd.read_csv('entries.csv', chunksize=500):
            chunk.to_csv('files/_assignment' + str(batch_no) + '.csv', index=False)
            batch_no += 1
        """,
    "csv_by_rows": """
        import pandas as pd
        number_lines = sum(1 for row in (open('Dish.csv')))
        rowsize = 80000
        for i in range(1, number_lines, rowsize):
            df = pd.read_csv('Dish.csv', header=None, nrows=rowsize, skiprows=i)
            df.to_csv('input' + str(i) + '.csv', index=False, mode='a')
        """,
    "ten_chunks": """
        reader = pd.read_csv(file_name, chunksize=10000)
        temp_df_list = []
        for read_count in range(10):
            tmp = reader.get_chunk()
            temp_df_list.append(tmp)
        result_df = pd.concat(temp_df_list)
        result_df.to_csv('train_first_10k.csv', index=False)
        """,
    "chunks_joined": """
        import pandas as pd
        def chunk_csv_file(csv_fp, chunk_size):
            chunks = []
            for chunk in pd.read_csv(csv_fp, chunksize=chunk_size):
                chunks.append(chunk)  # HOLDS
            return pd.concat(chunks)  # HOLDS
        """,
    "csv_printed": """
        import csv
        def read_csv_in_chunks(file_name):
            with open(file_name, 'r') as f:
                reader = csv.reader(f)
                header = next(reader)
                for i, chunk in enumerate(reader):
                    print('Chunk #{}'.format(i))
                    print(chunk)
        read_csv_in_chunks('big_file.csv')
        """,
}

"""One tokenizer run by many processes on many machines, without anything between them but the output folder.

    OUT/.memwatch-partial/plan.json             settings, inputs, segments; made once, the same whoever makes it
    OUT/.memwatch-partial/segments/00012.json   the done-mark of a segment, written last
    OUT/.memwatch-partial/val/00012.part        the validation tokens of a segment
    OUT/.memwatch-partial/nodes/ID.json         what a process is doing; renewed while it lives
    OUT/train_shard_00012.bin                   complete as soon as it has its name
    OUT/val.bin, OUT/manifest.json              written when every segment is done, the manifest last

Every process can die at any time. What it leaves is complete or invisible, and the same command continues. Two
processes that do the same segment write the same bytes.
"""

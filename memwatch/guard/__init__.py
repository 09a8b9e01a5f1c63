"""The guard: a small process that is the job's parent, watches memory, and acts on the job alone.

    front (cli/run.py)  --- view socket --->  guard  --- channel --->  job, in a process group of its own
                                                `----- pipe ------->  two watchers: undo a pause if the guard dies

It imports neither Textual nor numpy, and outlives the view: with the view gone it goes on guarding. loop.py drives it,
act.py alone sends signals to the job, spawn.py starts it, watcher.py is what the watchers run.
"""

"""Files on disk and objects in a bucket behind one small interface (`Store`).

Callers name everything by its address: a path, or `s3://bucket/key`, `gs://bucket/key`, `az://container/key`.
`store_of` returns the store for an address; obstore is imported only when an address names a bucket.
"""

#!/bin/bash
# Tokenize on a Ray cluster; inputs and outputs are in a bucket, or in a folder that every node has.
#   recipes/ray_job.sh 's3://my-bucket/fineweb/*.parquet' s3://my-bucket/tokens
# On a node of the cluster it starts the driver there. From elsewhere, name the cluster's dashboard, and Ray starts the
# driver on the head: RAY_DASHBOARD=http://head:8265 recipes/ray_job.sh ...
# Every node needs the same versions of Python, Ray and memwatch (pip install 'memwatch[ray,cloud,parquet,offline]'), and
# credentials for the bucket in its own environment. Repeat the command to resume; segments that are done are kept.
set -e
command=(memwatch run --ui plain --on ray tokenize "${1:?inputs, a quoted pattern}" --out "${2:?an s3:// address or a shared folder}")
if [ -n "$RAY_DASHBOARD" ]; then
  exec ray job submit --address "$RAY_DASHBOARD" -- "${command[@]}"
fi
exec "${command[@]}"

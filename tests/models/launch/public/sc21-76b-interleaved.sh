#!/bin/bash

# pick one of 18B, 39B, 76B, 145B
SIZE=76B


if [ ${SIZE} == "18B" ]; then
    TP=8
    PP=1
    MBS=8
    GBS=1024
    NLS=40
    HS=6144
    NAH=48
    DDP=torch
    NNODES=32
    EXTRA="--activations-checkpoint-method uniform "
elif [ ${SIZE} == "39B" ]; then
    TP=8
    PP=2
    MBS=4
    GBS=1536
    NLS=48
    HS=8192
    NAH=64
    DDP=local
    NNODES=64
    EXTRA="--activations-checkpoint-method uniform "
elif [ ${SIZE} == "76B" ]; then
    TP=8
    PP=4
    MBS=2
    GBS=1792
    NLS=60
    HS=10240
    NAH=80
    DDP=local
    NNODES=128
    EXTRA="--activations-checkpoint-method uniform --num-layers-per-virtual-pipeline-stage 5"
elif [ ${SIZE} == "145B" ]; then
    TP=8
    PP=8
    MBS=2
    GBS=2304
    NLS=80
    HS=12288
    NAH=96
    DDP=local
    NNODES=192
    EXTRA="--activations-checkpoint-method uniform --num-layers-per-virtual-pipeline-stage 5 "
else
    echo "unknown size"
    exit 1
fi

export JOB_NAME=table_${SIZE}
CODE=<directory of megatron>
DATA=<path of the corpus>
VOCAB_FILE=<path of vocab>
MERGE_FILE=<path of merges>

export PARAMS=" ${EXTRA} \
	--tensor-model-parallel-size ${TP} \
	--pipeline-model-parallel-size ${PP} \
	--micro-batch-size ${MBS} \
	--global-batch-size ${GBS} \
        --num-layers ${NLS} \
        --hidden-size ${HS} \
        --num-attention-heads ${NAH} \
	--DDP-impl ${DDP} \
	--data-path ${DATA} \
	--vocab-file ${VOCAB_FILE} \
	--merge-file ${MERGE_FILE} \
        --log-interval 5 \
        --seq-length 2048 \
        --max-position-embeddings 2048 \
        --train-iters 500 \
        --lr-decay-iters 320 \
        --lr 0.0001 \
	--min-lr 0.00001 \
        --lr-decay-style cosine \
        --lr-warmup-fraction 0.01 \
        --split 969,30,1 \
        --eval-iters 100 \
        --eval-interval 1000 \
        --clip-grad 1.0 \
        --fp16 \
	--loss-scale 8192 "

sbatch -p ${PARTITION} \
       -A ${ACCOUNT} \
       --job-name=${JOB_NAME} \
       --nodes=${NNODES} \
       --export=CODE,PARAMS SRUN.sh

exit 0

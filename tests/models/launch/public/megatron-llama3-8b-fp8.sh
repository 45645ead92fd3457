#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}

CKPT_DIR=${1:-"ckpt/l3_8b_fp8"}
TB_DIR=${2:-"tb/l3_8b_fp8"}
TOK=${3:-"MOCK"}
DATA=${4:-"MOCK"}

mkdir -p "$(dirname "$CKPT_DIR")"
mkdir -p "$(dirname "$TB_DIR")"

NGPU=8
NNODE=1
MASTER_ADDR=${MASTER_ADDR:-localhost}
MASTER_PORT=${MASTER_PORT:-29500}
NODE_RANK=${NODE_RANK:-0}
WORLD_SIZE=$(($NGPU*$NNODE))

ENTRY="pretrain_gpt.py"

TP=1     
CP=1     
PP=1     
MBS=1
GBS=128
LAYERS=32  
DTYPE="fp8"
SEQ=8192
MAXPOS=8192

CACHE="${PWD}/cache_l3_8b"
mkdir -p "$CACHE"

RUN_ARGS=(
    --nproc_per_node $NGPU
    --nnodes $NNODE
    --node_rank $NODE_RANK
    --master_addr $MASTER_ADDR
    --master_port $MASTER_PORT
)

MODEL=(
    --use-mcore-models
    --num-layers $LAYERS
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --kv-channels 128
    --seq-length $SEQ
    --max-position-embeddings $MAXPOS
    --position-embedding-type rope
    --rotary-base 1000000 
    --rotary-percent 1.0
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --swiglu
    --normalization RMSNorm
    --init-method-std 0.0134
    --attention-backend fused
    --apply-layernorm-1p 
    --untie-embeddings-and-output-weights
    --disable-bias-linear 
)

TRAIN=(
    --micro-batch-size $MBS
    --global-batch-size $GBS
    --train-samples 1953125000
    --lr-decay-samples 1949218748
    --lr-warmup-samples 3906252
    --lr 0.00015
    --min-lr 0.00001
    --decoupled-lr 5.0e-4      # output layer
    --decoupled-min-lr 4.5e-5
    --lr-decay-style cosine
    --clip-grad 1.0
    --weight-decay 0.1
    --adam-beta1 0.9
    --adam-beta2 0.95
    --bf16
    --grad-reduce-in-bf16
    --cross-entropy-loss-fusion
    --calculate-per-token-loss 
    --manual-gc 
    --empty-unused-memory-level 1 
    --exit-duration-in-mins 235 
)

LOWP=()
if [[ "$DTYPE" == "fp8" ]]; then
    LOWP+=(
        "--fp8-format hybrid"
        "--fp8-amax-history-len 1024"
        "--fp8-amax-compute-algo max"
        "--fp8-param-gather"
    )
fi

PARALLEL=(
    --tensor-model-parallel-size $TP
    --context-parallel-size $CP
    # --pipeline-model-parallel-size $PP
    --sequence-parallel
)

DDP=(
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)
TRAIN+=("${DDP[@]}")

INPUT=()
if [[ "$TOK" == "MOCK" ]] || [[ "$DATA" == "MOCK" ]] || [[ -z "$TOK" ]]; then
    INPUT+=(
        "--mock-data"
        "--tokenizer-type NullTokenizer"
        "--vocab-size 128256" 
        "--data-cache-path ${CACHE}"
        "--tiktoken-pattern v2" 
        "--split '99,1,0'"
        "--num-workers 1"
    )
else
    INPUT+=(
        "--data-path $DATA"
        "--tokenizer-type HuggingFaceTokenizer" 
        "--tokenizer-model $TOK"
        "--data-cache-path ${CACHE}"
        "--split '99,1,0'"
        "--num-workers 1"
        "--vocab-size 128256"
    )
fi

LOGS=(
    --log-interval 1
    --eval-iters 32
    --eval-interval 100
    --save-interval 1000
    --profile
    --ckpt-format torch_dist 
    --save "$CKPT_DIR"
    --load "$CKPT_DIR" 
    --tensorboard-dir "$TB_DIR"
)

if [ ! -f "$ENTRY" ]; then
    echo "$ENTRY is missing"
    exit 1
fi

torchrun ${RUN_ARGS[@]} \
    "$ENTRY" \
    ${MODEL[@]} \
    ${TRAIN[@]} \
    ${LOWP[@]} \
    ${PARALLEL[@]} \
    ${INPUT[@]} \
    ${LOGS[@]}

set +x

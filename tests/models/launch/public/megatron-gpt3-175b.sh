#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1

NPROC=8
ADDR=localhost
PORT=29500
N_NODES=1
MY_RANK=0
WORLD_SIZE=$(($NPROC*$N_NODES))

SAVE_TO=$1
TB_DIR=$2
VOCAB=$3
MERGES=$4
CORPUS=$5

LAUNCH_ARGS=(
    --nproc_per_node $NPROC 
    --nnodes $N_NODES 
    --master_addr $ADDR 
    --master_port $PORT
)

NETWORK_ARGS=(
    --num-layers 96 
    --hidden-size 12288 
    --num-attention-heads 96 
    --seq-length 2048 
    --max-position-embeddings 2048 
    --attention-backend auto # any of flash, fused, unfused, local
)

OPTIM_ARGS=(
    --micro-batch-size 1 
    --global-batch-size 1536
    --step-batch-size-schedule "0:16 2.4B:320 4.8B:624 7.2B:928 9.6B:1232 12B:1536"
    --train-iters 500000
    --weight-decay 0.1 
    --adam-beta1 0.9 
    --adam-beta2 0.95 
    --init-method-std 0.006 
    --clip-grad 1.0 
    --fp16
    --lr 6.0e-5 
    --lr-decay-style cosine 
    --min-lr 6.0e-6
    --lr-warmup-fraction .001 
    --lr-decay-iters 430000 
)

SPLIT_ARGS=(
	--tensor-model-parallel-size 8 
	--pipeline-model-parallel-size 16 
)

CORPUS_ARGS=(
    --data-path $CORPUS 
    --vocab-file $VOCAB 
    --merge-file $MERGES 
    --split 949,50,1
)

REPORT_ARGS=(
    --log-interval 100
    --save-interval 10000 
    --eval-interval 1000 
    --save $SAVE_TO 
    --load $SAVE_TO 
    --eval-iters 10
    --tensorboard-dir $TB_DIR 
)

torchrun ${LAUNCH_ARGS[@]} pretrain_gpt.py \
    ${NETWORK_ARGS[@]} \
    ${OPTIM_ARGS[@]} \
    ${SPLIT_ARGS[@]} \
    ${CORPUS_ARGS[@]} \
    ${REPORT_ARGS[@]}

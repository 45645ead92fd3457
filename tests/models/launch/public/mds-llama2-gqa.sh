#!/bin/bash
set -ex

BASE=./tmp
DS_JSON=${BASE}/ds.json
CORPUS_1="./tmp/data/books_text_sentence"
CORPUS="1 ${CORPUS_1}"
CKPT=./tmp
TOKENIZER=./tmp/tokenizer.model # the official one

TP=2
PP=2
STAGE=0

NGPU=8
MASTER_ADDR=localhost
MASTER_PORT=6000
NNODES=1
NODE_RANK=0

HIDDEN=2048 # 13b: 5120
FFN=5504 # 13b: 13824
LAYERS=24 # 13b: 40
HEADS=16 # 13b: 40
SEQ=2048
KV_HEADS=4 # grouped

MBS=4
GBS=32 # small
STEPS=250000
LR=3e-4
MIN_LR=3e-5

# use_ckpt="true"
use_ckpt="false"

LOG_TO_WANDB=0
WANDB_ARGS=
if [ $LOG_TO_WANDB -eq 1 ]
then
WANDB_ARGS="\
       --wandb-project l2 \
       --wandb-save-dir ${BASE}/wandb \
       "
fi

# --no-query-key-layer-scaling \
# --use-rotary-position-embeddings \

cat <<EOT > $DS_JSON
{
  "train_batch_size" : $GBS,
  "train_micro_batch_size_per_gpu": $MBS,
  "steps_per_print": 1,
  "zero_optimization": {
    "stage": $STAGE
  },
  "bf16": {
    "enabled": true
  }
}
EOT

ds_args=""
ds_args=" --deepspeed ${ds_args}"
ds_args=" --deepspeed_config=$DS_JSON ${ds_args}"
ds_args=" --zero-stage=$STAGE ${ds_args}"

if [ "${use_ckpt}" = "true" ]; then
  ds_args="--deepspeed-activation-checkpointing ${ds_args}"
  # ds_args="--checkpoint-activations ${ds_args}"
  ds_args="--recompute-granularity full --recompute-method uniform ${ds_args}"
  # ds_args="--recompute-granularity selective ${ds_args}"
fi


RUN="--nproc_per_node $NGPU --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT"

torchrun $RUN \
       pretrain_gpt.py \
       --tensor-model-parallel-size $TP \
       --pipeline-model-parallel-size $PP \
       --num-layers $LAYERS \
       --hidden-size $HIDDEN \
       --ffn-hidden-size $FFN \
       --num-attention-heads $HEADS \
       --micro-batch-size $MBS \
       --global-batch-size $GBS \
       --seq-length $SEQ \
       --max-position-embeddings $SEQ \
       --train-iters $STEPS \
       --save $CKPT \
       --load $CKPT \
       --data-path $CORPUS \
       --data-impl mmap \
       --tokenizer-type GPTSentencePieceTokenizer \
       --tokenizer-model $TOKENIZER \
       --split 949,50,1 \
       --distributed-backend nccl \
       --lr $LR \
       --lr-decay-style cosine \
       --min-lr $MIN_LR \
       --weight-decay 0.1 \
       --clip-grad 1 \
       --lr-warmup-iters 2000 \
       --optimizer adam \
       --adam-beta1 0.9 \
       --adam-beta2 0.95 \
       --log-interval 1 \
       --save-interval 10000 \
       --eval-interval 1000 \
       --eval-iters 10 \
       --bf16 \
       --no-query-key-layer-scaling \
       --attention-dropout 0 \
       --hidden-dropout 0 \
       --use-rotary-position-embeddings \
       --untie-embeddings-and-output-weights \
       --swiglu \
       --normalization rmsnorm \
       --disable-bias-linear \
       --num-key-value-heads $KV_HEADS \
       $WANDB_ARGS \
       $ds_args

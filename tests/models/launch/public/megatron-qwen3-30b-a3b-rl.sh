#!/bin/bash

TP=${TP:-4}
PP=${PP:-1}
EP=${EP:-2}
NODES_REQUIRED=${NODES_REQUIRED:-1}

echo "checkpoint of Qwen3-30B-A3B"

PROMPT_GROUP=${PROMPT_GROUP:-16}
PROMPTS=${PROMPTS:-64}
BATCH=${BATCH:-256}
MICRO=${MICRO:-1}
MAX_SEQ=${MAX_SEQ:-8192}

RUN_DEPENDENT="\
  --micro-batch-size $MICRO \
  --global-batch-size $BATCH \
  --grpo-group-size $PROMPT_GROUP \
  --grpo-prompts-per-step $PROMPTS "

MODEL_OPTIONS="\
  --seq-length $MAX_SEQ \
  --inference-max-seq-length $MAX_SEQ \
  --pretrained-checkpoint $CHECKPOINT \
  --bf16 \
  --tensor-model-parallel-size $TP  \
  --pipeline-model-parallel-size $PP  \
  --expert-model-parallel-size $EP \
  --attention-backend flash \
  --transformer-impl transformer_engine \
  --te-rng-tracker \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model Qwen/Qwen3-30B-A3B \
  --untie-embeddings-and-output-weights \
  --num-layers 48 \
  --hidden-size 2048 \
  --ffn-hidden-size 6144 \
  --num-attention-heads 32 \
  --kv-channels 128 \
  --max-position-embeddings 8192 \
  --group-query-attention \
  --num-query-groups 4 \
  --normalization RMSNorm \
  --norm-epsilon 1e-6 \
  --position-embedding-type rope \
  --rotary-percent 1.0 \
  --rotary-base 1000000 \
  --use-rotary-position-embeddings \
  --swiglu \
  --disable-bias-linear \
  --num-experts 128 \
  --moe-router-topk 8 \
  --moe-ffn-hidden-size 768 \
  --moe-aux-loss-coeff 0.001 \
  --moe-router-load-balancing-type aux_loss \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --attention-softmax-in-fp32 \
  --vocab-size 151936 \
  --make-vocab-size-divisible-by 128 \
  --qk-layernorm \
  --moe-token-dispatcher-type alltoall \
  --moe-layer-freq 1 \
  --optimizer adam \
  --adam-beta1 0.9 \
  --adam-beta2 0.999 \
  --lr 1e-6 \
  --min-lr 1e-7 \
  --lr-warmup-samples 0 \
  --clip-grad 1.0 \
  --weight-decay 0.01 \
  --ckpt-format torch_dist \
  "

COMMON="\
    --tensor-model-parallel-size $TP  \
    --pipeline-model-parallel-size $PP  \
    --use-mcore-models \
    --transformer-impl transformer_engine \
    --${PRECISION:-bf16} \
    --te-rng-tracker \
    --data-parallel-random-init \
    --attention-backend flash \
    --adam-beta1 0.9 \
    --adam-beta2 ${ADAM_BETA2:-0.95} \
    "
if [ ${LOWER_PRECISION:-false} == true ]; then
    COMMON="${COMMON} --no-gradient-accumulation-fusion"
else 
    COMMON="${COMMON}"
fi

if [ ${CUDA_GRAPHS:-true} == true ]; then
    COMMON="${COMMON} --cuda-graph-impl=local"
fi

torchrun --nproc_per_node=8 --nnodes=$NODES_REQUIRED train_rl.py $COMMON $MODEL_OPTIONS $RUN_DEPENDENT

#!/bin/bash

#SBATCH --time=48:00:00
#SBATCH --job-name=swiss-70b
#SBATCH --output=logs/%x-%j.out
#SBATCH --nodes=1024
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=36 
#SBATCH --mem=460000
#SBATCH --signal=SIGUSR2@600
#SBATCH --no-requeue
#SBATCH -C thp_never&nvidia_vboost_enabled

echo "BEGIN $(date)"

ROOT=EDIT_ME
CODE=EDIT_ME
CACHE=EDIT_ME

PARTS=(
	$ROOT/math-merge
	$ROOT/code-merge
	$ROOT/web/euro-high
)
# PARTS=(
# 	$ROOT/cooldown/math-merge
# )
PARTS=$(IFS=','; echo "${PARTS[*]}")

GBS=4096 # sequences
SEQ_LEN=4096
DECAY_SAMPLES=403905806
SAVE_EVERY=250

REQUEUE=true
LOG_NCCL=false
USE_NSYS=false
MOCK=false

EXP=swiss-70b-$SLURM_NNODES-nodes
EXP_DIR=$CODE/logs/$EXP
CKPT_DIR=$EXP_DIR/checkpoints
TB_DIR=$EXP_DIR/tensorboard

export CUDA_DEVICE_MAX_CONNECTIONS=1
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export MASTER_PORT=32100
export WORLD_SIZE=$SLURM_NPROCS

ulimit -c 0

ENGINE=(
	--main-grads-dtype fp32
	--transformer-impl transformer_engine
	--ddp-bucket-size 10000000000
	--decrease-batch-size-if-needed
)

SHAPE=(
	--num-layers 80
	--hidden-size 8192
	--ffn-hidden-size 43008  # wide, as the activation has no gate
	--num-attention-heads 64
	--group-query-attention
	--num-query-groups 8
	--max-position-embeddings $SEQ_LEN
	--position-embedding-type rope
	--rotary-base 500000
	--use-rope-scaling
	--rope-scaling-factor 8
	--make-vocab-size-divisible-by 128
	--normalization RMSNorm
	--xielu
	--qk-layernorm  # block
	--qknorm-impl apex
	--untie-embeddings-and-output-weights
)

REG=(
	--attention-dropout 0.0
	--hidden-dropout 0.0
	--weight-decay 0.1
	--clip-grad 0.1
	--adam-beta1 0.9
	--adam-beta2 0.999
	--ademamix-alpha 8
	--ademamix-beta3 0.9999
)

TRAIN=(
	--micro-batch-size 1
	--global-batch-size $GBS
	--rampup-batch-size 2048 2048 1072164864 # doubles once
	--log-interval 1
	--train-samples 3662109375 
	--cross-entropy-loss-fusion
	--disable-bias-linear
	--optimizer ademamix
	--dataloader-type single
	--manual-gc
	--manual-gc-interval 50
	--exit-signal-handler
)

INIT=(
	--seed 28
	--init-method-std 0.008944
)

LRATE=(
	--lr 0.00001
	--min-lr 0.000001
	--lr-decay-style WSD
	--lr-warmup-samples 4096000
	--lr-wsd-decay-style 1-sqrt
	--lr-wsd-decay-samples $DECAY_SAMPLES
)

CKPT=(
	--save $CKPT_DIR
	--load $CKPT_DIR
	--save-interval $SAVE_EVERY
	--ckpt-format torch_dist
	--async-save
)
PREC=(
	--bf16
)

LAYOUT=(
	--tensor-model-parallel-size 4
	--pipeline-model-parallel-size 8
	--use-distributed-optimizer
	--overlap-grad-reduce
	--overlap-param-gather
	--sequence-parallel
	--num-layers-per-virtual-pipeline-stage 2
	--context-parallel-size 1
	--overlap-p2p-communication-warmup-flush
)

TOK=(
	--tokenizer-type HuggingFaceTokenizer
	--tokenizer-model swiss-ai/Apertus-70B-2509
)

DATA_ARGS=(
	--split 100,0,0
	--seq-length $SEQ_LEN
	--reset-position-ids
	--reset-attention-mask
	--eod-mask-loss
	--num-workers 32
	--goldfish-loss
	--goldfish-k 50
)

mkdir -p $CKPT_DIR
cd $CODE
export PYTHONPATH=$CODE

if [ "$MOCK" = true ]; then
  DATA_ARGS="${DATA_ARGS[@]} --mock-data"
else
  DATA_ARGS="${DATA_ARGS[@]} --data-path $(python3 $CODE/scripts/tools/make_blend.py -p $PARTS) --data-cache-path $CACHE"
fi

PREFIX="numactl --membind=0-3"

CMD="python3 $CODE/pretrain_gpt.py \
    ${ENGINE[@]} \
    ${SHAPE[@]} \
    ${REG[@]} \
    ${TRAIN[@]} \
    ${INIT[@]} \
    ${LRATE[@]} \
    ${CKPT[@]} \
    ${PREC[@]} \
    ${LAYOUT[@]} \
    ${TOK[@]} \
    $DATA_ARGS"

if [ -n "$WANDB_API_KEY" ]; then
  CMD="$CMD \
    --wandb-project swiss \
    --wandb-exp-name $EXP-$SLURM_JOB_ID"
else
  export WANDB_MODE=disabled
fi

if [ "$USE_NSYS" = true ]; then
    NSYS="nsys profile -s none --output=$EXP_DIR/trace-\$SLURM_PROCID.nsys-rep"
    CMD="$NSYS $CMD --profile"
fi

if [ "$REQUEUE" = true ]; then
	echo "[$(date)] $(sbatch --dependency=singleton $0)"
fi

srun --cpus-per-task $SLURM_CPUS_PER_TASK \
	-lu bash -c "RANK=\$SLURM_PROCID LOCAL_RANK=\$SLURM_LOCALID $PREFIX $CMD"

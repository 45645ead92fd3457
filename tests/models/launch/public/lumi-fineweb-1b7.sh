#!/bin/bash
#SBATCH --job-name=fw
#SBATCH --cpus-per-task=7
#SBATCH --ntasks-per-node=8
#SBATCH --nodes=8
#SBATCH --mem=480G
#SBATCH --partition=standard-g
#SBATCH --time=12:00:00
#SBATCH --exclusive
#SBATCH --gpus-per-node=8
#SBATCH --account=project_000
#SBATCH --output logs/%j.out

if [ -z $SLURM_JOB_ID ]; then
    mkdir -p logs
    sbatch "$0" "$@"
    exit
fi

set -euo pipefail
module purge
CONTAINER=/appl/pytorch.sif
BINDS="/pfs,/scratch,/flash"
c="fe"
MASK="0x${c}000000000000,0x${c}00000000000000,0x${c}0000"

BASE="$SLURM_SUBMIT_DIR"
CKPT="$BASE/ckpt"
TB="$BASE/tb/$SLURM_JOB_NAME-$SLURM_JOBID"
mkdir -p "$CKPT"
LAUNCH="$BASE/launch.sh"

export CUDA_DEVICE_MAX_CONNECTIONS=1
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=9999
export WORLD_SIZE=$SLURM_NTASKS

DATA_ROOT="$BASE/data"
DATA="1.0 ${DATA_ROOT}/fineweb_text_document"
TOKENIZER="gpt2-tokenizer"

NUM_LAYERS=24
HIDDEN=2048
FFN=$((4*HIDDEN))
HEADS=32
GROUPS_KV=32
TIE=1
STD=0.02
SEQ=2048
BASE_ROPE=10000

PP=1
TP=1
CP=1
PER_VPP=1
PROFILE=0

LR=3e-4
MIN_LR=3e-5
WARMUP_ITERS=500

FSDP=0
GBS=1024
MBS=4
RECOMPUTE=0
TOKENS=350_000_000_000

must_be_unset() {
    local varname="$1"
    if [ -n "${!varname+x}" ]; then
	echo "'$varname' is set" >&2
	exit 1
    fi
}
must_be_unset "SAMPLES"

TOKENS=${TOKENS//_}
SAMPLES=$((TOKENS/SEQ))
WARMUP_SAMPLES=$((WARMUP_ITERS*GBS))
DECAY_SAMPLES=$SAMPLES

DATA_ARGS=(
    --data-path "$DATA"
    --data-cache-path "$DATA_ROOT/cache"
    --tokenizer-type HuggingFaceTokenizer
    --tokenizer-model "$TOKENIZER"
    --make-vocab-size-divisible-by 128
    --dataloader-type single
    --num-workers 2   # low is safe
)

MODEL_ARGS=(
    --num-layers $NUM_LAYERS
    --hidden-size $HIDDEN
    --ffn-hidden-size $FFN
    --num-attention-heads $HEADS
)

if [ "$GROUPS_KV" != "$HEADS" ]; then
    MODEL_ARGS+=(
        --group-query-attention
        --num-query-groups $GROUPS_KV
    )
fi

if [ "$TIE" = "0" ]; then
    MODEL_ARGS+=(
	--untie-embeddings-and-output-weights
    )
fi

if [ "$FSDP" = "1" ]; then
    PARALLEL_ARGS=(
	--use-torch-fsdp2
    )
else
    PARALLEL_ARGS=(
	--tensor-model-parallel-size $TP
	--pipeline-model-parallel-size $PP
	--context-parallel-size $CP
	--sequence-parallel
	--use-distributed-optimizer
    )
fi

if [ "$PROFILE" = "1" ]; then
    PROFILE_ARGS=(
	--use-pytorch-profiler
	--profile-ranks 0
    )
else
    PROFILE_ARGS=()
fi

MODEL_ARGS+=(
    --use-flash-attn
    --attention-softmax-in-fp32
    --max-position-embeddings $SEQ
    --seq-length $SEQ
    --position-embedding-type rope
    --rotary-base $BASE_ROPE
    --disable-bias-linear
    --init-method-std $STD
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --normalization RMSNorm
    --micro-batch-size $MBS
    --global-batch-size $GBS
    --train-samples $SAMPLES
    --bf16
    --swiglu
    --no-gradient-accumulation-fusion
    --no-rope-fusion    # not on this machine
    --distributed-timeout-minutes 30
    --overlap-grad-reduce
)

OPT_ARGS=(
    --optimizer adam
    --lr $LR
    --min-lr $MIN_LR
    --lr-decay-style cosine
    --lr-decay-samples $DECAY_SAMPLES
    --lr-warmup-samples $WARMUP_SAMPLES
    --clip-grad 1.0
    --weight-decay 1e-1
)

OUT_ARGS=(
    --eval-interval 5000
    --eval-iters 100
    --tensorboard-dir "$TB"
    --log-interval 1
)

if [ $PP -gt 1 ] && [ $PER_VPP -gt 1 ]; then
    PARALLEL_ARGS+=(
	--num-layers-per-virtual-pipeline-stage $PER_VPP
    )
fi

if [ "$RECOMPUTE" = "1" ]; then
    MODEL_ARGS+=(
	--recompute-activations
	--recompute-granularity selective
    )
fi

CKPT_ARGS=(
    --ckpt-format torch    # the other crashes
#     --async-save
    --load "$CKPT"
    --save "$CKPT"
    --save-interval 500
)

COMMAND=" \
    Megatron-LM/pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    "${OPT_ARGS[@]}" \
    "${PARALLEL_ARGS[@]}" \
    "${OUT_ARGS[@]}" \
    "${CKPT_ARGS[@]}" \
    "${DATA_ARGS[@]}" \
    "${PROFILE_ARGS[@]}" \
"

echo "$COMMAND"

srun \
    --label \
    --cpu-bind=mask_cpu:$MASK \
    singularity exec \
    -B "$BASE" \
    -B "$BINDS" \
    "$CONTAINER" \
    "$LAUNCH" \
    $COMMAND

#!/bin/bash

#SBATCH --account=a-lab
#SBATCH --time=11:59:59
#SBATCH --job-name=8b-64k
#SBATCH --output=$SCRATCH/runs/%x-%j.out
#SBATCH --partition=large512
#SBATCH --nodes=512
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=36
#SBATCH --environment=/some/where/ngc.toml # container
#SBATCH --signal=SIGUSR2@600	# ahead of the limit
#SBATCH --exclude=nid000001,nid000002

DATA="/some/where/mixture_65536"

MBS=1 # per replica
GBS=128 # per step
SEQ_LEN=65536
STEPS=3480
SAVE_EVERY=125
MOCK=false

CODE=/some/where/Megatron-LM
CACHE=$SCRATCH/.cache
EXP_DIR=$SCRATCH/runs/8b-64k
PREVIOUS=/some/where/32k
CKPT_DIR=$EXP_DIR/checkpoints

export CUDA_DEVICE_MAX_CONNECTIONS=1
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export MASTER_PORT=$((10000 + $SLURM_JOB_ID % 1000))
export WORLD_SIZE=$SLURM_NPROCS

# --ddp-bucket-size 10000000000
# --fp8-recipe tensorwise 
# --fp8-format hybrid
ENGINE=(
	--main-grads-dtype fp32
)

SHAPE=(
	--num-layers 32
	--hidden-size 4096
	--ffn-hidden-size 21504  # no gate
	--num-attention-heads 32
	--group-query-attention
	--num-query-groups 8
	--max-position-embeddings $SEQ_LEN
	--position-embedding-type rope
	--rotary-base 12000000
	--use-rope-scaling
	--rope-scaling-factor 8
	--make-vocab-size-divisible-by 128
	--normalization RMSNorm
	--xielu
	--qk-layernorm
	--qknorm-impl apex
	--untie-embeddings-and-output-weights
)

TRAIN=(
	--micro-batch-size $MBS
	--global-batch-size $GBS
	--train-iters $STEPS
	--log-interval 1
	--cross-entropy-loss-fusion
	--disable-bias-linear
	--optimizer ademamix
	--dataloader-type single
	--weight-decay 0.1
	--clip-grad 0.1
	--attention-dropout 0.0
	--hidden-dropout 0.0
	--seed 28
	--init-method-std 0.008944
)

LRATE=(
	--lr 0.000011
	--min-lr 0.000011
	--lr-decay-style WSD
	--lr-warmup-iters 150
	--lr-wsd-decay-style 1-sqrt
	--lr-wsd-decay-iters 0
)

if [ -d "$CKPT_DIR" ] && [ "$(ls -A $CKPT_DIR 2>/dev/null | grep -E '^iter_[0-9]+$' | head -1)" ]; then
    LOAD_FROM=$CKPT_DIR
    FINETUNE=""
    NO_RNG=""
else
    LOAD_FROM=$PREVIOUS
    FINETUNE="--finetune"
    NO_RNG="--no-load-rng"
fi

CKPT=(
	--save $CKPT_DIR
	--save-interval $SAVE_EVERY
	--ckpt-format torch_dist
	--load $LOAD_FROM
	--async-save
	$NO_RNG
	--ckpt-fully-parallel-load
	--override-opt_param-scheduler
	$FINETUNE
)

PREC=(
	--bf16
)

LAYOUT=(
	--tensor-model-parallel-size 4
	--sequence-parallel
	--pipeline-model-parallel-size 1
	--context-parallel-size 4
	--use-distributed-optimizer
	--overlap-grad-reduce
	--overlap-param-gather
)

TOK=(
	--tokenizer-type HuggingFaceTokenizer
	--tokenizer-model alehc/swissai-tokenizer
)

DATA_ARGS=(
	--split 100,0,0
	--seq-length $SEQ_LEN
	# --reset-position-ids
	# --eod-mask-loss
	--num-workers 8
	--goldfish-loss
	--goldfish-h 50
)

if [ "$MOCK" = true ]; then
  DATA_ARGS="${DATA_ARGS[@]} --mock-data"
else
  DATA_ARGS="${DATA_ARGS[@]} --data-path $(python3 $CODE/scripts/tools/make_blend.py -p $DATA) --data-cache-path $CACHE"
fi

CMD="python3 $CODE/pretrain_gpt.py \
    ${ENGINE[@]} \
    ${SHAPE[@]} \
    ${TRAIN[@]} \
    ${LRATE[@]} \
    ${CKPT[@]} \
    ${PREC[@]} \
    ${LAYOUT[@]} \
    ${TOK[@]} \
    $DATA_ARGS"

srun --cpus-per-task $SLURM_CPUS_PER_TASK \
	-lu bash -c "RANK=\$SLURM_PROCID LOCAL_RANK=\$SLURM_LOCALID numactl --membind=0-3 $CMD"

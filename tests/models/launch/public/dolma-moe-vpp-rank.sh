#! /bin/bash
SLURM_NODEID=${1:-0} # rank of the node
HOSTS=${2:-"${WORKSPACE}/hostfiles/one"} 
STAMP=${3:-"latest"}

NUM_NODES=$(wc -l < ${HOSTS})
NGPU=8
WORKSPACE='/workspace'

NCCL_OPTS="CUDA_LAUNCH_BLOCKING=0"
NCCL_OPTS="$NCCL_OPTS NCCL_DEBUG=VERSION"
NCCL_OPTS="$NCCL_OPTS CUDA_DEVICE_MAX_CONNECTIONS=1"
MORE_OPTS="OMP_NUM_THREADS=8 NVTE_FLASH_ATTN=1"

MBS=1
GBS=1024

TP_SIZE=1
PP_SIZE=4
EP_SIZE=8
EXPERTS=64
TOPK=2
LEN=4096

SHARED=1
SHARED_FFN=8192

HIDDEN=4096
FFN=2048
LAYERS=32
HEADS=32
LR_WARMUP_STEPS=2000

VOCAB_SIZE=100278
EMBED=$(echo "scale=3; 2 * ${HIDDEN} * ${VOCAB_SIZE} / 1000000000" | bc | awk '{printf "%.3f\n", $0}')
NAME="moe_${EMBED}B_${LAYERS}L"
if [ $SHARED -eq 0 ]; then
        NAME="${NAME}_${EXPERTS}N${TOPK}K"
else
        NAME="${NAME}_${EXPERTS}N${SHARED}S${TOPK}K"
fi

USE_FP8=0
USE_PROFILE=0
CAPACITY=1.25

CKPT="${WORKSPACE}/ckpt/${NAME}"
RESUME="" # nothing
NUM_GPUS=$((NUM_NODES * NGPU))
TOKENS=$(echo '120_000_000_000' | sed 's/_//g')
SAMPLES=$((TOKENS / LEN))
DECAY=$((SAMPLES * 100 / 100))
WARMUP=$(($LR_WARMUP_STEPS * $GBS))

OPT=" \
    --optimizer adam \
    --adam-beta1 0.9 \
    --adam-beta2 0.95 \
    --lr 2e-4 \
    --min-lr 2e-6 \
    --lr-decay-style cosine \
    --lr-decay-samples $DECAY \
    --lr-warmup-samples $WARMUP \
    --clip-grad 1.0 \
    --weight-decay 1e-1 \
    --seed 2024 \
    "

LM="
       --tensor-model-parallel-size $TP_SIZE \
       --pipeline-model-parallel-size $PP_SIZE \
       --distributed-timeout-minutes 20 \
       --num-layers $LAYERS \
       --hidden-size $HIDDEN \
       --num-attention-heads $HEADS \
       --make-vocab-size-divisible-by 128 \
       --position-embedding-type rope \
       --ffn-hidden-size $FFN \
       --swiglu \
       --disable-bias-linear \
       --no-bias-gelu-fusion \
       --tokenizer-type HuggingFaceTokenizer \
       --tokenizer-model allenai/dolma2-tokenizer
       --untie-embeddings-and-output-weights \
       --overlap-grad-reduce \
       --overlap-param-gather \
       --use-distributed-optimizer \
       --normalization RMSNorm \
       --attention-dropout 0  \
       --hidden-dropout 0 \
       --apply-layernorm-1p "

if [ $USE_FP8 -eq 1 ]; then
        LM="$LM --fp8-format hybrid --fp8-margin 0 --fp8-amax-history-len 1024"
fi

# --num-layers-per-virtual-pipeline-stage 2
if [ $PP_SIZE -gt 1 ]; then
        LM="$LM --num-virtual-stages-per-pipeline-rank 2 --overlap-p2p-communication-warmup-flush"
fi

if [ $TP_SIZE -gt 1 ]; then
        LM="$LM --sequence-parallel"
        LM="$LM --tp-comm-overlap"
fi

if [ $EXPERTS -eq 1 ]; then
        MOE=" "
else
        MOE=" \
        --num-experts ${EXPERTS} \
        --moe-aux-loss-coeff 0.01 \
        --moe-layer-freq 1 \
        --moe-router-topk ${TOPK} \
        --expert-model-parallel-size ${EP_SIZE} \
        --moe-z-loss-coeff 1e-3 \
        --moe-token-dispatcher-type alltoall \
        --moe-grouped-gemm \
        --moe-layer-recompute \
        --moe-router-load-balancing-type aux_loss "

        if [ $SHARED -gt 0 ]; then
                MOE="$MOE --moe-shared-expert-intermediate-size ${SHARED_FFN} --moe-shared-expert-overlap --moe-expert-capacity-factor ${CAPACITY}"
        fi
fi

# LM="$LM \
#         --recompute-num-layers 1 \
#         --recompute-method uniform \
#         --recompute-granularity full "

opts=" \
       $LM \
       --micro-batch-size $MBS \
       --global-batch-size $GBS \
       --train-samples $SAMPLES \
       --seq-length $LEN \
       --max-position-embeddings $LEN \
       --num-workers 1 \
       --save $CKPT \
       --load $CKPT \
       --distributed-backend nccl \
       --init-method-std 0.01 \
       --bf16 \
       --use-flash-attn \
       $OPT \
       $RESUME \
       $MOE 
"

port=4759
NODE0=$(head -n 1 "$HOSTS" | awk '{print $1}')
script="${WORKSPACE}/Megatron-LM/pretrain_gpt.py"
if [ $USE_PROFILE -eq 1 ]; then
        cmd="${NCCL_OPTS} ${MORE_OPTS} nsys profile torchrun --rdzv_endpoint $NODE0:$port --rdzv_id 10086 --rdzv_backend c10d --nnodes ${NUM_NODES} --nproc-per-node ${NGPU} --node_rank "${SLURM_NODEID}" ${script} ${opts}"
else
        cmd="${NCCL_OPTS} ${MORE_OPTS} torchrun --rdzv_endpoint $NODE0:$port --rdzv_id 10086 --rdzv_backend c10d --nnodes ${NUM_NODES} --nproc-per-node ${NGPU} --node_rank "${SLURM_NODEID}" ${script} ${opts}"
fi
echo ${cmd} | tee run.txt
eval ${cmd} 2>&1 | tee output.log

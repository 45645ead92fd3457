#!/bin/bash
set -e
MODE=${1:-dlc}
HERE="$( cd "$( dirname "$0" )" && pwd )"
PATCH=$( dirname $( dirname ${HERE}))
export PYTHONPATH=${PATCH}:$PYTHONPATH
export CUDA_DEVICE_MAX_CONNECTIONS=1

if [ $MODE = dsw ]; then
    MASTER_ADDR=localhost
    MASTER_PORT=$(shuf -n 1 -i 10000-65535)
    NNODES=1
    NODE_RANK=0
    NGPU=`python -c "import torch; print(torch.cuda.device_count())"`
elif [ $MODE = dlc ]; then
    NNODES=${WORLD_SIZE}
    NODE_RANK=${RANK}
    NGPU=${KUBERNETES_CONTAINER_RESOURCE_GPU}
fi

DIST="--nproc_per_node $NGPU --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT"

SIZE=${2:-A3B}
MBS=${3:-1}
GBS=${4:-8}
LR=${5:-1e-5}
MIN_LR=${6:-1e-6}
SEQ_LEN=${7:-128}
PAD_LEN=${8:-128}
PR=${9:-bf16}
TP=${10:-4}
PP=${11:-2}
CP=${12:-1}
ETP=${13:-1}
EP=${14:-4}
SP=${15:-true}
DO=${16:-true}
AC=${17:-sel}
OFFLOAD=${18:-false}
TOKENS=${19:-10000}

if [ $SIZE = 8B ]; then
    LAYERS=36
    HIDDEN=4096
    HEADS=32
    FFN=12288
    KV=8
    MAXPOS=40960
    VOCAB=151936
    gqa=" \
                --group-query-attention \
                --num-query-groups ${KV}"
    tie=" \
            --untie-embeddings-and-output-weights \
            "
    moe=""
elif [ $SIZE = A3B ]; then
    HIDDEN=2048
    HEADS=32
    LAYERS=48
    FFN=6144
    MOE_FFN=768
    MAXPOS=40960
    VOCAB=151936
    KV=4
    EXPERTS=128
    TOPK=8

    moe=" \
        --moe-grouped-gemm \
        --moe-token-dispatcher-type alltoall \
        --moe-router-topk ${TOPK} \
        --num-experts ${EXPERTS} \
        --expert-tensor-parallel-size ${ETP} \
        --expert-model-parallel-size ${EP} \
        --moe-ffn-hidden-size ${MOE_FFN} \
        --moe-router-load-balancing-type aux_loss \
        --moe-aux-loss-coeff 0.001 \
        --moe-layer-freq '([1]*48)' \
        "
    tie=" \
            --untie-embeddings-and-output-weights \
            "
    gqa=" \
                --group-query-attention \
                --num-query-groups ${KV}"
fi

if [ -z ${MP_AC_LAYERS} ];then
    MP_AC_LAYERS=1
fi

if [ -z ${MP_VP} ]; then
    vp=""
else
    vp=" \
        --num-layers-per-virtual-pipeline-stage ${MP_VP}"
fi

OVERLAP=$(( ($TP > 1) ? 1 : 0 ))
overlap="\
    --overlap-grad-reduce \
    --overlap-param-gather"
if [ $OVERLAP -eq 1 ]; then
    overlap="\
        --tp-comm-overlap \
        --overlap-grad-reduce \
        --overlap-param-gather"
fi

if [ $AC = full ]; then
    _check=$(( ($LAYERS / $PP) % ${MP_AC_LAYERS} ))
    if [ $_check != 0 ]; then
        echo "layers per stage must be a multiple"
        exit -1
    fi
    ac=" \
		    --recompute-method uniform \
            --recompute-num-layers ${MP_AC_LAYERS} \
		    --recompute-granularity full"
elif [ $AC = sel ]; then
    ac=" \
        --recompute-activations"
elif [ $AC = none ]; then
    ac=" \
    "
elif [ $AC = offload ]; then
    ac=" \
		    --cpu-offloading \
		    --cpu-offloading-num-layers ${MP_AC_LAYERS}"
fi

if [ $PR = fp16 ]; then
    pr=" \
		    --fp16 \
            --apply-query-key-layer-scaling"
elif [ $PR = bf16 ]; then
    pr=" \
        --bf16"
elif [ $PR = fp8 ]; then
    pr=" \
        --bf16 \
        --fp8-format hybrid \
        --fp8-recipe blockwise"
fi

if [ $OFFLOAD != false ] && [ $DO = false ]; then
    DO=true
fi

if [ $DO = true ]; then
    do_opt=" \
		    --use-distributed-optimizer"
elif [ $DO = false ]; then
    do_opt=" \
                    "
fi

if [ $SP = true ] && [ $TP -gt 1 ]; then
    sp=" \
		    --sequence-parallel"
elif [ $SP = false ]; then
    sp=" \
                    "
fi

if [ $OFFLOAD != false ]; then
    offload=" \
        --optimizer-cpu-offload \
        --use-precision-aware-optimizer \
        --optimizer-offload-fraction ${OFFLOAD}"
fi

STEPS=$(( ${TOKENS} / ${GBS} / ${SEQ_LEN} ))

base="  \
        --lr ${LR} \
        --min-lr ${MIN_LR} \
        --lr-decay-style cosine \
        --weight-decay 0.01 \
        --clip-grad 1.0 \
        --init-method-std 0.008 \
        --attention-dropout 0.0 \
        --hidden-dropout 0.0 \
        --train-iters ${STEPS} \
        --micro-batch-size ${MBS} \
        --global-batch-size ${GBS} \
        --num-layers ${LAYERS} \
        --hidden-size ${HIDDEN} \
        --num-attention-heads ${HEADS} \
        --ffn-hidden-size ${FFN} \
        --seq-length ${SEQ_LEN} \
        --max-position-embeddings ${MAXPOS} \
        --max-padding-length ${PAD_LEN} \
        --tensor-model-parallel-size ${TP} \
        --pipeline-model-parallel-size ${PP} \
        --context-parallel-size ${CP} \
        --num-workers 32 \
        --padded-vocab-size ${VOCAB} \
        --patch-tokenizer-type Qwen3Tokenizer \
        --swiglu \
        --normalization RMSNorm \
        --norm-epsilon 1e-6 \
        --use-rotary-position-embeddings \
        --position-embedding-type rope \
        --disable-bias-linear \
        --rotary-base 1000000 \
        --ckpt-format torch_dist \
        --transformer-impl transformer_engine \
        --cross-entropy-loss-fusion \
        --qk-layernorm \
        --kv-channels 128 

        "

#        --add-qkv-bias \ # none here

cmd="torchrun $DIST pretrain_qwen.py
 ${base} ${pr} ${ac} \
 ${do_opt} ${sp} ${moe} ${offload} ${vp} ${tie} ${gqa}"

echo ${cmd}
eval ${cmd}
set +x

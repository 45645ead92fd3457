#!/bin/bash
set -e
export CUDA_DEVICE_MAX_CONNECTIONS=1
MASTER_ADDR=localhost
MASTER_PORT=$(shuf -n 1 -i 10000-65535)
NNODES=1
NODE_RANK=0
NGPU=8
MP_PP0_LAYERS=6

DIST="--nproc_per_node $NGPU --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT"

SIZE=A2.4B
MBS=1
GBS=8
SEQ_LEN=1024
PR=bf16
TP=1
PP=4
CP=1
EP=2
SP=true
DO=true
AC=sel

if [ $SIZE = A2.4B ]; then

HIDDEN=2048
HEADS=16
LAYERS=27
FFN=10944
MOE_FFN=1408
MAXPOS=${SEQ_LEN}
EXTRA_VOCAB=2400
KV_RANK=512
NOPE=128
ROPE=64
VDIM=128
SCALE=40
EXPERTS=64
TOPK=6
SHARED=2
FREQ=1

moe=" \
    --moe-ffn-hidden-size ${MOE_FFN} \
    --moe-router-topk ${TOPK} \
    --num-experts ${EXPERTS} \
    --moe-layer-freq ${FREQ} \
    --moe-aux-loss-coeff 1e-2 \
    --moe-shared-expert-intermediate-size $((${MOE_FFN} * ${SHARED} )) \
    --expert-model-parallel-size ${EP} \
    --kv-lora-rank ${KV_RANK} \
    --qk-head-dim ${NOPE} \
    --qk-pos-emb-head-dim ${ROPE} \
    --v-head-dim ${VDIM} \
    --moe-router-load-balancing-type aux_loss"

elif [ $SIZE = A21B ]; then

HIDDEN=5120
HEADS=128
LAYERS=60
FFN=12288
MOE_FFN=1536
Q_RANK=1536
moe=" \
    --q-lora-rank ${Q_RANK}"

fi

if [ $AC = full ]; then
    ac=" \
		    --recompute-method uniform \
            --recompute-num-layers 1 \
		    --recompute-granularity full"
elif [ $AC = sel ]; then
    ac=" \
        --recompute-activations"
fi

if [ $PR = bf16 ]; then
    pr=" \
        --bf16"
elif [ $PR = fp8 ]; then
    pr=" \
        --bf16 \
        --fp8-format hybrid \
        --fp8-amax-compute-algo max \
        --fp8-amax-history-len 1024"
fi

if [ $DO = true ]; then
    do_opt=" \
		    --use-distributed-optimizer"
fi

te=" \
        --transformer-impl transformer_engine"

if [ $SP = true ] && [ $TP -gt 1 ]; then
    sp=" \
		    --sequence-parallel"
elif [ $SP = false ]; then
    sp=" \
                    "
fi

if [ -z ${MP_PP0_LAYERS} ];then
    uneven=""
elif [ ${PP} -gt 1 ]; then
    _check=$(( ( $LAYERS - ${MP_PP0_LAYERS} ) % ( ${PP} - 1 ) ))
    if [ $_check != 0 ]; then
        echo "cannot split evenly"
        exit -1
    fi
    uneven=" \
        --decoder-first-pipeline-num-layers ${MP_PP0_LAYERS}
    "
else
    exit -1
fi

base="  \
        --lr 1e-5 \
        --min-lr 1e-6 \
        --lr-decay-style cosine \
        --weight-decay 0.1 \
        --clip-grad 1.0 \
        --train-iters 1000 \
        --micro-batch-size ${MBS} \
        --global-batch-size ${GBS} \
        --num-layers ${LAYERS} \
        --hidden-size ${HIDDEN} \
        --num-attention-heads ${HEADS} \
        --ffn-hidden-size ${FFN} \
        --seq-length ${SEQ_LEN} \
        --max-position-embeddings ${MAXPOS} \
        --tensor-model-parallel-size ${TP} \
        --pipeline-model-parallel-size ${PP} \
        --context-parallel-size ${CP} \
        --extra-vocab-size ${EXTRA_VOCAB} \
        --patch-tokenizer-type DeepSeekV2Tokenizer \
        --swiglu \
        --normalization RMSNorm \
        --use-rotary-position-embeddings \
        --no-bias-swiglu-fusion \
        --no-rope-fusion \
        --position-embedding-type rope \
        --untie-embeddings-and-output-weights \
        --disable-bias-linear \
        --rotary-base 10000 \
        --rotary-scaling-factor ${SCALE} \
        --kv-channels ${VDIM} \
        --qk-layernorm \
        --multi-latent-attention \
        --ckpt-format torch \
        "

cmd="torchrun $DIST pretrain_deepseek.py
 ${base} ${pr} ${te} ${ac} \
 ${do_opt} ${sp} ${moe} ${uneven}"

echo ${cmd}
eval ${cmd}
set +x

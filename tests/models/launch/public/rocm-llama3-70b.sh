#!/bin/bash
export GPU_MAX_HW_QUEUES=2
export CUDA_DEVICE_MAX_CONNECTIONS=1

for ARG in "$@"
do
   KEY=$(echo $ARG | cut -f1 -d=)
   LEN=${#KEY}
   VALUE="${ARG:$LEN+1}"
   export "$KEY"="$VALUE"
done

STAMP=$(date +"%Y-%m-%d_%H-%M-%S")
TEE_OUTPUT="${TEE_OUTPUT:-1}"
FLASH="${FLASH:-1}"
NO_TRAINING="${NO_TRAINING:-0}" # 1: only report
NGPU=`python3 -c "import torch; print(torch.cuda.device_count())"`

MASTER_ADDR="${MASTER_ADDR:-localhost}"
MASTER_PORT="${MASTER_PORT:-6000}"
NNODES="${NNODES:-1}"
NODE_RANK="${NODE_RANK:-0}"
WORLD_SIZE=$(($NGPU*$NNODES))

if [ "${NNODES:-1}" -gt 1 ]; then
    export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-ens51np0}"
else
    echo "one node"
fi

SIZE="${SIZE:-70}"
TP="${TP:-8}"
PP="${PP:-1}"
CP="${CP:-1}"
MBS="${MBS:-2}"
BS="${BS:-8}"
SEQ="${SEQ:-2048}"
ITERS="${ITERS:-10}"
SEQ_PARALLEL="${SEQ_PARALLEL:-1}" 
TE_FP8="${TE_FP8:-0}"  # 1: fp8
MCORE="${MCORE:-1}"
OPTIMIZER="${OPTIMIZER:-adam}"
FSDP="${FSDP:-0}"
RECOMPUTE="${RECOMPUTE:-0}"
MOCK="${MOCK:-1}"

if [ "$FSDP" -eq 1 ]; then
    if [ "$TP" -gt 1 ]; then
        TP=1
        echo "TP=$TP"
    fi
fi

DATA_DIR="${DATA_DIR:-/root/data}"
TOKENIZER="${TOKENIZER:-"$DATA_DIR/tokenizer_llama3"}"
MAXPOS=131072

if [ "$SEQ" -le 8192 ]; then
  workers=8
else
  workers=24
fi

if [[ $SIZE -eq 8 ]]; then #8B
        HIDDEN=4096
        FFN=14336
        LAYERS=32
        HEADS=32
        KV=8 
elif [[ $SIZE -eq 70 ]]; then
        HIDDEN=8192
        FFN=28672
        LAYERS=80
        HEADS=64
        KV=8 # grouped
        SEQ=$SEQ
        MAXPOS=$MAXPOS
else
        echo "no such size"
        exit 1
fi

GROUP=$(( ${HEADS} / ${KV} ))
NGROUPS=$(( ${HEADS} / ${GROUP} ))

GPT_ARGS="
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} \
    --context-parallel-size ${CP} \
    --num-layers $LAYERS \
    --hidden-size $HIDDEN \
    --ffn-hidden-size $FFN \
    --num-attention-heads $HEADS \
    --seq-length $SEQ \
    --max-position-embeddings $MAXPOS \
    --untie-embeddings-and-output-weights \
    --position-embedding-type rope \
    --no-position-embedding \
    --disable-bias-linear \
    --swiglu \
    --init-method-std 0.02 \
    --attention-dropout 0.0 \
    --hidden-dropout 0.0 \
    --normalization RMSNorm \
    --micro-batch-size $MBS \
    --global-batch-size $BS \
    --train-iters $ITERS \
    --no-async-tensor-model-parallel-allreduce \
    --bf16 \
    --no-masked-softmax-fusion \
"

if [ "$RECOMPUTE" -eq 1 ]; then
    GPT_ARGS="$GPT_ARGS --recompute-num-layers $LAYERS \
        --recompute-granularity full \
        --recompute-method block \
        "
fi 

TRAIN_ARGS="--lr 1e-4 \
        --min-lr 1e-5 \
        --lr-decay-iters 320000 \
        --lr-decay-style cosine \
        --weight-decay 1.0e-1 \
        --clip-grad 1.0 \
        --ckpt-format torch_dist \
"

if [ "$OPTIMIZER" == "adam" ]; then
    TRAIN_ARGS="$TRAIN_ARGS --optimizer adam \
        --adam-beta1 0.9 \
        --adam-beta2 0.95 \
        "
else
    TRAIN_ARGS="$TRAIN_ARGS --optimizer sgd \
        "
fi

DATA_ARGS="
    --tokenizer-type HuggingFaceTokenizer \
    --tokenizer-model ${TOKENIZER} \
    --dataloader-type cyclic \
    --save-interval 200000 \
    --log-interval 1 \
    --eval-iters 10 \
    --num-workers $workers \
"
if [ "$MOCK" -eq 1 ];then
    DATA_ARGS="$DATA_ARGS --mock-data --data-cache-path /home/cache"
else
    DATA_ARGS="$DATA_ARGS --data-path $DATA_DIR/book --data-cache-path /home/cache"
fi

OUT_ARGS="
    --log-interval 1 \
    --save-interval 5000 \
    --log-throughput \
    --no-save-optim \
    --eval-iters -1   
"

DIST_ARGS="
    --nproc_per_node $NGPU \
    --nnodes $NNODES \
    --node_rank $NODE_RANK \
    --master_addr $MASTER_ADDR \
    --master_port $MASTER_PORT \
"

EXTRA="
    --group-query-attention \
    --num-query-groups $NGROUPS \
    --no-gradient-accumulation-fusion \
    --distributed-backend nccl \
    --overlap-grad-reduce \
"

if [ "$FSDP" -eq 1 ]; then
    EXTRA="$EXTRA --use-torch-fsdp2"
    if [ "$SEQ_PARALLEL" -eq 1 ]; then
        SEQ_PARALLEL=0
    fi
else
    if [ "$OPTIMIZER" == "adam" ]; then
        EXTRA="$EXTRA --use-distributed-optimizer --overlap-param-gather"
    fi
fi

if [ "$FLASH" -eq 1 ]; then
EXTRA="$EXTRA --use-flash-attn"
fi

if [ "$SEQ_PARALLEL" -eq 1 ]; then
EXTRA="$EXTRA --sequence-parallel"
fi

if [ "$MCORE" -eq 1 ]; then
EXTRA="$EXTRA --use-mcore-models"
fi

if [ "$TE_FP8" -eq 1 ]; then
EXTRA="$EXTRA --transformer-impl=transformer_engine \
    --fp8-margin=0 \
    --fp8-format=hybrid \
    --fp8-amax-history-len=1024 \
"
fi

cmd="
    torchrun $DIST_ARGS pretrain_gpt.py \
        $GPT_ARGS \
        $DATA_ARGS \
        $OUT_ARGS \
        $EXTRA \
        $TRAIN_ARGS \
"

if [ "$TEE_OUTPUT" -eq 0 ]; then 
    cmd="$cmd >& train.log"
else
    cmd="$cmd |& tee train.log"
fi

if [ "$NO_TRAINING" -eq 0 ]; then 
    eval $cmd
fi

grep -Eo 'throughput per GPU [^|]*' train.log | sed -E 's/.*: ([0-9\.]+).*/\1/' > tmp.txt
rm tmp.txt
